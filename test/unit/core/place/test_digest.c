/* The digest of a view: different in all that scores read, and in nothing else. */
#include "unit/core/rig.h"

TEST_FIXTURE(NULL, rig_free_all)

#define MEM "aliyun.com/gpu-mem"

/* Has something of everything that a digest covers. */
static struct rig *rig_of_all(void)
{
    const struct sl_mig_model *model = rig_model("A30-24GB");
    struct rig *rig = rig_new();
    struct sl_ask mig = rig_ask("nvidia.com/mig-1g.6gb", 1);
    struct sl_ask share = rig_ask(MEM, 3);
    rig->node.model = model;
    rig_pool(rig, MEM, SL_KIND_MEMORY, 24);
    rig_pool(rig, "nvidia.com/mig-1g.6gb", SL_KIND_MIG, 4);
    rig->pool[1].profile = rig_profile(model, "1g.6gb");
    rig_pool(rig, "nvidia.com/gpu", SL_KIND_WHOLE, 2); /* which nobody uses */
    for (unsigned d = 0; d < 3; d++) {
        rig_device(rig, 8);
        rig->device[d].model = model;
    }
    for (int start = 0; start < 4; start++) {
        rig_instance(rig, 0, start, 1);
    }
    rig_run(rig, mig, NULL);
    rig_run(rig, share, NULL);
    return rig;
}

/* One change each. */
static void change(struct rig *rig, unsigned which)
{
    struct sl_ask mig = rig_ask("nvidia.com/mig-1g.6gb", 1);
    struct sl_ask share = rig_ask(MEM, 1);
    switch (which) {
    case 0:
        rig->node.dynamic_mig = true;
        break;
    case 1:
        rig->node.model = NULL;
        break;
    case 2:
        rig->node.n_devices = 1;
        break;
    case 3:
        rig->pool[2].key++;
        break;
    case 4:
        rig->pool[2].capacity++;
        break;
    case 5:
        rig->pool[1].kind = SL_KIND_REPLICA;
        break;
    case 6:
        rig->pool[1].replicas = 2;
        break;
    case 7:
        rig->pool[1].on_devices = false;
        break;
    case 8:
        rig->pool[1].profile = NULL;
        break;
    case 9:
        rig->device[1].healthy = false;
        break;
    case 10:
        rig->device[1].mig = true;
        break;
    case 11:
        rig->device[1].memory_units++;
        break;
    case 12:
        rig->device[1].model = rig_model("A100-40GB / A800-40GB");
        break;
    case 13:
        rig->instance[3].profile = NULL;
        break;
    case 14:
        rig->instance[3].start = -1;
        break;
    case 15:
        rig->instance[3].device = 1;
        break;
    case 16:
        rig->instance[3].pool = 0;
        break;
    case 17:
        rig_run(rig, mig, NULL);
        break;
    case 18:
        rig_run(rig, share, NULL);
        break;
    case 19:
        rig->device[0].healthy = false; /* the one that is cut up */
        break;
    case 20:
        rig->device[1].model = rig_model("A100-40GB / A800-40GB");
        rig->device[1].healthy = false;
        break;
    case 21:
        rig->pool[0].spans = true;
        break;
    case 22:
        rig->pool[1].one_each = true;
        break;
    case 23:
        rig->pool[1].equal_memory = true;
        break;
    case 24:
        rig->pool[1].memory_mib = 5000;
        break;
    case 25:
        rig->pool[1].total_mib = 5000;
        break;
    case 26:
        rig->device[1].memory_mib = 5000;
        break;
    case 27:
        rig->pods[1].pod.assignment = MEM "=2*3"; /* on another device */
        break;
    case 28:
        rig->node.model = rig_model("A100-40GB / A800-40GB");
        for (unsigned d = 0; d < 3; d++) {
            rig->device[d].model = rig->node.model;
        }
        break;
    default:
        rig->pods[0].pod.assignment = "nvidia.com/mig-1g.6gb=0/2"; /* elsewhere on the device */
        break;
    }
}

enum { CHANGES = 30 };

