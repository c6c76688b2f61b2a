/* How much of a GPU's memory each of its pods has come to use, though only the sum is measured. */
#ifndef SLICED_CORE_LIVES_H
#define SLICED_CORE_LIVES_H

#include "sliced/usage.h"

/* The facts of a resident that lives.c reads. */
struct sl_lives_pod {
    uint64_t pod;
    uint32_t workload;
    int64_t ask_mib; /* -1: it does not say */
    bool runs;
};

/* MiB as lives keep them: 0 to INT32_MAX. */
static inline int32_t sl_lives_mib(int64_t mib)
{
    return mib < 0 ? 0 : mib < INT32_MAX ? (int32_t)mib : INT32_MAX;
}

/* The pod is on the GPU; samples from since_us on show it if it runs by now and did not before.
 * unsure: if the unit has not met it before, it may have been there for long, and nobody knows how
 * much of the use is its own. After all have been met, sl_lives_part() ends those who were not. */
void sl_lives_meet(struct sl_usage_unit *unit, const struct sl_lives_pod *pod, int64_t since_us,
                   bool unsure);
void sl_lives_part(struct sl_usage_unit *unit);

/* Returns the most that the pod was seen to use, in MiB; -1: it was not seen for long enough. */
int32_t sl_lives_own(const struct sl_usage_life *life);

/* All count with their asks until samples after last_us show that they do not grow. */
void sl_lives_unsettle(struct sl_usage_unit *unit, int64_t last_us);

/* The pod's; NULL: it has none, as one of too many. */
struct sl_usage_life *sl_lives_of(struct sl_usage_unit *unit, uint64_t pod);

/* Notes which pods the samples show, and for long enough. */
void sl_lives_look(struct sl_usage_unit *unit, const struct sl_series *series, size_t least);

/* Brings what the GPU's pods hold, by its samples: up when a few agree, down by what pods that have
 * gone had asked for when a few show it, and in all else when as many show it as decide. */
void sl_lives_hold(struct sl_usage_unit *unit, const struct sl_series *series, size_t least);

/* Returns the MiB that are taken where used_mib are in use: a pod that has not been seen for long
 * enough takes what it may come to use, its ask or (expected) what is expected of it, on top of
 * what was in use when it came. */
int64_t sl_lives_taken(const struct sl_usage_unit *unit, int64_t used_mib, bool expected);

/* The GPU uses last_mib now, and between `since` (of one sample and more) after the last change of
 * pods and the last measurement. Pods that have gone teach what they used. */
void sl_lives_measure(struct sl_usage_unit *unit, const struct sl_extent *since, int32_t last_mib,
                      struct sl_past *peaks);

#endif
