/* Random nodes as they really are, told as NVIDIA's plugin and GPU feature discovery tell them,
 * with labels missing at random: what is made of it is the truth, or less than it, and no guess. */
#include "node_rig.h"

enum { ROUNDS = 8000, GPUS = 6 };

static unsigned draw(uint64_t *seed, unsigned below)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*seed >> 33) % below;
}

static bool chance(uint64_t *seed)
{
    return draw(seed, 2) == 0;
}

struct truth {
    unsigned gpus;
    unsigned failed;   /* which the plugin leaves out */
    unsigned replicas; /* 1: not shared */
    unsigned each;     /* instances of a GPU, all alike; 0: it is not cut */
    const char *profile;
    bool renamed; /* replicas are called .shared */
    bool mps;
    bool one_each;
    bool told_each; /* that, or that it is not so, is said of the plugin */
    int64_t mib;    /* of a GPU */
    /* what is told of it */
    bool told_count, told_replicas, told_sharing, told_mib;
};

static void tell(struct node_rig *rig, struct sl_pair **list, const char *key, const char *format,
                 ...) __attribute__((format(printf, 4, 5)));

static void tell(struct node_rig *rig, struct sl_pair **list, const char *key, const char *format,
                 ...)
{
    char value[96];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(value, sizeof(value), format, args);
    va_end(args);
    facts_pair(&rig->facts, list, key, value);
}

static void draw_sharing(struct truth *truth, uint64_t *seed)
{
    if (chance(seed)) {
        truth->replicas = 2 + draw(seed, 4);
        truth->mps = chance(seed);
        truth->one_each = draw(seed, 3) == 0;
    }
    truth->told_each = truth->one_each != truth->mps || chance(seed);
    truth->told_count = chance(seed);
    truth->told_replicas = chance(seed);
    truth->told_sharing = truth->mps || chance(seed);
    truth->told_mib = chance(seed);
}

/* What the plugin and the discovery say of GPUs, or of instances in their place. */
static void tell_things(struct node_rig *rig, const struct truth *truth, const char *product,
                        uint64_t *seed)
{
    struct sl_pair **labels = &rig->node.labels;
    const bool shared = truth->replicas > 1;
    const unsigned things = truth->gpus * (truth->each > 0 ? truth->each : 1);
    /* of the three signs of replicas one is there, or the name of the resource is */
    const bool named = shared && !truth->renamed &&
                       (chance(seed) || (!truth->told_replicas && !truth->told_sharing));
    tell(rig, labels, "nvidia.com/gpu.product", "%s%s%s%s", product, truth->each > 0 ? "-MIG-" : "",
         truth->each > 0 ? truth->profile : "", named ? "-SHARED" : "");
    if (truth->told_count) {
        tell(rig, labels, "nvidia.com/gpu.count", "%u", things);
    }
    if (truth->told_replicas) {
        tell(rig, labels, "nvidia.com/gpu.replicas", "%u", truth->replicas);
    }
    if (truth->told_sharing) {
        tell(rig, labels, "nvidia.com/gpu.sharing-strategy", "%s",
             !shared      ? "none"
             : truth->mps ? "mps"
                          : "time-slicing");
    }
    if (truth->told_mib) {
        tell(rig, labels, "nvidia.com/gpu.memory", "%lld", (long long)truth->mib);
    }
    if (truth->told_each) {
        tell(rig, chance(seed) ? labels : &rig->node.annotations,
             "sliced.dev/fail-requests-greater-than-one", truth->one_each ? "true" : "false");
    }
    tell(rig, &rig->node.allocatable, truth->renamed ? "nvidia.com/gpu.shared" : "nvidia.com/gpu",
         "%u", (things - truth->failed) * truth->replicas);
}

