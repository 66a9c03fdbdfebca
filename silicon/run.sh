#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
# Measures a real arm64 machine for armvisor, in some minutes: what its core's instructions take,
# what armvisor relies on and no emulated board can show, and programs natively and in a VM. Writes
# one JSON file, which `lab model cycles --core FILE` takes. README.md says what it does and leaves.
set -u
export LC_ALL=C PATH="/usr/sbin:/sbin:$PATH"

here=$(unset CDPATH; cd "$(dirname "$0")" && pwd)
output=
built=
like=
cpu=
quick=
keep=
usage="\
usage: run.sh [OPTION]...   as root, on an arm64 machine with Linux

  -o FILE       the result (default: armvisor-silicon-MIDR-DATE.json here)
  --cpu N       measure this CPU (default: the last one)
  --like NAME   the core of armvisor's model that caches and TLBs are taken from (default: by the CPU)
  --quick       only the best of one round of each program: to see that all works
  --built DIR   kernel modules that are built already: armvisor.ko, armvisor_costs.ko
  --keep        do not remove the folder of intermediate files, and say where it is
"

say() { printf 'silicon: %s\n' "$*" >&2; }
fail() {
	say "failed: $1"
	[ -z "${2:-}" ] || say "$2"
	exit 1
}
wrong() {
	say "$1; --help tells"
	exit 2
}

while [ $# -gt 0 ]; do
	case $1 in
	-h | --help)
		printf '%s' "$usage"
		exit 0
		;;
	--quick) quick=yes ;;
	--keep) keep=yes ;;
	-o | --cpu | --like | --built)
		[ $# -gt 1 ] || wrong "$1 takes a value"
		case $1 in
		-o) output=$2 ;;
		--cpu) cpu=$2 ;;
		--like) like=$2 ;;
		--built) built=$(unset CDPATH; cd "$2" 2>/dev/null && pwd) || wrong "$2 is no folder" ;;
		esac
		shift
		;;
	*) wrong "there is no option '$1'" ;;
	esac
	shift
done

case $cpu in *[!0-9]*) wrong "--cpu takes a number" ;; esac
if [ -n "$like" ] && ! grep -qx "$like" "$here/cores"; then
	wrong "the model has no core '$like': $(tr '\n' ' ' <"$here/cores")"
fi
[ "$(uname -m)" = aarch64 ] || fail "this is no arm64 machine" "copy the archive to one"
[ "$(id -u)" = 0 ] || fail "loading kernel modules needs root" "sudo $0"
for tool in taskset timeout awk mktemp insmod; do
	command -v $tool >/dev/null || fail "there is no $tool here" "install it"
done
for module in armvisor armvisor_costs; do
	[ ! -e "/sys/module/$module" ] || fail "$module is loaded already" "end its VMs, then: rmmod $module"
done
[ -z "$output" ] || { : >>"$output"; } 2>/dev/null || fail "$output cannot be written"
case ${TMPDIR:-/tmp} in *[[:space:]]*) TMPDIR=/tmp ;; esac
work=$(mktemp -d "${TMPDIR:-/tmp}/armvisor-silicon.XXXXXX") || fail "there is no folder for files"

loaded=
undo() {
	trap - EXIT
	for module in $loaded; do
		[ ! -e "/sys/module/$module" ] || rmmod "$module" ||
			say "$module stays loaded: rmmod $module"
	done
	if [ -n "$keep" ]; then
		say "what the programs printed is in $work"
	else
		rm -rf "$work"
	fi
}
trap undo EXIT
trap 'exit 130' INT TERM HUP

# ---- facts ------------------------------------------------------------------------------------
# Lines: "made KEY VALUE", "cost CLASS LEAST MOST" in cycles, "figure NAME TICKS HOW",
# "check NAME STATE WORDS" (ok, failed, differs, seen, absent), "line PROGRAM WORDS".
facts=$work/facts
: >"$facts"
fact() { printf '%s\n' "$*" >>"$facts"; }

# The result so far. The machine may not live through the next step.
write_result() {
	if ! awk -v like="$like" -f "$here/json.awk" "$facts" >"$work/result.json" ||
		! cp "$work/result.json" "$output"; then
		fail "$output cannot be written"
	fi
	sync
}

failed() { grep -q '^check [^ ]* failed' "$facts"; }

# What was found, and how this ends.
finish() {
	write_result
	say "the result is $output"
	sed -n 's/^check /silicon: /p' "$facts" >&2
	if failed; then
		exit 3
	fi
}

