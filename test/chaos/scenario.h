/* What the chaos test runs, again and again, with another allocation failing each time. */
#ifndef SLICED_TEST_CHAOS_SCENARIO_H
#define SLICED_TEST_CHAOS_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>

#include "util/buf.h"

struct scenario {
    const char *name;
    void *(*setup)(const void *given); /* what run works on; never NULL */
    const void *given;
    /* 0: done; -1: reported that memory is lacking. Anything else found is a defect: it asserts. */
    int (*run)(void *context);
    void (*digest)(void *context, struct sl_buf *out); /* the whole state as text */
    void (*teardown)(void *context);
    bool partial;     /* a run that fails may have done a part; otherwise it has changed nothing */
    bool must_finish; /* run may not report lack of memory: giving back must always work */
    bool no_memory;   /* run may not allocate at all */
};

/* A round that ends where it began: once the store is warm, no round may leave a block behind. */
void coming_and_going_leaves_nothing_behind(void **state);

extern const struct scenario cluster_scenarios[];
extern const size_t n_cluster_scenarios;
extern const struct scenario text_scenarios[];
extern const size_t n_text_scenarios;

#endif
