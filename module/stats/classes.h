/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The classes of exits, as rows: X(CLASS, "name in the statistics file", GROUP).
 *
 * A name is KVM's if KVM has the same statistic. GROUP is the row of ARMvisor's Table 7 that the
 * class belongs to. A group is a statistic too: the sum of its classes. Add rows and groups at the
 * end of their kind. Names are ABI and never change.
 */
#ifndef AV_STATS_CLASSES_H
#define AV_STATS_CLASSES_H

#define AV_EXIT_CLASSES(X)						\
	/* An exit whose class is not known yet; and calls, next to it in memory. */ \
	X(OTHER,	"other",		OTHER)			\
	X(HVC,		"hvc_exit_stat",	HYPERCALL)		\
	/* Sensitive instructions, by what they access. */		\
	X(SYSREG,	"sysreg",		SEN_INST)		\
	X(ID_REG,	"id_reg",		SEN_INST)		\
	X(PSTATE,	"pstate",		SEN_INST)		\
	X(SP_EL0,	"sp_el0",		SEN_INST)		\
	X(TPIDR,	"tpidr",		SEN_INST)		\
	X(EXC_REG,	"exception_reg",	SEN_INST)		\
	X(REGIME,	"translation_reg",	SEN_INST)		\
	X(ERET,		"eret",			SEN_INST)		\
	X(TLBI,		"tlbi",			SEN_INST)		\
	X(CACHE,	"cache_op",		SEN_INST)		\
	X(AT,		"at",			SEN_INST)		\
	X(GIC_REG,	"gic_reg",		SEN_INST)		\
	X(TIMER_REG,	"timer_reg",		SEN_INST)		\
	X(FP,		"fp_first_use",		SEN_INST)		\
	/* The guest's own exceptions and calls. */			\
	X(SVC,		"svc",			GUEST_EXC)		\
	X(UNDEF,	"undef",		GUEST_EXC)		\
	X(DEBUG,	"debug",		GUEST_EXC)		\
	X(ALIGN,	"alignment",		GUEST_EXC)		\
	X(SMC,		"smc_exit_stat",	HYPERCALL)		\
	X(WFI,		"wfi_exit_stat",	SUSPEND)		\
	X(WFE,		"wfe_exit_stat",	SUSPEND)		\
	/* The host's interrupts and signals. */			\
	X(IRQ,		"host_irq",		IRQ)			\
	X(SERROR,	"serror",		IRQ)			\
	X(SIGNAL,	"signal_exits",		IRQ)			\
	/* Completed in the window, with the guest's tables in place. */ \
	X(FAST,		"fast",			FAST)			\
	/* Memory. */							\
	X(DABT_TRANS,	"dabt_hidden_translation", DAT_TRANS)		\
	X(DABT_PERM,	"dabt_hidden_permission", PROTECTION)		\
	X(DABT_TRUE,	"dabt_guest",		DABT_TRUE)		\
	X(PABT_HIDDEN,	"pabt_hidden",		PABT_KVM)		\
	X(PABT_TRUE,	"pabt_guest",		PABT_TRUE)		\
	X(MMIO_KERNEL,	"mmio_exit_kernel",	MMIO)			\
	X(MMIO_USER,	"mmio_exit_user",	MMIO)

#define X(cls, name, group)	AV_EXIT_##cls,
enum av_exit_class { AV_EXIT_CLASSES(X) AV_NR_EXITS };
#undef X

/* Groups: X(GROUP, "name"), those of ARMvisor's Table 7 first, in its order. */
#define AV_EXIT_GROUPS(X)						\
	X(SEN_INST,	"sen_inst_trap")				\
	X(IRQ,		"irq")						\
	X(FAST,		"fast_trap")					\
	X(DAT_TRANS,	"dat_trans")					\
	X(PROTECTION,	"protection")					\
	X(MMIO,		"mmio")						\
	X(DABT_TRUE,	"dabt_true")					\
	X(PABT_KVM,	"pabt_kvm")					\
	X(PABT_TRUE,	"pabt_true")					\
	X(MEM_PV,	"mem_pv")					\
	X(GUEST_EXC,	"guest_exc")					\
	X(HYPERCALL,	"hypercall")					\
	X(SUSPEND,	"suspend")					\
	X(OTHER,	"other_trap")

