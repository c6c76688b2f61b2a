/* Scores: a weighted sum of named integer terms, each 0..100 and visible in an explanation. */
#ifndef SLICED_SCORE_H
#define SLICED_SCORE_H

#include "sliced/fit.h"

enum sl_term {
    SL_TERM_AVAILABILITY,  /* what the placement leaves of the profiles in demand */
    SL_TERM_PACKING,       /* the fuller the node gets, the better */
    SL_TERM_SPREADING,     /* the emptier it stays, the better */
    SL_TERM_FRAGMENTATION, /* what of the idle GPUs others will be able to use */
    SL_TERM_WHOLE,         /* whole GPUs in the numbers that others ask for at once */
    SL_TERM_COUNT,
};

/* "availability", "packing", ...: names in the configuration and in explanations. */
const char *sl_term_name(enum sl_term term);
const char *sl_term_help(enum sl_term term);

enum { SL_KIND_COUNT = SL_KIND_MEMORY + 1 };

/* Weights are 0..1000. An ask is scored by those of its kind; where these are all 0, by the first
 * row; where that is all 0 too, all terms weigh the same. An ask of several kinds counts as the one
 * that comes first in: memory, whole, replica, mig. */
struct sl_score_config {
    int32_t weight[SL_TERM_COUNT];
    int32_t by_kind[SL_KIND_COUNT][SL_TERM_COUNT];
};

enum { SL_DEMAND_MAX = 32, SL_TYPICAL_MAX = 64, SL_DEMAND_RECENT = 1024 };

/* What others want: resources waited for or asked for lately, with weights. */
struct sl_demand_row {
    uint64_t key;
    enum sl_kind kind;
    struct sl_mig_shape shape;
    int32_t weight; /* > 0; pods waiting for it plus recent asks */
    uint64_t rank;  /* sl_rank_hash of the name */
};

/* One thing that pods ask for, with its size. */
struct sl_typical {
    uint64_t key;
    int64_t count;     /* units in one pod, > 0 */
    int64_t cpu_milli; /* that the pod requests beside; 0: says nothing */
    int32_t weight;    /* > 0; as in the rows */
    enum sl_kind kind;
    uint64_t rank; /* as in the rows */
};

struct sl_demand {
    uint8_t n;
    uint8_t n_typical;
    struct sl_demand_row row[SL_DEMAND_MAX];
    struct sl_typical typical[SL_TYPICAL_MAX];
};

/* Puts it in its place, the heaviest first, among equals by rank, count and CPU; the lightest falls
 * out where there are SL_DEMAND_MAX, or SL_TYPICAL_MAX, of them. A weight of 0 or less is left out,
 * and so are instances among the typical asks: they leave no gaps on a device, and are in the rows.
 */
void sl_demand_offer(struct sl_demand *demand, const struct sl_demand_row *row);
void sl_demand_offer_typical(struct sl_demand *demand, const struct sl_typical *typical);

/* By rank, count and CPU: below, at or above 0. */
int sl_typical_compare(const struct sl_typical *a, const struct sl_typical *b);

struct sl_score {
    int32_t term[SL_TERM_COUNT]; /* 0..100 each */
    int32_t total;               /* 0..100, weighted mean rounded half up */
};

enum {
    SL_SCORER_MEMO = 64,
    SL_IDLE_STEPS = 128,
    SL_IDLE_TABLES = 4,
    SL_IDLE_GROUPS = 8,
    SL_SCORER_KEYS = 8
};

/* What is going to become of idle shares of a GPU, on nodes that offer the same resources and on
 * devices of one size. A share is counted in steps of its device. */
struct sl_idle {
    uint64_t offered; /* bit i: the i-th typical ask can be had there */
    int64_t units;    /* memory units of a device; 0: no shares of memory */
    int32_t replicas; /* of a device; 0: none */
    int32_t steps;    /* of a device; 0: nothing is in the table */
    int64_t cpu;      /* milli CPU asked with a whole device's worth; 0: nobody says */
    int32_t waste[SL_IDLE_STEPS + 1]; /* of so many idle steps nobody will use; 64000 is a device */
    int32_t need[SL_IDLE_STEPS + 1];  /* milli CPU that those who use the rest will want */
    struct {
        int64_t cpu; /* milli CPU of such an ask */
        int32_t count;
        int32_t share;       /* of all devices asked for, 65536 is all */
    } group[SL_IDLE_GROUPS]; /* asks of several whole GPUs */
    uint32_t n_groups;
};

