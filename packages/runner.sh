#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
#
# Gives a CI runner a /dev/kvm, from a checkout, as root: builds and loads the module where Linux has
# no KVM of its own, installs the VMM, asks the doctor, and runs a VM with the runner's own kernel.
# action.yml is the same as a GitHub action.
#
#	runner.sh [ARMVISOR]
#
# ARMVISOR is the VMM, if it is built already; else cargo builds it. For machines that live for one
# job: each user may use /dev/kvm afterwards.
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
release=$(uname -r)

fail() {
	echo "runner.sh: $1" >&2
	exit 1
}

say() {
	echo "runner.sh: $1"
}

# Installs the packages that are not there yet, where apt-get is the way.
want() {
	command -v apt-get >/dev/null || return 0
	for package; do
		dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed && continue
		[ -n "${updated:-}" ] || apt-get -q update || :
		updated=yes
		DEBIAN_FRONTEND=noninteractive apt-get -qy --no-install-recommends install "$package" ||
			say "apt-get has no $package"
	done
}

[ "$(id -u)" = 0 ] || fail "run it as root: sudo $0"
[ "$(uname -m)" = aarch64 ] || fail "this runner is $(uname -m): take one for arm64 (runs-on: ubuntu-24.04-arm)"

if [ -c /dev/kvm ]; then
	say "this runner has a /dev/kvm of its own, and needs no module"
else
	want gcc make "linux-headers-$release"
	"$top/module/install.sh" "$release"
	modprobe armvisor || fail "the module does not load: 'dmesg' says why, and 'armvisor doctor' what to do"
	say "the module is loaded"
fi
chmod 666 /dev/kvm

if [ -z "${1:-}" ]; then
	command -v cargo >/dev/null || fail "cargo is missing: install rustup's stable toolchain, or name a VMM"
	cargo build --release --manifest-path "$top/vmm/Cargo.toml" -p armvisor
	set -- "${CARGO_TARGET_DIR:-$top/vmm/target}/release/armvisor"
fi
install -D -m 755 "$1" /usr/local/bin/armvisor
/usr/local/bin/armvisor doctor

# A VM: this kernel, and an initrd whose only program says so and powers off.
want gcc libc6-dev cpio
kernel=
for file in "/boot/vmlinuz-$release" "/lib/modules/$release/vmlinuz"; do
	[ -n "$kernel" ] || [ ! -e "$file" ] || kernel=$file
done
[ -n "$kernel" ] || fail "there is no kernel of $release to start in a VM, in /boot or /lib/modules"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/init.c" <<'END'
#include <stdio.h>
#include <sys/reboot.h>
#include <sys/utsname.h>

int main(void)
{
	struct utsname name;

	uname(&name);
	printf("a VM runs: Linux %s\n", name.release);
	fflush(stdout);
	return reboot(RB_POWER_OFF);
}
END
gcc -static -O1 -o "$work/init" "$work/init.c"
mkdir "$work/dev"
mknod -m 600 "$work/dev/console" c 5 1
(cd "$work" && printf '%s\n' init dev dev/console | cpio -o -H newc --quiet) >"$work/initrd"
/usr/local/bin/armvisor run --kernel "$kernel" --initrd "$work/initrd" --append quiet </dev/null |
	tee "$work/console"
grep -q '^a VM runs: Linux ' "$work/console" || fail "the VM did not say that it runs"
say "VMs run here"
