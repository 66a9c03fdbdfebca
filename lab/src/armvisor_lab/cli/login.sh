# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
# shellcheck shell=dash
#
# Functions for a board that has the Debian disk (login.py): start a VM of it, log in over SSH.
# The VM's console goes to standard output and to /tmp/console.
#
#   start qemu|armvisor [WORD…]   more words for the client's command line
#   login                         wait until the VM's SSH server lets root in
#   inside COMMAND…               run a command in the VM
#   leave                         power the VM off and wait for its client

disk=$(
	for each in /sys/block/vd*; do
		[ "$(cat "$each/serial")" != debian ] || echo "/dev/${each##*/}"
	done
)

# Debian's QEMU with EDK2, which finds GRUB on the disk; QEMU's user networking.
qemu() {
	qemu-system-aarch64 -accel kvm -cpu host -M virt,gic-version=3 -m 512 -nographic \
		-bios /usr/share/qemu-efi-aarch64/QEMU_EFI.fd \
		-drive "file=$disk,format=raw,if=none,id=disk" \
		-device virtio-blk-pci,drive=disk,romfile= \
		-netdev "user,id=net,hostfwd=tcp:$address:$port-:22" \
		-device virtio-net-pci,netdev=net,romfile= "$@" </dev/null
}

# The kernel and the initrd of the disk's /boot; a TAP, over which nobody gives out addresses. (The
# initrd, too, looks for a network then, and gives up after three minutes of the VM's clock.)
armvisor() {
	mkdir -p /tmp/root
	mount -o ro "${disk}2" /tmp/root
	cp /tmp/root/boot/vmlinuz-* /tmp/vmlinuz
	cp /tmp/root/boot/initrd.img-* /tmp/initrd
	umount /tmp/root
	tap tap0 10.0.2.2/24
	command armvisor run --kernel /tmp/vmlinuz --initrd /tmp/initrd --memory 512M \
		--disk "$disk" --net tap=tap0 \
		--append "root=LABEL=root ro console=ttyS0 ip=$address::10.0.2.2:255.255.255.0:::off" \
		"$@" </dev/null
}

start() {
	case $1 in
	qemu) address=127.0.0.1 port=2222 ;;
	armvisor) address=10.0.2.15 port=22 ;;
	esac
	mkfifo /tmp/pipe
	: >/tmp/console
	tee /tmp/console </tmp/pipe &
	"$@" >/tmp/pipe &
	vm=$!
}

inside() {
	ssh -q -i /root/key -p "$port" -o BatchMode=yes -o StrictHostKeyChecking=no \
		-o UserKnownHostsFile=/dev/null -o ConnectTimeout=60 "root@$address" "$@"
}

login() {
	until grep -q ' login: ' /tmp/console; do
		kill -0 "$vm" || return 1
		sleep 1
	done
	until inside true; do
		kill -0 "$vm" || return 1
		sleep 1
	done
}

leave() {
	inside poweroff || :
	wait "$vm"
}
