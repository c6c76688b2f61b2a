/* The judgement of all nodes for one pod, and the sentence about it. */
#include "unit/server/rig.h"

#include "server/model/explain.h"

#define MIG        "nvidia.com/mig-1g.6gb"
#define POD(units) RIG_POD("p", "u", MIG, units)

static const struct sl_score_config weights = {.weight = {100, 50, 0}};

struct explained {
    struct sl_store *store;
    const struct sl_snapshot *snapshot;
    struct sl_pod *pod;
    struct sl_explain explain;
    char why[SL_EXPLAIN_TEXT_MAX];
};

static void explain(struct explained *e, const char *cluster)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    e->store = rig_store(cluster);
    e->snapshot = sl_store_acquire(e->store);
    e->pod = sl_store_pod(e->store, SL_STR("default"), SL_STR("p"));
    assert_non_null(e->pod);
    assert_int_equal(sl_explain_init(&e->explain, e->snapshot, e->pod, &weights, &err), 0);
    sl_explain_why(&e->explain, e->why, sizeof(e->why));
}

static void end(struct explained *e)
{
    sl_explain_free(&e->explain);
    sl_pod_unref(e->pod);
    sl_store_release(e->store, e->snapshot);
    sl_store_free(e->store);
}

static void assert_why(const char *cluster, const char *expected)
{
    struct explained e;
    explain(&e, cluster);
    assert_string_equal(e.why, expected);
    end(&e);
}

/* A pod that holds units of the node. */
#define HOLDER(name, node, units)                                                                  \
    "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " name ", uid: " name "}\n"                  \
    "spec: {nodeName: " node ", containers: [{name: c, resources: {limits: {" MIG ": \"" units     \
    "\"}}}]}\nstatus: {phase: Running}\n"

TEST_THAT(a_profile_under_another_name_is_told_with_the_nodes_own)
{
    assert_why(
        "---\napiVersion: v1\nkind: Node\nmetadata: {name: a, labels: {nvidia.com/gpu.product: "
        "NVIDIA-A30, nvidia.com/gpu.count: \"1\", sliced.dev/partitioning: dynamic}}\n"
        "status: {allocatable: {nvidia.com/mig-1g.6gb: \"4\"}}\n" RIG_POD(
            "p", "u", "nvidia.com/mig-4g.23gb", "1"),
        "no GPU is cut for nvidia.com/mig-4g.23gb now; 1 node could be cut "
        "for it, where the profile is offered as nvidia.com/mig-4g.24gb");
}

TEST_THAT(a_bound_pod_is_told_whether_its_node_is_known)
{
    assert_why(RIG_NODE("a", MIG, "8") HOLDER("p", "a", "1"), "it is bound to node a");
    assert_why(RIG_NODE("a", MIG, "8") HOLDER("p", "gone", "1"),
               "it is bound to node gone, which is not known");
}

TEST_THAT(the_sentence_fits_the_cause)
{
    assert_why(POD("1"), "no node is known that could take it");
    assert_why(RIG_NODE("a", "nvidia.com/gpu", "8") POD("1"),
               "no node offers " MIG ": it cannot start in this cluster as it is");
    assert_why(RIG_NODE("a", MIG, "8") POD("9"),
               "9 " MIG " asked, the largest node has 8 in all: it cannot start in this cluster as "
               "it is");
    assert_why(RIG_NODE("a", MIG, "8") HOLDER("h", "a", "8") POD("1"),
               "8 of 8 " MIG " are in use; waits for one to end");
    assert_why(RIG_NODE("a", MIG, "4") RIG_NODE("b", MIG, "4") HOLDER("h", "a", "4")
                   HOLDER("i", "b", "3") POD("2"),
               "7 of 8 " MIG " are in use and no node has 2 free; waits for some to end");
    assert_why(RIG_NODE("a", MIG, "8") POD("1"),
               "fits on 1 of 1 node, best on a; waits for the scheduler to bind it");
}

TEST_THAT(many_nodes_without_the_resource_do_not_hide_the_one_that_is_full)
{
    assert_why(RIG_NODE("a", "nvidia.com/gpu", "8") RIG_NODE("b", "nvidia.com/gpu", "8")
                   RIG_NODE("c", MIG, "2") POD("3"),
               "3 " MIG " asked, the largest node has 2 in all: it cannot start in this cluster as "
               "it is");
    assert_why(RIG_NODE("a", "nvidia.com/gpu", "8") RIG_NODE("b", "nvidia.com/gpu", "8")
                   RIG_NODE("c", MIG, "2") HOLDER("h", "c", "2") POD("1"),
               "2 of 2 " MIG " are in use; waits for one to end");
}

