// SPDX-License-Identifier: GPL-2.0
/*
 * An instruction that changes before the hypervisor reads it. The guest may only read a device;
 * another CPU changes the load to a store with the same operands between the fault and the
 * emulation. The VMM must see no write: the store itself would be a permission fault of the guest.
 *
 *	EXITS=n		number of reads (default 20,000)
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hostile.h"
#include "mapper.h"

#define LDR	0xf9400024	/* ldr x4, [x1] */
#define STR	0xf9000024	/* str x4, [x1] */
#define SECRET	0x5ec7e7

struct reader {
	struct mapper m;
	unsigned long reads, writes, others;
	bool done;
};

static void *read_device(void *arg)
{
	struct reader *r = arg;
	struct kvm_run *run = r->m.g.run;
	unsigned long most = getenv("EXITS") ? atol(getenv("EXITS")) : 20000;

	while (r->reads < most && !r->others && r->writes < 1000) {
		u64 value = SECRET;

		if (ioctl(r->m.g.vcpu, KVM_RUN, 0) && errno != EINTR)
			break;
		if (run->exit_reason != KVM_EXIT_MMIO || run->mmio.phys_addr != GUEST_MMIO)
			r->others++;
		else if (run->mmio.is_write)
			r->writes++;
		else
			r->reads++;
		memcpy(run->mmio.data, &value, sizeof(value));
	}
	__atomic_store_n(&r->done, true, __ATOMIC_RELEASE);
	return NULL;
}

void hostile_changed(void)
{
	struct reader r = {};
	pthread_t thread;
	u64 changed;
	u32 *insn;

	new_mapper(&r.m, EACH_ITS_OWN, false);
	insn = mapper_load_device(&r.m, 1);
	if (pthread_create(&thread, NULL, read_device, &r))
		die("pthread_create");
	while (!__atomic_load_n(&r.done, __ATOMIC_ACQUIRE)) {
		__atomic_store_n(insn, *insn == LDR ? STR : LDR, __ATOMIC_RELEASE);
		__builtin___clear_cache((char *)insn, (char *)(insn + 1));
	}
	pthread_join(thread, NULL);
	expect(!r.others, "the guest that reads a device ended with %u: %s",
	       r.m.g.run->exit_reason, strerror(errno));
	expect(r.reads > 1000 || r.writes, "the device was read %lu times only", r.reads);
	changed = read_stat(r.m.stats, "insn_changed");
	expect(changed, "no instruction was changed in time, in %lu reads", r.reads);
	expect(!r.writes, "a device that may only be read was written %lu times, read %lu times",
	       r.writes, r.reads);
	free_mapper(&r.m);
}
