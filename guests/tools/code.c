// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel code that is read, and code that is generated while the kernel runs.
 *
 *	code text	prints a checksum of the kernel's text, read at its own address; the
 *			number of accesses to SP_EL0 in it, and of those to no register
 *	code filters N	makes N different packet filters, which the kernel compiles; each must
 *			pass exactly the packets that it describes
 *
 * Results are lines "result NAME VALUE UNIT".
 */
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int fail(const char *what)
{
	fprintf(stderr, "code: %s\n", what);
	return 1;
}

/* The address of a kernel symbol, 0 if there is none. */
static uint64_t symbol(const char *wanted)
{
	FILE *f = fopen("/proc/kallsyms", "r");
	uint64_t addr = 0, at;
	char line[512], name[256];

	while (f && !addr && fgets(line, sizeof(line), f))
		if (sscanf(line, "%" SCNx64 " %*c %255s", &at, name) == 2 && !strcmp(name, wanted))
			addr = at;
	if (f)
		fclose(f);
	return addr;
}

/* Where in /proc/kcore an address is: -1 if it is not there. */
static off_t place_of(int kcore, uint64_t addr)
{
	Elf64_Ehdr header;
	Elf64_Phdr phdr;
	unsigned int i;

	if (pread(kcore, &header, sizeof(header), 0) != sizeof(header))
		return -1;
	for (i = 0; i < header.e_phnum; i++) {
		off_t at = header.e_phoff + i * sizeof(phdr);

		if (pread(kcore, &phdr, sizeof(phdr), at) != sizeof(phdr))
			return -1;
		if (phdr.p_type == PT_LOAD && addr - phdr.p_vaddr < phdr.p_memsz)
			return phdr.p_offset + (addr - phdr.p_vaddr);
	}
	return -1;
}

static int text(void)
{
	uint64_t start = symbol("_stext"), end = symbol("_etext"), hash = 0xcbf29ce484222325;
	int kcore = open("/proc/kcore", O_RDONLY | O_CLOEXEC);
	static uint32_t words[1024];
	unsigned long sp_el0 = 0, unknown = 0;
	off_t place;
	size_t i;

	if (kcore < 0 || !start || end <= start)
		return fail("/proc/kcore or /proc/kallsyms does not say where the kernel is");
	place = place_of(kcore, start);
	if (place < 0)
		return fail("/proc/kcore does not have the kernel's text");
	for (; start < end; start += sizeof(words), place += sizeof(words)) {
		if (pread(kcore, words, sizeof(words), place) != sizeof(words))
			return fail("/proc/kcore cannot be read");
		for (i = 0; i < 1024; i++) {
			hash = (hash ^ words[i]) * 0x100000001b3;
			/* MRS and MSR, any register. */
			sp_el0 += (words[i] & 0xffdfffe0) == 0xd5184100;
			/* The next encoding, which no register has. */
			unknown += (words[i] & 0xffdfffe0) == 0xd5184120;
			unknown += (words[i] & 0xffdfffe0) == 0xd5184140;
		}
	}
	close(kcore);
	printf("result code.text %016" PRIx64 " hash\nresult code.sp_el0 %lu count\n", hash, sp_el0);
	printf("result code.unknown %lu count\n", unknown);
	return 0;
}

/* Pass packets that begin with this byte. */
static int filter(int sock, unsigned char byte)
{
	struct sock_filter insns[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, byte, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0xffff),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog prog = { .len = 4, .filter = insns };

	return setsockopt(sock, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog));
}

static int filters(unsigned long n)
{
	unsigned long i;
	int sock[2];

	for (i = 0; i < n; i++) {
		unsigned char pass = i, stop = i + 1, got[2];

		if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, sock))
			return fail("no sockets");
		if (filter(sock[1], pass))
			return fail("no filter");
		/* send() succeeds even if the filter drops the packet. */
		if (send(sock[0], &stop, 1, 0) < 0 || send(sock[0], &pass, 1, 0) < 0)
			return fail("a datagram is not sent");
		if (recv(sock[1], got, 2, 0) != 1 || got[0] != pass || recv(sock[1], got, 2, 0) >= 0)
			return fail("a filter lets through something else");
		close(sock[0]);
		close(sock[1]);
	}
	printf("result code.filters %lu count\n", n);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "text"))
		return text();
	if (argc == 3 && !strcmp(argv[1], "filters"))
		return filters(strtoul(argv[2], NULL, 0));
	return fail("code text, or code filters N");
}
