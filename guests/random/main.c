// SPDX-License-Identifier: GPL-2.0
/*
 * Runs random sequences: count=N of them (1,000) from seed=N (1) on. Each gives a hash of all its
 * exceptions and of its final state: registers, system registers, memory. Two machines that follow
 * the architecture give the same hashes.
 *
 * With a disk every sequence's hash is written to it, "random SEED HASH EVENTS". With trace=1 the
 * code, each exception and the final state are printed too.
 */
#include "arena.h"
#include "format.h"
#include "generate.h"
#include "probe.h"

#define MAX_EVENTS 1000
#define CODE_OFFSET (ARENA_CODE_SIZE - 1UL)
#define FIRST_GIVEN 22
#define END_IMMEDIATE 0xe0d
#define CLASS_ILLEGAL 0x0e
#define CLASS_SVC 0x15
#define CLASS_NONE 0x3f	/* an interrupt: continue at ELR */
#define PSTATE_IL (1UL << 20)
#define PSTATE_MODE 0x1fUL
#define GICR_SGI 0x10000
#define PTE_FROM_DATA 0x0000fffffffff000UL

static struct sequence sequence;
static bool tracing, to_disk;
static u64 hash;

static void mix(u64 value)
{
	hash = ((hash << 7 | hash >> 57) ^ value) * 0x9e3779b97f4a7c15UL;
}

static void say(const char *text, ...) __attribute__((format(printf, 1, 2)));

static void disk_put(struct sink *sink, char c)
{
	(void)sink;
	disk_append(&c, 1);
}

static void print_put(struct sink *sink, char c)
{
	(void)sink;
	print("%c", c);
}

static void say(const char *text, ...)
{
	struct sink sink = { to_disk ? disk_put : print_put };
	va_list args;

	va_start(args, text);
	format(&sink, text, args);
	va_end(args);
}

static void clear_fp(void)
{
	write_sysreg(cpacr_el1, 3UL << 20);
	isb();
	asm volatile(".arch_extension fp\n\tfmov d0, xzr\n\tfmov d1, xzr\n\t"
		     "fmov d2, xzr\n\tfmov d3, xzr");
	write_sysreg(cpacr_el1, 0);
	isb();
}

/* By an instruction that hardware describes to a hypervisor; a compiler may choose another. */
static void device_write(u64 address, u32 value)
{
	asm volatile("str %w0, [%1]" : : "r" (value), "r" (address) : "memory");
}

/* No interrupt is pending or active, and all priorities pass. */
static void reset_interrupts(void)
{
	u64 sgi = machine.gic_redistributor.base + GICR_SGI;

	write_sysreg(s3_0_c12_c12_7, 0);	/* ICC_IGRPEN1 */
	isb();
	device_write(sgi + 0x280, 0xf);		/* ICPENDR0 */
	device_write(sgi + 0x380, 0xf);		/* ICACTIVER0 */
	dsb();
	write_sysreg(s3_0_c12_c9_0, 0);		/* ICC_AP1R0 */
	write_sysreg(s3_0_c4_c6_0, 0xf0);	/* ICC_PMR */
	write_sysreg(s3_0_c12_c12_4, 0);	/* ICC_CTLR */
	write_sysreg(s3_0_c12_c12_6, 0);	/* ICC_IGRPEN0, 1 */
	write_sysreg(s3_0_c12_c12_7, 1);
	isb();
}

/* Each SGI has its own priority: the order of equal ones is IMPLEMENTATION DEFINED. */
static void enable_interrupts(void)
{
	u64 sgi = machine.gic_redistributor.base + GICR_SGI;
	u32 priorities = 0, i;

	for (i = 0; i < SEQUENCE_SGIS; i++) {
		gic_enable(0, i);
		priorities |= (0x30 + 0x20 * i) << 8 * i;
	}
	device_write(sgi + 0x400, priorities);	/* IPRIORITYR0 */
	dsb();
}

