/* The play of GPUs that are shared and measured: its moves, and the rules that what the daemon
 * gives, and ends, must keep by what it has read (gauges.h). */
#ifndef SLICED_ADVERSARY_USAGE_H
#define SLICED_ADVERSARY_USAGE_H

#include <jansson.h>

#include "adversary/rig.h"

/* Writes the configuration's part; what it says holds from now on. */
void usage_configure(struct rng *rng, char *out, size_t size);

/* ---- moves ---- */

void usage_add_gauge(struct rig *rig);
void usage_lose_gauge(struct rig *rig);
void usage_add_pod(struct rig *rig);
void usage_add_foreign(struct rig *rig);
void usage_quiet(struct rig *rig); /* an exporter tells nothing for a while, or names others */
void usage_desk(struct rig *rig);  /* of pods that say they are others: desks.h */
void usage_go_on(struct rig *rig);
void usage_check(struct rig *rig);

/* ---- what the daemon does; with the world's lock ---- */

/* It nominates the pod there, or binds the one at that place of the world: what it was nominated to
 * is its own. */
void usage_nominates(const json_t *pod, const char *node);
void usage_binds(size_t which, const char *node);
/* Its patch of the pod is carried out. */
void usage_patched(const json_t *pod, const json_t *patch);

struct usage_counts {
    _Atomic uint64_t judged, beyond, ended; /* beyond: given more than what the asks leave */
    _Atomic uint64_t idlers;                /* pods that were said to idle, time and again */
};
extern struct usage_counts usage_counts;

#endif
