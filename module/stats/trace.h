/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoints in /sys/kernel/tracing/events/armvisor/: entry, exit, fault and injection. */
#if !defined(AV_STATS_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define AV_STATS_TRACE_H

#include <linux/tracepoint.h>

#undef TRACE_SYSTEM
#define TRACE_SYSTEM armvisor

#define av_trace_ec_names						\
	{ 0x00, "unknown" }, { 0x01, "wfx" }, { 0x07, "fp" },		\
	{ 0x0d, "bti" }, { 0x0e, "illegal" }, { 0x15, "svc" },		\
	{ 0x18, "sysreg" }, { 0x20, "iabt" }, { 0x22, "pc-align" },	\
	{ 0x24, "dabt" }, { 0x26, "sp-align" }, { 0x2c, "fpe" },	\
	{ 0x2f, "serror" }, { 0x30, "breakpoint" }, { 0x32, "step" },	\
	{ 0x34, "watchpoint" }, { 0x3c, "brk" }

/* About to run the guest; vpstate is the guest's view of PSTATE. */
TRACE_EVENT(av_entry,
	TP_PROTO(int vcpu, u64 pc, u64 vpstate),
	TP_ARGS(vcpu, pc, vpstate),
	TP_STRUCT__entry(
		__field(int, vcpu)
		__field(u64, pc)
		__field(u64, vpstate)
	),
	TP_fast_assign(
		__entry->vcpu = vcpu;
		__entry->pc = pc;
		__entry->vpstate = vpstate;
	),
	TP_printk("vcpu=%d pc=%#llx pstate=%#llx",
		  __entry->vcpu, __entry->pc, __entry->vpstate)
);

/* Back from the guest: exit code, PC and the hardware's syndrome. */
TRACE_EVENT(av_exit,
	TP_PROTO(int vcpu, int exit, u64 pc, u64 esr, u64 far),
	TP_ARGS(vcpu, exit, pc, esr, far),
	TP_STRUCT__entry(
		__field(int, vcpu)
		__field(int, exit)
		__field(u64, pc)
		__field(u64, esr)
		__field(u64, far)
	),
	TP_fast_assign(
		__entry->vcpu = vcpu;
		__entry->exit = exit;
		__entry->pc = pc;
		__entry->esr = esr;
		__entry->far = far;
	),
	TP_printk("vcpu=%d exit=%d pc=%#llx ec=%s esr=%#llx far=%#llx",
		  __entry->vcpu, __entry->exit, __entry->pc,
		  __print_symbolic((__entry->esr >> 26) & 0x3f, av_trace_ec_names),
		  __entry->esr, __entry->far)
);

/*
 * An abort was resolved; result is an enum av_answer_kind. ipa is 0 if the
 * guest's tables do not map va.
 */
TRACE_EVENT(av_fault,
	TP_PROTO(int vcpu, u64 va, u64 ipa, u64 esr, int result),
	TP_ARGS(vcpu, va, ipa, esr, result),
	TP_STRUCT__entry(
		__field(int, vcpu)
		__field(int, result)
		__field(u64, va)
		__field(u64, ipa)
		__field(u64, esr)
	),
	TP_fast_assign(
		__entry->vcpu = vcpu;
		__entry->result = result;
		__entry->va = va;
		__entry->ipa = ipa;
		__entry->esr = esr;
	),
	TP_printk("vcpu=%d va=%#llx ipa=%#llx esr=%#llx result=%d",
		  __entry->vcpu, __entry->va, __entry->ipa, __entry->esr,
		  __entry->result)
);

/* An exception was injected; offset is relative to VBAR_EL1, pc is the interrupted PC. */
TRACE_EVENT(av_inject,
	TP_PROTO(int vcpu, u32 offset, u64 pc, u64 esr, u64 far),
	TP_ARGS(vcpu, offset, pc, esr, far),
	TP_STRUCT__entry(
		__field(int, vcpu)
		__field(u32, offset)
		__field(u64, pc)
		__field(u64, esr)
		__field(u64, far)
	),
	TP_fast_assign(
		__entry->vcpu = vcpu;
		__entry->offset = offset;
		__entry->pc = pc;
		__entry->esr = esr;
		__entry->far = far;
	),
	TP_printk("vcpu=%d vector=%#x pc=%#llx esr=%#llx far=%#llx",
		  __entry->vcpu, __entry->offset, __entry->pc, __entry->esr,
		  __entry->far)
);

#endif /* AV_STATS_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH stats
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