/* Undo the changes that sequences may make in devices and in the GIC's registers. */
static void reset_devices(void)
{
	u64 gic = machine.gic_distributor.base;
	unsigned int i;

	device_write(machine.rtc.base + 0x4, 0);
	device_write(machine.rtc.base + 0x10, 0);
	reset_interrupts();
	if (!sequence.uses_distributor)
		return;
	device_write(gic + 0x084, 0xffffffff);	/* IGROUPR1 */
	device_write(gic + 0x184, 0xffffffff);	/* ICENABLER1 */
	device_write(gic + 0x284, 0xffffffff);	/* ICPENDR1 */
	device_write(gic + 0xc08, 0);		/* ICFGR2, 3 */
	device_write(gic + 0xc0c, 0);
	for (i = 0; i < 32; i += 4)
		device_write(gic + 0x420 + i, 0);	/* IPRIORITYR8 to 15 */
	dsb();
}

static void prepare(struct probe_state *state)
{
	static const u64 pstates[] = { PSTATE_EL1H, PSTATE_EL1T, PSTATE_EL0 };
	unsigned int i;

	clear_fp();
	*state = (struct probe_state){ 0 };
	for (i = 0; i < ARRAY_SIZE(sequence.x); i++)
		state->x[i] = sequence.x[i];
	state->x[22] = machine.gic_distributor.base;
	state->x[23] = machine.rtc.base;
	state->x[24] = (u64)probe_vectors;
	state->x[25] = (u64)probe_vectors_second;
	state->x[26] = arena_data_physical();
	state->x[28] = (u64)arena_entry(K_CHANGE);
	state->x[29] = (u64)arena_entry(U_CHANGE);
	state->pstate = pstates[sequence.mode];
	state->pc = sequence.mode == 2 ? U_CODE : K_CODE;
	state->sp_el0 = U_DATA + 0x800;
	state->sp_el1 = K_DATA + 0x800;
	write_sysreg(esr_el1, 0);
	write_sysreg(csselr_el1, 0);
	write_sysreg(cntv_ctl_el0, 0);
	write_sysreg(cntv_cval_el0, 0);
	write_sysreg(cntp_cval_el0, 0);
	write_sysreg(dbgbvr0_el1, 0);
	write_sysreg(dbgwvr0_el1, 0);
	reset_devices();
	isb();
}

static bool in_code(u64 pc)
{
	u64 size = 4UL * sequence.length;

	return pc - K_CODE < size || pc - U_CODE < size;
}

static bool far_is_defined(u64 esr)
{
	unsigned int class = esr_class(esr);

	return class == 0x20 || class == 0x21 || class == 0x22 || class == 0x24 || class == 0x25;
}

/* Addresses within the image are printed relative to its start. */
static u64 placeless(u64 address)
{
	if (address >= (u64)image_start && address < (u64)image_end)
		return address - (u64)image_start;
	return address;
}

static void note_event(const struct probe_state *state)
{
	u64 esr = is_synchronous(state->vector) ? state->esr : 0;
	u64 far = far_is_defined(esr) ? placeless(state->far) : 0;

	mix(state->vector);
	mix(state->pc);
	mix(state->pstate);
	mix(esr);
	mix(far);
	if (tracing)
		say("event vector=%lx pc=%lx spsr=%lx esr=%lx far=%lx\n", state->vector,
		    state->pc, state->pstate, esr, far);
}

#define NO_INTERRUPT 1020
#define ICC_CTLR_EOIMODE 2

/* The sequence itself may have acknowledged this interrupt, or another one before. */
static void take_interrupt(void)
{
	u32 irq = gic_acknowledge();

	mix(irq);
	if (tracing)
		say("interrupt %u\n", irq);
	if (irq >= NO_INTERRUPT)
		return;
	gic_end(irq);
	if (read_sysreg(s3_0_c12_c12_4) & ICC_CTLR_EOIMODE)
		write_sysreg(s3_0_c12_c11_1, irq);	/* ICC_DIR */
	isb();
}

static bool is_end(const struct probe_state *state)
{
	return esr_class(state->esr) == 0x3c && (state->esr & 0xffff) == END_IMMEDIATE;
}

/*
 * The address to continue at after an exception; false if there is none. All branches lead forward:
 * a sequence that would go back has lost its way, and ends.
 */
