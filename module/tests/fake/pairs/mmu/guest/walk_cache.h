/* SPDX-License-Identifier: GPL-2.0 */
#include "fake.h"

void av_resync_inherited(struct av_vcpu *vcpu, struct av_tree *tree);
