/* MIG placements: the instances that a device can still take. The numbers are in table.c. */
#include "sliced/mig.h"

#include "core/mig/table.h"

enum { GIB = 1024 /* MiB */, LESS_MAX = 4 * GIB };

/* The boards of the table that were measured have up to an eighth less than their names say, and
 * up to 4 GiB. */
int64_t sl_mig_profile_mib(const struct sl_mig_profile *profile)
{
    int64_t named_mib = (int64_t)profile->memory_gb * GIB;
    int64_t less_mib = named_mib / 8 < LESS_MAX ? named_mib / 8 : LESS_MAX;
    return profile->memory_mib > 0 ? profile->memory_mib : named_mib - less_mib;
}

static uint16_t span(unsigned start, unsigned size)
{
    return (uint16_t)(((1u << size) - 1) << start);
}

/* The use of a layout's instances besides memory slices. */
struct usage {
    unsigned compute;
    unsigned exclusive; /* instances that hold an engine which exists once per device */
    unsigned media;     /* instances with a media engine */
    unsigned media_all; /* of these, instances that own all media engines */
};

static void usage_add(struct usage *usage, const struct sl_mig_profile *profile, unsigned count)
{
    usage->compute += count * profile->compute;
    usage->exclusive += profile->media_exclusive ? count : 0;
    usage->media += (profile->attributes & SL_MIG_NO_ME) == 0 ? count : 0;
    usage->media_all += (profile->attributes & SL_MIG_ME_ALL) != 0 ? count : 0;
}

static struct usage usage_of(const struct sl_mig_model *model,
                             const uint8_t counts[SL_MIG_PROFILES_MAX])
{
    struct usage usage = {0, 0, 0, 0};
    for (unsigned i = 0; i < model->n_profiles; i++) {
        if (counts[i] > 0) {
            usage_add(&usage, &model->profiles[i], counts[i]);
        }
    }
    return usage;
}

/* Returns how many more instances of the profile the rules allow, memory slices aside. */
static unsigned allowance(const struct sl_mig_model *model, const struct sl_mig_layout *layout,
                          unsigned index)
{
    const struct sl_mig_profile *profile = &model->profiles[index];
    struct usage usage = usage_of(model, layout->count);
    if (layout->count[index] >= profile->max_count || usage.compute >= model->compute_slices) {
        return 0;
    }
    unsigned most = profile->max_count - layout->count[index];
    unsigned by_compute = (model->compute_slices - usage.compute) / profile->compute;
    most = by_compute < most ? by_compute : most;
    if ((profile->media_exclusive && usage.exclusive > 0) ||
        ((profile->attributes & SL_MIG_ME_ALL) != 0 && usage.media > 0) ||
        ((profile->attributes & SL_MIG_NO_ME) == 0 && usage.media_all > 0)) {
        return 0;
    }
    bool single = profile->media_exclusive || (profile->attributes & SL_MIG_ME_ALL) != 0;
    return single && most > 1 ? 1 : most;
}

/* Returns the starts at which enough memory slices in a row are free. */
static uint16_t open_starts(uint16_t taken, unsigned starts, unsigned size)
{
    unsigned open = starts;
    for (unsigned i = 0; i < size; i++) {
        open &= ~((unsigned)taken >> i);
    }
    return (uint16_t)open;
}

bool sl_mig_can_place(const struct sl_mig_model *model, const struct sl_mig_layout *layout,
                      struct sl_mig_placement placement)
{
    if (placement.profile >= model->n_profiles || placement.start >= model->memory_slices) {
        return false;
    }
    const struct sl_mig_profile *profile = &model->profiles[placement.profile];
    uint16_t open = open_starts(layout->memory, profile->starts, profile->memory);
    return (open >> placement.start & 1) != 0 && allowance(model, layout, placement.profile) > 0;
}

void sl_mig_place(const struct sl_mig_model *model, struct sl_mig_layout *layout,
                  struct sl_mig_placement placement)
{
    const struct sl_mig_profile *profile = &model->profiles[placement.profile];
    layout->memory |= span(placement.start, profile->memory);
    layout->count[placement.profile]++;
}

void sl_mig_remove(const struct sl_mig_model *model, struct sl_mig_layout *layout,
                   struct sl_mig_placement placement)
{
    const struct sl_mig_profile *profile = &model->profiles[placement.profile];
    layout->memory &= (uint16_t)~span(placement.start, profile->memory);
    layout->count[placement.profile]--;
}

/* Fills the leftmost open start repeatedly: with pieces of one size no other choice gives more. */
unsigned sl_mig_room(const struct sl_mig_model *model, const struct sl_mig_layout *layout,
                     unsigned profile)
{
    if (profile >= model->n_profiles) {
        return 0;
    }
    const struct sl_mig_profile *p = &model->profiles[profile];
    unsigned open = open_starts(layout->memory, p->starts, p->memory);
    if (open == 0) {
        return 0;
    }
    unsigned most = allowance(model, layout, profile);
    unsigned n = 0;
    while (open != 0 && n < most) {
        unsigned start = (unsigned)__builtin_ctz(open);
        open &= ~0u << (start + p->memory);
        n++;
    }
    return n;
}