TEST_THAT(digest_differs_in_all_that_scores_read)
{
    uint64_t digest[CHANGES + 1];
    struct rig *rig = rig_of_all();
    digest[CHANGES] = rig_view(rig)->digest;
    for (unsigned i = 0; i < CHANGES; i++) {
        rig = rig_of_all();
        change(rig, i);
        digest[i] = rig_view(rig)->digest;
        rig_free(rig);
    }
    for (unsigned i = 0; i <= CHANGES; i++) {
        assert_int_not_equal(digest[i], 0);
        for (unsigned k = 0; k < i; k++) {
            if (digest[i] == digest[k]) {
                fail_msg("changes %u and %u have one digest", k, i);
            }
        }
    }
}

/* Replicas of which the node knows the GPU, the instance, or the number alone; one is in use. */
static uint64_t digest_of_replicas(unsigned where, int32_t declared_mib, int32_t slices)
{
    struct rig *rig = rig_new();
    struct sl_ask ask = rig_ask("nvidia.com/gpu.shared", 1);
    ask.item[0].memory_mib = declared_mib;
    struct sl_pool *pool = &rig->pool[rig_pool(rig, ask.item[0].resource, SL_KIND_REPLICA, 4)];
    pool->replicas = 4;
    pool->on_devices = where != 2;
    rig_device(rig, 0);
    if (where == 1) {
        rig->instance[rig_instance(rig, 0, 0, 0)].slices = (uint16_t)slices;
    }
    rig_run(rig, ask, NULL);
    uint64_t digest = rig_view(rig)->digest;
    return digest;
}

TEST_THAT(what_replicas_declare_counts_wherever_they_are)
{
    for (unsigned where = 0; where < 3; where++) {
        assert_int_equal(digest_of_replicas(where, 1000, 0), digest_of_replicas(where, 1000, 0));
        assert_int_not_equal(digest_of_replicas(where, 1000, 0),
                             digest_of_replicas(where, 1001, 0));
    }
    assert_int_not_equal(digest_of_replicas(1, 1000, 3), digest_of_replicas(1, 1000, 4));
}

static void change_measured(struct rig *rig, unsigned which)
{
    struct sl_measured *measured = &rig->measured[1];
    const struct sl_view *view = rig_view(rig);
    rig->n_measured = 3;
    for (unsigned i = 0; i < 3; i++) {
        rig->measured[i] = sl_measured_none;
        rig->measured[i].pods = sl_view_pods_of(view, i);
        rig->measured[i].known[0] =
            (struct sl_measured_peak){.workload = 1, .permille = 300, .lives = 3};
        rig->measured[i].known[1] =
            (struct sl_measured_peak){.workload = 2, .permille = 400, .lives = 3};
    }
    switch (which) {
    case 0:
        break;
    case 1:
        measured->over_mib = 7;
        break;
    case 2:
        measured->reserve_mib = 7;
        break;
    case 3:
        measured->known[0].permille++;
        break;
    case 4:
        measured->known[1].workload++;
        break;
    case 5:
        measured->known[1].lives++;
        break;
    case 6:
        measured->room_mib = 7;
        break;
    case 7:
        measured->room_mib = 8;
        break;
    default:
        measured->known[1].workload = 0;
        break;
    }
}

TEST_THAT(what_was_measured_counts)
{
    enum { MEASURES = 9 };
    uint64_t digest[MEASURES];
    for (unsigned i = 0; i < MEASURES; i++) {
        struct rig *rig = rig_of_all();
        change_measured(rig, i);
        digest[i] = rig_view(rig)->digest;
        rig_free(rig);
        for (unsigned k = 0; k < i; k++) {
            if (digest[i] == digest[k]) {
                fail_msg("measures %u and %u have one digest", k, i);
            }
        }
    }
}

TEST_THAT(equal_nodes_have_one_digest_whatever_their_names_and_pods)
{
    struct rig *a = rig_of_all();
    struct rig *b = rig_of_all();
    b->node.product = "NVIDIA-A30";
    b->device[0].uuid = "GPU-1";
    b->pods[0].pod.namespace = "other";
    b->pods[0].pod.name = "other";
    b->pods[1].pod.created_us = 99;
    assert_int_equal(rig_view(a)->digest, rig_view(b)->digest);
}
