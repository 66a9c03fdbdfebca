/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The answer of a folder below cpu/ to an exit. Only cpu/ injects, skips and counts: carry_out() in
 * cpu/abort.c acts on the answer. Pure.
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
	AV_ANSWER_USER,		/* return to user space; vcpu->run is filled */
	AV_ANSWER_ERROR,	/* return to user space with an errno */
	AV_ANSWER_KILL,		/* end the VM: the hardware rejects the shadow tables (iss, far) */
};

struct av_answer {
	enum av_answer_kind kind;
	enum av_exit_class cls;	/* class to count the exit in */
	bool insn;		/* the abort is an instruction abort */
	int err;		/* AV_ANSWER_ERROR: errno */
	u64 far, iss;
	u64 ipa;
	bool rom;		/* AV_ANSWER_DEVICE: a store to read-only memory */
};

#endif /* AV_VM_ANSWER_H */
