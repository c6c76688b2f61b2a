/* Asks: the names of resources, and a pod's count as Kubernetes makes it, also against a start-up
 * played step by step. */
#include "facts_rig.h"

#include "core/request/count.h"

struct ask_rig {
    struct facts_rig facts;
    struct sl_pod_facts pod;
    struct sl_ask ask;
    char why[SL_ASK_WHY_MAX];
};

static int set_up(void **state)
{
    struct ask_rig *rig = calloc(1, sizeof(*rig));
    assert_non_null(rig);
    facts_init(&rig->facts);
    *state = rig;
    return 0;
}

static int tear_down(void **state)
{
    struct ask_rig *rig = *state;
    facts_free(&rig->facts);
    free(rig);
    return 0;
}

static struct sl_container_facts *container(struct ask_rig *rig, const char *name,
                                            const char *requests, const char *limits)
{
    return facts_container(&rig->facts, &rig->pod.containers, name, requests, limits);
}

static struct sl_container_facts *init(struct ask_rig *rig, const char *name, const char *limits)
{
    return facts_container(&rig->facts, &rig->pod.init_containers, name, NULL, limits);
}

static void sidecar(struct ask_rig *rig, const char *name, const char *limits)
{
    init(rig, name, limits)->restart_always = true;
}

static void count(struct ask_rig *rig)
{
    if (!sl_ask_count(&rig->pod, &rig->ask, rig->why)) {
        fail_msg("malformed: %s", rig->why);
    }
    assert_false(rig->ask.malformed);
}

/* expected as "name=count name=count". */
static void check_ask(struct ask_rig *rig, const char *expected)
{
    count(rig);
    char got[1024] = "";
    for (unsigned i = 0; i < rig->ask.n; i++) {
        size_t len = strlen(got);
        (void)snprintf(got + len, sizeof(got) - len, "%s%s=%lld", i > 0 ? " " : "",
                       rig->ask.item[i].resource, (long long)rig->ask.item[i].count);
    }
    assert_string_equal(got, expected);
}

static void check_malformed(struct ask_rig *rig, const char *expected)
{
    memset(&rig->ask, 0x5a, sizeof(rig->ask));
    assert_false(sl_ask_count(&rig->pod, &rig->ask, rig->why));
    assert_true(rig->ask.malformed);
    assert_int_equal(rig->ask.n, 0);
    assert_string_equal(rig->why, expected);
}

TEST_FIXTURE(set_up, tear_down)

