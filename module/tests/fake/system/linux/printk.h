/* SPDX-License-Identifier: GPL-2.0 */
#define pr_err(...)	fprintf(stderr, __VA_ARGS__)
