/* What is kept of the constraints of pods and nodes, where it ends, and what is said of the rest.
 */
#include "unit/core/place/admit_rig.h"

#include "core/request/known.h"

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct rig *rig, constraints_live_in_the_pods_own_memory)
{
    rig->node.labels = facts_pairs(&rig->facts, "zone=a disk=ssd kubernetes.io/os=linux");
    rig->pod.node_selector = facts_pairs(&rig->facts, "zone=a kubernetes.io/os=linux");
    require(rig, "zone In x,a;disk Exists|@metadata.name In other");
    taint(rig, "gpu=a30:NoSchedule");
    tolerate(rig, "gpu Equal a30 NoSchedule");
    struct sl_node *node = node_of(rig);
    const struct sl_constraints *first = constraints_of(rig);
    uint64_t digest = first->digest;
    struct sl_pod *bound = sl_pod_bound_to(rig->made, "n1", NULL, SL_POD_PENDING);
    sl_pod_unref(rig->made);
    rig->made = bound;
    facts_free(&rig->facts);
    facts_init(&rig->facts);
    assert_int_equal(bound->constraints->digest, digest);
    assert_int_equal(sl_constraints_admit(bound->constraints, node), SL_CONSTRAINT_NONE);
    assert_true(bound->constraints->by_name);
    assert_int_equal(node->n_labels, 3);
    assert_string_equal(node->label[0].key, "disk");
    assert_string_equal(node->label[1].key, "kubernetes.io/os");
    assert_string_equal(node->label[2].value, "a");
    assert_string_equal(node->taint[0].key, "gpu");
    assert_string_equal(node->taint[0].value, "a30");
}

TEST_ON(struct rig *rig, digests_tell_constraints_and_sites_apart)
{
    uint64_t seen[32];
    size_t n = 0;
    static const char *const terms[] = {"a In b",
                                        "a In c",
                                        "a NotIn b",
                                        "a In b,c",
                                        "a In b|c In d",
                                        "a In b;c In d",
                                        "a Exists",
                                        "a In b,d",
                                        "a In d,c",
                                        "a In b;e In d",
                                        "a In b;c In d|e In f",
                                        "a In b|c In d;e In f"};
    for (size_t i = 0; i < sizeof(terms) / sizeof(terms[0]); i++) {
        require(rig, terms[i]);
        seen[n++] = constraints_of(rig)->digest;
        assert_int_equal(constraints_of(rig)->digest, seen[n - 1]);
    }
    asks(rig, "cpu=1");
    seen[n++] = constraints_of(rig)->digest;
    tolerate(rig, "d Exists - -");
    seen[n++] = constraints_of(rig)->digest;
    rig->pod.tolerations = NULL;
    tolerate(rig, "a Exists - -");
    seen[n++] = constraints_of(rig)->digest;
    tolerate(rig, "b Exists - -"); /* before the other */
    seen[n++] = constraints_of(rig)->digest;
    rig->pod.tolerations = NULL;
    tolerate(rig, "c Exists - -");
    tolerate(rig, "b Exists - -");
    seen[n++] = constraints_of(rig)->digest;
    rig->pod.tolerations = NULL;
    tolerate(rig, "c Exists - NoExecute");
    tolerate(rig, "b Exists - -");
    seen[n++] = constraints_of(rig)->digest;
    rig->pod.tolerations = NULL;
    tolerate(rig, "c Equal x NoExecute");
    tolerate(rig, "b Exists - -");
    seen[n++] = constraints_of(rig)->digest;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++) {
            assert_true(seen[i] != seen[k]);
        }
    }
    n = 0;
    rig->node.labels = facts_pairs(&rig->facts, "zone=a kubernetes.io/hostname=n1");
    seen[n++] = node_of(rig)->site_digest;
    rig->node.name = SL_STR("n2");
    rig->node.labels = facts_pairs(&rig->facts, "kubernetes.io/hostname=n2 zone=a");
    assert_int_equal(node_of(rig)->site_digest, seen[0]);
    rig->node.labels = facts_pairs(&rig->facts, "zone=b");
    seen[n++] = node_of(rig)->site_digest;
    taint(rig, "a=b:PreferNoSchedule");
    assert_int_equal(node_of(rig)->site_digest, seen[1]);
    taint(rig, "a=b:NoSchedule");
    seen[n++] = node_of(rig)->site_digest;
    rig->node.taints = NULL;
    taint(rig, "a=b:NoExecute");
    seen[n++] = node_of(rig)->site_digest;
    rig->node.taints = NULL;
    taint(rig, "a=c:NoExecute");
    seen[n++] = node_of(rig)->site_digest;
    rig->node.unschedulable = true;
    seen[n++] = node_of(rig)->site_digest;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++) {
            assert_true(seen[i] != seen[k]);
        }
    }
}

