/* SPDX-License-Identifier: GPL-2.0 */
/* asm/kvm.h uses one length of it, that of vectors. */
#ifndef AV_FAKE_UAPI_SVE_CONTEXT_H
#define AV_FAKE_UAPI_SVE_CONTEXT_H

#define __SVE_VQ_MAX	512

#endif /* AV_FAKE_UAPI_SVE_CONTEXT_H */
