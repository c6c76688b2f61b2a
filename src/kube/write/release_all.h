/* Opens the gate sliced.dev/queue of all pods that have it, so that nothing waits for a daemon that
 * is to be removed. No plan is asked: kube-scheduler takes them in its own order. */
#ifndef SLICED_KUBE_RELEASE_ALL_H
#define SLICED_KUBE_RELEASE_ALL_H

#include "kube/client/client.h"

enum sl_opening {
    SL_OPENING_DONE,
    SL_OPENING_WOULD, /* dry run */
    SL_OPENING_GONE,  /* before it was opened */
    SL_OPENING_FAILED,
    SL_OPENINGS,
};

/* "opened", "would be opened", ... */
const char *sl_opening_name(enum sl_opening opening);

struct sl_release_all_options {
    struct sl_client *client;
    const char *namespace; /* NULL: all */
    const char *name;      /* of one pod, with namespace; NULL: all */
    unsigned page;         /* pods in one page of the list */
    unsigned at_once;      /* patches under way */
    int64_t call_us;       /* of one try of one call */
    unsigned tries;        /* of each call */
    bool dry_run;
    /* Tells of each pod with the gate; err: FAILED. On the client's thread, one at a time. May be
     * NULL. */
    void (*tell)(void *context, struct sl_str namespace, struct sl_str name,
                 enum sl_opening opening, const struct sl_error *err);
    void *context;
};

struct sl_release_all_counts {
    uint64_t seen; /* pods looked at; a list that was begun anew counts them again */
    uint64_t openings[SL_OPENINGS];
};

/* Waits until all is done. A pod whose patch was refused as conflicting or invalid may have been
 * made anew: then all are listed again, at most a few times, until there is no such pod. -1: the
 * pods could not be listed to the end; those opened are counted. Not on the client's thread. */
int sl_release_all(const struct sl_release_all_options *options,
                   struct sl_release_all_counts *counts, struct sl_error *err);

#endif
