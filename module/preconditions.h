/* SPDX-License-Identifier: GPL-2.0 */
#ifndef AV_PRECONDITIONS_H
#define AV_PRECONDITIONS_H

/* 0, or an errno after a sentence in the log. At module load. */
int av_check_preconditions(void);

#endif /* AV_PRECONDITIONS_H */
