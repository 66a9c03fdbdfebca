// SPDX-License-Identifier: GPL-2.0
#include "puppet.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define TARGET_GENERIC	5	/* KVM_ARM_TARGET_GENERIC_V8 */
#define BOOT_PSTATE	0x3c5	/* EL1 with its own stack pointer, all masked */

#define IPA_BITS	40	/* of a VM of type 0 */
#define VIRTUAL_TIMER	27
#define PHYSICAL_TIMER	30

#define CORE(word)	(KVM_REG_ARM64 | KVM_REG_SIZE_U64 | KVM_REG_ARM_CORE | (word))
#define REG_X0		CORE(0)
#define REG_PC		CORE(64)
#define REG_PSTATE	CORE(66)

/* The device's registers, by word. */
enum {
	WORD_ORDER,
	WORD_X0,
	WORD_ESR = WORD_X0 + 4,
	WORD_ELR,
	WORD_FAR,
	WORDS
};

enum {
	ORDER_CALL = 1,
	ORDER_LOAD,
	ORDER_STORE,
	ORDER_CALLS,
	ORDER_FLIP,
	ORDER_RANGES
};

extern const char puppet_code[], puppet_load_at[], puppet_code_end[];

asm("	.pushsection .rodata\n"
"	.globl	puppet_code, puppet_load_at, puppet_code_end\n"
"	.balign	2048\n"
"puppet_code:\n"
"	mov	x20, #0x09000000\n"
"	adr	x0, puppet_vectors\n"
"	msr	vbar_el1, x0\n"
"	isb\n"
"1:	ldr	x9, [x20]\n"
"	ldr	x0, [x20, #8]\n"
"	ldr	x1, [x20, #16]\n"
"	ldr	x2, [x20, #24]\n"
"	ldr	x3, [x20, #32]\n"
"	mov	x4, #0\n"
"	mov	x5, #0\n"
"	mov	x6, #0\n"
"	cmp	x9, #4\n"
"	b.eq	5f\n"
"	b.hi	8f\n"
"	cmp	x9, #2\n"
"	b.eq	2f\n"
"	b.hi	3f\n"
"	hvc	#0\n"
"	b	4f\n"
"puppet_load_at:\n"
"2:	ldr	x0, [x0]\n"
"	mvn	x0, x0\n"
"	b	4f\n"
"3:	mvn	x7, x1\n"	/* stays in the register */
"	str	x7, [x0]\n"
"4:	str	x0, [x20, #8]\n"
"	str	x1, [x20, #16]\n"
"	str	x2, [x20, #24]\n"
"	str	x3, [x20, #32]\n"
"	str	x4, [x20, #40]\n"
"	str	x5, [x20, #48]\n"
"	str	x6, [x20, #56]\n"
"	str	xzr, [x20]\n"
"	b	1b\n"
"5:	mov	x10, x0\n"
"	mov	x11, x1\n"
"	mov	x12, x2\n"
"	mov	x13, #0\n"	/* of answers that are not 0 */
"6:	mov	x0, x10\n"
"	mov	x1, x11\n"
"	mov	x2, #0\n"
"	mov	x3, #0\n"
"	hvc	#0\n"
"	cbz	x0, 7f\n"
"	add	x13, x13, #1\n"
"7:	add	x11, x11, #4096\n"
"	subs	x12, x12, #1\n"
"	b.ne	6b\n"
"	mov	x0, x13\n"
"	b	4b\n"
/* Each page in turn: public and shared for a while, then taken back and secret for a while. */
"8:	cmp	x9, #5\n"
"	b.hi	puppet_ranges\n"
"	mov	x10, x0\n"
"	mov	x11, x1\n"
"	mov	x13, #0\n"	/* of answers that are not 0 */
"	mov	x14, #0\n"	/* of secrets that were not there any more */
"9:	mvn	x7, x3\n"
"	str	x7, [x10]\n"
"	mov	x15, x3\n"
"	mov	x0, #3\n"
"	bl	puppet_flip_call\n"
"	mov	x0, #4\n"
"	bl	puppet_flip_call\n"
"	add	x3, x15, #1\n"
"	mvn	x7, x3\n"
"	str	x7, [x10]\n"
"	mov	x0, #200\n"
"1:	subs	x0, x0, #1\n"
"	b.ne	1b\n"
"	ldr	x0, [x10]\n"
"	cmp	x0, x7\n"
"	cinc	x14, x14, ne\n"
"	mov	x3, x15\n"
"	add	x10, x10, #4096\n"
"	subs	x11, x11, #1\n"
"	b.ne	9b\n"
"	mov	x0, x13\n"
"	mov	x1, x14\n"
"	b	4b\n"
"puppet_flip_call:\n"
"	movk	x0, #0xc600, lsl #16\n"
"	mov	x1, x10\n"
"	mov	x2, #0\n"
"	mov	x3, #0\n"
"	hvc	#0\n"
"	cmp	x0, #0\n"
"	cinc	x13, x13, ne\n"
"	mov	x0, #200\n"
"2:	subs	x0, x0, #1\n"
"	b.ne	2b\n"
"	ret\n"
/* The same with x2 pages at a time, by calls for ranges; each call may do fewer. */
"puppet_ranges:\n"
"	mov	x10, x0\n"
"	mov	x11, x1\n"
"	mov	x13, #0\n"
"	mov	x14, #0\n"
"	mov	x15, x3\n"
"	mov	x16, x2\n"
"1:	mvn	x7, x15\n"
"	bl	puppet_range_store\n"
"	mov	x17, #3\n"
"	bl	puppet_range_call\n"
"	mov	x17, #4\n"
"	bl	puppet_range_call\n"
"	add	x7, x15, #1\n"
"	mvn	x7, x7\n"
"	bl	puppet_range_store\n"
"	mov	x0, #200\n"
"2:	subs	x0, x0, #1\n"
"	b.ne	2b\n"
"	mov	x8, x10\n"
"	mov	x12, x16\n"
"3:	ldr	x0, [x8]\n"
"	cmp	x0, x7\n"
"	cinc	x14, x14, ne\n"
"	add	x8, x8, #4096\n"
"	subs	x12, x12, #1\n"
"	b.ne	3b\n"
"	mov	x10, x8\n"
"	subs	x11, x11, x16\n"
"	b.hi	1b\n"
"	mov	x0, x13\n"
"	mov	x1, x14\n"
"	b	4b\n"
"puppet_range_store:\n"
"	mov	x8, x10\n"
"	mov	x12, x16\n"
"1:	str	x7, [x8]\n"
"	add	x8, x8, #4096\n"
"	subs	x12, x12, #1\n"
"	b.ne	1b\n"
"	ret\n"
"puppet_range_call:\n"
"	mov	x8, x10\n"
"	mov	x12, x16\n"
"1:	mov	x0, x17\n"
"	movk	x0, #0xc600, lsl #16\n"
"	mov	x1, x8\n"
"	mov	x2, x12\n"
"	mov	x3, #0\n"
"	hvc	#0\n"
"	cbnz	x0, 2f\n"
"	cbz	x1, 2f\n"
"	add	x8, x8, x1, lsl #12\n"
"	subs	x12, x12, x1\n"
"	b.hi	1b\n"
"	b	3f\n"
"2:	add	x13, x13, #1\n"
"3:	mov	x0, #200\n"
"1:	subs	x0, x0, #1\n"
"	b.ne	1b\n"
"	ret\n"
"	.balign	2048\n"
"puppet_vectors:\n"
"	.skip	0x200\n"	/* synchronous, from EL1 with SP_EL1 */
"	mrs	x4, esr_el1\n"
"	mrs	x5, elr_el1\n"
"	mrs	x6, far_el1\n"
"	b	4b\n"
"puppet_code_end:\n"
"	.popsection\n");

