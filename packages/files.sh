#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
#
# What the packages consist of: debian/rules and armvisor.spec call this in a copy of the sources.
#
#	files.sh build               build the VMM, its manual and its completions
#	files.sh vmm FOLDER          the files of package armvisor, below FOLDER
#	files.sh module FOLDER       those of package armvisor-dkms
#
# ARMVISOR_VERSION is the version. CARGO_TARGET_DIR keeps builds from one copy to the next; by default
# each copy has its own.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
top=$(dirname "$here")
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$top/vmm/target}
manual=$CARGO_TARGET_DIR/manual

put() { install -D -p -m "$1" "$2" "$3"; }

# Files that a program writes have the umask's mode and are made now; archives have their own date.
build() {
	: "${ARMVISOR_VERSION:?the version of tools/version}"
	export ARMVISOR_VERSION
	"$top/tools/cargo" build --release --locked -p armvisor
	rm -rf "$manual"
	ARMVISOR_TARGET=host "$top/tools/cargo" run --release --locked -q -p armvisor-manual -- "$manual"
}

# The newest where both of cargo's targets were built.
program() {
	local found
	mapfile -t found < <(ls -t "$CARGO_TARGET_DIR"/aarch64-unknown-linux-*/release/armvisor)
	echo "${found[0]}"
}

vmm() {
	local page example
	put 755 "$(program)" "$1/usr/bin/armvisor"
	for page in "$manual"/man1/*.1; do
		put 644 "$page" "$1/usr/share/man/man1/${page##*/}"
	done
	put 644 "$manual/completions/bash" "$1/usr/share/bash-completion/completions/armvisor"
	put 644 "$manual/completions/zsh" "$1/usr/share/zsh/vendor-completions/_armvisor"
	put 644 "$manual/completions/fish" "$1/usr/share/fish/vendor_completions.d/armvisor.fish"
	for example in "$here"/examples/*; do
		put 644 "$example" "$1/usr/share/doc/armvisor/examples/${example##*/}"
	done
	put 644 "$top/docs/protected.md" "$1/usr/share/doc/armvisor/protected.md"
}

# The sources as DKMS gets them, with what installs them.
module() {
	local to=$1/usr/share/armvisor-dkms file
	mkdir -p "$to"
	(cd "$top/module" && find . -name tests -prune -o -type f \
		\( -name '*.[chS]' -o -name Kbuild -o -name objs -o -name dkms.conf \) -print) |
		LC_ALL=C sort | while read -r file; do
		put 644 "$top/module/$file" "$to/$file"
	done
	sed -i "s/^PACKAGE_VERSION=.*/PACKAGE_VERSION=\"$ARMVISOR_VERSION\"/" "$to/dkms.conf"
	put 755 "$top/module/install.sh" "$to/install.sh"
	put 644 "$top/module/distribution.sh" "$to/distribution.sh"
	put 644 "$top/module/99-armvisor.rules" "$1/usr/lib/udev/rules.d/99-armvisor.rules"
	put 644 "$top/module/armvisor-module.service" \
		"$1/usr/lib/systemd/system/armvisor-module.service"
	put 644 "$top/module/README.md" "$1/usr/share/doc/armvisor-dkms/README.md"
}

case "${1:-} $#" in
"build 1") build ;;
"vmm 2" | "module 2") "$@" ;;
*)
	echo "files.sh: write 'build', 'vmm FOLDER' or 'module FOLDER'" >&2
	exit 2
	;;
esac
