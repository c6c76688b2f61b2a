/* Tables of the expected waste of an idle share (gap) of a GPU. The gap is offered to a stream of
 * typical asks; an ask that fits takes it with the probability of its popularity, and the rest in
 * the end is waste. With one offer this is the measure of FGD (Weng et al., Beware of
 * Fragmentation, ATC 2023). With as many offers as a gap usually sees it also tells which gaps go
 * well with which asks. */
#include <string.h>

#include "core/place/choose.h"
#include "core/score/idle.h"

enum {
    ROUNDS = 6,           /* of eight offers each */
    ONE_BITS = 20,        /* probabilities */
    DEVICE_WASTE = 64000, /* thousandths of a device, in 64ths */
    CPU_MAX = 1 << 20,    /* milli CPU for one device; more counts as this */
    NEED_MAX = 1 << 21,
};

#define ONE (INT64_C(1) << ONE_BITS)

/* Typical asks of one size, in steps. */
struct size {
    int32_t steps;
    int64_t share; /* of the offers, of ONE */
    int64_t cpu;   /* sum of share * milli CPU */
};

struct mix {
    struct size size[SL_TYPICAL_MAX]; /* smallest first */
    unsigned n;
    int64_t devices; /* sum of share * devices asked for * steps */
    int64_t cpu;     /* sum of share * milli CPU of a pod */
};

int32_t sl_idle_size(const struct sl_idle *idle, const struct sl_typical *ask)
{
    const struct sl_kind_row *kind = &sl_kinds[ask->kind];
    if (kind->memory && ask->count <= idle->units) {
        return (int32_t)((ask->count * idle->steps + idle->units - 1) / idle->units);
    }
    if (kind->replica && idle->replicas > 0) {
        return (idle->steps + idle->replicas - 1) / idle->replicas;
    }
    return kind->whole ? idle->steps : 0;
}

static int64_t devices_of(const struct sl_typical *ask)
{
    return sl_kinds[ask->kind].memory ? 1 : sl_least(ask->count, SL_NODE_DEVICES_MAX);
}

static void add_size(struct mix *mix, struct size one)
{
    unsigned at = 0;
    while (at < mix->n && mix->size[at].steps < one.steps) {
        at++;
    }
    if (at < mix->n && mix->size[at].steps == one.steps) {
        mix->size[at].share += one.share;
        mix->size[at].cpu += one.cpu;
        return;
    }
    memmove(&mix->size[at + 1], &mix->size[at], (mix->n - at) * sizeof(mix->size[0]));
    mix->size[at] = one;
    mix->n++;
}

static int64_t total_weight(const struct sl_scorer *scorer, const struct sl_idle *idle)
{
    int64_t sum = 0;
    for (unsigned i = 0; i < scorer->n_typical; i++) {
        bool counts = (idle->offered >> i & 1) != 0 && sl_idle_size(idle, &scorer->typical[i]) > 0;
        sum += counts ? scorer->typical[i].weight : 0;
    }
    return sum;
}

/* Adds an ask of several whole GPUs to the group of its number. */
static void add_group(struct sl_idle *idle, const struct sl_typical *ask, int64_t share)
{
    unsigned g = 0;
    while (g < idle->n_groups && idle->group[g].count != ask->count) {
        g++;
    }
    if (g == SL_IDLE_GROUPS) {
        return;
    }
    if (g == idle->n_groups) {
        idle->group[g].count = (int32_t)ask->count;
        idle->group[g].share = 0;
        idle->group[g].cpu = 0;
        idle->n_groups++;
    }
    idle->group[g].share += (int32_t)share;
    idle->group[g].cpu += share * sl_least(ask->cpu_milli, CPU_MAX * ask->count);
}

