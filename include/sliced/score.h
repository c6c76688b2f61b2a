/* Scores: a weighted sum of named integer terms, each 0..100 and visible in an explanation. */
#ifndef SLICED_SCORE_H
#define SLICED_SCORE_H

#include "sliced/fit.h"

enum sl_term {
    SL_TERM_AVAILABILITY, /* what the placement leaves of the profiles in demand */
    SL_TERM_PACKING,      /* the fuller the node gets, the better */
    SL_TERM_SPREADING,    /* the emptier it stays, the better */
    SL_TERM_COUNT,
};

/* "availability", "packing", "spreading": names in the configuration and in explanations. */
const char *sl_term_name(enum sl_term term);
const char *sl_term_help(enum sl_term term);

struct sl_score_config {
    int32_t weight[SL_TERM_COUNT]; /* 0..1000; all 0 counts as all equal */
};

enum { SL_DEMAND_MAX = 32 };

/* What others want: resources waited for or asked for lately, with weights. */
struct sl_demand_row {
    uint64_t key;
    enum sl_kind kind;
    struct sl_mig_shape shape;
    int32_t weight; /* > 0; pods waiting for it plus recent asks */
};

struct sl_demand {
    uint8_t n;
    struct sl_demand_row row[SL_DEMAND_MAX];
};

struct sl_score {
    int32_t term[SL_TERM_COUNT]; /* 0..100 each */
    int32_t total;               /* 0..100, weighted mean rounded half up */
};

enum { SL_SCORER_MEMO = 64 };

/* Scores one ask on many nodes: what does not differ between them is worked out once, and nodes
 * that do not differ are scored once. All that is pointed at is borrowed; demand may be NULL. For
 * one thread. */
struct sl_scorer {
    const struct sl_ask *ask;
    const struct sl_demand *demand;
    const struct sl_score_config *config;
    int64_t weight;                        /* of the demand that counts; 0: all weigh the same */
    int64_t item_weight[SL_ASK_ITEMS_MAX]; /* of the demand for each item's resource */
    const struct sl_mig_model *model;      /* whose profiles' weights follow; NULL at first */
    int64_t profile_weight[SL_MIG_PROFILES_MAX];
    struct {
        uint64_t digest; /* of the view; 0: none yet */
        struct sl_score score;
    } memo[SL_SCORER_MEMO]; /* by the digest's last bits */
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
 * packing = 100 * used/capacity of the ask's pools after the placement, the mean over its items.
 * spreading = 100 - packing. */
/* Whether it fits is always looked at; the score of an equal digest is taken for the same. Should
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