#define MEM               "aliyun.com/gpu-mem"
#define GPUSHARE(n, gpus) n "\", aliyun.com/gpu-count: \"" gpus

TEST_THAT(the_largest_gpu_of_all_nodes_is_named_when_none_is_large_enough)
{
    assert_why(RIG_NODE("a", MEM, GPUSHARE("22", "1")) RIG_NODE("b", MEM, GPUSHARE("30", "2"))
                   RIG_NODE("c", MEM, GPUSHARE("128", "8")) RIG_POD("p", "u", MEM, "33"),
               "33 " MEM " asked, one GPU has at most 22: it cannot start in this cluster as it "
               "is");
}

#define SHARER(name, node, units)                                                                  \
    "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " name ", uid: " name "}\n"                  \
    "spec: {nodeName: " node ", containers: [{name: c, resources: {limits: {" MEM ": \"" units     \
    "\"}}}]}\nstatus: {phase: Running}\n"

TEST_THAT(use_beyond_the_asks_is_told_of_the_gpu_with_most_left)
{
    struct explained e;
    struct sl_error err = {.code = SL_ERR_NONE};
    struct sl_measured measured = sl_measured_none;
    const struct sl_node_measured given = {SL_STR("a"), &measured, 1};
    measured.over_mib = 12000;
    e.store = rig_store(
        "---\napiVersion: v1\nkind: Node\nmetadata: {name: a, labels: {nvidia.com/gpu.product: "
        "Tesla-T4, nvidia.com/gpu.count: \"1\", nvidia.com/gpu.memory: \"16384\", "
        "nvidia.com/gpu.replicas: \"4\"}}\nstatus: {allocatable: {nvidia.com/gpu.shared: \"4\"}}\n"
        "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p, uid: u, annotations: "
        "{sliced.dev/gpu-memory: 8000Mi}}\n"
        "spec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu.shared: \"1\"}}}]}\n");
    assert_int_equal(sl_store_put_measured(e.store, &given, 1, &err), 0);
    e.snapshot = sl_store_acquire(e.store);
    e.pod = sl_store_pod(e.store, SL_STR("default"), SL_STR("p"));
    assert_int_equal(sl_explain_init(&e.explain, e.snapshot, e.pod, &weights, &err), 0);
    sl_explain_why(&e.explain, e.why, sizeof(e.why));
    assert_string_equal(e.why,
                        "nvidia.com/gpu.shared: 1 asked, but pods use more GPU memory than they "
                        "ask for: 12000 of 16384 MiB in use on the GPU with most left, 0 asked "
                        "there, 4384 left (node a); waits for pods there to end");
    end(&e);
}

TEST_THAT(nodes_that_are_full_in_different_ways_are_not_summed_up)
{
    assert_why(RIG_NODE("a", MEM, GPUSHARE("30", "2")) SHARER("h", "a", "8") SHARER("i", "a", "8")
                   RIG_NODE("b", MEM, GPUSHARE("30", "2")) SHARER("j", "b", "15")
                       SHARER("k", "b", "12") RIG_POD("p", "u", MEM, "10"),
               "no node has room for 10 " MEM
               " now (Insufficient: 1 node, Fragmented: 1 node); waits for "
               "pods there to end");
}

TEST_THAT(resources_that_no_node_has_together_are_told_by_the_nearest_node)
{
    const char *two = RIG_POD("p", "u", "nvidia.com/gpu", "1\", " MEM ": \"1");
    struct explained e;
    char cluster[2048];
    (void)snprintf(cluster, sizeof(cluster), "%s%s",
                   RIG_NODE("a", MEM, "8") RIG_NODE("b", "nvidia.com/gpu", "8"), two);
    assert_why(cluster, "no node can give all that it asks for, even when empty: it cannot start "
                        "in this cluster as it is (a: nvidia.com/gpu: not offered by this node)");
    (void)snprintf(cluster, sizeof(cluster), "%s%s",
                   RIG_NODE("a", MEM, "8")
                       RIG_NODE("b", "nvidia.com/gpu", "1\", " MEM ": \"" GPUSHARE("16", "1")),
                   two);
    explain(&e, cluster);
    assert_non_null(strstr(e.why, "(b: "));
    assert_non_null(strstr(e.why, "beside the pod's other GPU requests"));
    end(&e);
}

