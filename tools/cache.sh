# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
# shellcheck shell=bash
# Where downloads and what is made of them stand, for scripts and Makefiles to source: $cache, and
# ARMVISOR_CACHE for what they start. A relative folder is one of the caller's current folder. Without
# HOME the home is the user's own by the system's list of users.

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
