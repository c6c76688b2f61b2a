/* Finds the items that name a pod, and the waiting pods that an item names, by their labels, so
 * that neither search visits all of them. */
#include "core/stage/internal.h"

#include <stdlib.h>

/* ---- buckets ---- */

static struct sl_stage_bucket *bucket_find(const struct sl_stage_space *space, uint64_t hash)
{
    return sl_map_get(&space->buckets, (const char *)&hash, sizeof(hash));
}

static struct sl_stage_bucket *bucket_get(struct sl_stage_space *space, uint64_t hash)
{
    struct sl_stage_bucket *bucket = bucket_find(space, hash);
    if (bucket != NULL) {
        return bucket;
    }
    bucket = calloc(1, sizeof(*bucket));
    if (bucket == NULL) {
        return NULL;
    }
    bucket->hash = hash;
    if (sl_map_put(&space->buckets, (const char *)&bucket->hash, sizeof(bucket->hash), bucket,
                   NULL) < 0) {
        free(bucket);
        return NULL;
    }
    return bucket;
}

static void filing_remove(struct sl_stage_space *space, enum sl_stage_side side,
                          struct sl_stage_filing *filing)
{
    struct sl_stage_bucket *bucket = filing->bucket;
    sl_list_remove(&bucket->filings[side], &filing->link);
    bucket->n[side]--;
    if (bucket->n[SL_STAGE_WAITERS] == 0 && bucket->n[SL_STAGE_TARGETS] == 0) {
        (void)sl_map_remove(&space->buckets, (const char *)&bucket->hash, sizeof(bucket->hash));
        free(bucket);
    }
}

void sl_stage_unfile(struct sl_stage_space *space, enum sl_stage_side side,
                     struct sl_stage_filings *filings)
{
    for (uint32_t i = 0; i < filings->n; i++) {
        filing_remove(space, side, &filings->filing[i]);
    }
    free(filings->filing);
    *filings = (struct sl_stage_filings){.n = 0};
}

static bool is_among(const uint64_t *hash, uint32_t n, uint64_t wanted)
{
    for (uint32_t i = 0; i < n; i++) {
        if (hash[i] == wanted) {
            return true;
        }
    }
    return false;
}

/* Files the owner under each of the hashes; -1: out of memory, filed under none. */
static int file_under(struct sl_stage_space *space, enum sl_stage_side side, void *owner,
                      const uint64_t *hash, uint32_t n, struct sl_stage_filings *out)
{
    *out = (struct sl_stage_filings){.filing = calloc((size_t)n + 1, sizeof(*out->filing))};
    if (out->filing == NULL) {
        return -1;
    }
    out->done = true;
    for (uint32_t i = 0; i < n; i++) {
        if (is_among(hash, i, hash[i])) {
            continue;
        }
        struct sl_stage_bucket *bucket = bucket_get(space, hash[i]);
        if (bucket == NULL) {
            sl_stage_unfile(space, side, out);
            return -1;
        }
        struct sl_stage_filing *filing = &out->filing[out->n++];
        *filing = (struct sl_stage_filing){.bucket = bucket, .owner = owner};
        sl_list_add_first(&bucket->filings[side], &filing->link);
        bucket->n[side]++;
    }
    return 0;
}

int sl_stage_file_waiter(struct sl_stage_waiter *waiter)
{
    return file_under(waiter->space, SL_STAGE_WAITERS, waiter, waiter->pod->label,
                      waiter->pod->n_labels, &waiter->filings);
}

/* Counts the members of that side that have, or ask for, one of the rule's labels; a member with
 * two counts twice. */
static size_t crowd(const struct sl_stage_target *target, const struct sl_selector_rule *rule,
                    enum sl_stage_side side)
{
    size_t n = 0;
    for (uint32_t i = 0; i < rule->n; i++) {
        const struct sl_stage_bucket *bucket =
            bucket_find(target->space, target->hash[rule->first + i]);
        n += bucket == NULL ? 0 : bucket->n[side];
    }
    return n;
}

static size_t waiters_of(const struct sl_stage_target *target, const struct sl_selector_rule *rule)
{
    return crowd(target, rule, SL_STAGE_WAITERS);
}

/* Estimates how often pods and items filed by this rule would be compared. */
static size_t looks_at(const struct sl_stage_target *target, const struct sl_selector_rule *rule)
{
    size_t pods = crowd(target, rule, SL_STAGE_WAITERS);
    return (pods + 1) * (crowd(target, rule, SL_STAGE_TARGETS) + 1);
}

/* Returns the rule with the fewest looks; n_rules: no rule asks for a label. */
static uint32_t best_rule(const struct sl_stage_target *target,
                          size_t (*looks)(const struct sl_stage_target *target,
                                          const struct sl_selector_rule *rule))
{
    uint32_t best = target->n_rules;
    size_t least = SIZE_MAX;
    for (uint32_t r = 0; r < target->n_rules; r++) {
        size_t n = target->rule[r].negated ? SIZE_MAX : looks(target, &target->rule[r]);
        if (n < least) {
            least = n;
            best = r;
        }
    }
    return best;
}

