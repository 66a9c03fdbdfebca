#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Install armvisor.ko for one kernel (by default the running one), with a udev
# rule that gives the group kvm the device. Where DKMS is installed, register the
# sources there, so that later kernels get the module too.
#
#	install.sh [KERNEL-RELEASE]
#	install.sh --uninstall
#
# Nothing is replaced or removed before the new module has been built.
# With DESTDIR, install below another root and change nothing else.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=${DESTDIR:-}
rule=$root/usr/lib/udev/rules.d/99-armvisor.rules
version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' "$here/dkms.conf")

fail() {
	echo "install: $1" >&2
	exit 1
}

# The sources alone: no tests, no build products.
copy_sources() {
	rm -rf "$1"
	mkdir -p "$1"
	(cd "$here" && find . -name tests -prune -o -type f \
		\( -name '*.[chS]' -o -name Kbuild -o -name objs -o -name dkms.conf \) -print0 |
		tar --null -T - -cf -) | tar -C "$1" -xf -
}

build() {
	copy_sources "$work/armvisor"
	# Another compiler than the one that built the kernel will do (see Makefile).
	# KMAKE_FLAGS: more arguments for make, for a cross build.
	# shellcheck disable=SC2086
	make -C "$headers" M="$work/armvisor" CONFIG_DEBUG_INFO_BTF_MODULES= \
		CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT= ${KMAKE_FLAGS:-} modules ||
		fail "the module was not built for $release; what was installed before is untouched"
}

has_dkms() {
	[ -z "$root" ] && command -v dkms >/dev/null
}

# All versions that DKMS knows: "armvisor/1.0, ..." since DKMS 3, "armvisor, 1.0, ..." before.
dkms_versions() {
	dkms status -m armvisor | sed -n 's|^armvisor[/,] *\([^,:/ ]*\)[,:].*|\1|p' | sort -u
}

remove_dkms() {
	for old in $(dkms_versions); do
		dkms remove "armvisor/$old" --all >/dev/null 2>&1 || true
		rm -rf "/usr/src/armvisor-$old"
	done
}

install_dkms() {
	remove_dkms
	copy_sources "/usr/src/armvisor-$version"
	dkms install "armvisor/$version" -k "$release"
}

install_here() {
	install -D -m 644 "$work/armvisor/armvisor.ko" \
		"$root/lib/modules/$release/updates/armvisor.ko"
}

# Update the module lists and reload the device rules.
refresh() {
	[ -z "$root" ] || return 0
	depmod "${1:-$(uname -r)}"
	if [ -d /run/udev ]; then
		udevadm control --reload
	fi
}

uninstall() {
	if has_dkms; then
		remove_dkms
	fi
	rm -f "$root"/lib/modules/*/updates/armvisor.ko "$rule"
	refresh
	echo "uninstalled; a module that is loaded stays until rmmod armvisor"
}

if [ -z "$root" ] && [ "$(id -u)" != 0 ]; then
	fail "only root may install: use sudo, or give DESTDIR"
fi
case ${1:-} in
--uninstall)
	uninstall
	exit
	;;
-*)
	fail "no option $1: install.sh [KERNEL-RELEASE], or install.sh --uninstall"
	;;
esac

release=${1:-$(uname -r)}
headers=${KDIR:-/lib/modules/$release/build}
case $(uname -m)${KMAKE_FLAGS:+ cross} in
aarch64* | *cross) ;;
*) fail "this machine is $(uname -m): the module is for arm64" ;;
esac
[ -d "$headers" ] ||
	fail "no headers of $release at $headers: apt-get install linux-headers-$release"
command -v make >/dev/null || fail "make is missing: apt-get install make gcc"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build
if has_dkms; then
	install_dkms
else
	install_here
fi
install -D -m 644 "$here/99-armvisor.rules" "$rule"
if [ -z "$root" ]; then
	getent group kvm >/dev/null || groupadd --system kvm
fi
refresh "$release"
echo "installed for $release: modprobe armvisor"
