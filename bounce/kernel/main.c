// SPDX-License-Identifier: GPL-2.0
/* Module load and unload: parameters, and the VM's preconditions, each with a remedy. */
#include <linux/bitfield.h>
#include <linux/cpumask.h>
#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <asm/cpufeature.h>
#include <asm/sysreg.h>

#include "bounce.h"
#include "compat/dma_ops.h"
#include "hyp.h"
#include "wide.h"

/* The default is a sixteenth of memory, within these bounds. */
#define POOL_LEAST	(8ULL << 20)
#define POOL_MOST	(64ULL << 20)

/* With AV_SHARE_WAYS pages per set, more pages can be shared than the pool has. */
#define PAGES_PER_SET	4

static char *mode = "split-cache";
module_param(mode, charp, 0444);
MODULE_PARM_DESC(mode, "slots, areas, split-cache or hybrid (split-cache)");

static char *pool = "";
module_param(pool, charp, 0444);
MODULE_PARM_DESC(pool, "bytes of the pool, with K, M or G (a sixteenth of memory, 8M to 64M)");

static char *share = "yes";
module_param(share, charp, 0444);
MODULE_PARM_DESC(share, "yes: share the pool by hypercall; never: bounce only, in a VM that is not protected (yes)");

struct av_bounce av_bounce;

/* Digits and an optional K, M or G. memparse() would let an overflow wrap. */
static bool parse_size(const char *text, u64 *bytes)
{
	static const char letters[] = "KMG";
	size_t length = strlen(text);
	const char *letter = length ? strchr(letters, toupper(text[length - 1])) : NULL;
	unsigned int shift = letter ? 10 * (letter - letters + 1) : 0;
	char digits[24];
	u64 number;

	if (length - !!letter >= sizeof(digits))
		return false;
	strscpy(digits, text, length - !!letter + 1);
	return !kstrtou64(digits, 10, &number) && !check_shl_overflow(number, shift, bytes);
}

static int pool_bytes(u64 *bytes)
{
	u64 half = (u64)totalram_pages() << PAGE_SHIFT >> 1;

	if (!*pool) {
		*bytes = clamp(half / 8, POOL_LEAST, POOL_MOST);
		return 0;
	}
	/* More than half of memory must be a mistake, and would starve the guest. */
	if (!parse_size(pool, bytes) || !*bytes || *bytes > min(half, AV_POOL_MOST)) {
		pr_err("pool=%s is not a size: give bytes, or a number with K, M or G, of at most half of the memory and %lluM\n",
		       pool, AV_POOL_MOST >> 20);
		return -EINVAL;
	}
	return 0;
}

static int wants_sharing(bool *sharing)
{
	const char *why;

	*sharing = !strcmp(share, "yes");
	if (!*sharing && strcmp(share, "never")) {
		pr_err("share=%s: give yes or never\n", share);
		return -EINVAL;
	}
	if (*sharing && !av_hyp_present(&why)) {
		pr_err("the hypervisor %s, so this VM is not a protected one: load with share=never for bounce buffers that are not shared\n",
		       why);
		return -EOPNOTSUPP;
	}
	return 0;
}

static int make_plan(struct av_plan *plan)
{
	int number = av_mode_of(mode), ret;
	u64 bytes;

	if (number < 0) {
		pr_err("mode=%s: give slots, areas, split-cache or hybrid\n", mode);
		return number;
	}
	ret = pool_bytes(&bytes);
	if (ret)
		return ret;
	ret = av_plan_make(plan, number, bytes, num_possible_cpus());
	if (ret)
		pr_err("pool=%s is too small for mode=%s: give at least %lu KiB\n", pool, mode,
		       AV_SEGMENT_BYTES >> 9);
	return ret;
}

static int make_shares(const struct av_plan *plan)
{
	u64 pages = plan->bytes >> PAGE_SHIFT;
	u32 log = max(1, fls64(pages / PAGES_PER_SET));

	if (plan->mode != AV_MODE_HYBRID)
		return 0;
	av_bounce.sets = kvcalloc(BIT(log), sizeof(*av_bounce.sets), GFP_KERNEL);
	if (!av_bounce.sets)
		return -ENOMEM;
	av_shares_init(&av_bounce.shares, &av_dma_share_ops, &av_bounce.region, av_bounce.sets, log);
	return 0;
}

static void drop(void)
{
	av_region_free(&av_bounce.region);
	kvfree(av_bounce.sets);
	kvfree(av_bounce.meta);
}

/* DCZID_EL0: zeroing of lines is prohibited, or the line as a power of two of words */
#define DCZID_DZP	BIT(4)
#define DCZID_BS	GENMASK(3, 0)

static void __init find_wide(void)
{
	u64 dczid = read_sysreg(dczid_el0);

	av_wide = (struct av_wide){
		.copy = system_supports_fpsimd() && !system_supports_sve() &&
			!system_supports_sme(),
		.clear = !(dczid & DCZID_DZP) &&
			 4UL << FIELD_GET(DCZID_BS, dczid) == AV_WIDE_LINE,
	};
}

static int __init bounce_init(void)
{
	struct av_plan plan;
	bool sharing;
	int ret = make_plan(&plan) ?: wants_sharing(&sharing);

	if (ret)
		return ret;
	if (!av_dma_ops_are_there()) {
		pr_err("this kernel has no per-device DMA operations: use one with CONFIG_ARCH_HAS_DMA_OPS, such as Debian's\n");
		return -EOPNOTSUPP;
	}
	av_bounce.meta = kvzalloc(av_pool_meta_bytes(&plan), GFP_KERNEL);
	if (!av_bounce.meta)
		return -ENOMEM;
	find_wide();
	av_pool_init(&av_bounce.pool, &plan, av_bounce.meta);
	ret = av_region_make(&av_bounce.region, plan.bytes, sharing);
	if (ret) {
		kvfree(av_bounce.meta);
		return ret;
	}
	ret = make_shares(&plan) ?: av_devices_begin();
	if (ret) {
		drop();
		return ret;
	}
	av_stats_begin();
	pr_info("mode %s, a pool of %llu KiB in %u areas, %s\n", av_mode_names[plan.mode],
		plan.bytes >> 10, plan.areas,
		sharing ? "shared with the VMM" : "not shared: the VMM sees all memory");
	return 0;
}

static void __exit bounce_exit(void)
{
	av_stats_end();
	av_devices_end();
	drop();
}

module_init(bounce_init);
module_exit(bounce_exit);
MODULE_DESCRIPTION("Bounce buffers for virtio devices of protected VMs");
MODULE_LICENSE("GPL");
