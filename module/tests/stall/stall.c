// SPDX-License-Identifier: GPL-2.0
/*
 * Holds the CPU for a known time, to test the meter of tests/kvm: writing a number of microseconds
 * to /sys/module/stall/parameters/NAME does it in the way of that name. A microsecond of a counted
 * board is 1,000 instructions.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

static DEFINE_SPINLOCK(lock);

static void spin(unsigned int us)
{
	for (; us > 1000; us -= 1000)
		udelay(1000);
	udelay(us);
}

static int read_us(const char *val, unsigned int *us)
{
	return kstrtouint(val, 0, us) ?: *us > 100000 ? -ERANGE : 0;
}

static int set_lock(const char *val, const struct kernel_param *param)
{
	unsigned int us;
	int ret = read_us(val, &us);

	if (ret)
		return ret;
	spin_lock(&lock);
	spin(us);
	spin_unlock(&lock);
	return 0;
}

static int set_irq(const char *val, const struct kernel_param *param)
{
	unsigned long flags;
	unsigned int us;
	int ret = read_us(val, &us);

	if (ret)
		return ret;
	local_irq_save(flags);
	spin(us);
	local_irq_restore(flags);
	return 0;
}

/* The same in parts, the CPU offered between them: nothing that the meter minds. */
static int set_offered(const char *val, const struct kernel_param *param)
{
	unsigned int us;
	int ret = read_us(val, &us);

	if (ret)
		return ret;
	for (; us > 10; us -= 10) {
		spin(10);
		cond_resched();
	}
	return 0;
}

static const struct kernel_param_ops lock_ops = { .set = set_lock };
static const struct kernel_param_ops irq_ops = { .set = set_irq };
static const struct kernel_param_ops offered_ops = { .set = set_offered };

module_param_cb(lock, &lock_ops, NULL, 0200);
module_param_cb(irq, &irq_ops, NULL, 0200);
module_param_cb(offered, &offered_ops, NULL, 0200);

MODULE_DESCRIPTION("Holds the CPU for a known time");
MODULE_LICENSE("GPL");
