/* The memory that workloads have come to use. */
#include "sliced/peaks.h"

#include <stdbool.h>
#include <string.h>

#include "util/data/hash.h"

enum {
    MARGIN_LEAST = 20, /* permille */
    NEARLY = 1100,     /* permille: a bound so near above a peak says the same */
    HIGH = 1 << 16,    /* a life is low + HIGH * high, each in permille of what the pod asked for */
};

static int32_t low_of(int32_t life)
{
    return life % HIGH;
}

static int32_t high_of(int32_t life)
{
    return life / HIGH;
}

static int32_t clamp_permille(int32_t permille)
{
    return permille < 0 ? 0 : permille > 1000 ? 1000 : permille;
}

/* The kinds of values: lives are kept for each node and workload; from NODES on, the nodes that
 * have some are kept for each workload. */
enum kind { ENDED, LIVING, ENDED_NODES, LIVING_NODES, NODES = ENDED_NODES };

static uint64_t key_of(unsigned kind, uint32_t node, uint32_t workload)
{
    uint32_t word[3] = {kind, kind < NODES ? node : 0, workload};
    return sl_hash((const char *)word, sizeof(word));
}

uint32_t sl_peaks_node(const char *name)
{
    return (uint32_t)sl_hash(name, strlen(name)) & INT32_MAX;
}

uint64_t sl_peaks_key(uint32_t node, uint32_t workload)
{
    return key_of(ENDED, node, workload);
}

static int32_t life_of(int32_t low_permille, int32_t high_permille)
{
    return clamp_permille(low_permille) + HIGH * clamp_permille(high_permille);
}

static void note_node(struct sl_past *peaks, enum kind kind, uint32_t node, uint32_t workload)
{
    uint64_t key = key_of(NODES + kind, 0, workload);
    unsigned n = 0;
    const int32_t *known = sl_past_values(peaks, key, &n);
    bool found = false;
    for (unsigned i = 0; i < n; i++) {
        found = found || known[i] == (int32_t)node;
    }
    if (!found) {
        sl_past_add(peaks, key, (int32_t)node);
    }
}

void sl_peaks_learn(struct sl_past *peaks, uint32_t node, uint32_t workload, int32_t low_permille,
                    int32_t high_permille)
{
    note_node(peaks, ENDED, node, workload);
    sl_past_add(peaks, sl_peaks_key(node, workload), life_of(low_permille, high_permille));
}

void sl_peaks_glimpse(struct sl_past *peaks, uint32_t node, uint32_t workload, int32_t permille)
{
    uint64_t key = key_of(LIVING, node, workload);
    unsigned n = 0;
    const int32_t *most = sl_past_values(peaks, key, &n);
    if (n == 0 || permille > low_of(*most)) {
        note_node(peaks, LIVING, node, workload);
        sl_past_forget(peaks, key);
        sl_past_add(peaks, key, life_of(permille, permille));
    }
}

void sl_peaks_forget(struct sl_past *peaks, uint32_t node, uint32_t workload)
{
    for (enum kind kind = ENDED; kind < NODES; kind++) {
        unsigned n = 0;
        const int32_t *known = sl_past_values(peaks, key_of(NODES + kind, 0, workload), &n);
        for (unsigned i = 0; i < n; i++) {
            sl_past_forget(peaks, key_of(kind, (uint32_t)known[i], workload));
        }
        sl_past_forget(peaks, key_of(kind, node, workload)); /* it may be none of the last */
        sl_past_forget(peaks, key_of(NODES + kind, 0, workload));
    }
}

/* A summary of lives. */
struct shown {
    int32_t highest;
    int32_t least;
    unsigned lives;
};

/* Adds what lives of a node show; returns how many show its peak. */
static unsigned add_node(const struct sl_past *peaks, uint64_t key, struct shown *all)
{
    unsigned n = 0;
    unsigned lives = 0;
    const int32_t *life = sl_past_values(peaks, key, &n);
    int32_t surely = 0;
    int32_t least = 1000;
    for (unsigned i = 0; i < n; i++) {
        surely = low_of(life[i]) > surely ? low_of(life[i]) : surely;
        least = high_of(life[i]) < least ? high_of(life[i]) : least;
    }
    int32_t highest = n == 0 ? 0 : surely > least ? surely : least;
    for (unsigned i = 0; i < n; i++) {
        lives += high_of(life[i]) * 1000 <= highest * NEARLY;
    }
    all->highest = highest > all->highest ? highest : all->highest;
    all->least = least < all->least ? least : all->least;
    return lives;
}

/* Lives from which a peak is told; few show less of how they differ. */
static struct sl_peak_expected expected_of(const struct sl_past *peaks, enum kind kind,
                                           uint32_t node, uint32_t workload,
                                           int32_t margin_permille)
{
    unsigned n = 0;
    const int32_t *known = sl_past_values(peaks, key_of(NODES + kind, 0, workload), &n);
    struct shown all = {.least = 1000};
    struct sl_peak_expected out = {.permille = 1000};
    unsigned most = 0; /* of another node: what only one says counts for nothing here */
    all.lives = add_node(peaks, key_of(kind, node, workload), &all);
    for (unsigned i = 0; i < n; i++) {
        uint32_t other = (uint32_t)known[i];
        unsigned lives = other == node ? 0 : add_node(peaks, key_of(kind, other, workload), &all);
        most = lives > most ? lives : most;
        all.lives += lives;
    }
    out.lives = all.lives - most < SL_PAST_VALUES ? all.lives - most : SL_PAST_VALUES;
    if (out.lives == 0) {
        return out;
    }
    int32_t spread =
        MARGIN_LEAST + (all.highest > 0 ? (all.highest - all.least) * 1000 / all.highest : 0);
    int32_t margin = spread < margin_permille && out.lives > 1 ? spread : margin_permille;
    int64_t expected = (int64_t)all.highest * (1000 + margin) / 1000 + 1;
    out.permille = expected > 1000 ? 1000 : (int32_t)expected;
    return out;
}

struct sl_peak_expected sl_peaks_expected(const struct sl_past *peaks, uint32_t node,
                                          uint32_t workload, int32_t margin_permille)
{
    struct sl_peak_expected ended = expected_of(peaks, ENDED, node, workload, margin_permille);
    if (ended.lives > 0) {
        return ended;
    }
    struct sl_peak_expected seen = expected_of(peaks, LIVING, node, workload, margin_permille);
    seen.lives = 0;
    return seen;
}