uint32_t puppet_features = 1 << KVM_ARM_VCPU_PSCI_0_2;

static int refused(const char **what, const char *name)
{
	*what = name;
	return errno;
}

static int set_register(const struct puppet *puppet, uint64_t id, uint64_t value)
{
	struct kvm_one_reg reg = { .id = id, .addr = (uintptr_t)&value };

	return ioctl(puppet->vcpu, KVM_SET_ONE_REG, &reg);
}

static int make_vcpu(struct puppet *puppet, unsigned int id, const char **what)
{
	struct kvm_vcpu_init init = { .target = TARGET_GENERIC };
	int size = ioctl(puppet->kvm, KVM_GET_VCPU_MMAP_SIZE, 0);

	puppet->vcpu = ioctl(puppet->vm, KVM_CREATE_VCPU, id);
	if (puppet->vcpu < 0)
		return refused(what, "KVM_CREATE_VCPU");
	init.features[0] = puppet_features;
	if (ioctl(puppet->vcpu, KVM_ARM_VCPU_INIT, &init))
		return refused(what, "KVM_ARM_VCPU_INIT");
	puppet->run = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, puppet->vcpu, 0);
	if (puppet->run == MAP_FAILED) {
		puppet->run = NULL;
		return refused(what, "mmap of the vCPU");
	}
	if (set_register(puppet, REG_PC, PUPPET_RAM) ||
	    set_register(puppet, REG_PSTATE, BOOT_PSTATE))
		return refused(what, "KVM_SET_ONE_REG");
	return 0;
}

