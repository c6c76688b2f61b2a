/* Which pods are of one workload: whose pasts say how much memory the next one will use. Users
 * write images and names; none of it makes a pod one of another namespace's workload. */
#include "facts_rig.h"

#include "sliced/pod.h"

struct words {
    const char *namespace;
    const char *images; /* of the containers, parted by spaces; "-": no image */
    const char *name;   /* NULL: "p" */
    const char *memory; /* NULL: "4Gi" */
};

static uint32_t workload_of(struct words words)
{
    struct facts_rig rig;
    struct sl_pod_facts facts = {.namespace = sl_str_of(words.namespace),
                                 .name = sl_str_of(words.name == NULL ? "p" : words.name)};
    facts_init(&rig);
    facts_pair(&rig, &facts.annotations, "sliced.dev/gpu-memory",
               words.memory == NULL ? "4Gi" : words.memory);
    for (const char *image = words.images; *image != '\0'; image += strspn(image, " ")) {
        size_t len = strcspn(image, " ");
        struct sl_container_facts *container =
            facts_container(&rig, &facts.containers, "c", NULL,
                            facts.containers == NULL ? "nvidia.com/gpu=1" : NULL);
        container->image = image[0] == '-' ? (struct sl_str){0} : facts_text(&rig, image, len);
        image += len;
    }
    struct sl_pod *pod = sl_pod_new(&facts, NULL);
    assert_non_null(pod);
    assert_int_equal(pod->n_items, 1);
    uint32_t workload = pod->items[0].workload;
    sl_pod_unref(pod);
    facts_free(&rig);
    return workload;
}

static uint32_t workload(const char *namespace, const char *images)
{
    return workload_of((struct words){.namespace = namespace, .images = images});
}

TEST_THAT(pods_of_one_namespace_with_the_same_images_are_of_one)
{
    uint32_t one = workload("team", "train:1 log:2");
    assert_true(one != 0);
    assert_true(
        workload_of((struct words){
            .namespace = "team", .images = "train:1 log:2", .name = "other", .memory = "9Gi"}) ==
        one);
    assert_true(workload("team", "log:2 train:1") != one);
    assert_true(workload("team", "train:1") != one);
    assert_true(workload("team", "train:1 log:2 log:2") != one);
    assert_true(workload("team", "train:1 log:3") != one);
}

TEST_THAT(no_pod_is_of_another_namespaces_workload)
{
    static const struct words poses[] = {
        {.namespace = "b", .images = "train:1"},
        {.namespace = "b", .images = "a train:1"},
        {.namespace = "b", .images = "a/train:1"},
        {.namespace = "atrain:1", .images = "-"},
        {.namespace = "at", .images = "rain:1"},
        {.namespace = "", .images = "train:1"}, /* default */
        {.namespace = "b", .images = "train:1", .name = "a"},
    };
    uint32_t one = workload("a", "train:1");
    for (size_t i = 0; i < sizeof(poses) / sizeof(poses[0]); i++) {
        assert_true(workload_of(poses[i]) != one);
    }
    assert_true(workload("", "train:1") == workload("default", "train:1"));
}

TEST_THAT(borders_between_images_count)
{
    assert_true(workload("a", "x yz") != workload("a", "xy z"));
    assert_true(workload("a", "xyz") != workload("a", "x yz"));
    assert_true(workload("a", "x -") != workload("a", "x"));
    assert_true(workload("a", "- x") != workload("a", "x -"));
}

TEST_THAT(a_pod_that_declares_no_memory_is_of_none)
{
    assert_int_equal(workload_of((struct words){.namespace = "a", .images = "x", .memory = "0"}),
                     0);
    assert_int_equal(workload_of((struct words){.namespace = "a", .images = "x", .memory = "much"}),
                     0);
}
