/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that the programs share: opening the device, and printing a call's answer in a form
 * that can be compared between two hosts: one line a call, with the group, the name, and the value
 * or the errno's name.
 *
 *	vm.create_vcpu_twice = EEXIST
 *	system.api_version = 12
 *	vm.create_vcpu = fd
 */
#ifndef AV_TESTS_KVM_LIB_H
#define AV_TESTS_KVM_LIB_H

#include <linux/kvm.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Addresses that no program has mapped. */
#define WILD_LOW	((void *)8)
#define WILD_HIGH	((void *)0xffff800000000000ULL)
#define WILD_END	((void *)~7ULL)

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

/* Name of the group that later lines belong to. */
void group(const char *name);

/*
 * One line: "group.name = value" when ret is not negative, else errno's name.
 * Returns ret. name is a printf format.
 */
__attribute__((format(printf, 2, 3))) long say(long ret, const char *name, ...);

/* The same for a call that makes a file: its number is not said. */
__attribute__((format(printf, 2, 3))) int say_fd(int fd, const char *name, ...);

/* A line that is not an ioctl's answer. */
__attribute__((format(printf, 2, 3))) void note(u64 value, const char *name, ...);

/* Stop the program: the machine does not meet the test's needs. */
__attribute__((format(printf, 1, 2), noreturn)) void die(const char *format, ...);

/* Is the part called name among a program's arguments? Without any all parts are wanted. */
bool is_wanted(const char *name, int argc, char **argv);

/* The device of $KVM_DEVICE, or /dev/kvm. */
int open_kvm(void);

/* Each ends the program when it fails. */
int new_vm(int kvm);
int new_vcpu(int vm, int id);
struct kvm_run *map_run(int kvm, int vcpu);
void init_vcpu(int vcpu);
void *map_memory(size_t size);
/* A slot of anonymous memory at guest address gpa; returns its memory. */
void *new_slot(int vm, int slot, u64 gpa, size_t size);
/* Dirty rings of a VM; one of them, mapped. */
long enable_ring(int vm, u64 bytes);
struct kvm_dirty_gfn *map_ring(int vcpu, size_t bytes);
/* A vGIC for the vCPUs that there are, ready. */
int ready_vgic(int vm);
void set_reg(int vcpu, u64 id, u64 value);
u64 get_reg(int vcpu, u64 id);
/* The module's own: module/cpu/cheap.h, module/stats/stats.h. KVM has none of it. */
#define CAP_CHEAP_TRAPS	0x61760001
#define CAP_ACCOUNTING	0x61760002

/* The same, with KVM's answer; missing registers read as 0. */
long try_set_reg(int vcpu, u64 id, u64 value);
long try_get_reg(int vcpu, u64 id, u64 *value);
/* A register that older kernels lack: 0 there. */
u64 reg_or_0(int vcpu, u64 id);

/* A word into a file of the kernel's; false if there is no such file. */
bool write_file(const char *path, const char *word);
/* A number after a name in a file of the kernel's, -1 if there is none. */
long read_figure(const char *path, const char *name);

#define REG_CORE(field)	(KVM_REG_ARM64 | KVM_REG_SIZE_U64 | KVM_REG_ARM_CORE | \
			 KVM_REG_ARM_CORE_REG(field))
#define REG_X(n)	REG_CORE(regs.regs[n])
#define REG_PC		REG_CORE(regs.pc)
#define REG_PSTATE	REG_CORE(regs.pstate)

/* A one-vCPU VM with memory and the program that is to run there. */
struct guest {
	int kvm, vm, vcpu;
	struct kvm_run *run;
	void *memory;
};

#define GUEST_BASE	0x40000000ULL
#define GUEST_SIZE	0x200000ULL
#define GUEST_MMIO	0x0a000000ULL	/* in no slot */
#define GUEST_DIST	0x08000000ULL
#define GUEST_REDIST	0x080a0000ULL

void new_guest(struct guest *g, const u32 *code, size_t size);
/* The same, with a dirty ring of this many bytes; 0: none. The flag: and a bitmap beside it. */
#define RING_WITH_BITMAP	(1ULL << 63)
void new_guest_with_ring(struct guest *g, const u32 *code, size_t size, u64 ring);
/* The same of a VM that there is, without vCPUs and memory. */
void fill_guest(struct guest *g, const u32 *code, size_t size);
void free_guest(struct guest *g);

/* A figure of a statistics file by its name; 0 when there is none (as on KVM). */
u64 read_stat(int fd, const char *name);

/*
 * Guest code is assembled into this program; it is position independent. Hidden,
 * because the linker loses the offset of a local label in a GOT entry.
 */
#define GUEST(name, ...)						\
	extern const u32 guest_##name[] __attribute__((visibility("hidden"))); \
	extern const u32 guest_##name##_end[] __attribute__((visibility("hidden"))); \
	__asm__(".pushsection .rodata\n.balign 4\n"			\
		"guest_" #name ":\n" __VA_ARGS__			\
		"guest_" #name "_end:\n.popsection\n")
#define NEW_GUEST(g, name) \
	new_guest(g, guest_##name, (const char *)guest_##name##_end - (const char *)guest_##name)

#endif /* AV_TESTS_KVM_LIB_H */
