/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The answer of a folder below cpu/ to an exit, which cpu/ carries out
 * (av_carry_out() in cpu/abort.c). Only cpu/ injects, skips and counts. Pure.
 */
#ifndef AV_VM_ANSWER_H
#define AV_VM_ANSWER_H

#include "lib/av_types.h"
#include "stats/classes.h"

enum av_answer_kind {
	AV_ANSWER_RESUME,	/* execute the same instruction again */
	AV_ANSWER_SKIP,		/* the instruction is done */
	AV_ANSWER_ABORT,	/* inject an abort: insn, far, iss */
	AV_ANSWER_DEVICE,	/* emulate an access to ipa, or inject the abort */
	AV_ANSWER_USER,		/* to user space, vcpu->run is filled */
	AV_ANSWER_ERROR,	/* to user space with an errno */
	AV_ANSWER_KILL,		/* end the VM */
};

enum av_kill_reason {
	AV_KILL_WINDOW,		/* the guest uses the window's addresses: far */
	AV_KILL_TABLES,		/* the hardware does not like the shadow tables: iss, far */
};

struct av_answer {
	enum av_answer_kind kind;
	enum av_exit_class cls;	/* to count */
	bool insn;		/* an instruction abort */
	int err;		/* AV_ANSWER_ERROR: errno; AV_ANSWER_KILL: enum av_kill_reason */
	u64 far, iss;
	u64 ipa;
	bool rom;		/* AV_ANSWER_DEVICE: a store to memory that is read-only */
};

#endif /* AV_VM_ANSWER_H */