TEST_THAT(a_malformed_ask_says_what_is_wrong_with_it)
{
    struct explained e;
    explain(&e, RIG_NODE("a", MIG, "8") POD("1.5"));

    assert_non_null(strstr(e.why, "has to be changed"));
    assert_non_null(strstr(e.why, e.pod->malformed));
    end(&e);
}

TEST_THAT(a_bound_pod_names_its_node)
{
    assert_why(RIG_NODE("a", MIG, "8") HOLDER("p", "a", "1"), "it is bound to node a");
}

TEST_THAT(best_nodes_come_first_then_not_now_then_never_then_those_without_the_resource)
{
    struct explained e;
    explain(&e, RIG_NODE("a-without", "nvidia.com/gpu", "8") RIG_NODE("b-full", MIG, "2")
                    RIG_NODE("c-fits", MIG, "8") RIG_NODE("d-fits", MIG, "8")
                        RIG_NODE("e-small", MIG, "1") HOLDER("h", "b-full", "1")
                            HOLDER("i", "d-fits", "4") POD("2"));

    const struct sl_explain_row *row = e.explain.row;
    assert_int_equal(e.explain.n, 5);
    assert_int_equal(e.explain.n_fit, 2);
    assert_true(row[0].fits && row[1].fits && !row[2].fits && !row[3].fits);
    assert_true(row[0].score.total >= row[1].score.total);
    assert_int_equal(row[0].wire, 10);
    assert_true(row[1].wire < 10);
    assert_string_equal(e.snapshot->view[row[2].place]->node->name, "b-full");
    assert_string_equal(e.snapshot->view[row[3].place]->node->name, "e-small");
    assert_string_equal(e.snapshot->view[row[4].place]->node->name, "a-without");
    assert_int_equal(e.explain.count[SL_REASON_FITS], 2);
    assert_int_equal(e.explain.count[SL_REASON_INSUFFICIENT], 1);
    assert_int_equal(e.explain.count[SL_REASON_NOT_OFFERED], 1);
    end(&e);
}

TEST_THAT(what_is_set_aside_for_the_pod_is_its_own)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    struct sl_bind_result result;
    struct explained e;
    e.store =
        rig_store(RIG_NODE("a", MIG, "8") RIG_NODE("b", MIG, "8") HOLDER("h", "a", "7") POD("8"));
    sl_store_nominate(e.store, SL_STR("u"), SL_STR("b"), SL_STR(MIG "=?*8"), &result);
    assert_int_equal(result.code, SL_BIND_RESERVED);
    e.snapshot = sl_store_acquire(e.store);
    e.pod = sl_store_pod(e.store, SL_STR("default"), SL_STR("p"));
    assert_int_equal(sl_explain_init(&e.explain, e.snapshot, e.pod, &weights, &err), 0);
    const struct sl_explain_row *row = e.explain.row;
    const struct sl_view *view = NULL;
    assert_true(row[0].own && row[0].fits);
    assert_string_equal(sl_explain_view(&e.explain, &row[0])->node->name, "b");
    assert_int_equal(row[1].verdict.reason, SL_REASON_INSUFFICIENT);
    assert_int_equal(row[1].verdict.free, 1);
    assert_non_null(sl_explain_nomination(&e.explain, &view));
    assert_string_equal(view->node->name, "b");
    assert_int_equal(sl_view_set_aside_units(view, 0), 8);
    end(&e);

    /* to others it is taken */
    e.store = rig_store(RIG_NODE("b", MIG, "8") RIG_POD("q", "v", MIG, "8") POD("1"));
    sl_store_nominate(e.store, SL_STR("v"), SL_STR("b"), SL_STR(MIG "=?*8"), &result);
    e.snapshot = sl_store_acquire(e.store);
    e.pod = sl_store_pod(e.store, SL_STR("default"), SL_STR("p"));
    assert_int_equal(sl_explain_init(&e.explain, e.snapshot, e.pod, &weights, &err), 0);
    assert_int_equal(e.explain.n_fit, 0);
    assert_null(sl_explain_nomination(&e.explain, &view));
    end(&e);
}

/* ---- the pod's constraints ---- */

#define LABELLED(name, label, cpu, units)                                                          \
    "---\napiVersion: v1\nkind: Node\nmetadata: {name: " name ", labels: {pool: " label            \
    "}}\nstatus: {allocatable: {cpu: \"" cpu "\", " MIG ": \"" units "\"}}\n"