# The model's core by implementer and part; the nearest one where there is no profile.
core_by_midr() {
	implementer=$(($1 >> 24 & 0xff))
	[ $implementer = 65 ] || {
		echo neoverse-n1
		return
	}
	case $(($1 >> 4 & 0xfff)) in
	$((0xd03)) | $((0xd05)) | $((0xd07)) | $((0xd08)) | $((0xd09))) echo cortex-a72 ;;
	$((0xd40)) | $((0xd4f))) echo neoverse-v1 ;;
	$((0xd49)) | $((0xd47)) | $((0xd4d))) echo neoverse-n2 ;;
	*) echo neoverse-n1 ;;
	esac
}

# Load a module; why it does not load is shown, and stays in $work/insmod.
load() {
	loaded="$1 $loaded"
	if insmod "$2" 2>"$work/insmod"; then
		return 0
	fi
	cat "$work/insmod" >&2
	dmesg 2>/dev/null | grep -i armvisor | tail -n 3 >&2
	if grep -q 'Required key\|Key was rejected\|not permitted' "$work/insmod"; then
		say "the kernel takes signed modules only (Secure Boot or lockdown): turn that off for this"
	fi
	return 1
}

unload() {
	rmmod "$1" 2>"$work/rmmod" || {
		fact "check unload failed $1: $(tail -n 1 "$work/rmmod")"
		return 1
	}
}

build() {
	headers=/lib/modules/$(uname -r)/build
	[ -d "$headers" ] || fail "the headers of this kernel are not installed: $headers" \
		"$("$here/armvisor" doctor 2>/dev/null | grep -i -A2 headers | tail -n 1)"
	say "building the modules for $(uname -r)"
	by=
	if grep -q '^#define CONFIG_CC_IS_CLANG 1' "$headers/include/generated/autoconf.h"; then
		by=LLVM=1
	fi
	cp -r "$here/costs" "$work/costs"
	{
		make -C "$here/module" KDIR="$headers" OUT="$work/module" $by &&
			make -C "$headers" M="$work/costs" CONFIG_DEBUG_INFO_BTF_MODULES= $by modules
	} >"$work/build.log" 2>&1 || {
		tail -n 20 "$work/build.log" >&2
		keep=yes
		fail "a module cannot be built" "make, gcc and the headers are needed; see $work/build.log"
	}
	built=$work/built
	mkdir -p "$built"
	cp "$work/module/custom/armvisor.ko" "$work/costs/armvisor_costs.ko" "$built/"
}

# ---- the core -------------------------------------------------------------------------------

measure_core() {
	say "what instructions take on CPU $cpu"
	load armvisor_costs "$built/armvisor_costs.ko" || fail "armvisor_costs does not load"
	taskset -c "$cpu" cat /proc/armvisor-costs >"$work/costs.out" ||
		fail "the costs cannot be measured" "is CPU $cpu online, and may this session use it?"
	unload armvisor_costs
	grep -E '^(made|cost|check|cycles-per-tick) ' "$work/costs.out" >>"$facts"
}

# ---- programs -------------------------------------------------------------------------------

# Rows of lat, in lines "result lat.ROW TICKS ticks".
figures_of_lat() {
	sed -n "s/^result \(lat\.[a-z0-9-]*\) \([0-9.]*\) ticks.*/figure \1.$1 \2 $2/p"
}

# On the CPU, with a limit in seconds, without the terminal.
limited() {
	limit=$1
	shift
	timeout -k 10 "$limit" taskset -c "$cpu" "$@" </dev/null
}

measure_natively() {
	say "programs natively"
	limited 900 "$here/lat" ${quick:+--rounds 1} >"$work/native.out" || {
		fact "check native-lat failed status $?"
		return
	}
	figures_of_lat native "lat on this kernel, best of $rounds" <"$work/native.out" >>"$facts"
}

vm() {
	limited 1200 "$here/armvisor" run --no-randomness "$@"
}

# Against KVM on a board with a Cortex-A72: what another core should say otherwise, such as its ID
# registers, is among the lines that differ. They go into the result, for someone to read. Fewer
# lines than $2: the program was cut short.
compare_with_kvm() {
	if [ ! -e "$here/expected/$1" ]; then
		fact "check guest-$1 ok found nothing wrong"
		return
	fi
	grep "^$1 " "$work/$1.disk" | grep -vxF -f "$here/expected/$1" >"$work/$1.differs"
	all=$(grep -c "^$1 " "$work/$1.disk")
	differ=$(wc -l <"$work/$1.differs")
	state=ok
	[ "$differ" = 0 ] || state=differs
	[ "$all" -ge "$2" ] || state=failed
	fact "check guest-$1 $state $differ of $all lines are not as on KVM of a Cortex-A72"
	head -n 1000 "$work/$1.differs" | sed "s/^/line /" >>"$facts"
}

