#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Install armvisor.ko for one kernel (by default the running one), with a udev rule that gives the
# group kvm the device and a unit that loads the module. Where DKMS is installed, register the sources
# there, so that later kernels get the module too.
#
#	install.sh [KERNEL-RELEASE]
#	install.sh --uninstall
#	install.sh --package configure|remove    for a package's scripts: the module alone, by DKMS
#
# Build first, then replace: nothing that was installed changes before the new module has been built
# for each kernel that had one, and all is put back if a later step fails.
# With DESTDIR, install below another root and change nothing else.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=${DESTDIR:-}
sys=${SYSFS:-/sys}
tree=/var/lib/dkms/armvisor
rule=$root/usr/lib/udev/rules.d/99-armvisor.rules
unit=$root/usr/lib/systemd/system/armvisor-module.service
# A checkout knows its revision; a package's dkms.conf has it.
version=$("$here/../tools/version" 2>/dev/null ||
	sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' "$here/dkms.conf")

# shellcheck source=module/distribution.sh
. "$here/distribution.sh"

say() { echo "install: $*" >&2; }

fail() {
	say "$@"
	exit 1
}

# ---- before anything changes ----------------------------------------------------------------

check_machine() {
	case $(uname -m) in
	aarch64) return ;;
	esac
	case " ${KMAKE_FLAGS:-} " in
	*" ARCH=arm64 "*) ;;
	*) fail "this machine is $(uname -m): the module is for arm64" ;;
	esac
}

# 6.1 is the oldest kernel that the module builds for (dkms.conf).
is_old() {
	major=${1%%.*} minor=${1#*.}
	minor=${minor%%[!0-9]*}
	[ "$major" -lt 6 ] || { [ "$major" = 6 ] && [ "${minor:-0}" -lt 1 ]; }
}

has_headers() { [ -e "$1/Makefile" ]; }

# The word that the headers' configuration was made with; older kernels have no such word for gcc.
compiler_of() {
	if grep -q '^#define CONFIG_CC_IS_CLANG 1' "$1/include/generated/autoconf.h"; then
		echo clang
	else
		echo gcc
	fi
}

# Can a module be built for kernel $1 with the headers in $2?
check_tools() {
	! is_old "$1" || fail "kernel $1 is too old: the module builds for 6.1 and later"
	has_headers "$2" || fail "no headers of $1 at $2: $(how_to_get_headers "$1")"
	[ -e "$2/include/generated/autoconf.h" ] ||
		fail "the headers at $2 are not prepared: run 'make modules_prepare' there, or" \
			"$(how_to_get_headers "$1")"
	kind=$(compiler_of "$2")
	wanted="make gcc"
	[ "$kind" = gcc ] || wanted="make clang ld.lld"
	for program in $wanted; do
		command -v "$program" >/dev/null ||
			fail "$program is missing, and $kind built kernel $1: $(how_to_get_compiler "$kind")"
	done
}

# ---- sources --------------------------------------------------------------------------------

# The sources alone, as version $2: no tests, no build products.
copy_sources() {
	rm -rf "$1"
	mkdir -p "$1"
	(cd "$here" && find . -name tests -prune -o -type f \
		\( -name '*.[chS]' -o -path './compat/*.sh' -o -name Kbuild -o -name objs -o -name dkms.conf \) \
		-print0 |
		tar --null -T - -cf -) | tar --no-same-owner -C "$1" -xf -
	sed -i "s/^PACKAGE_VERSION=.*/PACKAGE_VERSION=\"${2:-$version}\"/" "$1/dkms.conf"
}

# ---- without DKMS ---------------------------------------------------------------------------

build() {
	copy_sources "$work/armvisor"
	flags=${KMAKE_FLAGS:-}
	[ -n "$flags" ] || [ "$(compiler_of "$headers")" = gcc ] || flags=LLVM=1
	# Another compiler than the one that built the kernel will do (see Makefile).
	# KMAKE_FLAGS: more arguments for make, for a cross build.
	# shellcheck disable=SC2086
	make -C "$headers" M="$work/armvisor" CONFIG_DEBUG_INFO_BTF_MODULES= \
		CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT= $flags modules ||
		fail "the module was not built for $release; what was installed before is untouched"
}

# The name changes at once: a reader finds the old module or the new one.
install_here() {
	place=$root/lib/modules/$release/updates
	[ ! -e "$place/armvisor.ko" ] || cp -p "$place/armvisor.ko" "$work/old.ko"
	install -D -m 644 "$work/armvisor/armvisor.ko" "$place/.armvisor.ko"
	mv "$place/.armvisor.ko" "$place/armvisor.ko"
	refresh_modules "$release"
}

restore_here() {
	rm -f "$place/armvisor.ko"
	[ ! -e "$work/old.ko" ] || cp -p "$work/old.ko" "$place/armvisor.ko"
	refresh_modules "$release"
}

# ---- with DKMS ------------------------------------------------------------------------------

has_dkms() {
	[ -z "$root" ] && command -v dkms >/dev/null
}

# All versions that DKMS knows: "armvisor/1.0, ..." since DKMS 3, "armvisor, 1.0, ..." before.
dkms_versions() {
	dkms status -m armvisor | sed -n 's|^armvisor[/,] *\([^,:/ ]*\)[,:].*|\1|p' | sort -u
}

# The kernels for which DKMS has installed version $1, or any.
dkms_kernels() {
	dkms status -m armvisor | sed -n 's|^armvisor[/,] *\([^,:/ ]*\), *\([^, ]*\), [^:]*: installed.*|\1 \2|p' |
		while read -r each kernel; do
			[ "$each" != "${1:-$each}" ] || echo "$kernel"
		done | sort -u
}

remove_version() {
	dkms remove "armvisor/$1" --all >/dev/null 2>&1 || true
	rm -rf "/usr/src/armvisor-$1" "${tree:?}/$1"
	rmdir "$tree" 2>/dev/null || true
}

# DKMS itself leaves a module that is not the one that it built.
remove_dkms() {
	for old in $(dkms_versions); do
		remove_version "$old"
	done
	find /lib/modules -name 'armvisor.ko*' | while read -r file; do
		rm -f "$file"
		kernel=${file#/lib/modules/}
		depmod "${kernel%%/*}"
	done
}

# The version's name in DKMS: another one than those that work now, so that both are there until the
# new one is built. What an interrupted installation left under that name goes.
choose_name() {
	name=$version
	number=1
	while [ -n "$(dkms_kernels "$name")" ]; do
		number=$((number + 1))
		name=$version+$number
	done
	remove_version "$name"
}

# Status 2 where DKMS says that the module is not for this kernel.
dkms_build() {
	status=0
	dkms build "armvisor/$name" -k "$1" || status=$?
	case $status in
	0) return 0 ;;
	77 | 9) return 2 ;;
	esac
	tail -n 30 "$tree/$name/build/make.log" >&2 2>/dev/null || true
	return 1
}

