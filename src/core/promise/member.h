/* A pod of the lane, waiting or running, with the notes of each file. */
#ifndef SLICED_CORE_PROMISE_MEMBER_H
#define SLICED_CORE_PROMISE_MEMBER_H

#include "core/forecast/lane_order.h"

struct sl_promise_member {
    struct sl_promise_pod pod;
    int64_t started_us;
    uint32_t place; /* waiting: its slot in its rank; running: its index among the running */
    uint32_t entry; /* its index in the virtual FIFO */
    uint8_t rank;
    bool running;
    /* layout.c */
    int64_t base_us; /* its start in the layout in which no pod overtakes */
    /* mixed.c */
    uint64_t serial;
    uint64_t node;       /* key of the node that it runs on; 0: unknown */
    uint32_t bin;        /* where it runs, or its reserved start is; SL_BIN_NONE: unknown */
    uint64_t layout;     /* waiting: number of the layout that its reserved start is in */
    int64_t reserved_us; /* that start */
    uint64_t sites;      /* that admit it, as of the last layout */
};

#endif