/* Events within exits, per vCPU: X(EVENT, "name"). */
#define AV_EVENTS(X)							\
	X(INJECT_IRQ,	"inject_irq")		/* virtual interrupts injected */ \
	X(INJECT_SYNC,	"inject_sync")		/* synchronous ones, including true faults */ \
	X(INJECT_SERROR, "inject_serror")				\
	X(MODE_SWITCH,	"mode_switch")		/* vEL1 <-> vEL0 */	\
	X(TREE_SWITCH,	"tree_switch")		/* another shadow root loaded */ \
	X(TREE_MISS,	"tree_miss")		/* a root created for a context */ \
	X(CONTEXT_RECYCLE, "context_recycle")	/* a host ASID taken from another tree */ \
	X(SHADOW_FILL,	"shadow_fill")		/* entries written */	\
	X(SHADOW_RETRY,	"shadow_retry")		/* fills undone by a race */ \
	X(TLB_FLUSH,	"tlb_flush")		/* of the TLB, without entry_flush */ \
	X(ENTRY_FLUSH,	"entry_flush")		/* of this CPU, at entry (switch/enter.S) */ \
	X(WALK,		"guest_walk")		/* of the guest's tables */ \
	X(INSN_FETCH,	"insn_fetch")		/* of a trapped instruction */ \
	X(HALT_WAKEUP,	"halt_wakeup")					\
	X(FP_LOAD,	"fp_load")					\
	X(HALT_ATTEMPTED_POLL, "halt_attempted_poll")			\
	X(HALT_SUCCESSFUL_POLL, "halt_successful_poll")			\
	X(DIRECTED_YIELD, "directed_yield")	/* WFE gave the CPU to another vCPU */ \
	X(SHADOW_CONTENDED, "shadow_contended")	/* mmu_lock was busy at a fault or TLBI */ \
	X(COPIES_LEFT,	"copies_left")		/* virtual EL1 left its copies for a while */ \
	X(CODE_READ,	"code_read")		/* loads from code in a copy, emulated */ \
	X(INSN_CHANGED,	"insn_changed")		/* the instruction changed since its abort */ \
	X(BLOCK_FILL,	"shadow_block_fill")	/* 2 MiB blocks written */	\
	X(EXIT_SHORT,	"exit_short")		/* light exits by the short switch */ \
	/* exceptions of light exits in the image (switch/image.h), by what was missing */ \
	X(IMAGE_NEW,	"image_miss_new")	/* in the image from then on */ \
	X(IMAGE_USER,	"image_miss_user")	/* user memory */	\
	X(IMAGE_VMALLOC, "image_miss_vmalloc")	/* vmalloc memory that is not ours */ \
	X(IMAGE_OTHER,	"image_miss_other")	/* nothing is there, or it is there already */

/*
 * The class "fast" by register or instruction: X(REGISTER, "name"). The rows from HVC on count in
 * other classes: HVC, as in KVM, DABT_TRUE and PABT_TRUE.
 */