# Build for the kernels that must have it and for others that may; $built are those that have it then.
build_dkms() {
	built=
	for kernel in $must; do
		dkms_build "$kernel" && built="$built $kernel" && continue
		remove_version "$name"
		fail "the module was not built for $kernel; what was installed before is untouched"
	done
	for kernel in $may; do
		status=0
		dkms_build "$kernel" || status=$?
		case $status in
		0) built="$built $kernel" ;;
		1) say "the module was not built for $kernel, which had none before" ;;
		esac
	done
}

# Which version each kernel has now: "VERSION KERNEL" a line.
note_dkms() {
	for old in $(dkms_versions); do
		for kernel in $(dkms_kernels "$old"); do
			echo "$old $kernel"
		done
	done >"$work/before"
}

# Put back what DKMS had installed, which it still has built, and forget the new version.
restore_dkms() {
	while read -r old kernel; do
		dkms install "armvisor/$old" -k "$kernel" --force >/dev/null 2>&1 </dev/null || true
	done <"$work/before"
	remove_version "$name"
}

replace_dkms() {
	for kernel in $built; do
		dkms install "armvisor/$name" -k "$kernel" --force || return
		rm -f "/lib/modules/$kernel/updates/armvisor.ko"
	done
}

# A kernel whose headers are gone keeps the version that it has.
remove_older() {
	for old in $(dkms_versions); do
		[ "$old" = "$name" ] || [ -n "$(dkms_kernels "$old")" ] || remove_version "$old"
	done
}

# For the kernels in $must and $may.
install_dkms() {
	choose_name
	note_dkms
	copy_sources "/usr/src/armvisor-$name" "$name"
	dkms add "armvisor/$name" >/dev/null || {
		remove_version "$name"
		fail "DKMS does not take the sources; what was installed before is untouched"
	}
	build_dkms
	if ! replace_dkms || ! reload; then
		restore_dkms
		load_old
		fail "the new module was not installed; what was installed before is back"
	fi
	remove_older
}

# Kernels that have the module by DKMS, and headers.
upgradable() {
	for kernel in $(dkms_kernels); do
		! has_headers "/lib/modules/$kernel/build" || echo "$kernel"
	done
}

# The words of $1 that are not in $2.
without() {
	for word in $1; do
		# shellcheck disable=SC2086 # a space between words
		case " $(printf "%s " $2)" in
		*" $word "*) ;;
		*) echo "$word" ;;
		esac
	done
}

