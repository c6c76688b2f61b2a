/* The memory that jobs use while they run, kept of all jobs together. */
#ifndef SLICED_EVIDENCE_SHARING_LIFE_H
#define SLICED_EVIDENCE_SHARING_LIFE_H

#include "evidence/sharing/jobs.h"

/* Keeps job->length seconds of use. The job may read them after sl_sharing_life_settle(). */
int sl_sharing_life_add(struct sl_sharing_load *load, const struct sl_sharing_job *job,
                        const int32_t *use, struct sl_error *err);
/* Lets all jobs, in the order in which lives were added, read theirs. */
void sl_sharing_life_settle(struct sl_sharing_load *load);

#endif
