/* SPDX-License-Identifier: GPL-2.0 */
#include "fake.h"

void av_renew_inherited(struct av_vcpu *vcpu, struct av_tree *tree);