# ---- loading --------------------------------------------------------------------------------

is_loaded() { [ -z "$root" ] && [ -d "$sys/module/armvisor" ]; }

# A loaded module that no VM uses is replaced at once.
reload() {
	was_loaded=
	is_loaded || return 0
	if ! rmmod armvisor 2>/dev/null; then
		say "VMs run, so the old module stays loaded: the new one is loaded at the next start, or" \
			"with 'rmmod armvisor && modprobe armvisor' after they have ended"
		return 0
	fi
	was_loaded=y
	modprobe armvisor && return
	say "the new module does not load: the kernel's log (dmesg) says why"
	return 1
}

load_old() {
	[ -z "${was_loaded:-}" ] || is_loaded || modprobe armvisor || true
}

unload() {
	is_loaded || return 0
	rmmod armvisor 2>/dev/null || say "VMs run, so the module stays loaded until 'rmmod armvisor'"
}

# Why the kernel loads signed modules only, if it does.
signed_only() {
	case $(cat "$sys/kernel/security/lockdown" 2>/dev/null) in
	"" | *"[none]"*) ;;
	*)
		echo "the kernel is locked down"
		return
		;;
	esac
	[ "$(cat "$sys/module/module/parameters/sig_enforce" 2>/dev/null)" != Y ] ||
		echo "module.sig_enforce is on"
}

tell_of_signatures() {
	why=$(signed_only)
	[ -z "$why" ] || say "the kernel loads signed modules only, because $why: $(how_to_sign)"
}

refresh_modules() {
	[ -n "$root" ] || depmod "$1"
}

refresh_devices() {
	if [ -z "$root" ] && [ -d /run/udev ]; then
		udevadm control --reload
	fi
	if [ -z "$root" ] && [ -d /run/systemd/system ]; then
		systemctl daemon-reload
	fi
}

# ---- what the command line asks for ---------------------------------------------------------

uninstall() {
	if has_dkms; then
		remove_dkms
	fi
	rm -f "$root"/lib/modules/*/updates/armvisor.ko "$rule"
	if [ -z "$root" ] && [ -e "$unit" ] && command -v systemctl >/dev/null; then
		systemctl disable armvisor-module >/dev/null 2>&1 || true
	fi
	rm -f "$unit"
	refresh_modules "$(uname -r)"
	refresh_devices
	echo "uninstalled; a module that is loaded stays until rmmod armvisor"
}

install_all() {
	release=${1:-$(uname -r)}
	headers=${KDIR:-/lib/modules/$release/build}
	check_machine
	check_tools "$release" "$headers"
	if has_dkms; then
		must="$release $(without "$(upgradable)" "$release")" may=
		install_dkms
	else
		build
		install_here
		if ! reload; then
			restore_here
			load_old
			fail "the new module was not installed; what was installed before is back"
		fi
	fi
	install -D -m 644 "$here/99-armvisor.rules" "$rule"
	install -D -m 644 "$here/armvisor-module.service" "$unit"
	if [ -z "$root" ]; then
		getent group kvm >/dev/null || groupadd --system kvm
		tell_of_signatures
	fi
	refresh_devices
	echo "installed for $release: modprobe armvisor"
}

# A package has rule and unit itself, and may be installed before the headers are: then DKMS builds the
# module when they come.
configure_package() {
	has_dkms || fail "dkms is missing"
	release=$(uname -r)
	must=$(upgradable)
	all=
	for folder in /lib/modules/*/build; do
		kernel=${folder#/lib/modules/} kernel=${kernel%/build}
		! has_headers "$folder" || is_old "$kernel" || all="$all $kernel"
	done
	if [ ! -d "/lib/modules/$release" ]; then
		: # of a host whose container or chroot this is
	elif is_old "$release"; then
		say "kernel $release is too old: the module builds for 6.1 and later"
	elif ! has_headers "/lib/modules/$release/build"; then
		say "no headers of $release: $(how_to_get_headers "$release"); the module is built then"
	else
		must="$release $(without "$must" "$release")"
	fi
	may=$(without "$all" "$must")
	install_dkms
	tell_of_signatures
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -z "$root" ] && [ "$(id -u)" != 0 ]; then
	fail "only root may install: use sudo, or give DESTDIR"
fi
case "${1:-}${2:+ $2}" in
--uninstall) uninstall ;;
"--package configure") configure_package ;;
"--package remove")
	! has_dkms || remove_dkms
	unload
	;;
-*)
	fail "no option $1: install.sh [KERNEL-RELEASE], or install.sh --uninstall"
	;;
*) install_all "${1:-}" ;;
esac