TEST_ON(struct rig *rig, who_asks_for_a_nodes_own_labels_asks_by_name)
{
    require(rig, "zone In a");
    assert_false(constraints_of(rig)->by_name);
    require(rig, "zone In a;kubernetes.io/hostname NotIn n1");
    assert_true(constraints_of(rig)->by_name);
    require(rig, "@metadata.name In n1");
    assert_true(constraints_of(rig)->by_name);
    rig->pod.affinity = false;
    rig->pod.terms = NULL;
    rig->pod.node_selector = facts_pairs(&rig->facts, "kubernetes.io/hostname=n1");
    assert_true(constraints_of(rig)->by_name);
}

TEST_ON(struct rig *rig, too_much_of_a_constraint_is_left_out_and_said)
{
    char key[64];
    rig->node.labels = facts_pairs(&rig->facts, "zone=a");
    for (int i = 0; i <= SL_CONSTRAINT_TERMS_MAX; i++) {
        (void)add_term(rig);
    }
    expect(rig, SL_CONSTRAINT_NONE);
    assert_string_equal(rig->made->problem, "spec.affinity.nodeAffinity: larger than what is kept "
                                            "of it: ignored");
    rig->pod.terms = NULL;
    rig->pod.affinity = false;
    for (int i = 0; i <= SL_CONSTRAINT_TOLERATIONS_MAX; i++) {
        (void)snprintf(key, sizeof(key), "k%d Exists - -", i);
        tolerate(rig, key);
    }
    taint(rig, "other=x:NoSchedule");
    expect(rig, SL_CONSTRAINT_NONE);
    assert_string_equal(rig->made->problem, "spec.tolerations: larger than what is kept of it: "
                                            "ignored");
    rig->pod.tolerations = NULL;
    rig->node.taints = NULL;
    char *large = sl_arena_alloc(&rig->facts.arena, SL_CONSTRAINT_TEXT_MAX + 1);
    memset(large, 'x', SL_CONSTRAINT_TEXT_MAX);
    facts_pair(&rig->facts, &rig->pod.node_selector, "zone", large);
    require(rig, "zone In b");
    expect(rig, SL_CONSTRAINT_AFFINITY);
    assert_string_equal(rig->made->problem, "spec.nodeSelector: larger than what is kept of it: "
                                            "ignored");
}

TEST_ON(struct rig *rig, operators_that_are_not_known_are_said_once_a_field)
{
    tolerate(rig, "a Near 1 -");
    tolerate(rig, "b Far 1 -");
    tolerate(rig, "c Gt 1 -");
    require(rig, "zone Beside a;disk Beside b");
    expect(rig, SL_CONSTRAINT_NONE);
    assert_string_equal(rig->made->problem,
                        "spec.affinity.nodeAffinity: operator \"Beside\" is not known: "
                        "kube-scheduler decides; spec.tolerations: operator \"Far\" is not known: "
                        "kube-scheduler decides");
}