static const struct sl_pool *only_pool(const struct sl_node *node, const struct truth *truth)
{
    assert_int_equal(node->n_pools, 1);
    const struct sl_pool *pool = &node->pool[0];
    const bool shared = truth->replicas > 1;
    assert_int_equal(pool->kind, shared            ? SL_KIND_REPLICA
                                 : truth->each > 0 ? SL_KIND_MIG
                                                   : SL_KIND_WHOLE);
    assert_int_equal(pool->equal_memory, shared && truth->mps);
    assert_int_equal(pool->one_each, shared && truth->one_each);
    return pool;
}

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct node_rig *rig, gpus_are_what_is_told_of_them)
{
    static const char *const products[] = {"Tesla-T4", "NVIDIA-A30", "Quadro-X"};
    uint64_t seed = 1;
    unsigned known = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct truth truth = {.gpus = 1 + draw(&seed, GPUS), .replicas = 1, .mib = INT64_C(23552)};
        sl_arena_reset(&rig->facts.arena);
        rig->node = (struct sl_node_facts){.name = SL_STR("n")};
        draw_sharing(&truth, &seed);
        truth.failed = truth.gpus > 1 && draw(&seed, 6) == 0;
        truth.renamed = truth.replicas > 1 && chance(&seed);
        tell_things(rig, &truth, products[draw(&seed, 3)], &seed);
        describe(rig);
        const struct sl_pool *pool = only_pool(rig->made, &truth);
        const unsigned there = truth.gpus - truth.failed;
        /* Of replicas something must tell how many make a GPU; a failed one would deceive the
         * number of GPUs. */
        const bool clear =
            truth.replicas == 1 || truth.told_replicas || (truth.told_count && truth.failed == 0);
        assert_true(pool->on_devices || !clear);
        known += pool->on_devices;
        if (!clear) {
            assert_true(!pool->on_devices || truth.failed > 0);
            continue;
        }
        assert_int_equal(rig->made->n_devices, there);
        assert_int_equal(pool->replicas, truth.replicas);
        assert_int_equal(pool->capacity, there * truth.replicas);
        for (unsigned d = 0; d < there; d++) {
            assert_false(rig->made->device[d].mig);
            assert_true(!truth.told_mib || rig->made->device[d].memory_mib == truth.mib);
        }
    }
    assert_in_range(known, ROUNDS / 2, ROUNDS - 100);
}

/* Strategy single: all GPUs are cut alike, and the labels tell of instances. Which GPU has how many
 * is clear when all are full. */
TEST_ON(struct node_rig *rig, gpus_that_are_cut_alike_are_full_of_instances)
{
    static const struct {
        const char *profile;
        unsigned each;
    } profiles[] = {{"1g.6gb", 4}, {"2g.12gb", 2}, {"4g.24gb", 1}};
    uint64_t seed = 2;
    unsigned known = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned which = draw(&seed, 3);
        struct truth truth = {.gpus = 1 + draw(&seed, GPUS),
                              .replicas = 1,
                              .each = profiles[which].each,
                              .profile = profiles[which].profile,
                              .mib = 5888};
        sl_arena_reset(&rig->facts.arena);
        rig->node = (struct sl_node_facts){.name = SL_STR("n")};
        draw_sharing(&truth, &seed);
        truth.failed = truth.each > 1 && draw(&seed, 4) == 0; /* an instance is missing */
        tell_things(rig, &truth, "NVIDIA-A30", &seed);
        describe(rig);
        const struct sl_pool *pool = only_pool(rig->made, &truth);
        assert_non_null(pool->profile);
        assert_string_equal(pool->profile->name, truth.profile);
        /* Parts of an unknown number are of unknown size. */
        const bool parts = truth.replicas > 1 && truth.mps && !pool->on_devices;
        assert_true(!truth.told_mib || pool->memory_mib > 0 || (parts && !truth.told_replicas));
        const bool clear =
            truth.failed == 0 && (truth.replicas == 1 || truth.told_replicas || truth.told_count);
        const bool lost = truth.failed > 0 && (truth.replicas == 1 || truth.told_replicas);
        assert_true(pool->on_devices || !clear);
        assert_false(pool->on_devices && lost);
        known += pool->on_devices;
        if (clear) {
            assert_int_equal(rig->made->n_devices, truth.gpus);
            assert_int_equal(rig->made->n_instances, truth.gpus * truth.each);
            assert_int_equal(pool->replicas, truth.replicas);
            for (unsigned i = 0; i < rig->made->n_instances; i++) {
                assert_int_equal(rig->made->instance[i].device, i / truth.each);
                assert_ptr_equal(rig->made->instance[i].profile, pool->profile);
            }
        }
    }
    assert_in_range(known, ROUNDS / 3, ROUNDS - 100);
}

