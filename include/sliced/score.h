/* Scores: a weighted sum of named integer terms, each 0..100 and visible in an explanation. */
#ifndef SLICED_SCORE_H
#define SLICED_SCORE_H

#include "sliced/demand.h"
#include "sliced/fit.h"

/* TERM(enumerator, name in the configuration and in explanations, its built-in weight, and that for
 * a kind whose asks have weights of their own, what the weight is of, what SL_TERMS was given) */
#define SL_TERMS(TERM, ...)                                                                        \
    /* 100 when nothing is lost of the MIG profiles in demand and of whole GPUs */                 \
    TERM(AVAILABILITY, availability, 100, 0,                                                       \
         "Weight of what a placement leaves of the MIG profiles in demand.", __VA_ARGS__)          \
    /* how full the node is after the placement */                                                 \
    TERM(PACKING, packing, 50, 10, "Weight of filling nodes that are already in use.",             \
         __VA_ARGS__)                                                                              \
    TERM(SPREADING, spreading, 0, 0, "Weight of using the emptiest nodes.", __VA_ARGS__)           \
    /* above 50 when that grows */                                                                 \
    TERM(FRAGMENTATION, fragmentation, 0, 100,                                                     \
         "Weight of leaving idle GPUs in shapes that typical asks can use.", __VA_ARGS__)          \
    /* likewise */                                                                                 \
    TERM(WHOLE, whole, 0, 30,                                                                      \
         "Weight of keeping whole GPUs together for asks that want several at once.", __VA_ARGS__) \
    /* left out of the total where it is not known */                                              \
    TERM(CONTENTION, contention, 50, 20,                                                           \
         "Weight of what a shared GPU's pods leave of its time, where telemetry measures it.",     \
         __VA_ARGS__)

enum sl_term {
#define TERM(term, ...) SL_TERM_##term,
    SL_TERMS(TERM, )
#undef TERM
        SL_TERM_COUNT,
};

/* "availability", "packing", ...: names in the configuration and in explanations. */
const char *sl_term_name(enum sl_term term);

/* Weights, 0..1000. An ask uses by_kind of its kind; if that row is all 0, weight; if that is all 0
 * too, all terms weigh the same. An ask of several kinds has that of the lowest rank. */
struct sl_score_config {
    int32_t weight[SL_TERM_COUNT];
    int32_t by_kind[SL_KIND_COUNT][SL_TERM_COUNT];
};

struct sl_score {
    int32_t term[SL_TERM_COUNT]; /* 0..100 each; SL_SCORE_UNKNOWN: says nothing here (contention) */
    int32_t total;               /* 0..100, weighted mean of those that say something, rounded half
                                    up; 50 when none that has a weight does */
};

enum { SL_SCORE_UNKNOWN = -1 };

enum { SL_SCORER_MEMO = 64, SL_IDLE_TABLES = 4, SL_IDLE_GROUPS = 8, SL_SCORER_KEYS = 8 };

/* The expected future of idle shares of a GPU, for devices of one size on nodes that offer the same
 * resources. Shares are counted in steps of the device. */
struct sl_idle {
    uint64_t offered; /* bit i: the nodes offer the i-th typical ask */
    int64_t units;    /* memory units of a device; 0: no shares of memory */
    int32_t replicas; /* of a device; 0: none */
    int32_t steps;    /* of a device; 0: the table is empty */
    int64_t cpu;      /* milli CPU asked with a whole device's worth; 0: none stated */
    int32_t waste[SL_IDLE_STEPS + 1]; /* by idle steps: part without a user; 64000 is a device */
    int32_t need[SL_IDLE_STEPS + 1];  /* by idle steps: milli CPU wanted by users of the rest */
    struct {
        int64_t cpu; /* milli CPU of such an ask */
        int32_t count;
        int32_t share;       /* of all devices asked for; 65536 is all */
    } group[SL_IDLE_GROUPS]; /* asks of several whole GPUs */
    uint32_t n_groups;
};

/* Returns the weights, by term, that apply to the ask. */
const int32_t *sl_score_weights(const struct sl_score_config *config, const struct sl_ask *ask);

/* Scores one ask on many nodes, and scores equal nodes once. It borrows all that it points to;
 * demand may be NULL. For one thread. */