TEST_ON(struct rig *rig, tolerations_that_differ_in_the_operator_alone_differ)
{
    static const char *const ops[] = {"n Equal 1 -", "n Gt 1 -", "n Lt 1 -", "n Exists 1 -"};
    uint64_t digest[4];
    for (size_t i = 0; i < 4; i++) {
        rig->pod.tolerations = NULL;
        tolerate(rig, ops[i]);
        digest[i] = constraints_of(rig)->digest;
        for (size_t k = 0; k < i; k++) {
            assert_true(digest[k] != digest[i]);
        }
    }
}

/* "v0,v1,...": n values. */
static const char *values(struct rig *rig, const char *before, int n)
{
    size_t size = 16 * (size_t)(n + 4);
    char *text = sl_arena_alloc(&rig->facts.arena, size);
    size_t len = (size_t)snprintf(text, size, "%s", before);
    for (int i = 0; i < n; i++) {
        len += (size_t)snprintf(text + len, size - len, "%sv%d", i > 0 ? "," : "", i);
    }
    return text;
}

TEST_ON(struct rig *rig, number_of_values_and_expressions_is_bounded)
{
    rig->node.labels = facts_pairs(&rig->facts, "zone=v1");
    require(rig, values(rig, "zone In ", SL_CONSTRAINT_VALUES_MAX));
    expect(rig, SL_CONSTRAINT_NONE);
    assert_null(rig->made->problem);
    require(rig, values(rig, "zone NotIn ", SL_CONSTRAINT_VALUES_MAX + 1));
    expect(rig, SL_CONSTRAINT_NONE); /* without: v1 is among them */
    assert_non_null(rig->made->problem);
    struct sl_term_facts *term = NULL;
    for (int n = SL_CONSTRAINT_MATCHES_MAX; n <= SL_CONSTRAINT_MATCHES_MAX + 1; n++) {
        rig->pod.terms = NULL;
        term = add_term(rig);
        for (int i = 0; i < n; i++) {
            express(rig, &term->expressions, "other Exists");
        }
        bool kept = n == SL_CONSTRAINT_MATCHES_MAX;
        expect(rig, kept ? SL_CONSTRAINT_AFFINITY : SL_CONSTRAINT_NONE);
        assert_int_equal(rig->made->problem == NULL, kept);
    }
}

TEST_ON(struct rig *rig, selector_that_is_left_out_takes_no_room)
{
    char *large = sl_arena_alloc(&rig->facts.arena, SL_CONSTRAINT_TEXT_MAX + 1);
    memset(large, 'x', SL_CONSTRAINT_TEXT_MAX);
    large[SL_CONSTRAINT_TEXT_MAX] = '\0';
    for (int i = 0; i < 3; i++) {
        facts_pair(&rig->facts, &rig->pod.node_selector, "zone", "a");
    }
    facts_pair(&rig->facts, &rig->pod.node_selector, "zone", large);
    rig->node.labels = facts_pairs(&rig->facts, "zone=v1");
    require(rig, values(rig, "zone In ", SL_CONSTRAINT_VALUES_MAX));
    expect(rig, SL_CONSTRAINT_NONE);
    assert_string_equal(rig->made->problem, "spec.nodeSelector: larger than what is kept of it: "
                                            "ignored");
}

/* The API server adds the same two tolerations to nearly all pods; what only resembles them is kept
 * as it is. */
