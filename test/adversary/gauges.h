/* Nodes whose GPU is shared and measured: how much its pods really use, the exporter that tells
 * late, with gaps and by another clock, and the Prometheus that scrapes it. Remembers what the
 * daemon has read of it. Asks none of sliced's code. All with the world's lock. */
#ifndef SLICED_ADVERSARY_GAUGES_H
#define SLICED_ADVERSARY_GAUGES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "adversary/random.h"
#include "adversary/world.h"

enum {
    GAUGES = 3,
    GAUGE_SAMPLES = 512,
    GAUGE_TENANTS = 128,
    GAUGE_WORKLOADS = 4,
    GAUGE_UID = 64,
    GAUGE_MIB = 15360, /* of the GPU */
    GAUGE_UNIT_MIB = 1024
};

struct sample {
    int64_t taken_us; /* by the world's clock */
    int64_t stamp_us; /* by the exporter's */
    int64_t used_mib;
    int busy;        /* permille */
    int64_t read_us; /* by the world's clock, when the daemon was told */
    bool odd;        /* its memory is told as NaN, or in bytes */
    int64_t from_us; /* of those that were read: stamp of the first odd one before it */
    int64_t till_us; /* likewise, of the last one after it */
};

/* A pod, and what it does. */
struct tenant {
    char uid[GAUGE_UID]; /* "": the place is free */
    unsigned workload;
    int64_t ask_mib;
    int64_t came_us;          /* when it was placed there, by the world's clock */
    int64_t late_us;          /* after so long it uses another part of its ask */
    unsigned part, late_part; /* permille; more than 1000: beyond it */
    int busy, late_busy;      /* permille of the GPU's time, likewise */
    bool running;             /* it uses memory */
    bool gone;                /* it has ended: kept for who was not told of it yet */
};

struct gauge {
    char name[16];        /* "": there is none */
    bool units;           /* gpushare's shares, not replicas */
    int64_t ahead_us;     /* of the node's clock */
    int64_t interval_us;  /* between two samples */
    int64_t lag_us;       /* until a sample can be read */
    int64_t quiet_us;     /* until then it takes none */
    int64_t overhead_mib; /* of each process */
    enum { NAMES_NONE, NAMES_RIGHT, NAMES_WRONG, NAMES_MANY } names;
    struct sample sample[GAUGE_SAMPLES]; /* a ring */
    size_t n;
    struct sample read[GAUGE_SAMPLES]; /* that the daemon has taken, likewise; by its stamp */
    size_t n_read;
    size_t n_lost;  /* the first of them, which it has forgotten */
    int64_t odd_us; /* stamp of the first odd one since the last of them; 0: none */
    bool unsure;    /* an answer was cut: what was read of it is not known */
    struct tenant tenant[GAUGE_TENANTS];
};

extern struct gauge gauges[GAUGES];
/* Pods of that workload have run on that node: its exporter has told what they used. */
extern bool gauges_lived[GAUGES][GAUGE_WORKLOADS];

void gauges_begin(void);
struct gauge *gauge_find(const char *node); /* NULL: there is none */
void gauge_add(struct rng *rng, struct gauge *gauge);
void gauge_lose(struct gauge *gauge); /* with its pods */
/* MiB that the pod asks for there; 0: it asks for nothing that is there. */
int64_t gauge_ask(const struct gauge *gauge, const json_t *pod);
unsigned gauge_workload(const json_t *pod);
struct tenant *gauge_tenant(struct gauge *gauge, const char *uid); /* NULL: it is not there */
/* A pod is placed there. */
struct tenant *gauge_place(struct gauge *gauge, const json_t *pod);
/* All that happens by now. */
void gauges_act(struct rng *rng);
/* The daemon has judged what was read until then. */
extern int64_t gauges_judged_us;
extern size_t gauges_window; /* samples that the daemon keeps of each */
/* The i-th last sample that was read, and judged; NULL: there are fewer. */
const struct sample *gauge_read(const struct gauge *gauge, size_t i);

/* Answers Prometheus' question, or that for an exporter's page; NULL: nobody is there. The caller
 * frees it. */
char *gauges_answer(struct rng *rng, const char *path);
/* The answer that was made last has been told, to its end or not. */
void gauges_told(bool whole);
/* The daemon's clock was set: it keeps no sample that is of a time to come. */
void gauges_clock_set(void);
/* By the world's clock: when that was done last; 0: never. */
extern int64_t gauges_clock_set_us;
/* A daemon that has read nothing. */
void gauges_forget(void);

#endif