/* ---- as mig-manager was told ---- */

/* Instances of an A30 by configuration: 1g.6gb, 2g.12gb, 4g.24gb. */
static const struct {
    const char *name;
    unsigned has[3];
} configs[] = {{"all-1g.6gb", {4, 0, 0}},
               {"all-2g.12gb", {0, 2, 0}},
               {"all-4g.24gb", {0, 0, 1}},
               {"all-balanced", {2, 1, 0}}};

TEST_THAT(gpus_are_cut_as_the_configuration_says_if_the_counts_agree)
{
    static const char *const names[] = {"nvidia.com/mig-1g.6gb", "nvidia.com/mig-2g.12gb",
                                        "nvidia.com/mig-4g.24gb"};
    static const char *const states[] = {NULL, "success", "pending", "failed"};
    struct node_rig *rig = *state;
    uint64_t seed = 3;
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned gpus = 1 + draw(&seed, SL_NODE_DEVICES_MAX + 2);
        unsigned which = draw(&seed, 4);
        unsigned told = draw(&seed, 4) > 0 ? which : draw(&seed, 4);
        const char *of_state = states[draw(&seed, 4)];
        bool settled = of_state == NULL || strcmp(of_state, "success") == 0;
        unsigned said = draw(&seed, 3); /* 0: nothing of the number, 2: one more */
        sl_arena_reset(&rig->facts.arena);
        rig->node = (struct sl_node_facts){.name = SL_STR("n")};
        tell(rig, &rig->node.labels, "nvidia.com/gpu.product", "NVIDIA-A30");
        tell(rig, &rig->node.labels, "nvidia.com/mig.config", "%s", configs[told].name);
        if (of_state != NULL) {
            tell(rig, &rig->node.labels, "nvidia.com/mig.config.state", "%s", of_state);
        }
        if (said > 0) {
            tell(rig, &rig->node.labels, "nvidia.com/gpu.count", "%u", gpus + said - 1);
        }
        bool odd = which != 2 && draw(&seed, 4) == 0; /* there is one too many, or two */
        unsigned extra = which == 3 ? 1 + draw(&seed, 2) : 1;
        bool more = false;
        for (unsigned p = 0; p < 3; p++) {
            if (configs[which].has[p] > 0) {
                tell(rig, &rig->node.allocatable, names[p], "%u",
                     gpus * configs[which].has[p] + (odd && !more ? extra : 0));
                more = more || odd;
            }
        }
        describe(rig);
        const struct sl_node *node = rig->made;
        if (gpus > SL_NODE_DEVICES_MAX || (said == 0 && (odd || told != which || !settled))) {
            assert_int_equal(node->n_devices, 0);
        } else if (said < 2 && !odd && told == which && settled) {
            const unsigned *has = configs[which].has;
            assert_int_equal(node->n_devices, gpus);
            assert_int_equal(node->n_instances, gpus * (has[0] + has[1] + has[2]));
            for (unsigned d = 0; d < gpus; d++) {
                unsigned counts[3] = {0, 0, 0};
                for (unsigned i = 0; i < node->n_instances; i++) {
                    unsigned compute = node->instance[i].profile->compute;
                    counts[compute / 2] += node->instance[i].device == d;
                }
                assert_memory_equal(counts, has, sizeof(counts));
            }
        } else if (node->n_devices > 0) { /* by the counts alone, where these leave one way */
            assert_true(said > 0);
            assert_int_equal(node->n_devices, gpus + said - 1);
        }
    }
}
