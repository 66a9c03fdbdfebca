#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
#
# Builds the packages from the files that git knows: armvisor_*.deb and armvisor-dkms_*.deb, or the
# same as RPMs. The same commit gives the same bytes, wherever and whenever it is built.
#
#	build.sh deb [FOLDER]        into FOLDER, by default build/packages
#	build.sh rpm [FOLDER]
set -euo pipefail

top=$(cd "$(dirname "$0")/.." && pwd)
kind=${1:-}
out=$(realpath -m "${2:-$top/build/packages}")
case $kind in
deb | rpm) ;;
*)
	echo "build.sh: write 'deb' or 'rpm'" >&2
	exit 2
	;;
esac

ARMVISOR_VERSION=$("$top/tools/version")
SOURCE_DATE_EPOCH=$("$top/tools/version" --date)
CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$top/build/packages/target}
export ARMVISOR_VERSION SOURCE_DATE_EPOCH CARGO_TARGET_DIR LC_ALL=C.UTF-8 TZ=UTC
umask 022
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Runs a command with its output in a log, of which the end is shown if it fails.
quietly() {
	"$@" >"$out/$kind.log" 2>&1 </dev/null && return
	tail -n 30 "$out/$kind.log" >&2
	echo "build.sh: $1 failed: the whole output is in $out/$kind.log" >&2
	exit 1
}

in_clone() {
	[ "$(git -C "$top" rev-parse --show-toplevel 2>/dev/null)" = "$top" ]
}

# The names of the sources: those that git knows, or all of an unpacked archive's.
list_sources() {
	if in_clone; then
		git ls-files -z --cached --deduplicate
	else
		find . \( -path ./build -o -path ./vmm/target \) -prune -o -type f -print0
	fi
}

# As they are in this checkout. Modes as git keeps them, not as the umask was.
copy_sources() {
	mkdir -p "$1"
	(cd "$top" && list_sources |
		while IFS= read -r -d '' name; do [ ! -f "$name" ] || printf '%s\0' "$name"; done |
		tar --null -T - -cf -) | tar -C "$1" -xf -
	chmod -R u=rwX,go=rX "$1"
}

# Who answers for these packages: who builds them, as Debian's tools know it, or who made the commit.
maintainer() {
	local name=${DEBFULLNAME:-} address=${DEBEMAIL:-}
	if in_clone; then
		: "${name:=$(git -C "$top" log -1 --format=%an)}" "${address:=$(git -C "$top" log -1 --format=%ae)}"
	fi
	echo "${name:-armvisor} <${address:-root@$(hostname -f)}>"
}

build_deb() {
	local source=$work/armvisor
	copy_sources "$source"
	cp -r "$source/packages/debian" "$source/debian"
	sed -i "s/^Maintainer: .*/Maintainer: $(maintainer)/" "$source/debian/control"
	cat >"$source/debian/changelog" <<-END
		armvisor ($ARMVISOR_VERSION) unstable; urgency=medium

		  * See /usr/share/doc/armvisor/NEWS.md.gz.

		 -- $(maintainer)  $(date -R -d "@$SOURCE_DATE_EPOCH")
	END
	# What builds it comes from tools/setup, not from packages that dpkg would look for.
	cd "$source"
	quietly dpkg-buildpackage -b -us -uc -d -aarm64
	mv "$work"/*.deb "$out/"
}

build_rpm() {
	copy_sources "$work/sources"
	quietly rpmbuild -bb --target aarch64-linux \
		--define "_topdir $work/rpm" --define "_rpmdir $work" \
		--define "_rpmfilename %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm" \
		--define "_builddir $work/sources" --define "armvisor_version $ARMVISOR_VERSION" \
		--define "_buildhost localhost" --define "use_source_date_epoch_as_buildtime 1" \
		--define "clamp_mtime_to_source_date_epoch 1" "$work/sources/packages/armvisor.spec"
	mv "$work"/*.rpm "$out/"
}

mkdir -p "$out"
rm -f "$out"/*."$kind"
"build_$kind"
ls "$out"/*."$kind"