struct sl_scorer {
    const struct sl_ask *ask;
    const struct sl_demand *demand;
    const int32_t *term_weight;            /* of the configuration, for the ask's kind */
    bool all_terms;                        /* terms without weight are wanted, too */
    int64_t weight;                        /* sum of the demand that counts; 0: all weigh alike */
    int64_t item_weight[SL_ASK_ITEMS_MAX]; /* the demand for each item's resource */
    const struct sl_mig_model *model;      /* of profile_weight; NULL at first */
    int64_t profile_weight[SL_MIG_PROFILES_MAX];
    struct {
        uint64_t digest; /* of the view; 0: none yet */
        struct sl_score score;
    } memo[SL_SCORER_MEMO]; /* indexed by the digest's last bits */
    const struct sl_typical *typical;
    struct sl_typical own[SL_ASK_ITEMS_MAX]; /* the ask itself, when there is no demand */
    uint8_t n_typical;
    uint8_t n_keys;
    uint8_t n_idle; /* tables made so far */
    struct {
        uint64_t key;
        uint64_t rows; /* bit i: the i-th typical ask is for it */
    } asked[SL_SCORER_KEYS];
    struct sl_idle idle[SL_IDLE_TABLES];
};

void sl_scorer_init(struct sl_scorer *scorer, const struct sl_ask *ask,
                    const struct sl_demand *demand, const struct sl_score_config *config);

/* True when the ask fits on the node. *out is all 0 when it does not fit or asks for nothing.
 *
 * availability = 100 - 100 * loss, rounded half up; loss in 0..1 is - for what goes to instances:
 * sum_d w_d * loss_d / sum_d w_d over the demand's profiles d; loss_d is the memory slices of
 * instances of d that the placement makes unavailable, over the memory slices of one device (at
 * most 1). On a node that is repartitioned on demand and tells where its instances are, available
 * instances are the legal placements beside the instances in use, on the devices of which the ask
 * gets a part; on others they are the free instances, so that only the profile asked for loses. A
 * replica counts as its share of the instance. Without demand for profiles every profile of the
 * node's model weighs the same. An instance of unknown profile counts as a device. - for what goes
 * to whole GPUs or pieces of them: the devices that the placement takes first into use (at most 1),
 * so that a share of a GPU already in use costs nothing. When the node knows only counts, the
 * units' share of one device. - for an ask of both, the larger. When the ask states the least GPU
 * memory that it accepts, availability and fragmentation are each averaged with 100 * least /
 * given, over the units that it would be given.
 *
 * packing = 100 * used/capacity of the ask's pools after the placement, the mean over its items.
 * spreading = 100 - packing.
 *
 * fragmentation = 50 + 50 * d / (|d| + 0.4 GPU), d the node's idle GPUs that no pod is expected to
 * use, before the placement less after it, per GPU asked (docs/placement.md has the model: gaps
 * that typical asks leave, and GPUs whose CPU is gone). For instances it is the availability; it is
 * 50 when the devices are unknown. whole = the same of the idle whole GPUs that are too few for
 * asks of several at once; each such ask counts by its share of the GPUs asked for.
 *
 * contention = 100 * sl_measured_left() of the shared GPU that the ask would get a part of, or
 * sl_measured_speed() for a workload that is known to suffer there; of several the least; unknown
 * without such a GPU, and where nothing recent was measured of one.
 *
 * An ask without GPUs that requests CPU has fragmentation and whole only; its other terms are 0.
 * Terms without weight may be left 0; sl_score() fills all of them.
 *
 * The fit is checked for each view, and its contention found; the other terms are reused for an
 * equal digest. Should two states share a digest of 64 bits, a node that fits gets the other's
 * terms, the same in every run. A wrong term neither refuses nor assigns anything. */
bool sl_scorer_score(struct sl_scorer *scorer, const struct sl_view *view, struct sl_score *out);

/* Scores the ask on one node, and fills all terms. */
void sl_score(const struct sl_view *view, const struct sl_ask *ask, const struct sl_demand *demand,
              const struct sl_score_config *config, struct sl_score *out);

/* Says for an ask that fits what the term contention is made of: "neighbours on GPU 0: 2, busy 92
 * %, leave 33 %; neighbours on GPU 1: Stale". Empty where nothing is measured of the node, or the
 * ask shares no GPU. Cut to size bytes, with the NUL. */
void sl_contention_text(const struct sl_view *view, const struct sl_ask *ask, char *out,
                        size_t size);

/* Maps totals (0..100) to the wire's 0..10. The best node - highest total, among equals the one
 * with the lowest rank - alone gets 10; the others get floor(total * 9 / 100). rank[i] orders
 * equals, and must do so alike in every call, as the node's place by name does. */
void sl_score_wire(const int32_t *totals, const uint32_t *rank, size_t n, uint8_t *out);

#endif
