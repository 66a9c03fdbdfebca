#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
# Packs the kit into one archive: build.sh [FOLDER], by default build/silicon. `make silicon-kit`
# builds what goes into it first. The same commit gives the same bytes.
set -euo pipefail

top=$(cd "$(dirname "$0")/.." && pwd)
out=$(realpath -m "${1:-$top/build/silicon}")
version=$("$top/tools/version")
date=$("$top/tools/version" --date)
name=armvisor-silicon
umask 022
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
kit=$work/$name

mkdir -p "$kit/bare" "$kit/debian"
install -m 755 "$top/silicon/run.sh" "$kit/"
install -m 644 "$top/silicon/json.awk" "$top/silicon/README.md" "$top/LICENSE" "$kit/"
cp -r "$top/LICENSES" "$top/silicon/costs" "$kit/"
echo "$version" >"$kit/revision"
(cd "$top/module" && find . -name tests -prune -o -type f \( -name '*.[chS]' -o -name Kbuild -o \
	-name objs -o -name Makefile -o -name '*.sh' -o -name '*.md' \) -print0) |
	tar -C "$top/module" --null -T - -cf - | { mkdir "$kit/module" && tar -C "$kit/module" -xf -; }
install -m 755 "$top/vmm/target/aarch64-unknown-linux-musl/release/armvisor" "$kit/armvisor"
install -m 755 "$top/build/guests/tools/lat" "$kit/lat"
clang-19 --target=armv7a-linux-gnueabi -marm -O1 -ffreestanding -fno-builtin -nostdlib -static \
	-fuse-ld=lld-19 -Wl,-e,start,--build-id=none -fomit-frame-pointer -Wall -Wextra -Werror \
	-o "$kit/a32" "$top/silicon/a32.c"
aarch64-linux-gnu-gcc -static -O2 -Wall -Wextra -Werror -o "$kit/launch" "$top/silicon/launch.c"
# The model's cores that others can be like.
sed -n 's/^\[\(.*\)\]$/\1/p' "$top/lab/src/armvisor_lab/reach/cores.toml" >"$kit/cores"
for guest in trap random icc hypercall mmio irq; do
	install -m 644 "$top/build/guests/bare/$guest.img" "$kit/bare/"
done
# What the trap kit and the sequences say on KVM, which the lab has on a board with EL2.
expect() {
	"$top/bin/lab" board run --el2 --count --timeout 900 --file "$kit/armvisor:/bin/armvisor" \
		--file "$kit/bare/$1.img:/guest.img" -- sh -c "truncate -s 8M /tmp/disk
			armvisor run --kernel /guest.img --memory 64M --append '$2' --disk /tmp/disk >&2 &&
			tr -d '\\000' </tmp/disk | grep '^$1 '" >"$kit/expected/$1" 2>"$work/log" || {
		tail -n 20 "$work/log" >&2
		echo "build.sh: $1 does not run on KVM" >&2
		exit 1
	}
}
mkdir "$kit/expected"
expect trap ""
expect random "seed=1 count=2000"
install -m 644 "$top/build/guests/debian-stable/"{Image,initrd} "$kit/debian/"
tar -C "$work" --sort=name --mtime="@$date" --owner=0 --group=0 --numeric-owner -cf - "$name" |
	gzip -n9 >"$out/$name.tar.gz.new"
mv "$out/$name.tar.gz.new" "$out/$name.tar.gz"
echo "$out/$name.tar.gz"
