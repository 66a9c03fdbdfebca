/* SPDX-License-Identifier: GPL-2.0 */
/* fake/host/kernel.h has it all. */
