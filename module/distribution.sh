# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# How distributions call the packages that the module is built with, for install.sh to source. `armvisor
# doctor` has the same table (vmm/armvisor/src/doctor/distro.rs); tests/test_module_install.py compares
# what both say.

os_release=${OS_RELEASE:-/etc/os-release}

# One value of os-release(5), without its quotes.
os_value() {
	sed -n "s/^$1=//p" "$os_release" 2>/dev/null | tr -d "\"'" | head -n 1
}

# The first name that is known, the distribution's own before those that it is like.
family() {
	for name in $(os_value ID) $(os_value ID_LIKE); do
		case $name in
		amzn) echo amazon ;;
		ubuntu) echo ubuntu ;;
		debian | raspbian) echo debian ;;
		fedora | rhel | centos | rocky | almalinux | ol) echo redhat ;;
		suse | sles | opensuse) echo suse ;;
		arch | archarm) echo arch ;;
		alpine) echo alpine ;;
		*) continue ;;
		esac
		return
	done
}

# Amazon's kernels after the first release's have their version in the package's name.
amazon_headers() {
	case $1 in
	6.1.* | 5.*) echo "kernel-devel-$1" ;;
	*) echo "kernel$(echo "$1" | sed 's/^\([0-9]*\.[0-9]*\).*/\1/')-devel-$1" ;;
	esac
}

# A variant's name follows the release: 5.14.0-503.el9.aarch64+64k is of kernel-64k.
redhat_headers() {
	case $1 in
	*+*) echo "kernel-${1#*+}-devel-${1%%+*}" ;;
	*) echo "kernel-devel-$1" ;;
	esac
}

# How to get the headers of kernel $1.
how_to_get_headers() {
	command=
	case $(family) in
	debian | ubuntu) command="apt install linux-headers-$1" ;;
	redhat) command="dnf install $(redhat_headers "$1")" ;;
	amazon) command="dnf install $(amazon_headers "$1")" ;;
	suse) command="zypper install kernel-${1##*-}-devel" ;;
	arch)
		command="pacman -S linux-headers"
		[ "$(os_value ID)" != archarm ] || command="pacman -S linux-aarch64-headers"
		;;
	alpine) command="apk add linux-${1##*-}-dev" ;;
	esac
	case $(echo "$1" | tr '[:upper:]' '[:lower:]') in
	*microsoft*)
		echo "build this kernel's version from github.com/microsoft/WSL2-Linux-Kernel, which" \
			"makes the headers; no distribution packages them"
		;;
	*linuxkit*)
		echo "run a distribution in a VM of its own, such as Lima's; this product's kernel has no" \
			"headers"
		;;
	*-android* | *-gki*)
		echo "build the phone's kernel from its maker's sources, which makes the headers"
		;;
	*)
		if [ -n "$command" ]; then
			echo "install the headers with 'sudo $command'"
		else
			echo "install the headers of kernel $1"
		fi
		;;
	esac
}

# How to get make and a compiler: $1 is gcc or clang.
how_to_get_compiler() {
	names="make gcc" tools="make and gcc"
	[ "$1" = gcc ] || names="make clang lld" tools="make, clang and lld"
	case $(family) in
	debian | ubuntu) command="apt install $names" ;;
	redhat | amazon) command="dnf install $names" ;;
	suse) command="zypper install $names" ;;
	arch) command="pacman -S $names" ;;
	alpine) command="apk add $names musl-dev" ;;
	*)
		echo "install $tools"
		return
		;;
	esac
	echo "install $tools with 'sudo $command'"
}

# How the firmware learns the key that signs the module.
how_to_sign() {
	case $(family) in
	ubuntu)
		echo "sign the module: install dkms, enrol its key with 'sudo update-secureboot-policy" \
			"--enroll-key', restart, and confirm the key on the console"
		;;
	debian | redhat | amazon | suse)
		echo "sign the module: install dkms, enrol its key with 'sudo mokutil --import" \
			"/var/lib/dkms/mok.pub', restart, and confirm the key on the console"
		;;
	*)
		echo "sign the module with a key that the kernel or the firmware has (the kernel's" \
			"Documentation/admin-guide/module-signing.rst)"
		;;
	esac
}