/* The weights, by term, that hold for the ask. */
const int32_t *sl_score_weights(const struct sl_score_config *config, const struct sl_ask *ask);

/* Scores one ask on many nodes: what does not differ between them is worked out once, and nodes
 * that do not differ are scored once. All that is pointed at is borrowed; demand may be NULL. For
 * one thread. */
struct sl_scorer {
    const struct sl_ask *ask;
    const struct sl_demand *demand;
    const int32_t *term_weight;            /* of the configuration, for the ask's kind */
    uint32_t wanted;                       /* bit i: term i has a weight */
    int64_t weight;                        /* of the demand that counts; 0: all weigh the same */
    int64_t item_weight[SL_ASK_ITEMS_MAX]; /* of the demand for each item's resource */
    const struct sl_mig_model *model;      /* whose profiles' weights follow; NULL at first */
    int64_t profile_weight[SL_MIG_PROFILES_MAX];
    struct {
        uint64_t digest; /* of the view; 0: none yet */
        struct sl_score score;
    } memo[SL_SCORER_MEMO]; /* by the digest's last bits */
    const struct sl_typical *typical;
    struct sl_typical own[SL_ASK_ITEMS_MAX]; /* the ask's own, where there is no demand */
    uint8_t n_typical;
    uint8_t n_keys;
    uint8_t n_idle; /* tables that are made */
    struct {
        uint64_t key;
        uint64_t rows; /* bit i: the i-th typical ask is for it */
    } asked[SL_SCORER_KEYS];
    struct sl_idle idle[SL_IDLE_TABLES];
};

void sl_scorer_init(struct sl_scorer *scorer, const struct sl_ask *ask,
                    const struct sl_demand *demand, const struct sl_score_config *config);

/* True when the ask fits on the node; where it does not, or when it asks for nothing, all of *out
 * is 0.
 *
 * availability = 100 - 100 * loss, rounded half up; loss in 0..1 is
 * - for what goes to instances: sum_d w_d * loss_d / sum_d w_d over the demand's profiles d; loss_d
 *   is the memory slices' worth of instances of d that the node can provide before and no longer
 *   after the placement, over the memory slices of one device (at most 1). Where the node is
 *   repartitioned by demand and says where its instances are, they are counted from the legal
 *   placements beside the instances in use, on the devices that the ask gets a part of; elsewhere
 *   from the free instances, so that only the profile asked for loses. A replica of an instance is
 *   the instance's share. Without demand for profiles every profile of the node's model weighs the
 *   same. An instance of unknown profile counts as a device.
 * - for what goes to whole GPUs or pieces of them: devices with nothing in use before and something
 *   after (at most 1): a share of a GPU that others share already costs nothing. Where the node
 *   knows only counts, the units' share of one device.
 * - for an ask of both, the larger.
 * Where the ask says the least GPU memory that it accepts, availability and fragmentation are each
 * the mean of that and of 100 * least / given over what it would be given.
 * packing = 100 * used/capacity of the ask's pools after the placement, the mean over its items.
 * spreading = 100 - packing.
 * fragmentation = 50 + 50 * d / (|d| + 0.4 GPU), d the idle GPUs on the node that nobody is
 * expected to use before the placement less those after it, per GPU asked (docs/placement.md has
 * the model: gaps that typical asks leave, and GPUs whose CPU is gone). Of what goes to instances
 * it is the availability. 50 where nothing is known of devices. whole = the same of the GPUs that
 * are idle and whole, but too few for those who ask for several at once; each such ask counts by
 * its share of the GPUs asked for. An ask for nothing that requests CPU has fragmentation and whole
 * only; the others are 0. */
/* Terms that have no weight may be left 0: sl_score() tells all of them.
 *
 * Whether it fits is always looked at; the score of an equal digest is taken for the same. Should
 * two states ever share one (64 bits), a node that fits gets another's score, the same in every
 * run: nothing is refused or given for it. */
bool sl_scorer_score(struct sl_scorer *scorer, const struct sl_view *view, struct sl_score *out);

/* The same for one node. */
void sl_score(const struct sl_view *view, const struct sl_ask *ask, const struct sl_demand *demand,
              const struct sl_score_config *config, struct sl_score *out);

/* Maps totals (0..100) to the wire's 0..10. The best node - highest total, among equals the one
 * with the lowest rank - alone gets 10; the others get floor(total * 9 / 100). rank[i] is any
 * number that orders equals the same way in every call (the node's place by name). */
void sl_score_wire(const int32_t *totals, const uint32_t *rank, size_t n, uint8_t *out);

#endif
