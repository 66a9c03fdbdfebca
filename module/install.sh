#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Install armvisor.ko for one kernel (the running one, if not said), with a
# udev rule that gives the group kvm the device. With DKMS on the machine the
# sources are registered there, so that later kernels get the module too.
#
#	install.sh [KERNEL-RELEASE]
#
# DESTDIR puts the files below another root and touches nothing else.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
release=${1:-$(uname -r)}
root=${DESTDIR:-}
version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' "$here/dkms.conf")
headers=${KDIR:-/lib/modules/$release/build}

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

build_here() {
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	copy_sources "$work/armvisor"
	# The compiler need not be the very one that built the kernel (see Makefile).
	# Extra words for make: for a cross build.
	# shellcheck disable=SC2086
	make -C "$headers" M="$work/armvisor" CONFIG_DEBUG_INFO_BTF_MODULES= \
		CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT= ${KMAKE_FLAGS:-} modules
	install -D -m 644 "$work/armvisor/armvisor.ko" \
		"$root/lib/modules/$release/updates/armvisor.ko"
}

install_dkms() {
	dkms remove "armvisor/$version" --all >/dev/null 2>&1 || true
	copy_sources "/usr/src/armvisor-$version"
	dkms install "armvisor/$version" -k "$release"
}

[ -d "$headers" ] ||
	fail "no headers of $release at $headers: apt-get install linux-headers-$release"
if [ -z "$root" ] && [ "$(id -u)" != 0 ]; then
	fail "only root may install: use sudo, or give DESTDIR"
fi

if [ -z "$root" ] && command -v dkms >/dev/null; then
	install_dkms
else
	build_here
fi
install -D -m 644 "$here/99-armvisor.rules" "$root/usr/lib/udev/rules.d/99-armvisor.rules"

if [ -z "$root" ]; then
	depmod "$release"
	getent group kvm >/dev/null || groupadd --system kvm
	if [ -d /run/udev ]; then
		udevadm control --reload
	fi
fi
echo "installed for $release: modprobe armvisor"
