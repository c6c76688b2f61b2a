/* Reads the labels that tell GPU memory, and finds that of a pool's unit, from labels or its
 * profile's name, and how replicas share it. NVIDIA's plugin, and nos' for slices, gives each MPS
 * client its part of the memory; under time-slicing all replicas see all memory.
 *
 * failRequestsGreaterThanOne of NVIDIA's plugin has three states: not said, it counts as true for
 * MPS and as false for time-slicing (NVIDIA/k8s-device-plugin, pull request 1762; before that MPS
 * refused several whatever was said). nos' plugin always refuses several slices. */
#include "core/node/draft.h"

#include "sliced/quantity.h"

/* ---- labels ---- */

enum { MEMORY_MIB_MIN = 512 }; /* less than any GPU or instance has */

static const int64_t MIB = INT64_C(1024) * 1024;

static bool is_plausible(int64_t mib)
{
    return mib >= MEMORY_MIB_MIN && mib <= SL_DRAFT_MEMORY_MIB_MAX;
}

int64_t sl_draft_mib(int64_t number)
{
    return is_plausible(number) ? number : is_plausible(number / MIB) ? number / MIB : 0;
}

/* Reads MiB, as feature discovery writes them, else bytes or a quantity with a unit ("80Gi",
 * "80GB"), as people and other tools do. Returns MiB rounded down; 0: no GPU has that. */
static int64_t memory_parse(struct sl_str text)
{
    struct sl_quantity bytes = {0};
    int64_t mib = 0;
    if (sl_str_to_i64(text, &mib)) {
        return sl_draft_mib(mib);
    }
    size_t len = sl_str_ends(text, SL_STR("B")) ? text.len - 1 : text.len;
    bool good = sl_quantity_parse(text.s, len, &bytes) == SL_QUANTITY_OK;
    return good && is_plausible(bytes.whole / MIB) ? bytes.whole / MIB : 0;
}

int64_t sl_draft_memory_label(struct sl_draft *draft, struct sl_str key)
{
    const struct sl_pair *pair = sl_pair_find(draft->facts->labels, key);
    int64_t mib = pair == NULL ? 0 : memory_parse(pair->value);
    if (pair != NULL && mib == 0) {
        sl_draft_problem(draft, "");
        sl_text_shown(&draft->problem, key);
        sl_text_puts(&draft->problem, ": ");
        sl_text_quoted(&draft->problem, pair->value);
        sl_text_puts(&draft->problem, " is no GPU's memory in MiB, ignored");
    }
    return mib;
}

/* Tells why nothing that is sold with so many GB has that memory; NULL: it may. Drivers round names
 * by 5 %, and whoever labels a GPU may keep some of it back. Of 0 GB nothing is known: the GPU uses
 * the machine's. */
static const char *contradiction(int64_t mib, int64_t gb)
{
    if (gb <= 0 || mib <= 0) {
        return NULL;
    }
    return mib > gb * 1024 * 21 / 20 ? "more than"
           : mib < gb * 1024 / 8     ? "less than an eighth of what"
                                     : NULL;
}

void sl_draft_memory_check(struct sl_draft *draft)
{
    int64_t mib = draft->labels.memory_mib;
    const char *why = draft->model == NULL ? NULL : contradiction(mib, draft->model->memory_gib);
    if (why != NULL) {
        sl_draft_problem_count(draft, SL_STR("GPU memory by the labels"), mib, " MiB are ");
        sl_text_puts(&draft->problem, why);
        sl_text_puts(&draft->problem, " its product has, ignored");
        draft->labels.memory_mib = 0;
    }
}

/* ---- pools ---- */

static int64_t gpu_mib(const struct sl_draft *draft)
{
    if (draft->labels.memory_mib > 0 || draft->model == NULL) {
        return draft->labels.memory_mib;
    }
    return (int64_t)draft->model->memory_gib * 1024;
}

static int64_t thing_mib(struct sl_draft *draft, const struct sl_draft_pool *pool)
{
    if (!pool->on_instances) {
        /* Nothing is known of some GPUs, and nothing tells of which. */
        bool more = pool->label_count > 0 && pool->label_count < pool->pool.capacity;
        bool unnamed = draft->n_devices > 0 && draft->device[draft->n_devices - 1].unnamed;
        return sl_kinds[pool->pool.kind].whole && (more || unnamed) ? 0 : gpu_mib(draft);
    }
    const struct sl_mig_profile *profile = pool->pool.profile;
    const char *why = profile == NULL ? NULL : contradiction(pool->label_mib, profile->memory_gb);
    if (why != NULL) {
        sl_draft_problem_count(draft, pool->resource, pool->label_mib, " MiB by its label are ");
        sl_text_puts(&draft->problem, why);
        sl_text_puts(&draft->problem, " such an instance has, ignored");
    } else if (pool->label_mib > 0 || profile == NULL) {
        return pool->label_mib;
    }
    return sl_mig_profile_mib(profile);
}

void sl_draft_memory(struct sl_draft *draft)
{
    for (unsigned i = 0; i < draft->n_pools; i++) {
        struct sl_draft_pool *pool = &draft->pool[i];
        struct sl_pool *p = &pool->pool;
        bool replica = sl_kinds[p->kind].replica;
        if (sl_kinds[p->kind].memory) {
            p->spans = draft->labels.spans;
            continue;
        }
        p->memory_mib = thing_mib(draft, pool);
        p->equal_memory = replica && (draft->labels.mps || p->slices);
        p->one_each = replica && (p->slices || draft->labels.one_each > 0 ||
                                  (p->equal_memory && draft->labels.one_each == 0));
        if (!replica || p->on_devices || p->slices) {
            continue;
        }
        /* An unknown number is one at least. */
        int64_t things = pool->label_count > 0 ? pool->label_count : 1;
        if (__builtin_mul_overflow(p->memory_mib, things, &p->total_mib)) {
            p->total_mib = 0;
        }
        if (p->equal_memory || pool->vague) { /* without the number of parts a part is unknown */
            p->memory_mib = pool->label_replicas > 0 ? p->memory_mib / pool->label_replicas : 0;
        }
    }
}
