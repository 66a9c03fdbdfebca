/* SPDX-License-Identifier: GPL-2.0 */
#ifndef AV_PRECONDITIONS_H
#define AV_PRECONDITIONS_H

/* At module load. Returns 0, or a negative errno after logging the reason. */
int av_check_preconditions(void);

#endif /* AV_PRECONDITIONS_H */
