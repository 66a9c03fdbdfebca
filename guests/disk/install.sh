#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
#
# Runs on a board, as root: makes a Debian disk from an empty one and a tar of unpacked packages.
# It finds the disks by their serial numbers, `target` and `tree`. The packages' own scripts do the
# installation. It prints the key for root's login last.

set -e
umask 022
mnt=/mnt

disk() {
	for each in /sys/block/vd*; do
		[ "$(cat "$each/serial")" != "$1" ] || echo "/dev/${each##*/}"
	done
}

inside() {
	chroot "$mnt" /usr/bin/env -i PATH=/usr/sbin:/usr/bin LC_ALL=C.UTF-8 HOME=/root \
		DEBIAN_FRONTEND=noninteractive DEBCONF_NONINTERACTIVE_SEEN=true "$@"
}

say() { echo "install: $*" >&2; }

# In full: the shell takes its own programs first.
say "partitions and file systems"
target=$(disk target)
/usr/sbin/sfdisk --quiet "$target" <<-END
	label: gpt
	size=64MiB, type=uefi, name=esp
	type=linux, name=root
END
/usr/sbin/mkfs.fat -n ESP "${target}1" >/dev/null 2>&1
/usr/sbin/mke2fs -q -t ext4 -L root "${target}2"
mkdir -p "$mnt"
mount "${target}2" "$mnt"

say "files"
tar -xpf "$(disk tree)" -C "$mnt"
mkdir -p "$mnt/boot/efi"
mount -t vfat "${target}1" "$mnt/boot/efi"
mount -t proc proc "$mnt/proc"
mount -t sysfs sysfs "$mnt/sys"
mount -o bind /dev "$mnt/dev"
mount -t tmpfs tmpfs "$mnt/run"

cat >"$mnt/etc/fstab" <<-END
	LABEL=root / ext4 errors=remount-ro 0 1
	LABEL=ESP /boot/efi vfat umask=0077 0 1
END
echo debian >"$mnt/etc/hostname"
mkdir -p "$mnt/etc/default" "$mnt/etc/initramfs-tools/conf.d" "$mnt/etc/systemd/network" "$mnt/root/.ssh"
# QEMU's serial port is ttyAMA0; armvisor's command line says what its own is.
cat >"$mnt/etc/default/grub" <<-END
	GRUB_DEFAULT=0
	GRUB_TIMEOUT=1
	GRUB_DISTRIBUTOR=Debian
	GRUB_CMDLINE_LINUX="console=ttyAMA0"
	GRUB_TERMINAL=console
END
# Where the kernel's command line has no address (ip=), from whoever gives one.
cat >"$mnt/etc/systemd/network/80-ether.network" <<-END
	[Match]
	Type=ether
	[Network]
	DHCP=yes
END

say "packages"
# Nothing is started here.
printf '#!/bin/sh\nexit 101\n' >"$mnt/usr/sbin/policy-rc.d"
chmod 755 "$mnt/usr/sbin/policy-rc.d"
# The first makes /etc/passwd.
for script in base-passwd $(cd "$mnt/var/lib/dpkg/info" && ls -- *.preinst); do
	name=${script%.preinst}
	[ "$script" != base-passwd.preinst ] || continue
	inside DPKG_MAINTSCRIPT_PACKAGE="${name%:*}" DPKG_MAINTSCRIPT_NAME=preinst \
		DPKG_MAINTSCRIPT_ARCH=arm64 "/var/lib/dpkg/info/$name.preinst" install >&2
done
# The initramfs once, at the end, and with what a VM's disk needs.
printf 'MODULES=list\nCOMPRESSLEVEL=1\n' >"$mnt/etc/initramfs-tools/conf.d/disk"
printf 'virtio_mmio\nvirtio_pci\nvirtio_blk\n' >"$mnt/etc/initramfs-tools/modules"
inside INITRD=No dpkg --force-unsafe-io --configure -a >&2
inside update-initramfs -c -k all >&2
rm "$mnt/usr/sbin/policy-rc.d"

say "boot loader"
inside systemctl enable systemd-networkd >&2
if [ -e /orders.sh ]; then
	install -D -m 755 /orders.sh "$mnt/usr/local/sbin/orders"
	install -D -m 644 /orders.service "$mnt/etc/systemd/system/orders.service"
	inside systemctl enable orders >&2
fi
inside grub-install --target=arm64-efi --efi-directory=/boot/efi --removable --no-nvram >&2
# Without udev there is no link by which update-grub sees that a name would do.
mkdir -p /dev/disk/by-uuid
ln -s "${target}2" "/dev/disk/by-uuid/$(inside blkid -s UUID -o value "${target}2")"
inside update-grub >&2

inside ssh-keygen -q -t ed25519 -N '' -C lab -f /root/key
mv "$mnt/root/key.pub" "$mnt/root/.ssh/authorized_keys"
mv "$mnt/root/key" /tmp/key
say "$(inside df -h / | tail -n 1)"
umount "$mnt/run" "$mnt/dev" "$mnt/sys" "$mnt/proc" "$mnt/boot/efi"
umount "$mnt"
cat /tmp/key
