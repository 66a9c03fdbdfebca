#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# symbols.sh <module.ko> <kernel's build folder> <nm>: checks that the kernel exports
# all symbols that the module needs. If it lacks one, the module does not load there.
set -eu

ko=$1 symvers=$2/Module.symvers nm=$3

for f in "$ko" "$symvers"; do
	[ -r "$f" ] || { echo "symbols: $f cannot be read; build the module first" >&2; exit 2; }
done
needed=$("$nm" -u "$ko" | awk '{ print $2 }' | sort -u)
missing=$(for s in $needed; do
	awk -v s="$s" '$2 == s { found = 1 } END { if (!found) print s }' "$symvers"
done)
if [ -n "$missing" ]; then
	echo "symbols: $ko: $(cat "$2/include/config/kernel.release") does not export $(echo "$missing" | tr '\n' ' ')" >&2
	exit 1
fi
echo "symbols: $ko: $(echo "$needed" | wc -l) symbols, all exported by $(cat "$2/include/config/kernel.release")"
