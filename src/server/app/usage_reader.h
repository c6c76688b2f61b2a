/* How the server asks what GPUs were measured to do. Answers are copies. */
#ifndef SLICED_SERVER_USAGE_READER_H
#define SLICED_SERVER_USAGE_READER_H

#include "sliced/usage.h"
#include "util/buf.h"

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
    void (*metrics)(void *context, struct sl_buf *out); /* writes further metrics */
    void (*history)(void *context,
                    struct sl_history *out); /* what is known, while it is asked for */
};

#endif