static void read_mix(const struct sl_scorer *scorer, struct sl_idle *idle, struct mix *mix)
{
    int64_t total = total_weight(scorer, idle);
    mix->n = 0;
    mix->devices = 0;
    mix->cpu = 0;
    for (unsigned i = 0; i < scorer->n_typical; i++) {
        const struct sl_typical *ask = &scorer->typical[i];
        int32_t steps = (idle->offered >> i & 1) != 0 ? sl_idle_size(idle, ask) : 0;
        if (steps == 0) {
            continue;
        }
        int64_t n = devices_of(ask);
        int64_t share = ask->weight * ONE / (total > 0 ? total : 1);
        int64_t cpu = sl_least(ask->cpu_milli / n, CPU_MAX);
        add_size(mix, (struct size){steps, share, share * cpu});
        mix->devices += share * n * steps;
        mix->cpu += share * n * cpu;
        if (sl_kinds[ask->kind].whole && ask->count > 1 && ask->count <= SL_NODE_DEVICES_MAX) {
            add_group(idle, ask, share);
        }
    }
}

/* Turns sums of shares into means, and into shares of the devices asked for. */
static void settle_groups(struct sl_idle *idle, const struct mix *mix)
{
    for (unsigned g = 0; g < idle->n_groups; g++) {
        int64_t share = idle->group[g].share > 0 ? idle->group[g].share : 1;
        int64_t devices = share * idle->group[g].count * idle->steps;
        idle->group[g].cpu /= share;
        idle->group[g].share = (int32_t)((devices << 16) / mix->devices);
    }
}

/* Eight offers in a row each take a gap with probability fits. Returns the probability that one of
 * them takes it, over fits: from 1 to 8, in 65536ths. */
static int64_t eightfold(int64_t fits)
{
    int64_t miss = ONE - fits;
    for (int i = 0; i < 3; i++) {
        miss = miss * miss >> ONE_BITS;
    }
    return ((ONE - miss) << 16) / fits;
}

/* Adds eight offers: from the waste and need of each gap before them to those after them. */
static void one_round(const struct mix *mix, const struct sl_idle *before, struct sl_idle *after)
{
    for (int32_t gap = 1; gap <= before->steps; gap++) {
        int64_t fits = 0;
        int64_t waste = 0;
        int64_t need = 0;
        for (unsigned i = 0; i < mix->n && mix->size[i].steps <= gap; i++) {
            const struct size *size = &mix->size[i];
            int32_t rest = gap - size->steps;
            fits += size->share;
            waste += size->share * before->waste[rest];
            need += size->share * before->need[rest] + size->cpu;
        }
        if (fits == 0) {
            continue;
        }
        int64_t times = eightfold(fits);
        int64_t stays = ONE - (fits * times >> 16);
        waste = (stays * before->waste[gap] + (waste * times >> 16)) >> ONE_BITS;
        need = (stays * before->need[gap] + (need * times >> 16)) >> ONE_BITS;
        after->waste[gap] = (int32_t)waste;
        after->need[gap] = (int32_t)sl_least(need, NEED_MAX);
    }
}

static void build(const struct sl_scorer *scorer, struct sl_idle *idle)
{
    struct mix mix;
    for (int32_t gap = 0; gap <= idle->steps; gap++) {
        idle->waste[gap] = gap * DEVICE_WASTE / idle->steps;
        idle->need[gap] = 0;
    }
    idle->n_groups = 0;
    idle->cpu = 0;
    read_mix(scorer, idle, &mix);
    if (mix.n == 0) {
        return;
    }
    idle->cpu = mix.cpu / (mix.devices / idle->steps + 1);
    settle_groups(idle, &mix);
    for (int round = 0; round < ROUNDS; round++) {
        struct sl_idle before = *idle;
        one_round(&mix, &before, idle);
    }
}

const struct sl_idle *sl_idle_table(struct sl_scorer *scorer, uint64_t offered, int64_t units,
                                    int32_t replicas)
{
    for (unsigned i = 0; i < scorer->n_idle; i++) {
        struct sl_idle *idle = &scorer->idle[i];
        if (idle->offered == offered && idle->units == units && idle->replicas == replicas) {
            return idle;
        }
    }
    /* With more sizes than tables, the last table is made anew each time. */
    unsigned place = scorer->n_idle < SL_IDLE_TABLES ? scorer->n_idle : SL_IDLE_TABLES - 1;
    struct sl_idle *idle = &scorer->idle[place];
    scorer->n_idle = (uint8_t)(place + 1);
    idle->offered = offered;
    idle->units = units;
    idle->replicas = replicas;
    idle->steps = sl_idle_steps(units, replicas);
    build(scorer, idle);
    return idle;
}
