/* The comparison of policies on a small cluster of the trace's form. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "config/config.h"
#include "evidence/openb/openb.h"
#include "unit/test.h"

#define NODES "sn,cpu_milli,memory_mib,gpu,model\n"
#define PODS  "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos\n"

/* Writes the text to a new file, whose name goes to path. */
static void write_file(char path[32], const char *text)
{
    (void)snprintf(path, 32, "/tmp/slicesim-openb-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    size_t len = strlen(text);
    assert_true(write(fd, text, len) == (ssize_t)len);
    assert_int_equal(close(fd), 0);
}

static int load(struct sl_openb *openb, const char *nodes, const char *pods, struct sl_error *err)
{
    char of_nodes[32];
    char of_pods[32];
    write_file(of_nodes, nodes);
    write_file(of_pods, pods);
    sl_openb_init(openb);
    int rc = sl_openb_load(openb, of_pods, of_nodes, err);
    assert_int_equal(unlink(of_nodes), 0);
    assert_int_equal(unlink(of_pods), 0);
    return rc;
}

static struct sl_openb_outcome run(const struct sl_openb *openb, const char *policy, uint64_t seed,
                                   double load_of)
{
    struct sl_openb_outcome out;
    struct sl_error err = {0};
    struct sl_config config;
    sl_config_defaults(&config);
    const struct sl_openb_policy *found = sl_openb_policy_find(sl_str_of(policy));
    assert_non_null(found);
    assert_int_equal(sl_openb_simulate(openb, found, &config.plan.score, seed, load_of, &out, &err),
                     0);
    return out;
}

static const char *const small_nodes = NODES "a,32000,65536,2,T4\n"
                                             "b,16000,65536,4,G2\n"
                                             "c,96000,65536,8,G2\n";
static const char *const small_pods = PODS "p0,4000,1024,1,1000,,LS\n"
                                           "p1,2000,1024,1,470,,LS\n"
                                           "p2,8000,1024,2,1000,G2|V100M16,LS\n"
                                           "p3,6000,1024,0,0,,LS\n"
                                           "p4,1000,1024,1,320,T4,LS\n";

TEST_FIXTURE_OF(struct sl_openb, NULL, sl_openb_free)

TEST_ON(struct sl_openb *openb, pods_that_ask_alike_are_one_class)
{
    struct sl_error err = {0};
    assert_int_equal(load(openb, small_nodes,
                          PODS "p0,4000,1024,1,1000,,LS\n"
                               "p1,4000,1024,1,1000,,BE\n"
                               "p2,4000,1024,1,1000,T4,LS\n",
                          &err),
                     0);
    assert_int_equal(openb->n_pods, 3);
    assert_int_equal(openb->n_classes, 2);
    assert_int_equal(openb->class[0].n, 2);
    assert_int_equal(openb->milli, 14000);
}

TEST_ON(struct sl_openb *openb, share_of_several_gpus_is_refused_with_its_place)
{
    struct sl_error err = {0};
    assert_int_equal(load(openb, small_nodes, PODS "p0,4000,1024,2,500,,LS\n", &err), -1);
    assert_non_null(strstr(err.message, ":2:"));
    assert_non_null(strstr(err.message, "gpu_milli"));
}

TEST_ON(struct sl_openb *openb, every_policy_places_all_pods_while_there_is_room)
{
    struct sl_error err = {0};
    assert_int_equal(load(openb, small_nodes,
                          PODS "p0,4000,1024,1,1000,,LS\n"
                               "p1,2000,1024,1,470,,LS\n"
                               "p2,3000,1024,0,0,,LS\n",
                          &err),
                     0);
    for (size_t i = 0; i < sl_openb_policy_count(); i++) {
        struct sl_openb_outcome out = run(openb, sl_openb_policy_at(i)->name, 1, 0.25);
        assert_int_equal(out.failed, 0);
        assert_true(out.allocation > 0.1 && out.allocation <= 0.25);
    }
}

TEST_ON(struct sl_openb *openb, runs_of_one_seed_are_the_same_and_never_give_more_than_there_is)
{
    struct sl_error err = {0};
    assert_int_equal(load(openb, small_nodes, small_pods, &err), 0);
    for (size_t i = 0; i < sl_openb_policy_count(); i++) {
        const char *policy = sl_openb_policy_at(i)->name;
        for (uint64_t seed = 1; seed <= 5; seed++) {
            struct sl_openb_outcome out = run(openb, policy, seed, 3);
            struct sl_openb_outcome again = run(openb, policy, seed, 3);
            assert_true(out.allocation > 0.4 && out.allocation <= 1);
            assert_true(out.failed > 0 && out.failed < out.pods);
            assert_true(out.allocation == again.allocation && out.failed == again.failed);
        }
    }
}

TEST_ON(struct sl_openb *openb, model_that_no_node_has_is_never_placed)
{
    struct sl_error err = {0};
    assert_int_equal(load(openb, small_nodes, PODS "p0,1000,1024,1,1000,A100,LS\n", &err), 0);
    for (size_t i = 0; i < sl_openb_policy_count(); i++) {
        struct sl_openb_outcome out = run(openb, sl_openb_policy_at(i)->name, 1, 1);
        assert_true(out.pods > 0 && out.failed == out.pods);
        assert_true(out.allocation == 0);
    }
}

TEST_ON(struct sl_openb *openb, cpu_bounds_what_a_node_takes)
{
    struct sl_error err = {0};
    assert_int_equal(
        load(openb, NODES "a,10000,65536,8,T4\n", PODS "p0,4000,1024,1,1000,,LS\n", &err), 0);
    for (size_t i = 0; i < sl_openb_policy_count(); i++) {
        struct sl_openb_outcome out = run(openb, sl_openb_policy_at(i)->name, 1, 1);
        assert_int_equal(out.pods - out.failed, 2);
    }
}

TEST_ALONE(published_figures_are_found_by_the_name_of_the_list)
{
    const struct sl_openb_policy *fgd = sl_openb_policy_find(SL_STR("fgd"));
    const struct sl_openb_policy *ours = sl_openb_policy_find(SL_STR("sliced"));
    assert_true(sl_openb_published(fgd, "/a/b/openb_pod_list_default.csv") == 95.39);
    assert_true(sl_openb_published(fgd, "openb_pod_list_cpu100.csv") == 95.35);
    assert_true(sl_openb_published(fgd, "other.csv") == 0);
    assert_true(sl_openb_published(ours, "openb_pod_list_default.csv") == 0);
    assert_null(sl_openb_policy_find(SL_STR("fg")));
}
