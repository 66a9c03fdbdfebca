// SPDX-License-Identifier: GPL-2.0
/* System calls of one process, and registers that user space may read. */
#define _GNU_SOURCE
#include "ops.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define READ_REGISTER(name, reg)					\
	static void run_##name(uint64_t loops)				\
	{								\
		uint64_t value;						\
									\
		while (loops--)						\
			asm volatile("mrs %0, " #reg : "=r" (value));	\
	}
/* The kernel emulates the first; the second is CTR_EL0. */
READ_REGISTER(midr, midr_el1)
READ_REGISTER(ctr, ctr_el0)
READ_REGISTER(counter, cntvct_el0)

/* Cache maintenance of one line, as a JIT compiler does it. */
static void run_cache(uint64_t loops)
{
	static uint64_t line[8];

	while (loops--)
		asm volatile("dc cvau, %0\n\tdsb ish\n\tic ivau, %0\n\tdsb ish\n\tisb"
			     : : "r" (line) : "memory");
}

static void clock_of(clockid_t which, uint64_t loops)
{
	struct timespec now;

	while (loops--)
		ops_must(!clock_gettime(which, &now), "clock_gettime");
}

static void run_clock(uint64_t loops)
{
	clock_of(CLOCK_MONOTONIC, loops);
}

static void run_cpu_clock(uint64_t loops)
{
	clock_of(CLOCK_PROCESS_CPUTIME_ID, loops);
}

static void run_rusage(uint64_t loops)
{
	struct rusage usage;

	while (loops--)
		ops_must(!getrusage(RUSAGE_SELF, &usage), "getrusage");
}

static void run_uname(uint64_t loops)
{
	struct utsname name;

	while (loops--)
		ops_must(!uname(&name), "uname");
}

static void run_yield(uint64_t loops)
{
	while (loops--)
		sched_yield();
}

static void run_affinity(uint64_t loops)
{
	cpu_set_t cpus;

	ops_must(!sched_getaffinity(0, sizeof(cpus), &cpus), "sched_getaffinity");
	while (loops--)
		ops_must(!sched_setaffinity(0, sizeof(cpus), &cpus), "sched_setaffinity");
}

static void run_priority(uint64_t loops)
{
	while (loops--)
		ops_must(!setpriority(PRIO_PROCESS, 0, 0), "setpriority");
}

static void run_futex(uint64_t loops)
{
	static uint32_t word;

	while (loops--)
		ops_must(!syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0),
			 "futex");
}

static void ready_membarrier(void)
{
	ops_must(!syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0),
		 "membarrier: register");
}

static void run_membarrier(uint64_t loops)
{
	while (loops--)
		ops_must(!syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0),
			 "membarrier");
}

static int event = -1;
static int poller = -1;

static void open_event(void)
{
	struct epoll_event wanted = { .events = EPOLLOUT };

	event = eventfd(0, EFD_CLOEXEC);
	poller = epoll_create1(EPOLL_CLOEXEC);
	ops_must(event >= 0 && !epoll_ctl(poller, EPOLL_CTL_ADD, event, &wanted), "epoll");
}

static void close_event(void)
{
	close(poller);
	close(event);
}

static void run_eventfd(uint64_t loops)
{
	uint64_t one = 1;

	while (loops--)
		ops_must(write(event, &one, sizeof(one)) == sizeof(one) &&
			 read(event, &one, sizeof(one)) == sizeof(one), "eventfd");
}

static void run_epoll(uint64_t loops)
{
	struct epoll_event ready;

	while (loops--)
		ops_must(epoll_wait(poller, &ready, 1, 0) == 1, "epoll_wait");
}

static void run_poll(uint64_t loops)
{
	struct pollfd polled = { .fd = event, .events = POLLOUT };

	while (loops--)
		ops_must(poll(&polled, 1, 0) == 1, "poll");
}

static int pair[2];

static void open_pair(void)
{
	ops_must(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), "socketpair");
}

static void close_pair(void)
{
	close(pair[0]);
	close(pair[1]);
}

static void run_pass(uint64_t loops)
{
	static char bytes[OPS_PAGE];

	while (loops--)
		ops_must(write(pair[0], bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes) &&
			 read(pair[1], bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes),
			 "a page through a socket");
}

/* A descriptor goes through the socket and is closed. */
static void run_pass_fd(uint64_t loops)
{
	char byte = 0, control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec data = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &data, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	int fd = pair[0];

	while (loops--) {
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(head), &pair[0], sizeof(int));
		ops_must(sendmsg(pair[0], &message, 0) == 1 &&
			 recvmsg(pair[1], &message, 0) == 1, "a descriptor through a socket");
		memcpy(&fd, CMSG_DATA(head), sizeof(int));
		close(fd);
	}
}

static void run_process_vm(uint64_t loops)
{
	static char from[OPS_PAGE] = { 1 }, to[OPS_PAGE];
	struct iovec here = { to, sizeof(to) }, there = { from, sizeof(from) };

	while (loops--)
		ops_must(process_vm_readv(getpid(), &here, 1, &there, 1, 0) ==
			 (ssize_t)sizeof(to), "process_vm_readv");
}

