/* How the server asks about cuts under way and nodes left out. Answers are copies. */
#ifndef SLICED_SERVER_PARTITION_READER_H
#define SLICED_SERVER_PARTITION_READER_H

#include "sliced/cut.h"
#include "util/buf.h"

enum { SL_PARTITION_WORDS_MAX = 512 };

enum sl_partition_phase {
    SL_PHASE_IDLE,     /* as it is cut, it stays for now */
    SL_PHASE_DRAINING, /* its units are kept for a cut to come */
    SL_PHASE_CUTTING,
    SL_PHASE_OUT, /* the last cut failed: left out for a while */
    SL_PHASES,
};
const char *sl_partition_phase_name(enum sl_partition_phase phase); /* "Idle", ... */

/* One node whose GPUs may be cut. */
struct sl_partition_status {
    enum sl_partition_phase phase;
    int64_t since_us;                  /* Unix; 0: since ever */
    int64_t until_us;                  /* when that is expected to end; 0: unknown */
    int64_t seconds_us;                /* what a cut of this node takes, as learned */
    uint32_t failures;                 /* in a row */
    enum sl_cut_bar bar;               /* what keeps its GPUs from being cut now */
    char cut[SL_PARTITION_WORDS_MAX];  /* "GPU 2 into 2x 3g.20gb": CUTTING, or planned; OUT: what
                                          failed */
    char pods[SL_PARTITION_WORDS_MAX]; /* for whom: "ns/a, ns/b, 3 more" */
    char why[SL_PARTITION_WORDS_MAX];  /* CUTTING: the step that it has reached; OUT: what failed;
                                          "Planned": pods are waited for; else the name of the bar;
                                          empty: there is none */
    char text[SL_PARTITION_WORDS_MAX]; /* the same in a sentence without its subject, the node */
};

/* Any thread may call; no function waits for a plan or for I/O. A struct of NULLs stands for a
 * daemon that cuts nothing. */
struct sl_partition_reader {
    void *context;
    /* Fills out for the node of that view. */
    void (*status)(void *context, const struct sl_view *view, int64_t now_us,
                   struct sl_partition_status *out);
};

#endif
