#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Can the module be built with the kernel headers in a folder? If not, say in one sentence what is
# missing and what to do, and fail.
#
#	headers.sh KDIR [MAKE-FLAG…]
#
# The flags are those of the build: ARCH=, CROSS_COMPILE=, CC= and LLVM= are read.
set -eu

kdir=$1
shift

# RHEL 9 has 5.14, the oldest kernel that the module is built for.
oldest=5.14

# What the module's own calls need of a kernel, apart from what each arm64 kernel has.
needed="MODULES MMU_NOTIFIER EVENTFD CRYPTO_HASH"

# Some of what each version of the module calls and few other modules do. A kernel that exports only what
# its own modules use lacks one of these first.
called="mmu_notifier_register eventfd_ctx_fdget anon_inode_getfd"

missing() {
	echo "armvisor: $1" >&2
	exit 1
}

# Is that option built in, or a module?
has() {
	grep -qE "^#define CONFIG_$1(_MODULE)? 1$" "$kdir/include/generated/autoconf.h"
}

# Debian's headers include another folder's Makefile, and so all have one.
[ -d "$kdir" ] || missing "there is no folder '$kdir': install the kernel's headers, or give their folder as KDIR=…"
[ -f "$kdir/Makefile" ] || missing "'$kdir' has no Makefile, so it holds no kernel headers: give their folder as KDIR=…"
[ -f "$kdir/include/generated/autoconf.h" ] ||
	missing "the kernel in '$kdir' is not configured (no include/generated/autoconf.h): run 'make modules_prepare' there, or install its headers"

release=$(cat "$kdir/include/config/kernel.release" 2>/dev/null ||
	sed -n 's/^#define UTS_RELEASE "\(.*\)"$/\1/p' "$kdir/include/generated/utsrelease.h" 2>/dev/null) || :
[ -n "$release" ] ||
	missing "the kernel in '$kdir' is not prepared (no include/config/kernel.release): run 'make modules_prepare' there, or install its headers"
first=$(printf '%s\n%s\n' "$oldest" "${release%%-*}" | sort -V | head -n 1)
[ "$first" = "$oldest" ] || missing "kernel $release is too old: the module is built for $oldest and later"

has ARM64 || missing "kernel $release in '$kdir' is not for arm64: give the headers of an arm64 kernel"
for option in $needed; do
	has "$option" ||
		missing "kernel $release was built without CONFIG_$option, which the module needs: boot one that has it"
done
[ -f "$kdir/Module.symvers" ] || [ -n "${KBUILD_MODPOST_WARN:-}" ] ||
	missing "the kernel in '$kdir' has no Module.symvers, the list of what it exports: run 'make' there, or install its headers"
if has TRIM_UNUSED_KSYMS && [ -z "${KBUILD_MODPOST_WARN:-}" ]; then
	for symbol in $called; do
		grep -q "^[^[:space:]]*[[:space:]]${symbol}[[:space:]]" "$kdir/Module.symvers" ||
			missing "kernel $release exports only what its own modules use (CONFIG_TRIM_UNUSED_KSYMS), and not $symbol: boot a kernel that was built without CONFIG_TRIM_UNUSED_KSYMS"
	done
fi

cc=
cross=
for flag; do
	case $flag in
	CC=*) cc=${flag#CC=} ;;
	CROSS_COMPILE=*) cross=${flag#CROSS_COMPILE=} ;;
	# As Kbuild reads it: a suffix, a folder, or anything else.
	LLVM=-*) cc=${cc:-clang${flag#LLVM=}} ;;
	LLVM=*/) cc=${cc:-${flag#LLVM=}clang} ;;
	LLVM=*) cc=${cc:-clang} ;;
	esac
done
# Without a flag the kernel's Makefile names the compiler, and Kbuild passes that.
[ -n "$cc" ] || [ -z "$cross" ] || cc=${cross}gcc
cc=${cc%% *}
[ -z "$cc" ] || command -v "$cc" >/dev/null ||
	missing "the compiler $cc is missing: install it, or name another as CC=…"