#define PICKY(units)                                                                               \
    "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p, uid: u}\nspec: {nodeSelector: {pool: "    \
    "x}, "                                                                                         \
    "containers: [{name: c, resources: {requests: {cpu: \"4\"}, limits: {" MIG ": \"" units        \
    "\"}}}]}\n"

TEST_THAT(nodes_that_the_pod_excludes_are_not_counted)
{
    struct explained e;
    explain(&e, LABELLED("a", "x", "8", "8") LABELLED("b", "y", "8", "8")
                    LABELLED("c", "y", "8", "1") PICKY("2"));
    assert_string_equal(e.why,
                        "fits on 1 of 1 node, best on a; waits for the scheduler to bind it; "
                        "its node selector, affinity or tolerations exclude 2 more nodes");
    assert_int_equal(e.explain.n_fit, 1);
    assert_int_equal(e.explain.count[SL_REASON_EXCLUDED], 2);
    assert_false(e.explain.row[1].fits);
    end(&e);
    assert_why(LABELLED("a", "x", "8", "8") LABELLED("b", "y", "8", "8") HOLDER("h", "a", "8")
                   PICKY("1"),
               "8 of 8 " MIG " are in use; waits for one to end; its node selector, affinity or "
               "tolerations exclude 1 more node");
    assert_why(LABELLED("b", "y", "8", "8") LABELLED("c", "y", "8", "8") PICKY("1"),
               "its node selector, affinity or tolerations exclude all 2 nodes");
}

TEST_THAT(a_node_without_cpu_does_not_fit)
{
    assert_why(LABELLED("a", "x", "2", "8") LABELLED("b", "x", "2", "1") PICKY("2"),
               "1 node has the GPUs, but too little CPU, memory or places for pods; waits for pods "
               "there to end");
}

/* ---- cuts ---- */

static void bar_most(void *context, const struct sl_view *view, int64_t now_us,
                     struct sl_partition_status *out)
{
    (void)context;
    (void)now_us;
    *out = (struct sl_partition_status){.bar = view->node->name[0] == 'b' ? SL_CUT_BAR_NONE
                                                                          : SL_CUT_BAR_AT_WORK};
    (void)snprintf(out->text, sizeof(out->text), "%s", sl_cut_bar_text(out->bar));
}

#define DYNAMIC(name)                                                                              \
    "---\napiVersion: v1\nkind: Node\nmetadata: {name: " name                                      \
    ", labels: {nvidia.com/gpu.product: NVIDIA-A30, nvidia.com/gpu.count: \"1\", "                 \
    "sliced.dev/partitioning: dynamic}}\nstatus: {allocatable: {" MIG ": \"4\"}}\n"

TEST_THAT(a_pod_that_only_a_cut_could_serve_is_told_what_bars_it)
{
    const struct sl_partition_reader reader = {.status = bar_most};
    char text[SL_EXPLAIN_TEXT_MAX];
    struct explained e;
    struct sl_buf json;
    struct sl_writer w = {.buf = &json};
    explain(&e, DYNAMIC("a") DYNAMIC("b") DYNAMIC("c") RIG_NODE("d", MIG, "1")
                    RIG_POD("p", "u", "nvidia.com/mig-4g.24gb", "1"));
    sl_explain_bar(&e.explain, &e.explain.row[0], text, sizeof(text));
    assert_string_equal(text, ""); /* nobody knows of cuts */
    sl_explain_cuts(&e.explain, &reader, 0);
    sl_explain_bar(&e.explain, &e.explain.row[0], text, sizeof(text));
    assert_non_null(strstr(text, "a is not cut now: its mig-manager is at work for somebody else"));
    sl_explain_bar(&e.explain, &e.explain.row[1], text, sizeof(text));
    assert_string_equal(text, "");
    sl_explain_bar(&e.explain, &e.explain.row[3], text, sizeof(text));
    assert_string_equal(text, ""); /* it is not a cut that it lacks there */
    sl_buf_init(&json, 1 << 16);
    sl_fields_write(&w, sl_model_explain, SL_SEEN_ALONE, &e.explain);
    assert_non_null(strstr(
        rig_text(&json), "\"uncut\":[{\"why\":\"AtWork\",\"nodes\":2,\"text\":\"a and 1 more node "
                         "are not cut now: its mig-manager"));
    sl_buf_free(&json);
    end(&e);
}
