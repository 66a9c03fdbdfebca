# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# For scripts and Makefiles to source: sets $cache, the folder of downloads and of files made from
# them, and exports ARMVISOR_CACHE. A relative path is relative to the current folder. Without HOME,
# the home is that of the user database.

if [ -z "${HOME:-}" ]; then
	unset HOME
	HOME=~
fi
cache=${ARMVISOR_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/armvisor}
case $cache in
/*) ;;
*) cache=$PWD/$cache ;;
esac
export HOME ARMVISOR_CACHE="$cache"
