#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# check-symbols.sh <module.ko> <Module.symvers> <list>: does the module need
# only what is in the list, and does the kernel export all of that? And does
# the window's code, which runs without the kernel, refer to nothing but itself?
set -eu

ko=$1 symvers=$2 list=$3
nm=${CROSS_COMPILE:-}nm
bad=0

for f in "$ko" "$symvers" "$list"; do
	[ -r "$f" ] || { echo "check-symbols: $f cannot be read; build the module first" >&2; exit 2; }
done

needed=$("$nm" -u "$ko" | awk '{ print $2 }' | sort -u)
for s in $needed; do
	if ! grep -qxF "$s" "$list"; then
		echo "check-symbols: $ko: $s is not in $list: add it there if the module should depend on it" >&2
		bad=1
	fi
	if ! awk -v s="$s" '$2 == s { found = 1 } END { exit !found }' "$symvers"; then
		echo "check-symbols: $ko: the kernel does not export $s" >&2
		bad=1
	fi
done
outside=$("${CROSS_COMPILE:-}readelf" -rW "$ko" |
	awk '/^Relocation section/ { on = index($0, ".rela.av_window.text") }
	     on && $1 ~ /^[0-9a-f]+$/ && $5 !~ /^(av_fast|av_window_code|\.av_window\.text)$/ { print $5 }')
for s in $outside; do
	echo "check-symbols: $ko: code of the window refers to $s, which is not in it" >&2
	bad=1
done
[ "$bad" = 0 ] && echo "check-symbols: $ko: $(echo "$needed" | wc -l) symbols, all listed and exported"
exit "$bad"
