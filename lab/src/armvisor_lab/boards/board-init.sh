#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
# shellcheck shell=dash
#
# First process of a board. Loads modules, opens the channels to the lab, runs the command,
# tells its status, powers off. Its own words go to the console; the command's do not:
#
#   /dev/lab/status  lines: "boot", "run", "exit N", "fail WHY"
#   /dev/lab/stdin   the command's standard input
#   /dev/lab/stdout  the command's standard output
#   /dev/lab/stderr  the command's standard error
#
# These are links to the ports that QEMU names lab.status and so on: their own names (vport0p1)
# count all of the board's virtio devices, of which a caller may add some.
#
# What to run stands in /lab: `modules` (file and parameters a line), `settings`, `command`.
#
# `/init reopen` is for a command that lets the machine sleep: Linux 7.3 loses the lab's end of
# the channels then. It binds their driver anew and succeeds if they were lost; who has one
# open must open it again.

export PATH=/usr/local/bin:/usr/bin:/usr/sbin:/bin:/sbin HOME=/root TERM=linux

# Link each channel's name to its port; false while one is missing.
find_channels() {
	for channel in status stdin stdout stderr; do
		found=
		for port in /sys/class/virtio-ports/*; do
			if read -r name 2>/dev/null <"$port/name" && [ "$name" = "lab.$channel" ]; then
				found=/dev/${port##*/}
			fi
		done
		[ -c "$found" ] || return 1
		ln -sf "$found" "/dev/lab/$channel"
	done
}

# Their driver finds them a moment after it is loaded, on a busy machine a long one.
await_channels() {
	tries=0
	until find_channels || [ $tries -ge 3000 ]; do
		tries=$((tries + 1))
		usleep 20000
	done
}

if [ "$1" = reopen ]; then
	port=$(readlink /dev/lab/status)
	grep -q 'host_connected: 0' "/sys/kernel/debug/virtio-ports/${port##*/}" || exit 1
	cd /sys/bus/virtio/drivers/virtio_console || exit 1
	for device in virtio*; do
		echo "$device" >unbind
		echo "$device" >bind
	done
	await_channels
	exit 0
fi

/bin/busybox mkdir -p /proc /sys /dev /tmp /run /root /usr/bin /usr/sbin /sbin /etc /var/tmp
/bin/busybox --install -s
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev 2>/dev/null
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /run
mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null
mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
ln -sf /proc/self/fd /dev/fd
ln -sf /proc/self/fd/0 /dev/stdin
ln -sf /proc/self/fd/1 /dev/stdout
ln -sf /proc/self/fd/2 /dev/stderr
hostname board
ip link set lo up

failed=
load() {
	while read -r file parameters; do
		# shellcheck disable=SC2086 # parameters are words
		if ! insmod "/lab/$file" $parameters; then
			failed="module ${file##*/} does not load, see the console log"
		fi
	done <"$1"
}

finish() {
	# Without a sleep the first is all; after one the channel may be another.
	/init reopen || :
	echo "$1" >&3 || echo "$1" >/dev/lab/status
	poweroff -f
	sleep 1000
}

# shellcheck disable=SC1091 # written for each board
. /lab/settings
load /lab/modules.early

mkdir -p /dev/lab
await_channels
if ! exec 3>/dev/lab/status; then
	echo "lab: no channel to the lab" >/dev/console
	poweroff -f
fi
echo boot >&3

load /lab/modules
[ -n "$failed" ] && finish "fail $failed"

if [ "$SETTLE" != 0 ]; then
	# A counted command starts on a machine that is done with booting: random pool filled,
	# deferred initialisation and the first writeback behind it.
	dd if=/dev/random of=/dev/null bs=1 count=1 2>/dev/null
	sleep "$SETTLE"
fi

cd /root || cd /
echo run >&3
/bin/busybox sh /lab/command </dev/lab/stdin >/dev/lab/stdout 2>/dev/lab/stderr 3>&-
status=$?
if [ "$CHECK_LEAKS" = 1 ] && [ -w /sys/kernel/debug/kmemleak ]; then
	# Twice: kmemleak calls a leak only what two scans found unreachable.
	for _ in 1 2; do
		echo scan >/sys/kernel/debug/kmemleak
		sleep 6
	done
	cat /sys/kernel/debug/kmemleak >/dev/console
fi
finish "exit $status"
