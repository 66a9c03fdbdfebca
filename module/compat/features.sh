#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Write a header that says what a kernel's headers have: for each block of feature_tests.h, whether
# it compiles. Kbuild runs this before it compiles anything, with its own compiler and flags.
#
#	features.sh OUT TESTS COMPILER [FLAG…]
#
# Where not even an empty file compiles, nothing is known: then it fails with what the compiler said.
set -eu

out=$1
tests=$2
shift 2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What tests of a declaration depend on is an error with every kernel's flags. Warnings are not:
# some kernels ask for that, and the blocks are no good style.
compile() {
	"$@" -Wno-error -Werror=implicit-function-declaration \
		-Werror=incompatible-pointer-types -Werror=int-conversion -Werror=implicit-int \
		-fsyntax-only -x c "$tests"
}

# The compiler's dependencies are not asked for: each compilation would write that file.
count=$#
while [ "$count" -gt 0 ]; do
	flag=$1
	shift
	case $flag in
	-Wp,-MMD,* | -Wp,-MD,*) ;;
	*) set -- "$@" "$flag" ;;
	esac
	count=$((count - 1))
done

if ! compile "$@" >"$work/said" 2>&1; then
	echo "armvisor: the compiler cannot use this kernel's headers: $(grep -m 1 . "$work/said")" >&2
	exit 1
fi

names=$(sed -n 's/^#ifdef AV_TEST_\([A-Z0-9_]*\)$/\1/p' "$tests")
for name in $names; do
	# In parallel: each takes as long as the kernel's headers take to read.
	(compile "$@" -D"AV_TEST_$name" >/dev/null 2>&1 && : >"$work/$name") &
	pids="${pids:-} $!"
	case $pids in
	*" "*" "*" "*" "*)
		# shellcheck disable=SC2086
		wait $pids || :
		pids=
		;;
	esac
done
wait

{
	echo "/* By compat/features.sh, of this kernel's headers. */"
	for name in $names; do
		echo "#define AV_HAS_$name $([ -e "$work/$name" ] && echo 1 || echo 0)"
	done
} >"$work/features.h"
mv "$work/features.h" "$out"