static int make_vm(struct puppet *puppet, bool protected, const char **what)
{
	*puppet = (struct puppet){ .kvm = -1, .vm = -1, .vcpu = -1 };
	puppet->kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	if (puppet->kvm < 0)
		return refused(what, "/dev/kvm");
	puppet->vm = ioctl(puppet->kvm, KVM_CREATE_VM, protected ? KVM_VM_TYPE_ARM_PROTECTED : 0);
	if (puppet->vm < 0)
		return refused(what, "KVM_CREATE_VM");
	return 0;
}

static void load(struct puppet *puppet, char *ram)
{
	puppet->ram = ram;
	memcpy(ram, puppet_code, puppet_code_end - puppet_code);
	__builtin___clear_cache(ram, ram + PUPPET_PAGE);
}

int puppet_new(struct puppet *puppet, bool protected, char *ram, const char **what)
{
	struct kvm_userspace_memory_region region = {
		.guest_phys_addr = PUPPET_RAM,
		.memory_size = PUPPET_SIZE,
		.userspace_addr = (uintptr_t)ram,
	};
	int error = make_vm(puppet, protected, what);

	if (error)
		return error;
	load(puppet, ram);
	if (ioctl(puppet->vm, KVM_SET_USER_MEMORY_REGION, &region))
		return refused(what, "KVM_SET_USER_MEMORY_REGION");
	return make_vcpu(puppet, 0, what);
}

int puppet_gmem(struct puppet *puppet, uint64_t size, const char **what)
{
	struct kvm_create_guest_memfd create = {
		.size = size,
		.flags = GUEST_MEMFD_FLAG_MMAP | GUEST_MEMFD_FLAG_INIT_SHARED,
	};
	int file = ioctl(puppet->vm, KVM_CREATE_GUEST_MEMFD, &create);

	if (file < 0)
		*what = "KVM_CREATE_GUEST_MEMFD";
	return file;
}

int puppet_add_gmem(struct puppet *puppet, unsigned int slot, uint64_t address, uint64_t size,
		    int file, const char *ram)
{
	struct kvm_userspace_memory_region2 region = {
		.slot = slot,
		.flags = KVM_MEM_GUEST_MEMFD,
		.guest_phys_addr = address,
		.memory_size = size,
		.userspace_addr = (uintptr_t)ram,
		.guest_memfd = file,
	};

	return ioctl(puppet->vm, KVM_SET_USER_MEMORY_REGION2, &region) ? errno : 0;
}

int puppet_new_on_gmem(struct puppet *puppet, int *file, char **ram, const char **what)
{
	int error = make_vm(puppet, true, what);

	*ram = NULL;
	*file = -1;
	if (error)
		return error;
	*file = puppet_gmem(puppet, PUPPET_SIZE, what);
	if (*file < 0)
		return errno;
	*ram = mmap(NULL, PUPPET_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, *file, 0);
	if (*ram == MAP_FAILED) {
		*ram = NULL;
		return refused(what, "mmap of a guest_memfd");
	}
	load(puppet, *ram);
	error = puppet_add_gmem(puppet, 0, PUPPET_RAM, PUPPET_SIZE, *file, *ram);
	if (error) {
		*what = "KVM_SET_USER_MEMORY_REGION2";
		return error;
	}
	return make_vcpu(puppet, 0, what);
}

int puppet_add_vcpu(const struct puppet *puppet, struct puppet *second, const char **what)
{
	*second = (struct puppet){ .kvm = -1, .vm = -1, .vcpu = -1, .ram = puppet->ram };
	second->kvm = dup(puppet->kvm);
	second->vm = dup(puppet->vm);
	if (second->kvm < 0 || second->vm < 0)
		return refused(what, "dup");
	return make_vcpu(second, 1, what);
}

static void put_word(FILE *file, uint64_t word)
{
	fwrite(&word, sizeof(word), 1, file);
}

