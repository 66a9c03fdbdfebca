// SPDX-License-Identifier: GPL-2.0
/* Code that is made while a program runs: by JIT compilers, and by the kernel for BPF. */
#define _GNU_SOURCE
#include "ops.h"

#include <linux/bpf.h>
#include <linux/filter.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOV_W0(value) (0x52800000U | (value) << 5)
#define RET 0xd65f03c0U

static uint32_t *writable, *executable;

/* A function that returns the value is written, and called. */
static void make_and_call(uint16_t value)
{
	uint32_t (*made)(void) = (uint32_t (*)(void))(uintptr_t)executable;

	ops_must(made() == value, "what was made is not what is called");
}

static void write_function(uint16_t value)
{
	writable[0] = MOV_W0((uint32_t)value);
	writable[1] = RET;
}

static void flush(void)
{
	__builtin___clear_cache((char *)executable, (char *)(executable + 2));
}

static void get_one(int protection)
{
	writable = mmap(NULL, OPS_PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ops_must(writable != MAP_FAILED, "cannot map a page for code");
	executable = writable;
}

static void get_rwx(void)
{
	get_one(PROT_READ | PROT_WRITE | PROT_EXEC);
}

static void get_rw(void)
{
	get_one(PROT_READ | PROT_WRITE);
}

static void drop_one(void)
{
	ops_unmap(writable, OPS_PAGE);
}

static void get_two(void)
{
	int fd = memfd_create("ops", MFD_CLOEXEC);

	ops_must(fd >= 0 && !ftruncate(fd, OPS_PAGE), "cannot make a file for code");
	writable = mmap(NULL, OPS_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	executable = mmap(NULL, OPS_PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	ops_must(writable != MAP_FAILED && executable != MAP_FAILED, "cannot map it twice");
	close(fd);
}

static void drop_two(void)
{
	ops_unmap(writable, OPS_PAGE);
	ops_unmap(executable, OPS_PAGE);
}

static void run_jit(uint64_t loops)
{
	while (loops--) {
		write_function((uint16_t)loops);
		flush();
		make_and_call((uint16_t)loops);
	}
}

static void run_jit_protect(uint64_t loops)
{
	while (loops--) {
		ops_must(!mprotect(writable, OPS_PAGE, PROT_READ | PROT_WRITE), "mprotect");
		write_function((uint16_t)loops);
		ops_must(!mprotect(writable, OPS_PAGE, PROT_READ | PROT_EXEC), "mprotect");
		flush();
		make_and_call((uint16_t)loops);
	}
}

static const struct bpf_insn accepts[] = {
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 1 },
	{ .code = BPF_JMP | BPF_EXIT },
};

static int bpf(int command, union bpf_attr *about, size_t size)
{
	return (int)syscall(SYS_bpf, command, about, size);
}

static int load_program(void)
{
	union bpf_attr about = {
		.prog_type = BPF_PROG_TYPE_SOCKET_FILTER, .license = (uintptr_t)"GPL",
		.insns = (uintptr_t)accepts, .insn_cnt = sizeof(accepts) / sizeof(*accepts),
	};
	int fd = bpf(BPF_PROG_LOAD, &about, sizeof(about));

	ops_must(fd >= 0, "BPF_PROG_LOAD");
	return fd;
}

static void run_load(uint64_t loops)
{
	while (loops--)
		close(load_program());
}

static int program = -1;

static void get_program(void)
{
	program = load_program();
}

static void drop_program(void)
{
	close(program);
}

static void run_program(uint64_t loops)
{
	static char packet[64];
	union bpf_attr about;

	while (loops--) {
		memset(&about, 0, sizeof(about));
		about.test.prog_fd = (uint32_t)program;
		about.test.data_in = (uintptr_t)packet;
		about.test.data_size_in = sizeof(packet);
		ops_must(!bpf(BPF_PROG_TEST_RUN, &about, sizeof(about)) && about.test.retval == 1,
			 "BPF_PROG_TEST_RUN");
	}
}

static int map = -1;

static void get_map(void)
{
	union bpf_attr about = {
		.map_type = BPF_MAP_TYPE_HASH, .key_size = 8, .value_size = 8, .max_entries = 64,
	};

	map = bpf(BPF_MAP_CREATE, &about, sizeof(about));
	ops_must(map >= 0, "BPF_MAP_CREATE");
}

static void drop_map(void)
{
	close(map);
}

static void run_map(uint64_t loops)
{
	uint64_t key = 1, value = 2;
	union bpf_attr about;

	while (loops--) {
		memset(&about, 0, sizeof(about));
		about.map_fd = (uint32_t)map;
		about.key = (uintptr_t)&key;
		about.value = (uintptr_t)&value;
		ops_must(!bpf(BPF_MAP_UPDATE_ELEM, &about, sizeof(about)), "BPF_MAP_UPDATE_ELEM");
	}
}

/* A classic filter, which the kernel translates and compiles. */
static void run_filter(uint64_t loops)
{
	struct sock_filter all[] = { BPF_STMT(BPF_RET | BPF_K, 0xffff) };
	struct sock_fprog filter = { .len = 1, .filter = all };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), unused = 0;

	while (loops--)
		ops_must(!setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) &&
			 !setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof(unused)),
			 "SO_ATTACH_FILTER");
	close(fd);
}

const struct lat_row ops_code[] = {
	{ "jit", get_rwx, run_jit, drop_one, 100 },
	{ "jit-protect", get_rw, run_jit_protect, drop_one, 50 },
	{ "jit-two-maps", get_two, run_jit, drop_two, 100 },
	{ "bpf-load", NULL, run_load, NULL, 10 },
	{ "bpf-run", get_program, run_program, drop_program, 100 },
	{ "bpf-map", get_map, run_map, drop_map, 100 },
	{ "socket-filter", NULL, run_filter, NULL, 10 },
	{ 0 },
};