/* --- Several profiles at once ------------------------------------------------------------------
 */

/* Profiles of one size and the same starts, which are interchangeable for memory slices. */
struct group {
    uint8_t memory;
    uint16_t starts;
    uint8_t n;       /* instances wanted */
    uint8_t profile; /* the first of them; the others have the same size and starts */
};

struct search {
    struct group group[SL_MIG_PROFILES_MAX];
    unsigned n_groups;
    uint8_t start[SL_MIG_SLICES_MAX]; /* found, group after group */
};

/* True when counts and media rules allow the additions. Does not judge the instances present. */
static bool counts_allowed(const struct sl_mig_model *model, const struct sl_mig_layout *layout,
                           const uint8_t counts[SL_MIG_PROFILES_MAX])
{
    struct usage total = usage_of(model, layout->count);
    struct usage added = usage_of(model, counts);
    unsigned memory = 0;
    for (unsigned i = 0; i < SL_MIG_PROFILES_MAX; i++) {
        if (counts[i] == 0) {
            continue;
        }
        if (i >= model->n_profiles || layout->count[i] + counts[i] > model->profiles[i].max_count) {
            return false;
        }
        usage_add(&total, &model->profiles[i], counts[i]);
        memory += (unsigned)counts[i] * model->profiles[i].memory;
    }
    if (memory == 0) {
        return true;
    }
    if (total.compute > model->compute_slices ||
        memory + (unsigned)__builtin_popcount(layout->memory) > model->memory_slices) {
        return false;
    }
    if (added.exclusive > 0 && total.exclusive > 1) {
        return false;
    }
    return added.media == 0 || total.media_all == 0 || total.media == 1;
}

static bool before(const struct group *a, const struct group *b)
{
    if (a->memory != b->memory) {
        return a->memory > b->memory;
    }
    return __builtin_popcount(a->starts) < __builtin_popcount(b->starts);
}

/* Sorts the biggest first, then those with fewest starts, so that the search fails early, and its
 * last group needs no choice. */
static void make_groups(const struct sl_mig_model *model, const uint8_t counts[SL_MIG_PROFILES_MAX],
                        struct search *search)
{
    search->n_groups = 0;
    for (unsigned i = 0; i < model->n_profiles; i++) {
        const struct sl_mig_profile *p = &model->profiles[i];
        if (counts[i] == 0) {
            continue;
        }
        unsigned g = 0;
        while (g < search->n_groups &&
               (search->group[g].memory != p->memory || search->group[g].starts != p->starts)) {
            g++;
        }
        if (g < search->n_groups) {
            search->group[g].n = (uint8_t)(search->group[g].n + counts[i]);
            continue;
        }
        struct group fresh = {p->memory, p->starts, counts[i], (uint8_t)i};
        for (g = search->n_groups++; g > 0 && before(&fresh, &search->group[g - 1]); g--) {
            search->group[g] = search->group[g - 1];
        }
        search->group[g] = fresh;
    }
}

/* Places left more instances of group g at the given starts, then all further groups. Starts ascend
 * within a group, so that no set of them is tried twice. */
static bool fill(struct search *search, unsigned g, unsigned left, unsigned starts, uint16_t taken,
                 unsigned found)
{
    if (left == 0) {
        g++;
        if (g >= search->n_groups) {
            return true;
        }
        left = search->group[g].n;
        starts = search->group[g].starts;
    }
    unsigned size = search->group[g].memory;
    unsigned open = open_starts(taken, starts, size);
    while (open != 0) {
        unsigned start = (unsigned)__builtin_ctz(open);
        open &= open - 1;
        search->start[found] = (uint8_t)start;
        if (fill(search, g, left - 1, open, taken | span(start, size), found + 1)) {
            return true;
        }
        if (g + 1 == search->n_groups) {
            return false; /* with pieces of one size no other start does better than the leftmost */
        }
    }
    return false;
}

static void write_placements(const struct sl_mig_model *model, const struct search *search,
                             const uint8_t counts[SL_MIG_PROFILES_MAX],
                             struct sl_mig_placement *out)
{
    unsigned n = 0;
    for (unsigned g = 0; g < search->n_groups; g++) {
        const struct group *group = &search->group[g];
        for (unsigned i = group->profile; i < model->n_profiles; i++) {
            const struct sl_mig_profile *p = &model->profiles[i];
            bool member = p->memory == group->memory && p->starts == group->starts;
            for (unsigned k = 0; member && k < counts[i]; k++) {
                out[n] = (struct sl_mig_placement){(uint8_t)i, search->start[n]};
                n++;
            }
        }
    }
}

bool sl_mig_pack(const struct sl_mig_model *model, const struct sl_mig_layout *layout,
                 const uint8_t counts[SL_MIG_PROFILES_MAX], struct sl_mig_placement *out)
{
    if (!counts_allowed(model, layout, counts)) {
        return false;
    }
    struct search search;
    make_groups(model, counts, &search);
    if (search.n_groups == 0) {
        return true;
    }
    if (!fill(&search, 0, search.group[0].n, search.group[0].starts, layout->memory, 0)) {
        return false;
    }
    if (out != NULL) {
        write_placements(model, &search, counts, out);
    }
    return true;
}
