/* Who suffers from neighbours, by what they keep a GPU busy alone and together. The figures are
 * those of an H100: an SSD engine of 11 % halves a second one, eight ResNet-50 of 6 % run as fast
 * as one. */
#include "usage_rig.h"

#include "sliced/suffer.h"

enum { SSD = 7, RESNET = 8, OTHER_SSD = 9 };

static struct sl_suffer suffer_of(struct scene *scene)
{
    return (struct sl_suffer){.past = scene->peaks};
}

/* So many pods of a namespace are on the GPU from now on. */
static void there(struct scene *scene, unsigned n, uint32_t workload, const char *namespace)
{
    sl_view_free(scene->rig->view);
    scene->rig->view = NULL;
    scene->rig->n_pods = 0;
    for (unsigned i = 0; i < n; i++) {
        runs(scene, 100, workload)->namespace = namespace;
    }
}

static void teaches(struct scene *scene, struct sl_suffer *suffer, int32_t load)
{
    sl_suffer_learn(suffer, rig_view(scene->rig), 0, load);
}

/* Twice, as nothing is known before. */
static void lives(struct scene *scene, struct sl_suffer *suffer, unsigned n, uint32_t workload,
                  const char *namespace, int32_t load)
{
    there(scene, n, workload, namespace);
    teaches(scene, suffer, load);
    teaches(scene, suffer, load);
}

static struct sl_measured with(const struct sl_suffer *suffer)
{
    struct sl_measured measured = sl_measured_none;
    memcpy(measured.suffer, suffer->list, sizeof(measured.suffer));
    return measured;
}

static int cost_of(const struct sl_suffer *suffer, uint32_t workload)
{
    struct sl_measured measured = with(suffer);
    const struct sl_measured_suffer *found = sl_measured_suffers(&measured, workload);
    return found == NULL ? -1 : found->cost;
}

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct scene *scene, engines_that_halve_each_other_suffer)
{
    struct sl_suffer suffer = suffer_of(scene);
    there(scene, 1, SSD, "a");
    teaches(scene, &suffer, 110);
    teaches(scene, &suffer, 110);
    there(scene, 2, SSD, "a");
    teaches(scene, &suffer, 110);
    assert_int_equal(cost_of(&suffer, SSD), -1); /* once is not enough */
    teaches(scene, &suffer, 110);
    assert_int_equal(cost_of(&suffer, SSD), 1000);
    assert_int_equal(suffer.list[0].alone, 110);
}

TEST_ON(struct scene *scene, engines_that_run_beside_each_other_do_not)
{
    struct sl_suffer suffer = suffer_of(scene);
    lives(scene, &suffer, 1, RESNET, "a", 60);
    lives(scene, &suffer, 8, RESNET, "a", 475);
    assert_int_equal(cost_of(&suffer, RESNET), -1);
    /* who keeps a GPU busy all the time cannot be busier */
    lives(scene, &suffer, 1, SSD, "a", 900);
    lives(scene, &suffer, 2, SSD, "a", 1000);
    assert_int_equal(cost_of(&suffer, SSD), -1);
}

TEST_ON(struct scene *scene, who_had_less_to_do_says_nothing)
{
    struct sl_suffer suffer = suffer_of(scene);
    lives(scene, &suffer, 1, SSD, "a", 110);
    lives(scene, &suffer, 2, SSD, "a", 0);
    lives(scene, &suffer, 4, SSD, "a", 80); /* taking turns would leave 110 */
    assert_int_equal(cost_of(&suffer, SSD), -1);
    lives(scene, &suffer, 1, RESNET, "a", 0); /* alone it idles */
    lives(scene, &suffer, 2, RESNET, "a", 1);
    assert_int_equal(cost_of(&suffer, RESNET), -1);
}

/* A workload is a namespace with images: a tenant teaches about his own pods only, also when he is
 * beside others. */