TEST_ON(struct rig *rig, usual_tolerations_are_kept_once_and_others_as_they_are)
{
    static const char *const first = "node.kubernetes.io/not-ready Exists - NoExecute";
    static const char *const second = "node.kubernetes.io/unreachable Exists - NoExecute";
    static const struct {
        const char *one, *other;
        const char *taint; /* that the usual ones would judge otherwise */
        bool admits;
    } rows[] = {
        {"node.kubernetes.io/not-ready Exists - NoSchedule",
         "node.kubernetes.io/unreachable Exists - NoExecute",
         "node.kubernetes.io/not-ready=:NoExecute", false},
        {"node.kubernetes.io/not-ready Exists - NoExecute",
         "node.kubernetes.io/unreachable Exists - -", "node.kubernetes.io/unreachable=:NoSchedule",
         true},
        {"node.kubernetes.io/not-ready Equal x NoExecute",
         "node.kubernetes.io/unreachable Exists - NoExecute",
         "node.kubernetes.io/not-ready=y:NoExecute", false},
        {"- Exists - NoExecute", "node.kubernetes.io/unreachable Exists - NoExecute",
         "other=:NoExecute", true},
        {"node.kubernetes.io/not-ready Exists - NoExecute", "other Exists - NoExecute",
         "node.kubernetes.io/unreachable=:NoExecute", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        rig->pod.tolerations = NULL;
        rig->node.taints = NULL;
        tolerate(rig, rows[i].other); /* each comes before those there are */
        tolerate(rig, rows[i].one);
        taint(rig, rows[i].taint);
        expect(rig, rows[i].admits ? SL_CONSTRAINT_NONE : SL_CONSTRAINT_TAINT);
    }
    rig->pod.tolerations = NULL;
    rig->node.taints = NULL;
    tolerate(rig, second);
    tolerate(rig, first);
    taint(rig, "node.kubernetes.io/unreachable=x:NoExecute");
    expect(rig, SL_CONSTRAINT_NONE);
    const struct sl_toleration *kept = rig->made->constraints->toleration;
    assert_ptr_equal(constraints_of(rig)->toleration, kept); /* of no pod's own memory */
}

TEST_ON(struct rig *rig, labels_and_taints_beyond_what_is_kept_are_said)
{
    char text[64];
    for (int i = 0; i <= SL_NODE_LABELS_MAX; i++) {
        (void)snprintf(text, sizeof(text), "k%d", i);
        facts_pair(&rig->facts, &rig->node.labels, text, "v");
    }
    for (int i = 0; i <= SL_NODE_TAINTS_MAX; i++) {
        (void)snprintf(text, sizeof(text), "k%d:NoSchedule", i);
        taint(rig, text);
    }
    const struct sl_node *node = node_of(rig);
    assert_int_equal(node->n_labels, SL_NODE_LABELS_MAX);
    assert_int_equal(node->n_taints, SL_NODE_TAINTS_MAX);
    assert_string_equal(node->problem, "metadata.labels: more than 512: the rest is ignored; "
                                       "spec.taints: more than 64: the rest is ignored");
}

TEST_ON(struct rig *rig, what_is_allocatable_beside_gpus_is_read)
{
    rig->node.allocatable = facts_pairs(&rig->facts, "cpu=3920m memory=1Mi pods=110");
    const struct sl_host *host = &node_of(rig)->host;
    assert_int_equal(host->cpu_milli, 3920);
    assert_int_equal(host->memory_bytes, 1 << 20);
    assert_int_equal(host->pods, 110);
    rig->node.allocatable = facts_pairs(&rig->facts, "cpu=x memory=-1");
    host = &node_of(rig)->host;
    assert_int_equal(host->cpu_milli, -1);
    assert_int_equal(host->memory_bytes, -1);
    assert_int_equal(host->pods, -1);
}

TEST_THAT(known_texts_are_found_and_others_are_not)
{
    static const char *const known[] = {"0",
                                        "true",
                                        "kubernetes.io/os",
                                        "nvidia.com/gpu.product",
                                        "feature.node.kubernetes.io/cpu-cpuid.AVX512VPOPCNTDQ",
                                        "node.kubernetes.io/unreachable",
                                        "nvidia.com/mig-1g.6gb",
                                        "nvidia.com/mig-7g.141gb.slices.gi"};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        assert_string_equal(sl_known_text(sl_str_of(known[i])), known[i]);
        assert_null(sl_known_text((struct sl_str){known[i], strlen(known[i]) + 1}));
    }
    assert_null(sl_known_text(SL_STR("")));
    assert_null(sl_known_text(SL_STR("tru")));
    assert_null(sl_known_text(SL_STR("nvidia.com/mig-1g.6gb.shared")));
    assert_null(sl_known_text(SL_STR("nvidia.com/mig-")));
    assert_null(sl_known_text(SL_STR("kubernetes.io/ow")));
}
