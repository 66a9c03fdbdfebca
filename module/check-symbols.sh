#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# check-symbols.sh <module.ko> <kernel's build folder> <list>: checks that the
# kernel exports all symbols that the module needs, and that the list has them.
# Also checks that the window's code, which runs without the kernel, refers to
# nothing else. Its C code runs while most registers hold the guest's values:
# SP_EL0, x18, the thread registers and the FP ones. If an option of the kernel's
# build makes the compiler use one of these (stack protector, shadow call stack,
# pointer authentication, a tracer), the object shows it.
#
# A symbol that is not listed is an error on a kernel that the list says was
# reviewed. On others it is a warning: inline functions of another kernel version
# may call other symbols.
set -eu

ko=$1 symvers=$2/Module.symvers name=$2/include/config/kernel.release list=$3
nm=${CROSS_COMPILE:-}nm
bad=0 unlisted=0

for f in "$ko" "$symvers" "$name" "$list"; do
	[ -r "$f" ] || { echo "check-symbols: $f cannot be read; build the module first" >&2; exit 2; }
done

release=$(cat "$name")
reviewed=no
grep -qxF "reviewed $release" "$list" && reviewed=yes

needed=$("$nm" -u "$ko" | awk '{ print $2 }' | sort -u)
for s in $needed; do
	if ! awk -v s="$s" '$2 == s { found = 1 } END { exit !found }' "$symvers"; then
		echo "check-symbols: $ko: $release does not export $s" >&2
		bad=1
	elif grep -qxF "$s" "$list"; then
		:
	elif [ "$reviewed" = yes ]; then
		echo "check-symbols: $ko: $s is not in $list: add it there if the module should depend on it" >&2
		bad=1
	else
		echo "check-symbols: WARNING: $ko: $s is not in $list, and $release was not reviewed: find out why it is needed, then add it and the line 'reviewed $release'" >&2
		unlisted=$((unlisted + 1))
	fi
done
outside=$("${CROSS_COMPILE:-}readelf" -rW "$ko" |
	awk '/^Relocation section/ {
			plain = index($0, ".rela.av_window.text")
			timed = index($0, ".rela.av_timed.text")
	     }
	     $1 !~ /^[0-9a-f]+$/ { next }
	     plain && ($5 !~ /^(av_fast|av_window_[a-z0-9_]*|\.av_window\.text)$/ || $5 ~ /_timed_/) { print $5 }
	     timed && $5 !~ /^(av_fast_timed|av_window_timed_[a-z0-9_]*|\.av_timed\.text)$/ { print $5 }')
for s in $outside; do
	echo "check-symbols: $ko: code of the window refers to $s, which is not in it" >&2
	bad=1
done
for s in .av_window.text .av_timed.text; do
	"${CROSS_COMPILE:-}objdump" -d --no-show-raw-insn -j "$s" "$ko" 2>/dev/null || :
done >"$ko.window"
foreign=$(awk -F '\t' '
	/^[0-9a-f]+ </	{ c = $0 !~ /<av_window_/; functions += c; next }
	# No guest changes what the counter reads as at EL1.
	c && $2 == "mrs" && $3 ~ /, cntvct_el0$/ { next }
	c && ($2 ~ /^(mrs|msr|sys|sysl|at|dc|ic|tlbi|pac|xpac|aut|bra|blra|ret[ab]|br|blr|svc|hvc|smc|brk|hint)/ ||
	      $3 ~ /(^|[ ,{[])([xw]18|[vqdshbz][0-9]+)([],.}]|$)/) { print $2, $3 }
	END		{ if (!functions) print "(no function of it is seen)" }
' "$ko.window" | sort -u)
if [ -n "$foreign" ]; then
	echo "check-symbols: $ko: C code of the window uses registers of the guest: $foreign" >&2
	bad=1
fi
rm -f "$ko.window"
[ "$bad" = 0 ] || exit 1
listed=$([ "$unlisted" = 0 ] && echo "all listed" || echo "$unlisted NOT listed")
seen=$([ "$reviewed" = yes ] && echo "reviewed" || echo "not reviewed yet")
echo "check-symbols: $ko: $(echo "$needed" | wc -l) symbols, $listed and exported by $release ($seen)"