static bool resume(struct probe_state *state, u64 *reached)
{
	unsigned int class = esr_class(state->esr);
	u64 pc = state->pc;

	if (!is_synchronous(state->vector)) {
		take_interrupt();
		class = CLASS_NONE;
	}
	state->pstate &= ~PSTATE_IL;
	if (!in_code(pc) || pc & 3)
		pc = state->x[30];	/* a jump that failed: continue after it */
	else if (class != CLASS_ILLEGAL && class != CLASS_SVC && class != CLASS_NONE)
		pc += 4;
	if (!in_code(pc) || (pc & CODE_OFFSET) < *reached)
		return false;
	*reached = pc & CODE_OFFSET;
	/* A call from EL0 is an operation: EL1 continues after it. */
	if (class == CLASS_SVC && !(state->pstate & PSTATE_MODE))
		state->pstate |= PSTATE_EL1H & PSTATE_MODE;
	state->pc = (state->pstate & PSTATE_MODE ? K_CODE : U_CODE) + *reached;
	return true;
}

static void note_register(const char *name, u64 value)
{
	mix(value);
	if (tracing)
		say("%s=%lx\n", name, value);
}

static void note_final(const struct probe_state *state)
{
	u64 data = arena_data_physical() & PTE_FROM_DATA;
	unsigned int i;

	for (i = 0; i < FIRST_GIVEN; i++) {
		mix(state->x[i]);
		if (tracing)
			say("x%u=%lx\n", i, state->x[i]);
	}
	note_register("sp_el0", state->sp_el0);
	note_register("sp_el1", state->sp_el1);
	note_register("pstate", state->pstate);
	note_register("sctlr", read_sysreg(sctlr_el1));
	note_register("cpacr", read_sysreg(cpacr_el1) & 3UL << 20);
	note_register("asid", read_sysreg(ttbr0_el1) >> 48);
	note_register("mair", read_sysreg(mair_el1));
	note_register("cntkctl", read_sysreg(cntkctl_el1));
	note_register("contextidr", read_sysreg(contextidr_el1));
	note_register("tpidr_el0", read_sysreg(tpidr_el0));
	note_register("tpidr_el1", read_sysreg(tpidr_el1));
	note_register("cntv_cval", read_sysreg(cntv_cval_el0));
	note_register("cntp_cval", read_sysreg(cntp_cval_el0));
	note_register("pmr", read_sysreg(s3_0_c4_c6_0));
	note_register("igrpen1", read_sysreg(s3_0_c12_c12_7));
	note_register("vectors", read_sysreg(vbar_el1) == (u64)probe_vectors);
	note_register("upper", *arena_entry(K_CHANGE) & ~data);
	note_register("lower", *arena_entry(U_CHANGE) & ~data);
	note_register("memory", arena_hash(0));
}

static unsigned int run_sequence(u64 seed)
{
	struct probe_state state;
	unsigned int events, i;
	u64 reached = 0;

	sequence_generate(&sequence, seed);
	arena_reset_memory();
	arena_load_code(sequence.code, 4UL * sequence.length);
	hash = seed;
	prepare(&state);
	if (tracing) {
		say("trace %lu mode=%u words=%u\n", seed, sequence.mode, sequence.length);
		for (i = 0; i < sequence.length; i++)
			say("code %x %08x\n", i * 4, sequence.code[i]);
	}
	for (events = 0; events < MAX_EVENTS; events++) {
		probe_run(&state);
		note_event(&state);
		if (is_end(&state) || !resume(&state, &reached))
			break;
	}
	note_final(&state);
	arena_restore();
	return events;
}

void guest_main(void)
{
	u64 first = machine_option(&machine, "seed", 1);
	u64 count = machine_option(&machine, "count", 1000);
	u64 seed, all = 0, events, total = 0;

	tracing = machine_option(&machine, "trace", 0);
	arena_init();
	if (!gic_init(0))
		return;
	enable_interrupts();
	to_disk = disk_open();
	for (seed = first; seed < first + count; seed++) {
		events = run_sequence(seed);
		total += events;
		all = ((all << 7 | all >> 57) ^ hash) * 0x9e3779b97f4a7c15UL;
		if (to_disk || tracing)
			say("random %lu %016lx %lu\n", seed, hash, events);
	}
	if (to_disk)
		disk_flush();
	result("random.sequences", count, "count");
	result("random.exceptions", total, "count");
	result("random.hash", all, "hash");
}
