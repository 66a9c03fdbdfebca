/* SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause */
/*
 * The plugin's configuration: a text file of lines that the lab writes.
 *
 *	regime native|kvm|vhe|armvisor
 *	out FILE
 *	stage2 LEVELS
 *	core NAME L1I WAYS L1D WAYS L2 WAYS WALK WAYS IPA WAYS L1-LARGEST IPA-SMALLEST
 *	caches CORE LINE L1I-KIB WAYS L1D-KIB WAYS L2-KIB WAYS TABLE-WAYS
 *	model CORE S1 S2	shifts of page sizes; S2 0: one stage
 *	whole			counts from the machine's start to its end
 *
 * A walk or IPA cache without entries shares the L2 TLB. TABLE-WAYS are the ways of the L2 cache that
 * translation tables have. `caches`, `model` and `whole` are optional; a model's core has caches.
 */
#ifndef LAB_PLUGINS_CONFIG_H
#define LAB_PLUGINS_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "caches.h"
#include "follow.h"
#include "tlb.h"

#define CONFIG_CORES	16
#define CONFIG_MODELS	64

struct config {
	enum regime regime;
	bool whole;
	char out[4096];
	unsigned int s2_levels;
	struct tlb_core cores[CONFIG_CORES];
	struct caches caches[CONFIG_CORES];	/* of the core of the same number */
	struct tlb_model models[CONFIG_MODELS];
	unsigned int nr_cores, nr_models;
};

/* Returns 0, or -1 with a sentence in `error`. The other function frees the result. */
int config_read(struct config *config, FILE *file, char *error, size_t size);
void config_free(struct config *config);

#endif