#define AV_FAST_TRAPS(X)						\
	X(SP_EL0,	"fast_sp_el0")					\
	X(TPIDR_EL1,	"fast_tpidr_el1")				\
	X(ELR_EL1,	"fast_elr_el1")					\
	X(SPSR_EL1,	"fast_spsr_el1")				\
	X(ESR_EL1,	"fast_esr_el1")					\
	X(FAR_EL1,	"fast_far_el1")					\
	X(VBAR_EL1,	"fast_vbar_el1")				\
	X(PAR_EL1,	"fast_par_el1")					\
	X(SPSEL,	"fast_spsel")					\
	X(CURRENTEL,	"fast_currentel")				\
	X(DAIF,		"fast_daif")					\
	X(TCR_EL1,	"fast_tcr_el1")					\
	X(TTBR0_EL1,	"fast_ttbr0_el1")				\
	X(TTBR1_EL1,	"fast_ttbr1_el1")				\
	X(CONTEXTIDR_EL1, "fast_contextidr_el1")			\
	X(TPIDRRO_EL0,	"fast_tpidrro_el0")				\
	X(TPIDR_EL0,	"fast_tpidr_el0")				\
	X(MIDR_EL1,	"fast_midr_el1")				\
	X(ICC_IAR1_EL1,	"fast_icc_iar1_el1")				\
	X(ICC_EOIR1_EL1, "fast_icc_eoir1_el1")				\
	X(ICC_PMR_EL1,	"fast_icc_pmr_el1")				\
	X(CNTV_CTL_EL0,	"fast_cntv_ctl_el0")				\
	X(CNTV_CVAL_EL0, "fast_cntv_cval_el0")				\
	X(CNTVCT_EL0,	"fast_cntvct_el0")				\
	X(SVC,		"fast_svc")					\
	X(BRK,		"fast_brk")					\
	X(UNDEF,	"fast_undef")					\
	X(ERET,		"fast_eret")					\
	X(ERET_EL0,	"fast_eret_el0")				\
	X(HVC,		"fast_hvc")					\
	X(DABT,		"fast_dabt")					\
	X(PABT,		"fast_pabt")

#define X(reg, name)	AV_FAST_##reg,
enum av_fast_trap { AV_FAST_TRAPS(X) AV_NR_FAST };
#undef X

/* Places of a vCPU's time besides the guest and exits: X(PLACE, "name"). */
#define AV_PLACES(X)							\
	X(VMM,		"vmm")			/* between two KVM_RUNs */ \
	X(IDLE,		"idle")			/* waits for an interrupt or for power */ \
	X(AWAY,		"descheduled")		/* its thread waits for a CPU */

/* Figures of a VM: X(FIGURE, "name", KIND, UNIT), with the ABI's kinds and units. */
#define AV_VM_FIGURES(X)						\
	X(SHADOW_PAGES,		"shadow_pages",		INSTANT,	NONE)	\
	X(SHADOW_TREES,		"shadow_trees",		INSTANT,	NONE)	\
	X(SHADOW_RECLAIM,	"shadow_reclaim",	CUMULATIVE,	NONE)	\
	X(SHADOW_DROP,		"shadow_drop",		CUMULATIVE,	NONE)	\
	X(SHADOW_RELINKED,	"shadow_relinked",	CUMULATIVE,	NONE)	\
	X(SHADOW_AGREED,	"shadow_agreed",	CUMULATIVE,	NONE)	\
	X(NOTIFIER_DROP,	"notifier_drop",	CUMULATIVE,	NONE)	\
	X(DIRTY_PAGES,		"dirty_pages",		CUMULATIVE,	NONE)	\
	X(REMOTE_TLB_FLUSH,	"remote_tlb_flush",	CUMULATIVE,	NONE)	\
	X(REMOTE_TLB_FLUSH_REQUESTS, "remote_tlb_flush_requests", CUMULATIVE, NONE) \
	X(CODE_COPIES,		"code_copies",		INSTANT,	NONE)	\
	X(CODE_COPIES_MADE,	"code_copies_made",	CUMULATIVE,	NONE)	\
	X(CODE_SITES,		"code_sites",		INSTANT,	NONE)	\
	X(PAGES_4K,		"pages_4k",		INSTANT,	NONE)	\
	X(PAGES_2M,		"pages_2m",		INSTANT,	NONE)	\
	X(ACCOUNTING,		"accounting",		INSTANT,	NONE)	\
	X(SWITCH_PS,		"switch_ps",		INSTANT,	NONE)	\
	X(SWITCH_SHORT_PS,	"switch_short_ps",	INSTANT,	NONE)	\
	X(FAST_TIMED_EVERY,	"fast_timed_every",	INSTANT,	NONE)	\
	X(FAST_PS,		"fast_ps",		INSTANT,	NONE)

#endif /* AV_STATS_CLASSES_H */