void puppet_write_measured(const struct puppet *puppet, const char *name)
{
	static const char title[16] = "armvisor VM 2";
	FILE *file = fopen(name, "w");
	unsigned int i;

	fwrite(title, sizeof(title), 1, file);
	put_word(file, IPA_BITS);
	put_word(file, puppet_features);
	/* Its counters are the host's. It has no vGIC and no ITS, so no addresses of these. */
	put_word(file, 0);
	put_word(file, VIRTUAL_TIMER);
	put_word(file, PHYSICAL_TIMER);
	for (i = 0; i < 3; i++)
		put_word(file, 0);
	put_word(file, 1);
	put_word(file, 0);
	put_word(file, KVM_MP_STATE_RUNNABLE);
	/* x0 to x30 and both stack pointers. */
	for (i = 0; i < 31 + 2; i++)
		put_word(file, 0);
	put_word(file, PUPPET_RAM);
	put_word(file, BOOT_PSTATE);
	put_word(file, PUPPET_RAM);
	put_word(file, PUPPET_SIZE);
	/* All other pages are zeroes. */
	put_word(file, PUPPET_RAM);
	put_word(file, PUPPET_PAGE);
	fwrite(puppet->ram, PUPPET_PAGE, 1, file);
	fclose(file);
}

void puppet_free(struct puppet *puppet)
{
	if (puppet->run)
		munmap(puppet->run, ioctl(puppet->kvm, KVM_GET_VCPU_MMAP_SIZE, 0));
	if (puppet->vcpu >= 0)
		close(puppet->vcpu);
	if (puppet->vm >= 0)
		close(puppet->vm);
	if (puppet->kvm >= 0)
		close(puppet->kvm);
}

/* Runs the guest through one order: it fetches the words, and stores them when it is done. */
static struct puppet_answer order(struct puppet *puppet, const uint64_t *told)
{
	struct puppet_answer answer = { 0 };
	uint64_t words[WORDS] = { 0 };
	struct kvm_run *run = puppet->run;
	uint64_t word;

	for (;;) {
		if (ioctl(puppet->vcpu, KVM_RUN, 0)) {
			answer.error = errno;
			answer.exit = run->exit_reason;
			return answer;
		}
		word = (run->mmio.phys_addr - PUPPET_DEVICE) / 8;
		if (run->exit_reason != KVM_EXIT_MMIO || word >= WORDS) {
			answer.error = EPROTO;
			answer.exit = run->exit_reason;
			return answer;
		}
		if (!run->mmio.is_write) {
			memcpy(run->mmio.data, &told[word], 8);
			continue;
		}
		memcpy(&words[word], run->mmio.data, 8);
		if (word == WORD_ORDER)
			break;
	}
	memcpy(answer.x, &words[WORD_X0], sizeof(answer.x));
	answer.esr = words[WORD_ESR];
	answer.elr = words[WORD_ELR];
	answer.far = words[WORD_FAR];
	return answer;
}

struct puppet_answer puppet_call(struct puppet *puppet, uint64_t function, uint64_t a,
				 uint64_t b, uint64_t c)
{
	const uint64_t told[WORDS] = { ORDER_CALL, function, a, b, c };

	return order(puppet, told);
}

struct puppet_answer puppet_calls(struct puppet *puppet, uint64_t function, uint64_t first,
				  uint64_t pages)
{
	const uint64_t told[WORDS] = { ORDER_CALLS, function, first, pages };

	return order(puppet, told);
}

struct puppet_answer puppet_flip(struct puppet *puppet, uint64_t first, uint64_t pages,
				 uint64_t range, uint64_t word)
{
	const uint64_t told[WORDS] = { range ? ORDER_RANGES : ORDER_FLIP, first, pages, range, word };

	return order(puppet, told);
}

struct puppet_answer puppet_load(struct puppet *puppet, uint64_t address)
{
	const uint64_t told[WORDS] = { ORDER_LOAD, address };

	return order(puppet, told);
}

struct puppet_answer puppet_store(struct puppet *puppet, uint64_t address, uint64_t value)
{
	const uint64_t told[WORDS] = { ORDER_STORE, address, value };

	return order(puppet, told);
}

struct puppet_answer puppet_force_load(struct puppet *puppet, uint64_t address)
{
	const uint64_t nothing[WORDS] = { 0 };
	struct puppet_answer answer = { 0 };

	/* KVM_RUN completes the load of the next order and returns before the guest runs. */
	puppet->run->immediate_exit = 1;
	ioctl(puppet->vcpu, KVM_RUN, 0);
	puppet->run->immediate_exit = 0;
	if (set_register(puppet, REG_X0, address) ||
	    set_register(puppet, REG_PC, PUPPET_RAM + (puppet_load_at - puppet_code))) {
		answer.error = errno;
		return answer;
	}
	return order(puppet, nothing);
}
