/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A fuzzer of KVM's API with vCPUs running. One seed is one world: a process with a VM, threads
 * that run its vCPUs, and actors: threads that carry out operations drawn from the tables below.
 * The seed determines the operations; the scheduler determines when they happen.
 *
 * Every file number in a world may be closed, exchanged or reused at any time by another thread: a
 * call on it may fail or reach another file. Threads access the world's own memory and the areas
 * only through system calls, which return EFAULT where nothing is mapped.
 */
#ifndef AV_TESTS_KVM_FUZZ_H
#define AV_TESTS_KVM_FUZZ_H

#include <pthread.h>

#include "lib.h"
#include "random_guest.h"

#define MAX_CPUS	4
#define MAX_ACTORS	3
#define NR_AREAS	4
#define NR_EVENTS	6
#define NR_SPARES	6
#define NR_GMEMS	4
#define MAX_OPS		112

#define PAGE		4096UL
#define AREA_SIZE	0x400000UL
#define MAIN_SIZE	AREA_SIZE
/* What guests write all the time: in the first area, and at the start of the others. */
#define HOT_FIRST	0x140
#define HOT_PAGES	64
#define EXTRA_BASE	0x50000000ULL	/* slots other than the first */
#define BELLS		(GUEST_MMIO + 0x1000)	/* where guests meet ioeventfds */
#define JUNK_SIZE	0x10000UL
#define BUFFER_SIZE	0x2000UL

/* Memory of the VMM that slots show to the guest. */
enum area_kind { PRIVATE, SHARED, FILE_BACKED, NR_KINDS };

struct area {
	char *at;
	enum area_kind kind;
	int file;
	/* Written: until then only the guest may change its contents. */
	pthread_rwlock_t lock;
};

/* How a world ends, and after how many microseconds if it is killed. */
enum end { QUIET, KILLED, EXITS, ABORTS, NR_ENDS };

struct fate {
	enum end end;
	unsigned int life;
};

struct world {
	u64 seed;
	enum end end;
	bool stop;
	unsigned int paused;	/* actors that want no vCPU to run */
	bool random_code, mmu_on;
	unsigned int finished;	/* actors */
	unsigned int nr_cpus, nr_actors, nr_steps;
	int kvm, vm, vcpu[MAX_CPUS], vgic, its, stats;
	bool pmu;		/* the VM's vCPUs have one */
	int event[NR_EVENTS], spare[NR_SPARES];
	struct area area[NR_AREAS];
	/* Memory of protected VMs, of the world's own first; MAIN_SIZE of each may be mapped here. */
	int gmem[NR_GMEMS];
	char *private;
	char *odd;		/* MAX_CPUS pages, for data that does not belong in a slot */
	int image;		/* the initial contents of the first slot */
	int junk;		/* JUNK_SIZE of numbers */
	pthread_t runner[MAX_CPUS], actor[MAX_ACTORS], ticker;
	int tid[MAX_CPUS];	/* of runners */
	/* Set when a thread exists that a signal may be sent to. */
	bool runs[MAX_CPUS], acts[MAX_ACTORS];
};

/* What an operation is given; rng is its own, whatever others draw. */
struct actor {
	struct world *w;
	u64 rng;
	unsigned int index, op;
	bool done;		/* something was accepted */
	char *buffer;		/* BUFFER_SIZE of the actor's own */
};

struct op {
	const char *name;
	unsigned int weight;
	void (*run)(struct actor *a);
};

/* Rows end with one without a name. */
extern const struct op memory_ops[], slot_ops[], irq_ops[], device_ops[], vcpu_ops[],
	file_ops[], process_ops[], debug_ops[], gmem_ops[];

/* Shared by all processes of a run. */
struct tally {
	unsigned long tried[MAX_OPS], done[MAX_OPS], us[MAX_OPS];
	unsigned long exits[64];
	unsigned long beats;		/* operations that ended */
	char failure[256];
};

extern struct tally *tally;

/* One failure of a run is kept: the first. */
__attribute__((format(printf, 1, 2))) void complain(const char *what, ...);

/* A stream of numbers that is a world's, named by two more numbers. */
u64 stream(u64 seed, u64 a, u64 b);
struct fate fate_of(u64 seed);
u64 pick(struct actor *a, u64 n);
bool one_in(struct actor *a, u64 n);

/* ioctl(), whose answer is looked at: errnos that are the kernel's own are a failure. */
long call(struct actor *a, int fd, unsigned long cmd, void *arg);
long call_number(struct actor *a, int fd, unsigned long cmd, unsigned long arg);
void judge(struct actor *a, long ret);

/* One operation of an actor's: drawn, and carried out unless it is left out. */
void do_op(struct actor *a, unsigned int step);

/* world.c: the child process of a seed; does not return. */
__attribute__((noreturn)) void live(u64 seed, unsigned int cpus);
int get_file(const int *file);
/* Put a file in place of another, which is closed. */
void put_file(int *file, int fd);
/* A new VM in the world, in place of the old one, if there was one. */
void renew_vm(struct world *w, u64 *rng);
int new_event(void);
/* Have the runners leave their vCPUs for a moment, as a VMM does that saves a VM. */
void pause_runners(struct world *w);
void resume_runners(struct world *w);

/* slots.c: maybe dirty rings for a VM without vCPUs; take what a vCPU's has. */
void give_ring(int vm, u64 kind);
bool take_ring(int vcpu, u64 page);

/* gmem.c: a protected VM with the guest's memory, and no vCPU; -1 where there is none. */
void reserve_gmem(struct world *w);
int new_protected_vm(struct world *w);

/* debug.c */
void keep_perf_hooks(void);

/* guest.c */
void lay_image(struct world *w);
void start_cpu(struct world *w, int vcpu, unsigned int cpu, u64 *rng);
void boot_its(struct world *w, u64 *rng);

/* memory.c */
struct area *any_area(struct actor *a);
/* A part of an area, in pages. */
char *any_part(struct actor *a, struct area *area, size_t *size);
/* Memory of the guest's, or the actor's buffer, for an ioctl to read or write. */
void *any_buffer(struct actor *a);

#endif /* AV_TESTS_KVM_FUZZ_H */