int sl_stage_file_target(struct sl_stage_target *target)
{
    struct sl_stage_space *space = target->space;
    if (target->kind == SL_STAGE_POD) {
        return 0;
    }
    target->filed_by = best_rule(target, looks_at);
    if (target->filed_by < target->n_rules) {
        const struct sl_selector_rule *rule = &target->rule[target->filed_by];
        return file_under(space, SL_STAGE_TARGETS, target, target->hash + rule->first, rule->n,
                          &target->filings);
    }
    sl_list_add_first(&space->open, &target->in_open);
    target->filings.done = true;
    return 0;
}

void sl_stage_unfile_target(struct sl_stage_target *target)
{
    struct sl_stage_space *space = target->space;
    if (!target->filings.done || target->filed_by < target->n_rules) {
        sl_stage_unfile(space, SL_STAGE_TARGETS, &target->filings);
        return;
    }
    sl_list_remove(&space->open, &target->in_open);
}

/* ---- who names whom ---- */

/* Returns the index of the first hash of the rule that the pod has; n: none. */
static uint32_t first_met(const struct sl_stage_target *target, const struct sl_selector_rule *rule,
                          const struct sl_pod *pod)
{
    uint32_t i = 0;
    while (i < rule->n &&
           !sl_stage_has_label(pod->label, pod->n_labels, target->hash[rule->first + i])) {
        i++;
    }
    return i;
}

void sl_stage_naming_begin(struct sl_stage_naming *naming, struct sl_stages *stages,
                           const struct sl_stage_space *space, const struct sl_pod *pod)
{
    *naming = (struct sl_stage_naming){
        .stages = stages, .space = space, .pod = pod, .open = space->open.first};
}

/* Returns each item once, even when the pod has two of its labels. */
static struct sl_stage_target *next_filed(struct sl_stage_naming *naming)
{
    struct sl_stage_target *found = NULL;
    while (naming->filing != NULL && found == NULL) {
        struct sl_stage_target *target =
            SL_CONTAINER(naming->filing, struct sl_stage_filing, link)->owner;
        const struct sl_selector_rule *rule = &target->rule[target->filed_by];
        uint32_t met = first_met(target, rule, naming->pod);
        bool here = target->hash[rule->first + met] == naming->bucket->hash;
        naming->stages->looks++;
        naming->filing = naming->filing->next;
        found = here && sl_stage_names(target, naming->pod) ? target : NULL;
    }
    return found;
}

struct sl_stage_target *sl_stage_naming_next(struct sl_stage_naming *naming)
{
    const struct sl_pod *pod = naming->pod;
    struct sl_stage_target *found = next_filed(naming);
    while (found == NULL && naming->label < pod->n_labels) {
        naming->bucket = bucket_find(naming->space, pod->label[naming->label++]);
        naming->filing =
            naming->bucket == NULL ? NULL : naming->bucket->filings[SL_STAGE_TARGETS].first;
        found = next_filed(naming);
    }
    while (found == NULL && naming->open != NULL) {
        struct sl_stage_target *target =
            SL_CONTAINER(naming->open, struct sl_stage_target, in_open);
        naming->stages->looks++;
        naming->open = naming->open->next;
        found = sl_stage_names(target, pod) ? target : NULL;
    }
    return found;
}

void sl_stage_named_begin(struct sl_stage_named *named, struct sl_stages *stages,
                          const struct sl_stage_target *target)
{
    *named = (struct sl_stage_named){
        .stages = stages, .target = target, .rule = best_rule(target, waiters_of)};
    named->waiter = named->rule < target->n_rules ? NULL : target->space->waiters.first;
}

/* Returns the next waiter that may match. */
static struct sl_stage_waiter *next_candidate(struct sl_stage_named *named)
{
    const struct sl_stage_target *target = named->target;
    struct sl_link *link = named->waiter;
    if (named->rule == target->n_rules) {
        named->waiter = link == NULL ? NULL : link->next;
        return link == NULL ? NULL : SL_CONTAINER(link, struct sl_stage_waiter, in_space);
    }
    const struct sl_selector_rule *rule = &target->rule[named->rule];
    while (named->filing == NULL && named->hash < rule->n) {
        const struct sl_stage_bucket *bucket =
            bucket_find(target->space, target->hash[rule->first + named->hash++]);
        named->filing = bucket == NULL ? NULL : bucket->filings[SL_STAGE_WAITERS].first;
    }
    link = named->filing;
    named->filing = link == NULL ? NULL : link->next;
    return link == NULL ? NULL : SL_CONTAINER(link, struct sl_stage_filing, link)->owner;
}

struct sl_stage_waiter *sl_stage_named_next(struct sl_stage_named *named)
{
    const struct sl_stage_target *target = named->target;
    for (;;) {
        struct sl_stage_waiter *waiter = next_candidate(named);
        if (waiter == NULL) {
            return NULL;
        }
        bool again = named->rule < target->n_rules &&
                     first_met(target, &target->rule[named->rule], waiter->pod) + 1 != named->hash;
        named->stages->looks++;
        if (!again && sl_stage_names(target, waiter->pod)) {
            return waiter;
        }
    }
}