TEST_THAT(names_are_recognised_with_their_kinds)
{
    const struct {
        const char *name;
        enum sl_kind kind;
        bool shared;
        bool inventory;
        const char *profile;
        unsigned compute;
        unsigned gb;
        unsigned attributes;
    } cases[] = {
        {"nvidia.com/gpu", SL_KIND_WHOLE, false, false, "", 0, 0, 0},
        {"nvidia.com/gpu.shared", SL_KIND_REPLICA, true, false, "", 0, 0, 0},
        {"nvidia.com/mig-1g.6gb", SL_KIND_MIG, false, false, "1g.6gb", 1, 6, 0},
        {"nvidia.com/mig-1g.5gb.me", SL_KIND_MIG, false, false, "1g.5gb.me", 1, 5, SL_MIG_ME},
        {"nvidia.com/mig-1g.24gb-me", SL_KIND_MIG, false, false, "1g.24gb-me", 1, 24, SL_MIG_NO_ME},
        {"nvidia.com/mig-2g.10gb.shared", SL_KIND_REPLICA, true, false, "2g.10gb", 2, 10, 0},
        {"nvidia.com/mig-9z.new", SL_KIND_MIG, false, false, "9z.new", 0, 0, 0},
        {"nvidia.com/gpu-10gb", SL_KIND_REPLICA, false, false, "10gb", 0, 0, 0},
        {"aliyun.com/gpu-mem", SL_KIND_MEMORY, false, false, "", 0, 0, 0},
        {"aliyun.com/gpu-count", SL_KIND_MEMORY, false, true, "", 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sl_resource r;
        assert_true(sl_resource_parse(sl_str_of(cases[i].name), &r));
        assert_int_equal(r.kind, cases[i].kind);
        assert_int_equal(r.shared, cases[i].shared);
        assert_int_equal(r.inventory, cases[i].inventory);
        assert_true(sl_str_eq(r.profile, sl_str_of(cases[i].profile)));
        assert_int_equal(r.shape.compute, cases[i].compute);
        assert_int_equal(r.shape.memory_gb, cases[i].gb);
        assert_int_equal(r.shape.attributes, cases[i].attributes);
        assert_true(r.key == sl_hash(cases[i].name, strlen(cases[i].name)));
    }
}

TEST_THAT(slices_of_memory_tell_their_size)
{
    struct sl_resource r;
    assert_true(sl_resource_parse(SL_STR("nvidia.com/gpu-1gb"), &r));
    assert_int_equal(r.slice_gb, 1);
    assert_true(sl_resource_parse(SL_STR("nvidia.com/gpu-9999gb"), &r));
    assert_int_equal(r.slice_gb, 9999);
    assert_true(sl_resource_parse(SL_STR("nvidia.com/mig-1g.10gb"), &r));
    assert_int_equal(r.slice_gb, 0);
}

TEST_THAT(other_names_are_not_ours)
{
    const char *names[] = {
        "",
        "cpu",
        "memory",
        "nvidia.com/",
        "nvidia.com/gpu ",
        "nvidia.com/mig-=1g.5gb",
        "nvidia.com/mig-1g.5gb;",
        "nvidia.com/gpus",
        "nvidia.com/gpu.share",
        "nvidia.com/gpu-gb",
        "nvidia.com/gpu-0gb",
        "nvidia.com/gpu-010gb",
        "nvidia.com/gpu--1gb",
        "nvidia.com/gpu-+1gb",
        "nvidia.com/gpu-10000gb",
        "nvidia.com/gpu-10GB",
        "nvidia.com/gpu-10gb.shared",
        "nvidia.com/gpu-1.5gb",
        "nvidia.com/gpu-10",
        "nvidia.com/gpu-",
        "NVIDIA.com/gpu",
        "requests.nvidia.com/gpu",
        "nvidia.com/mig-",
        "nvidia.com/mig-.shared",
        "nvidia.com/mig-1g=6gb",
        "nvidia.com/mig-1g.6gb;x",
        "nvidia.com/mig-1g.6gb+me",
        "amd.com/gpu",
        "aliyun.com/gpu-memory",
        "nvidia.com/mig-1234567890123456789012345678901234567890123456789012345678901234567890",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct sl_resource r;
        if (sl_resource_parse(sl_str_of(names[i]), &r)) {
            fail_msg("\"%s\" was taken for ours", names[i]);
        }
    }
    struct sl_resource r;
    assert_false(sl_resource_parse((struct sl_str){"nvidia.com/mig-1g\0x", 19}, &r));
    assert_false(sl_resource_parse((struct sl_str){NULL, 0}, &r));
}

TEST_THAT(kinds_have_names)
{
    assert_string_equal(sl_kind_name(SL_KIND_WHOLE), "whole");
    assert_string_equal(sl_kind_name(SL_KIND_MIG), "mig");
    assert_string_equal(sl_kind_name(SL_KIND_REPLICA), "replica");
    assert_string_equal(sl_kind_name(SL_KIND_MEMORY), "memory");
    assert_string_equal(sl_kind_name((enum sl_kind)(SL_KIND_MEMORY + 1)), "unknown");
}

TEST_ON(struct ask_rig *rig, a_pod_without_our_resources_asks_for_nothing)
{
    container(rig, "web", "cpu=500m memory=1.5Gi", "cpu=1 amd.com/gpu=1");
    check_ask(rig, "");
    rig->pod.containers = NULL;
    check_ask(rig, "");
}

TEST_ON(struct ask_rig *rig, containers_add_up_and_items_are_sorted_by_name)
{
    container(rig, "a", NULL, "nvidia.com/mig-2g.12gb=1 nvidia.com/gpu=1 cpu=2");
    container(rig, "b", NULL, "nvidia.com/gpu=2 aliyun.com/gpu-mem=7");
    check_ask(rig, "aliyun.com/gpu-mem=7 nvidia.com/gpu=3 nvidia.com/mig-2g.12gb=1");
    const struct sl_ask_item *item = &rig->ask.item[2];
    assert_int_equal(item->kind, SL_KIND_MIG);
    assert_int_equal(item->shape.compute, 2);
    assert_true(item->key == sl_hash("nvidia.com/mig-2g.12gb", 22));
    assert_int_equal(rig->ask.item[0].kind, SL_KIND_MEMORY);
}

TEST_ON(struct ask_rig *rig, requests_count_and_limits_where_no_request_is)
{
    container(rig, "a", "nvidia.com/gpu=2", "nvidia.com/gpu=2 aliyun.com/gpu-mem=3");
    container(rig, "b", "nvidia.com/gpu=1", NULL);
    check_ask(rig, "aliyun.com/gpu-mem=3 nvidia.com/gpu=3");
}

TEST_ON(struct ask_rig *rig, quantities_are_compared_by_value)
{
    container(rig, "a", "aliyun.com/gpu-mem=1000m", "aliyun.com/gpu-mem=1");
    container(rig, "b", NULL, "aliyun.com/gpu-mem=2k");
    check_ask(rig, "aliyun.com/gpu-mem=2001");
}

TEST_ON(struct ask_rig *rig, zero_counts_drop_out)
{
    container(rig, "a", NULL, "nvidia.com/gpu=0 nvidia.com/mig-1g.6gb=1");
    check_ask(rig, "nvidia.com/mig-1g.6gb=1");
}

TEST_ON(struct ask_rig *rig, inventory_is_never_asked_for)
{
    container(rig, "a", NULL, "aliyun.com/gpu-count=1m aliyun.com/gpu-mem=4");
    check_ask(rig, "aliyun.com/gpu-mem=4");
}

static void host_is(struct ask_rig *rig, const char *requests, const char *limits, int64_t cpu,
                    int64_t memory)
{
    rig->pod.whole.requests = requests == NULL ? NULL : facts_pairs(&rig->facts, requests);
    rig->pod.whole.limits = limits == NULL ? NULL : facts_pairs(&rig->facts, limits);
    struct sl_host_ask host = sl_host_count(&rig->pod);
    assert_int_equal(host.cpu_milli, cpu);
    assert_int_equal(host.memory_bytes, memory);
}

TEST_ON(struct ask_rig *rig, resources_of_the_pod_take_the_place_of_its_containers_sum)
{
    container(rig, "a", "cpu=2 memory=100", "nvidia.com/gpu=1");
    sidecar(rig, "side", "cpu=1");
    init(rig, "big", "cpu=4 memory=300");
    rig->pod.overhead = facts_pairs(&rig->facts, "cpu=500m memory=7");
    host_is(rig, NULL, NULL, 5500, 307);
    host_is(rig, "cpu=64", NULL, 64500, 307); /* what it does not name is the containers' */
    host_is(rig, "cpu=64 memory=1Ki", NULL, 64500, 1031);
    host_is(rig, "cpu=1", "cpu=9 memory=1Ki", 1500, 307);
    host_is(rig, "cpu=0", "cpu=9", 500, 307);
    host_is(rig, "cpu=x", "cpu=9", 5500, 307); /* unreadable is as absent */
    host_is(rig, "cpu=-4 memory=99999999999999999999", NULL, 500, SL_HOST_MAX);
    rig->pod.containers = NULL;
    rig->pod.init_containers = NULL;
    host_is(rig, NULL, "cpu=9 memory=1Ki", 9500, 1031); /* as the API server fills it in */
}

/* The API server refuses it; kube-scheduler would not count it. */
TEST_ON(struct ask_rig *rig, gpus_of_the_pods_own_resources_are_asked_for_by_nobody)
{
    container(rig, "a", NULL, "nvidia.com/gpu=1");
    host_is(rig, "nvidia.com/gpu=8", "nvidia.com/gpu=8", 0, 0);
    check_ask(rig, "nvidia.com/gpu=1");
}

/* What a device plugin is asked for at once. */
TEST_ON(struct ask_rig *rig, the_largest_request_of_one_container_is_kept_beside_the_sum)
{
    container(rig, "a", NULL, "nvidia.com/gpu=1");
    container(rig, "b", "nvidia.com/gpu=1", "nvidia.com/gpu=1");
    sidecar(rig, "side", "nvidia.com/gpu=1");
    init(rig, "fetch", "nvidia.com/gpu=1");
    rig->pod.overhead = facts_pairs(&rig->facts, "nvidia.com/gpu=4");
    check_ask(rig, "nvidia.com/gpu=7");
    assert_int_equal(rig->ask.item[0].each, 1);
    init(rig, "warm", "nvidia.com/gpu=2"); /* beside the sidecar it is no more than they are */
    check_ask(rig, "nvidia.com/gpu=7");
    assert_int_equal(rig->ask.item[0].each, 2);
}

TEST_ON(struct ask_rig *rig, the_largest_init_step_counts_when_it_exceeds_the_containers)
{
    container(rig, "a", NULL, "nvidia.com/gpu=2");
    init(rig, "fetch", "nvidia.com/gpu=1");
    init(rig, "warm", "nvidia.com/gpu=3");
    check_ask(rig, "nvidia.com/gpu=3");
}

TEST_ON(struct ask_rig *rig, an_init_step_counts_with_the_sidecars_started_before_it_only)
{
    container(rig, "a", NULL, "nvidia.com/gpu=1");
    init(rig, "early", "nvidia.com/gpu=4");
    sidecar(rig, "side", "nvidia.com/gpu=2");
    check_ask(rig, "nvidia.com/gpu=4");
    init(rig, "late", "nvidia.com/gpu=3");
    check_ask(rig, "nvidia.com/gpu=5");
}

TEST_ON(struct ask_rig *rig, sidecars_run_beside_the_containers)
{
    container(rig, "a", NULL, "nvidia.com/gpu=3");
    sidecar(rig, "one", "nvidia.com/gpu=1");
    sidecar(rig, "two", "nvidia.com/gpu=1");
    check_ask(rig, "nvidia.com/gpu=5");
}

TEST_ON(struct ask_rig *rig, overhead_comes_on_top_of_the_larger)
{
    container(rig, "a", NULL, "nvidia.com/gpu=1");
    init(rig, "i", "nvidia.com/gpu=2");
    rig->pod.overhead = facts_pairs(&rig->facts, "nvidia.com/gpu=1 cpu=250m");
    check_ask(rig, "nvidia.com/gpu=3");
}

TEST_ON(struct ask_rig *rig, a_fraction_is_malformed_and_names_container_and_resource)
{
    container(rig, "ok", NULL, "nvidia.com/gpu=1");
    container(rig, "train", NULL, "nvidia.com/gpu=500m");
    check_malformed(rig,
                    "container \"train\": limits[nvidia.com/gpu]: \"500m\" is not a whole number");
}

TEST_ON(struct ask_rig *rig, other_bad_values_are_malformed)
{
    const struct {
        const char *requests;
        const char *limits;
        const char *why;
    } cases[] = {
        {NULL, "nvidia.com/gpu=-1", "limits[nvidia.com/gpu]: \"-1\" is negative"},
        {"nvidia.com/gpu=one", NULL, "requests[nvidia.com/gpu]: \"one\" is not a quantity"},
        {NULL, "nvidia.com/gpu=", "limits[nvidia.com/gpu]: \"\" is not a quantity"},
        {NULL, "nvidia.com/gpu=2147483648",
         "limits[nvidia.com/gpu]: \"2147483648\" is too large: more than 2147483647"},
        {NULL, "aliyun.com/gpu-mem=16Ei",
         "limits[aliyun.com/gpu-mem]: \"16Ei\" is too large: more than 2147483647"},
        {"nvidia.com/gpu=1", "nvidia.com/gpu=2",
         "requests[nvidia.com/gpu]: \"1\" differs from the limit \"2\""},
        {"nvidia.com/gpu=1", "nvidia.com/gpu=x", "limits[nvidia.com/gpu]: \"x\" is not a quantity"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char expected[256];
        rig->pod.containers = NULL;
        container(rig, "c", cases[i].requests, cases[i].limits);
        (void)snprintf(expected, sizeof(expected), "container \"c\": %s", cases[i].why);
        check_malformed(rig, expected);
    }
}

TEST_ON(struct ask_rig *rig, bad_values_outside_containers_say_where_they_are)
{
    sidecar(rig, "side", "nvidia.com/gpu=1.5");
    check_malformed(
        rig, "init container \"side\": limits[nvidia.com/gpu]: \"1.5\" is not a whole number");
    rig->pod.init_containers = NULL;
    rig->pod.overhead = facts_pairs(&rig->facts, "nvidia.com/gpu=x");
    check_malformed(rig, "overhead[nvidia.com/gpu]: \"x\" is not a quantity");
}

TEST_ON(struct ask_rig *rig, a_sum_beyond_the_largest_number_is_malformed)
{
    container(rig, "a", NULL, "aliyun.com/gpu-mem=2147483647");
    check_ask(rig, "aliyun.com/gpu-mem=2147483647");
    rig->pod.overhead = facts_pairs(&rig->facts, "aliyun.com/gpu-mem=1");
    check_malformed(rig, "overhead[aliyun.com/gpu-mem]: makes the pod's sum too large");
    rig->pod.overhead = NULL;
    sidecar(rig, "s", "aliyun.com/gpu-mem=1");
    check_malformed(rig, "container \"a\": limits[aliyun.com/gpu-mem]: \"2147483647\" "
                         "makes the sum over the containers too large");
    rig->pod.containers = NULL;
    init(rig, "i", "aliyun.com/gpu-mem=2147483647");
    check_malformed(rig, "init container \"i\": limits[aliyun.com/gpu-mem]: \"2147483647\" "
                         "makes the sum over the containers too large");
}

TEST_ON(struct ask_rig *rig, eight_resources_are_kept_and_a_ninth_is_malformed)
{
    container(rig, "a", NULL,
              "nvidia.com/mig-h=1 nvidia.com/mig-g=1 nvidia.com/mig-f=1 nvidia.com/mig-e=1");
    container(rig, "b", NULL,
              "nvidia.com/mig-d=1 nvidia.com/mig-c=1 nvidia.com/mig-b=1 nvidia.com/mig-a=1");
    check_ask(rig, "nvidia.com/mig-a=1 nvidia.com/mig-b=1 nvidia.com/mig-c=1 nvidia.com/mig-d=1 "
                   "nvidia.com/mig-e=1 nvidia.com/mig-f=1 nvidia.com/mig-g=1 nvidia.com/mig-h=1");
    container(rig, "c", NULL, "nvidia.com/gpu=1");
    check_malformed(rig, "container \"c\": limits[nvidia.com/gpu]: more than 8 different GPU "
                         "resources in one pod");
}

TEST_ON(struct ask_rig *rig, long_values_are_cut_in_the_text)
{
    char limit[1100] = "nvidia.com/gpu=";
    memset(limit + 15, 'x', 1000);
    container(rig, "c", NULL, limit);
    assert_false(sl_ask_count(&rig->pod, &rig->ask, rig->why));
    assert_true(strlen(rig->why) < 160);
    assert_non_null(strstr(rig->why, "xxx...\" is not a quantity"));
}

/* The machine of the property: who is alive, and the most that was ever held at once. */
struct startup {
    int64_t alive[16];
    unsigned n;
    int64_t peak;
};

static void start(struct startup *s, int64_t amount)
{
    int64_t held = 0;
    s->alive[s->n++] = amount;
    for (unsigned i = 0; i < s->n; i++) {
        held += s->alive[i];
    }
    s->peak = held > s->peak ? held : s->peak;
}

static int64_t amount_of(const struct sl_container_facts *c, const char *resource)
{
    const struct sl_pair *p = sl_pair_find(c->limits, sl_str_of(resource));
    p = p != NULL ? p : sl_pair_find(c->requests, sl_str_of(resource));
    return p == NULL ? 0 : strtoll(p->value.s, NULL, 10);
}

static int64_t simulate(const struct sl_pod_facts *pod, const char *resource)
{
    struct startup s = {.n = 0};
    for (const struct sl_container_facts *c = pod->init_containers; c != NULL; c = c->next) {
        start(&s, amount_of(c, resource));
        if (!c->restart_always) {
            s.n--; /* it has ended before the next one starts */
        }
    }
    for (const struct sl_container_facts *c = pod->containers; c != NULL; c = c->next) {
        start(&s, amount_of(c, resource));
    }
    const struct sl_pair *overhead = sl_pair_find(pod->overhead, sl_str_of(resource));
    return s.peak + (overhead == NULL ? 0 : strtoll(overhead->value.s, NULL, 10));
}

static const char *const random_names[] = {"aliyun.com/gpu-mem", "nvidia.com/gpu",
                                           "nvidia.com/mig-1g.6gb"};

static void random_text(char *out, size_t size, uint32_t *seed)
{
    size_t len = 0;
    out[0] = '\0';
    for (unsigned i = 0; i < 3; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        if ((*seed >> 16) % 3 != 0) {
            unsigned few = (*seed >> 20) % 6;
            bool many = (*seed >> 24) % 32 == 0; /* up to as many as there may be */
            len += (size_t)snprintf(out + len, size - len, "%s%s=%u", len > 0 ? " " : "",
                                    random_names[i], many ? (unsigned)SL_UNITS_MAX - few : few);
        }
    }
}

static unsigned draw(uint32_t *seed, unsigned below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 16) % below;
}

TEST_ON(struct ask_rig *rig, random_pods_ask_for_the_peak_of_their_start_up)
{
    uint32_t seed = 7;
    for (unsigned round = 0; round < 3000; round++) {
        char text[128];
        sl_arena_reset(&rig->facts.arena);
        rig->pod = (struct sl_pod_facts){0};
        for (unsigned i = draw(&seed, 6); i > 0; i--) {
            random_text(text, sizeof(text), &seed);
            init(rig, "i", text)->restart_always = draw(&seed, 2) == 1;
        }
        for (unsigned i = 1 + draw(&seed, 4); i > 0; i--) {
            random_text(text, sizeof(text), &seed);
            bool as_request = draw(&seed, 2) == 1;
            container(rig, "c", as_request ? text : NULL, as_request ? NULL : text);
        }
        random_text(text, sizeof(text), &seed);
        rig->pod.overhead = draw(&seed, 2) == 1 ? facts_pairs(&rig->facts, text) : NULL;
        unsigned at = 0;
        bool too_many = false;
        for (unsigned i = 0; i < 3; i++) {
            too_many = too_many || simulate(&rig->pod, random_names[i]) > SL_UNITS_MAX;
        }
        bool good = sl_ask_count(&rig->pod, &rig->ask, rig->why);
        assert_int_equal(good, !too_many);
        for (unsigned i = 0; i < 3 && !too_many; i++) {
            int64_t expected = simulate(&rig->pod, random_names[i]);
            if (expected > 0) {
                assert_true(at < rig->ask.n);
                assert_string_equal(rig->ask.item[at].resource, random_names[i]);
                assert_int_equal(rig->ask.item[at].count, expected);
                at++;
            }
        }
        assert_true(too_many || rig->ask.n == at);
    }
}

TEST_THAT(a_profiles_name_has_63_bytes_behind_the_domain)
{
    char name[128];
    struct sl_resource out;
    (void)snprintf(name, sizeof(name), "nvidia.com/mig-%0100d", 0);
    const size_t domain = strlen("nvidia.com/");
    assert_true(sl_resource_parse((struct sl_str){name, domain + 63}, &out));
    assert_false(sl_resource_parse((struct sl_str){name, domain + 64}, &out));
}