TEST_ON(struct scene *scene, beside_others_nobody_teaches)
{
    struct sl_suffer suffer = suffer_of(scene);
    lives(scene, &suffer, 1, SSD, "a", 110);
    lives(scene, &suffer, 1, RESNET, "b", 60);
    there(scene, 1, SSD, "a");
    runs(scene, 100, RESNET)->namespace = "b";
    teaches(scene, &suffer, 90);
    teaches(scene, &suffer, 90);
    assert_int_equal(cost_of(&suffer, SSD), -1);
    assert_int_equal(cost_of(&suffer, RESNET), -1);
    there(scene, 1, SSD, "a");
    runs(scene, -1, 0)->namespace = "b"; /* declares nothing */
    teaches(scene, &suffer, 110);
    teaches(scene, &suffer, 110);
    assert_int_equal(cost_of(&suffer, SSD), -1);
}

TEST_ON(struct scene *scene, under_mps_nobody_takes_turns)
{
    struct sl_suffer suffer = suffer_of(scene);
    lives(scene, &suffer, 1, SSD, "a", 110);
    scene->rig->pool[0].equal_memory = true;
    lives(scene, &suffer, 2, SSD, "a", 110);
    assert_int_equal(cost_of(&suffer, SSD), -1);
}

TEST_ON(struct scene *scene, who_suffers_no_more_is_forgotten)
{
    struct sl_suffer suffer = suffer_of(scene);
    lives(scene, &suffer, 1, SSD, "a", 110);
    lives(scene, &suffer, 2, SSD, "a", 110);
    assert_int_equal(cost_of(&suffer, SSD), 1000);
    for (int i = 0; i < SL_PAST_VALUES; i++) {
        lives(scene, &suffer, 2, SSD, "a", 215);
    }
    assert_int_equal(cost_of(&suffer, SSD), -1);
}

TEST_ON(struct scene *scene, a_namespace_has_one_place)
{
    struct sl_suffer suffer = suffer_of(scene);
    lives(scene, &suffer, 1, SSD, "a", 110);
    lives(scene, &suffer, 2, SSD, "a", 110);
    for (uint32_t mine = 100; mine < 120; mine++) {
        lives(scene, &suffer, 1, mine, "greedy", 110);
        lives(scene, &suffer, 2, mine, "greedy", 150);
    }
    assert_int_equal(cost_of(&suffer, SSD), 1000);
    assert_int_equal(cost_of(&suffer, 119), 460);
    assert_int_equal(cost_of(&suffer, 118), -1);
}

TEST_ON(struct scene *scene, the_namespace_that_taught_last_takes_the_place_of_the_first)
{
    static const char *const names[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8"};
    struct sl_suffer suffer = suffer_of(scene);
    for (uint32_t i = 0; i <= SL_MEASURED_SUFFER; i++) {
        lives(scene, &suffer, 1, 100 + i, names[i], 110);
        lives(scene, &suffer, 2, 100 + i, names[i], 110);
    }
    assert_int_equal(cost_of(&suffer, 100), -1);
    assert_int_equal(cost_of(&suffer, 101), 1000);
    assert_int_equal(cost_of(&suffer, 108), 1000);
}

/* Another order would change what all nodes show. */
TEST_ON(struct scene *scene, what_is_learned_again_stays_in_its_place)
{
    struct sl_suffer suffer = suffer_of(scene);
    lives(scene, &suffer, 1, SSD, "a", 110);
    lives(scene, &suffer, 2, SSD, "a", 110);
    lives(scene, &suffer, 1, OTHER_SSD, "b", 110);
    lives(scene, &suffer, 2, OTHER_SSD, "b", 110);
    assert_int_equal(suffer.list[0].workload, OTHER_SSD);
    const struct sl_suffer before = suffer;
    lives(scene, &suffer, 2, SSD, "a", 110);
    assert_memory_equal(suffer.list, before.list, sizeof(before.list));
}
