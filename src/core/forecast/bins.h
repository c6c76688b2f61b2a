/* Nodes as bins of units, found by their free units; among equals the first in the array. */
#ifndef SLICED_CORE_FORECAST_BINS_H
#define SLICED_CORE_FORECAST_BINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SL_BINS_LEVELS = 64 };

#define SL_BIN_NONE UINT32_MAX

/* A node, or one device when a pod cannot have units of two. */
struct sl_bin {
    uint64_t key; /* of the node */
    int64_t units;
    int64_t free; /* below 0 when running pods hold more than there is */
    int64_t gain; /* of a search: units freed in it, if mark is the search's */
    uint64_t mark;
    uint8_t site; /* see struct sl_promise_node */
};

struct sl_bin_name {
    uint64_t key;
    uint32_t bin;
};

/* Zeroed: no bins. */
struct sl_bins {
    struct sl_bin *bin;        /* as planner and caller name nodes: among equals the first goes */
    struct sl_bin_name *named; /* by key */
    uint64_t *bits;            /* of each level, with `words` words: its bins */
    size_t n;
    size_t cap;
    size_t named_cap;
    size_t bits_cap;
    size_t words;
    uint32_t count[SL_BINS_LEVELS + 1]; /* of each level */
    int64_t largest;                    /* units of the largest bin */
    bool keeps_sets;                    /* the next member counts */
    int64_t odd[SL_BINS_LEVELS + 1];    /* by free units: those left over by wide pods */
};

void sl_bins_free(struct sl_bins *bins);
/* Makes room for n bins; -1 when out of memory. */
int sl_bins_reserve(struct sl_bins *bins, size_t n);
/* To be called when the array has been filled with n bins. */
void sl_bins_name(struct sl_bins *bins);
/* Frees all units. */
void sl_bins_clear(struct sl_bins *bins);
/* The copy must have reserved room. */
void sl_bins_copy(struct sl_bins *to, const struct sl_bins *from);
/* True when pods of that width fill every bin, so that only the sum of free units counts. */
bool sl_bins_are_divided_by(const struct sl_bins *bins, int64_t width);
void sl_bins_set_free(struct sl_bins *bins, uint32_t index, int64_t units);
/* Tells how many pods of each width there are, of up to SL_BINS_LEVELS units: bins are chosen as
 * the score of whole GPUs does by default, so that free units stay together for them. */
void sl_bins_set_mix(struct sl_bins *bins, const uint32_t *pods);
/* Returns the fullest bin, or that which the mix prefers, except `but`, with room for the width;
 * SL_BIN_NONE: none. */
uint32_t sl_bins_choose(const struct sl_bins *bins, int64_t width, uint32_t but);
/* Returns an upper bound on the free units of bins except `but`; loose when levels are wide. */
int64_t sl_bins_most_free(const struct sl_bins *bins, uint32_t but);
/* Does a bin with so many free units suit a pod better than another? The tightest with room does,
 * else the one with the most. */
bool sl_bins_suits(int64_t free, int64_t than, int64_t width);
/* Returns where the node's bins begin among the named ones; bins->n or a bin of another key: there
 * is none. */
size_t sl_bins_find(const struct sl_bins *bins, uint64_t key);
/* Returns the node's bin that suits the width best; for an unknown node as sl_bins_choose(). */
uint32_t sl_bins_of_node(const struct sl_bins *bins, uint64_t key, int64_t width);

#endif