# A bare-metal program: its results, its disk's, of $3 lines at least, and that it found nothing wrong.
run_bare() {
	name=$1 append=$2 least=${3:-0}
	rm -f "$work/disk"
	truncate -s 8M "$work/disk"
	vm --kernel "$here/bare/$name.img" --memory 64M --append "$append" --disk "$work/disk" \
		>"$work/$name.out" 2>&1
	status=$?
	tr -d '\000' <"$work/disk" >"$work/$name.disk"
	if [ $status = 0 ] && grep -q "^result $name.failures 0 " "$work/$name.out"; then
		compare_with_kvm "$name" "$least"
	else
		fact "check guest-$name failed status $status: $(tail -n 1 "$work/$name.out" | tr -d '\r' | cut -c1-200)"
	fi
}

exits_of() {
	sed -n "s/^result $1 \([0-9.]*\) ticks.*/figure $2.$where \1 $1 of the bare-metal program/p" \
		"$work/$3.out" | tr -d '\r' >>"$facts"
}

measure_vm() {
	say "programs in a VM ($where)"
	run_bare trap "" 2000
	run_bare random "seed=1 count=$sequences" "$sequences"
	run_bare icc ""
	run_bare hypercall ""
	run_bare mmio ""
	run_bare irq ""
	exits_of hypercall.cost hypercall hypercall
	exits_of mmio.read mmio_user mmio
	exits_of irq.completion irq_completion irq
	say "a Debian guest ($where)"
	vm --kernel "$here/debian/Image" --initrd "$here/debian/initrd" --memory 512M --cpus 1 \
		--append "armvisor.test=lat ${quick:+armvisor.rounds=1}" >"$work/guest.out" 2>&1
	status=$?
	tr -d '\r' <"$work/guest.out" >"$work/guest.txt"
	if [ $status = 0 ] && grep -q '^result guest.failures 0 ' "$work/guest.txt"; then
		fact "check guest-debian ok $(sed -n 's/^This is Debian in a VM: //p' "$work/guest.txt")"
		figures_of_lat "$where" "lat in a Debian guest, best of $rounds" <"$work/guest.txt" >>"$facts"
	else
		fact "check guest-debian failed status $status: $(tail -n 1 "$work/guest.txt" | cut -c1-200)"
	fi
}

# Only where EL0 has AArch32, and without a shell: that would take the program for a script.
measure_a32() {
	el0=$(sed -n 's/^made id_aa64pfr0 .*\(.\)$/\1/p' "$facts")
	if [ "$el0" = 2 ] && limited 60 "$here/launch" "$here/a32" >"$work/a32.out" 2>/dev/null; then
		cat "$work/a32.out" >>"$facts"
	else
		fact "check a32 absent this machine runs no 32-bit programs"
	fi
}

describe() {
	for file in /sys/devices/system/cpu/vulnerabilities/*; do
		[ ! -r "$file" ] || fact "made $(basename "$file") $(cat "$file")"
	done
	fact "made kernel $(uname -r)"
	fact "made revision $(cat "$here/revision")"
	fact "made time $(date -u +%Y-%m-%dT%H:%M:%S+00:00)"
	fact "made cpus $(nproc)"
	tr ' ' '\n' </proc/cmdline | grep -E '^(nokaslr|kpti=|arm64\.|mitigations=|rodata=)' |
		while read -r word; do fact "made word-$word yes"; done
}

# ---- all ------------------------------------------------------------------------------------

rounds=7
sequences=2000
[ -z "$quick" ] || rounds=1 sequences=50
# The last CPU that this session may use.
[ -n "$cpu" ] || cpu=$(sed -n 's/^Cpus_allowed_list:.*[^0-9]\([0-9]*\)$/\1/p' /proc/self/status)
[ -n "$built" ] || build
describe
measure_core
midr=$(sed -n 's/^made midr //p' "$facts")
[ -n "$like" ] || like=$(core_by_midr "$midr")
[ -n "$output" ] || output=armvisor-silicon-$midr-$(date -u +%Y%m%d).json
write_result
if failed; then
	say "this core does not do what armvisor relies on: armvisor's module is not loaded"
	finish
	exit 3
fi
measure_natively
measure_a32
write_result
if [ -e /dev/kvm ]; then
	where=kvm
	fact "check module absent this machine has a /dev/kvm already"
elif load armvisor "$built/armvisor.ko"; then
	where=armvisor
	fact "check module ok armvisor.ko loads"
else
	where=
	fact "check module failed $(tail -n 1 "$work/insmod" | sed "s#$built/##g" | cut -c1-200)"
fi
[ -z "$where" ] || measure_vm
[ "$where" != armvisor ] || unload armvisor
finish
