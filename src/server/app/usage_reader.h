/* How the server asks what GPUs were measured to do. Answers are copies. */
#ifndef SLICED_SERVER_USAGE_READER_H
#define SLICED_SERVER_USAGE_READER_H

#include "sliced/tenant.h"
#include "sliced/usage.h"
#include "util/buf.h"
#include "util/error.h"

struct sl_usage_status {
    bool answered;       /* the last question got an answer */
    int64_t answered_us; /* Unix, of the last answer; 0: none yet */
    size_t units;
    char error[256]; /* of the last question; empty: none */
};

enum { SL_HISTORY_LINES = 6, SL_HISTORY_POINTS = 61, SL_HISTORY_STEP_S = 60 };

/* An hour of numbers about the cluster, as Prometheus has them. */
struct sl_history {
    bool kept;       /* there is a Prometheus to ask */
    int64_t end_us;  /* Unix, of the last points; 0: no answer yet */
    char error[200]; /* why the last question was not answered; "": it was, or none was asked */
    struct {
        const char *name;                /* a constant */
        double value[SL_HISTORY_POINTS]; /* NaN: not known */
    } line[SL_HISTORY_LINES];
};

enum { SL_USED_NAME_MAX = 320 };

/* Units of a resource that pods of a namespace hold and that are measured, each as much as the
 * pod's GPUs have been busy since it began to run, in thousandths. */
struct sl_used {
    char name[SL_USED_NAME_MAX]; /* "NAMESPACE/RESOURCE" */
    int64_t milli;
};

enum {
    SL_SPENT_USED = 5, /* of the kinds */
    SL_SPENT_KINDS,
    SL_SPENT_ROWS_MAX = 8192,
    SL_SPENT_NAME_MAX = 400
};

/* A tenant's hours of a resource's units over the last days, as Prometheus has them. */
struct sl_spent {
    char name[SL_SPENT_NAME_MAX]; /* "TENANT.RESOURCE.SINCE", without '/' */
    char tenant[SL_TENANT_NAME_MAX];
    char resource[256];
    char since[8]; /* "30d" */
    double
        hours[SL_SPENT_KINDS]; /* share, held, borrowed, lent, waiting, used: as the labels kind
                                  of sliced_tenant_units; below 0 of used: nothing was measured */
};

/* Any thread may call; no function waits for I/O. A struct of NULLs stands for a daemon that
 * measures nothing. */
struct sl_usage_reader {
    void *context;
    void (*status)(void *context, struct sl_usage_status *out);
    /* Writes the rows of the node, by GPU and instance; returns how many, at most max. */
    size_t (*node)(void *context, struct sl_str node, struct sl_usage_row *out, size_t max);
    /* Joules that the pod of that UID, where it is not NULL, or the pods of the namespace were
     * charged with; -1: nobody knows. */
    int64_t (*joules)(void *context, const char *uid, const char *namespace);
    /* Copies what was judged last, in no order, to *out, which the caller frees; *n rows. -1: out
     * of memory. */
    int (*used)(void *context, struct sl_used **out, size_t *n);
    void (*metrics)(void *context, struct sl_buf *out); /* writes further metrics */
    void (*history)(void *context,
                    struct sl_history *out); /* what is known, while it is asked for */
    /* Copies what is known by now, in no order, into *out, which the caller frees; *n rows.
     * -1 with *err: nothing is known yet, and is asked for (SL_ERR_LIMIT), or why (SL_ERR_SYSTEM).
     */
    int (*spent)(void *context, struct sl_spent **out, size_t *n, struct sl_error *err);
};

#endif
