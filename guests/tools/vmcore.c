// SPDX-License-Identifier: GPL-2.0
/*
 * Marks in memory, and a search for them in a crashed kernel's memory.
 *
 *	vmcore write FILE MARK	fills a file (of a tmpfs: pages of memory) with them
 *	vmcore check FILE MARK	looks for each in FILE, an ELF core like /proc/vmcore
 *
 * MARK is a number of 16 hexadecimal digits, from which the pages are made: each page exists only
 * where `write` put it.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE 4096
#define WORDS (PAGE / sizeof(uint64_t))
#define PAGES 512
/* Pages read at once. */
#define CHUNK 64
#define NOTES_MAX (1 << 20)

static uint64_t words[PAGES][WORDS];
static bool found[PAGES];

/* SplitMix64. */
static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return x ^ (x >> 31);
}

static void make_pages(uint64_t mark)
{
	size_t i, j;

	for (i = 0; i < PAGES; i++) {
		for (j = 0; j < WORDS; j++)
			words[i][j] = mix(mark + i * WORDS + j);
	}
}

static int fail(const char *what)
{
	fprintf(stderr, "vmcore: %s: %s\n", what, errno ? strerror(errno) : "is not whole");
	return 1;
}

static int write_marks(const char *file)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, words, sizeof(words)) != sizeof(words) || close(fd))
		return fail(file);
	return 0;
}

static bool read_at(int fd, void *to, size_t size, uint64_t at)
{
	size_t done = 0;

	while (done < size) {
		ssize_t got = pread(fd, (char *)to + done, size - done, at + done);

		if (got <= 0)
			return false;
		done += got;
	}
	return true;
}

static void look(const uint64_t *page)
{
	size_t i;

	for (i = 0; i < PAGES; i++) {
		if (page[0] == words[i][0] && !memcmp(page, words[i], PAGE))
			found[i] = true;
	}
}

/* A part of memory; its pages are those of the machine. */
static bool look_through(int fd, const Elf64_Phdr *part)
{
	static uint64_t chunk[CHUNK][WORDS];
	uint64_t at = 0;

	while (at < part->p_filesz) {
		uint64_t size = part->p_filesz - at;
		size_t i;

		if (size > sizeof(chunk))
			size = sizeof(chunk);
		if (!read_at(fd, chunk, size, part->p_offset + at))
			return false;
		for (i = 0; i < size / PAGE; i++)
			look(chunk[i]);
		at += size;
	}
	return true;
}

/* Counts the CPUs with saved registers, and looks for the kernel's VMCOREINFO. */
static bool count_notes(int fd, const Elf64_Phdr *part)
{
	static char notes[NOTES_MAX];
	size_t at = 0, size = part->p_filesz;
	unsigned int cpus = 0, info = 0;

	if (size > sizeof(notes) || !read_at(fd, notes, size, part->p_offset))
		return false;
	while (at + sizeof(Elf64_Nhdr) <= size) {
		const Elf64_Nhdr *note = (const void *)(notes + at);
		size_t name = (note->n_namesz + 3) & ~3UL, words_of = (note->n_descsz + 3) & ~3UL;

		if (!note->n_namesz || at + sizeof(*note) + name + words_of > size)
			break;
		cpus += note->n_type == NT_PRSTATUS && !strcmp((const char *)(note + 1), "CORE");
		info += !strcmp((const char *)(note + 1), "VMCOREINFO");
		at += sizeof(*note) + name + words_of;
	}
	printf("result vmcore.cpus %u count\n", cpus);
	printf("result vmcore.info %u count\n", info);
	return true;
}

static int check(const char *file)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	uint64_t bytes = 0, marks = 0;
	Elf64_Ehdr head;
	size_t i;

	if (fd < 0 || !read_at(fd, &head, sizeof(head), 0) || memcmp(head.e_ident, ELFMAG, SELFMAG))
		return fail(file);
	for (i = 0; i < head.e_phnum; i++) {
		Elf64_Phdr part;
		bool ok = read_at(fd, &part, sizeof(part), head.e_phoff + i * sizeof(part));

		if (ok && part.p_type == PT_NOTE)
			ok = count_notes(fd, &part);
		if (ok && part.p_type == PT_LOAD) {
			ok = look_through(fd, &part);
			bytes += part.p_filesz;
		}
		if (!ok)
			return fail(file);
	}
	for (i = 0; i < PAGES; i++)
		marks += found[i];
	printf("result vmcore.bytes %" PRIu64 " bytes\n", bytes);
	printf("result vmcore.marks %" PRIu64 " pages\n", marks);
	return marks == PAGES ? 0 : 1;
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: vmcore write|check FILE MARK\n");
		return 2;
	}
	make_pages(strtoull(argv[3], NULL, 16));
	return strcmp(argv[1], "write") ? check(argv[2]) : write_marks(argv[2]);
}