static void read_file(const char *name, uint64_t loops)
{
	static char text[OPS_PAGE];
	int fd;

	while (loops--) {
		fd = open(name, O_RDONLY | O_CLOEXEC);
		ops_must(fd >= 0 && read(fd, text, sizeof(text)) > 0, name);
		close(fd);
	}
}

static void run_proc_stat(uint64_t loops)
{
	read_file("/proc/self/stat", loops);
}

static void run_proc_maps(uint64_t loops)
{
	read_file("/proc/self/maps", loops);
}

/* An io_uring of one entry, without liburing. */
static struct {
	int fd;
	struct io_uring_sqe *sqes;
	uint32_t *sq_tail, *sq_array, *cq_head, *cq_tail;
	char *sq, *cq;
	size_t sq_size, cq_size;
} ring;

static char *ring_map(size_t size, off_t offset)
{
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring.fd,
			offset);

	ops_must(at != MAP_FAILED, "cannot map an io_uring");
	return at;
}

static void open_ring(void)
{
	struct io_uring_params p = { 0 };

	ring.fd = (int)syscall(SYS_io_uring_setup, 1, &p);
	ops_must(ring.fd >= 0, "io_uring_setup");
	ring.sq_size = p.sq_off.array + p.sq_entries * sizeof(uint32_t);
	ring.cq_size = p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe);
	ring.sq = ring_map(ring.sq_size, IORING_OFF_SQ_RING);
	ring.cq = ring_map(ring.cq_size, IORING_OFF_CQ_RING);
	ring.sqes = (void *)ring_map(sizeof(*ring.sqes), IORING_OFF_SQES);
	ring.sq_tail = (void *)(ring.sq + p.sq_off.tail);
	ring.sq_array = (void *)(ring.sq + p.sq_off.array);
	ring.cq_head = (void *)(ring.cq + p.cq_off.head);
	ring.cq_tail = (void *)(ring.cq + p.cq_off.tail);
}

static void close_ring(void)
{
	munmap(ring.sqes, sizeof(*ring.sqes));
	munmap(ring.sq, ring.sq_size);
	munmap(ring.cq, ring.cq_size);
	close(ring.fd);
}

static void ring_do(struct io_uring_sqe wanted)
{
	ring.sqes[0] = wanted;
	ring.sq_array[0] = 0;
	__atomic_store_n(ring.sq_tail, *ring.sq_tail + 1, __ATOMIC_RELEASE);
	ops_must(syscall(SYS_io_uring_enter, ring.fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1 &&
		 __atomic_load_n(ring.cq_tail, __ATOMIC_ACQUIRE) != *ring.cq_head, "io_uring");
	__atomic_store_n(ring.cq_head, *ring.cq_head + 1, __ATOMIC_RELEASE);
}

static void run_ring_nop(uint64_t loops)
{
	while (loops--)
		ring_do((struct io_uring_sqe){ .opcode = IORING_OP_NOP });
}

static void run_ring_read(uint64_t loops)
{
	static char byte;
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	while (loops--)
		ring_do((struct io_uring_sqe){ .opcode = IORING_OP_READ, .fd = fd,
					       .addr = (uintptr_t)&byte, .len = 1 });
	close(fd);
}

const struct lat_row ops_calls[] = {
	{ "read-midr", NULL, run_midr, NULL, 500 },
	{ "read-ctr", NULL, run_ctr, NULL, 1000 },
	{ "read-counter", NULL, run_counter, NULL, 1000 },
	{ "cache-line", NULL, run_cache, NULL, 1000 },
	{ "clock", NULL, run_clock, NULL, 1000 },
	{ "cpu-clock", NULL, run_cpu_clock, NULL, 500 },
	{ "rusage", NULL, run_rusage, NULL, 500 },
	{ "uname", NULL, run_uname, NULL, 500 },
	{ "yield", NULL, run_yield, NULL, 500 },
	{ "affinity", NULL, run_affinity, NULL, 200 },
	{ "priority", NULL, run_priority, NULL, 200 },
	{ "futex-wake", NULL, run_futex, NULL, 500 },
	{ "membarrier", ready_membarrier, run_membarrier, NULL, 200 },
	{ "eventfd", open_event, run_eventfd, close_event, 300 },
	{ "epoll", open_event, run_epoll, close_event, 300 },
	{ "poll", open_event, run_poll, close_event, 300 },
	{ "socket-page", open_pair, run_pass, close_pair, 100 },
	{ "pass-descriptor", open_pair, run_pass_fd, close_pair, 100 },
	{ "process-vm-read", NULL, run_process_vm, NULL, 100 },
	{ "proc-stat", NULL, run_proc_stat, NULL, 50 },
	{ "proc-maps", NULL, run_proc_maps, NULL, 50 },
	{ "io-uring-nop", open_ring, run_ring_nop, close_ring, 200 },
	{ "io-uring-read", open_ring, run_ring_read, close_ring, 200 },
	{ 0 },
};
