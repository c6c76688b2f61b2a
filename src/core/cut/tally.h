/* A small table of numbers by hash: what is known of asks and of namespaces in one run. */
#ifndef SLICED_CORE_CUT_TALLY_H
#define SLICED_CORE_CUT_TALLY_H

#include <stddef.h>
#include <stdint.h>

struct sl_cut_count {
    uint64_t key; /* 0: unused */
    int64_t value;
};

/* Zeroed: empty, without memory. */
struct sl_cut_tally {
    struct sl_cut_count *count;
    size_t cap; /* a power of two */
};

/* Empties the tally and makes room for n keys. -1: out of memory. */
int sl_cut_tally_clear(struct sl_cut_tally *tally, size_t n);
void sl_cut_tally_free(struct sl_cut_tally *tally);

/* Returns the key's number, 0 at first. Valid until the tally is cleared; at most n keys. */
int64_t *sl_cut_tally_at(struct sl_cut_tally *tally, uint64_t key);

#endif
