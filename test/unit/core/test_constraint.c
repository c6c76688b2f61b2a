/* Where pods may go: selectors, affinity, taints and room, against tables taken from what
 * Kubernetes documents ("Assigning Pods to Nodes", "Taints and Tolerations") and from its plugins'
 * code. */
#include "facts_rig.h"

#include "core/known.h"
#include "sliced/constraint.h"
#include "sliced/view.h"

struct rig {
    struct facts_rig facts;
    struct sl_pod_facts pod;
    struct sl_node_facts node;
    struct sl_pod *made;
    struct sl_node *made_node;
};

static int set_up(void **state)
{
    struct rig *rig = calloc(1, sizeof(*rig));
    assert_non_null(rig);
    facts_init(&rig->facts);
    rig->pod.name = SL_STR("p");
    rig->node.name = SL_STR("n1");
    *state = rig;
    return 0;
}

static int tear_down(void **state)
{
    struct rig *rig = *state;
    sl_pod_unref(rig->made);
    sl_node_unref(rig->made_node);
    facts_free(&rig->facts);
    free(rig);
    return 0;
}

static struct sl_str copy(struct rig *rig, const char *text, size_t len)
{
    return len == 0 ? (struct sl_str){0} : facts_text(&rig->facts, text, len);
}

/* Cuts the next word, at one of the separators, off the text. */
static struct sl_str word(struct rig *rig, const char **text, const char *separators)
{
    size_t len = strcspn(*text, separators);
    struct sl_str out = copy(rig, *text, len);
    *text += len;
    *text += **text != '\0';
    return out;
}

static const struct sl_constraints *constraints_of(struct rig *rig)
{
    struct sl_error err = {0};
    sl_pod_unref(rig->made);
    rig->made = sl_pod_new(&rig->pod, &err);
    assert_non_null(rig->made);
    return rig->made->constraints;
}

static struct sl_node *node_of(struct rig *rig)
{
    struct sl_error err = {0};
    sl_node_unref(rig->made_node);
    rig->made_node = sl_node_new(&rig->node, &err);
    assert_non_null(rig->made_node);
    return rig->made_node;
}

/* "key Operator a,b": appended to the list. */
static void express(struct rig *rig, struct sl_expression_facts **list, const char *text)
{
    struct sl_expression_facts *e = sl_arena_alloc(&rig->facts.arena, sizeof(*e));
    assert_non_null(e);
    e->key = word(rig, &text, " ");
    e->op = word(rig, &text, " ");
    while (*text != '\0') {
        struct sl_text_facts *value = sl_arena_alloc(&rig->facts.arena, sizeof(*value));
        assert_non_null(value);
        value->text = word(rig, &text, ",");
        value->next = e->values;
        e->values = value;
    }
    while (*list != NULL) {
        list = &(*list)->next;
    }
    *list = e;
}

static struct sl_term_facts *add_term(struct rig *rig)
{
    struct sl_term_facts *term = sl_arena_alloc(&rig->facts.arena, sizeof(*term));
    assert_non_null(term);
    struct sl_term_facts **last = &rig->pod.terms;
    while (*last != NULL) {
        last = &(*last)->next;
    }
    *last = term;
    rig->pod.affinity = true;
    return term;
}

/* Terms parted by '|', expressions by ';', fields begin with '@'. "" is a term without any. */
static void require(struct rig *rig, const char *text)
{
    rig->pod.terms = NULL;
    for (bool more = true; more;) {
        struct sl_term_facts *term = add_term(rig);
        size_t len = strcspn(text, "|");
        char *all = sl_arena_strdup(&rig->facts.arena, text, len);
        const char *rest = all;
        while (*rest != '\0') {
            struct sl_str one = word(rig, &rest, ";");
            bool field = one.s[0] == '@';
            express(rig, field ? &term->fields : &term->expressions, one.s + (field ? 1 : 0));
        }
        text += len;
        more = *text == '|';
        text += more ? 1 : 0;
    }
}

/* "key=value:Effect", as kubectl taint has it. */
static void taint(struct rig *rig, const char *text)
{
    struct sl_taint_facts *t = sl_arena_alloc(&rig->facts.arena, sizeof(*t));
    assert_non_null(t);
    size_t colon = strcspn(text, ":");
    char *head = sl_arena_strdup(&rig->facts.arena, text, colon);
    const char *rest = head;
    t->key = word(rig, &rest, "=");
    t->value = copy(rig, rest, strlen(rest));
    t->effect = copy(rig, text + colon + 1, strlen(text + colon + 1));
    t->next = rig->node.taints;
    rig->node.taints = t;
}

/* "key operator value effect", "-" for what is not given. */
static void tolerate(struct rig *rig, const char *text)
{
    struct sl_toleration_facts *t = sl_arena_alloc(&rig->facts.arena, sizeof(*t));
    assert_non_null(t);
    struct sl_str *part[] = {&t->key, &t->op, &t->value, &t->effect};
    for (size_t i = 0; i < 4; i++) {
        struct sl_str one = word(rig, &text, " ");
        *part[i] = sl_str_eq(one, SL_STR("-")) ? (struct sl_str){0} : one;
    }
    t->next = rig->pod.tolerations;
    rig->pod.tolerations = t;
}

static void expect(struct rig *rig, enum sl_constraint expected)
{
    enum sl_constraint found = sl_constraints_admit(constraints_of(rig), node_of(rig));
    assert_string_equal(sl_constraint_name(found), sl_constraint_name(expected));
}

static void a_pod_that_says_nothing_goes_everywhere(void **state)
{
    struct rig *rig = *state;
    expect(rig, SL_CONSTRAINT_NONE);
    assert_null(rig->made->constraints);
}

static void all_labels_of_a_selector_have_to_be_there(void **state)
{
    struct rig *rig = *state;
    rig->node.labels = facts_pairs(&rig->facts, "zone=a disk=ssd gpu=");
    static const struct {
        const char *selector;
        enum sl_constraint expected;
    } cases[] = {
        {"zone=a", SL_CONSTRAINT_NONE},     {"zone=a disk=ssd", SL_CONSTRAINT_NONE},
        {"zone=b", SL_CONSTRAINT_SELECTOR}, {"zone=a disk=hdd", SL_CONSTRAINT_SELECTOR},
        {"rack=1", SL_CONSTRAINT_SELECTOR}, {"gpu=", SL_CONSTRAINT_NONE},
        {"none=", SL_CONSTRAINT_SELECTOR},  {"Zone=a", SL_CONSTRAINT_SELECTOR},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rig->pod.node_selector = facts_pairs(&rig->facts, cases[i].selector);
        expect(rig, cases[i].expected);
    }
}

static void affinity_follows_the_documented_rules(void **state)
{
    struct rig *rig = *state;
    rig->node.labels = facts_pairs(&rig->facts, "zone=a disk=ssd gpus=4 text=abc minus=-3 empty=");
    static const struct {
        const char *terms;
        bool admitted;
    } cases[] = {
        {"zone In a", true},
        {"zone In b,a", true},
        {"zone In b,c", false},
        {"rack In a", false},
        {"zone NotIn b,c", true},
        {"zone NotIn b,a", false},
        {"rack NotIn a", true}, /* the key is absent */
        {"zone Exists", true},
        {"rack Exists", false},
        {"empty Exists", true},
        {"zone DoesNotExist", false},
        {"rack DoesNotExist", true},
        {"gpus Gt 3", true},
        {"gpus Gt 4", false},
        {"gpus Lt 5", true},
        {"gpus Lt 4", false},
        {"minus Lt 0", true},
        {"minus Gt -4", true},
        {"text Gt 1", false},
        {"text Lt 1", false},
        {"rack Gt 1", false},
        {"rack Lt 1", false},
        {"empty Lt 1", false},
        /* within a term all, of the terms one */
        {"zone In a;disk In ssd", true},
        {"zone In a;disk In hdd", false},
        {"zone In b|disk In ssd", true},
        {"zone In b|disk In hdd", false},
        {"zone In b|zone In c|gpus Gt 3", true},
        /* an empty term matches nothing, beside others it does no harm */
        {"", false},
        {"|zone In a", true},
        {"zone In b|", false},
        /* fields */
        {"@metadata.name In n1", true},
        {"@metadata.name In n2", false},
        {"@metadata.name NotIn n1", false},
        {"@metadata.name NotIn n2", true},
        {"zone In b;@metadata.name In n1", false},
        {"zone In a;@metadata.name In n1", true},
        /* what Kubernetes refuses matches nothing, and spoils its own term only */
        {"@metadata.name In n1,n2", false},
        {"@metadata.name Exists", false},
        {"@metadata.uid In n1", false},
        {"zone In", false},
        {"rack NotIn", false},
        {"zone Exists a", false},
        {"rack DoesNotExist a", false},
        {"gpus Gt 1,2", false},
        {"gpus Gt", false},
        {"gpus Gt many", false},
        {"zone in a", false},
        {"zone Near a", false},
        {"zone Near a|disk Exists", true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        require(rig, cases[i].terms);
        enum sl_constraint found = sl_constraints_admit(constraints_of(rig), node_of(rig));
        if ((found == SL_CONSTRAINT_NONE) != cases[i].admitted) {
            fail_msg("%s: %s", cases[i].terms, sl_constraint_name(found));
        }
    }
}

static void required_affinity_without_a_term_admits_no_node(void **state)
{
    struct rig *rig = *state;
    rig->pod.affinity = true;
    expect(rig, SL_CONSTRAINT_AFFINITY);
}

static void taints_follow_the_documented_rules(void **state)
{
    static const struct {
        const char *taint;
        const char *toleration; /* NULL: none */
        bool admitted;
    } cases[] = {
        {"gpu=a30:NoSchedule", NULL, false},
        {"gpu=a30:NoExecute", NULL, false},
        {"gpu=a30:PreferNoSchedule", NULL, true},
        {"gpu=a30:NoSchedule", "gpu Equal a30 NoSchedule", true},
        {"gpu=a30:NoSchedule", "gpu - a30 NoSchedule", true}, /* Equal is the default */
        {"gpu=a30:NoSchedule", "gpu Equal a30 -", true},      /* no effect: all effects */
        {"gpu=a30:NoExecute", "gpu Equal a30 -", true},
        {"gpu=a30:NoSchedule", "gpu Equal a100 NoSchedule", false},
        {"gpu=a30:NoSchedule", "gpu Equal a30 NoExecute", false},
        {"gpu=a30:NoSchedule", "cpu Equal a30 NoSchedule", false},
        {"gpu=a30:NoSchedule", "gpu Exists - NoSchedule", true},
        {"gpu=a30:NoSchedule", "gpu Exists - -", true},
        {"gpu=a30:NoSchedule", "cpu Exists - -", false},
        {"gpu=a30:NoSchedule", "- Exists - -", true}, /* everything */
        {"gpu=a30:NoExecute", "- Exists - NoExecute", true},
        {"gpu=a30:NoSchedule", "- Exists - NoExecute", false},
        {"gpu:NoSchedule", "gpu Equal - NoSchedule", true},
        {"gpu:NoSchedule", "gpu Equal x NoSchedule", false},
        {"gpu=a30:NoSchedule", "gpu Equal - NoSchedule", false},
        {"gpu=a30:NoSchedule", "gpu Near a30 NoSchedule", false},
        {"gpu=a30:NoSchedule", "gpu Exists - Sometimes", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        void *own = NULL;
        (void)set_up(&own);
        struct rig *rig = own;
        taint(rig, cases[i].taint);
        if (cases[i].toleration != NULL) {
            tolerate(rig, cases[i].toleration);
        }
        enum sl_constraint found = sl_constraints_admit(constraints_of(rig), node_of(rig));
        if (found != (cases[i].admitted ? SL_CONSTRAINT_NONE : SL_CONSTRAINT_TAINT)) {
            fail_msg("%s with %s: %s", cases[i].taint, cases[i].toleration,
                     sl_constraint_name(found));
        }
        (void)tear_down(&own);
    }
}

static void each_taint_needs_a_toleration_of_its_own(void **state)
{
    struct rig *rig = *state;
    taint(rig, "a=1:NoSchedule");
    taint(rig, "b=1:NoExecute");
    tolerate(rig, "a Exists - -");
    expect(rig, SL_CONSTRAINT_TAINT);
    tolerate(rig, "b Equal 1 NoExecute");
    expect(rig, SL_CONSTRAINT_NONE);
}

static void a_cordoned_node_is_for_those_who_tolerate_it(void **state)
{
    struct rig *rig = *state;
    rig->node.unschedulable = true;
    expect(rig, SL_CONSTRAINT_UNSCHEDULABLE);
    tolerate(rig, "node.kubernetes.io/unschedulable Exists - NoExecute");
    expect(rig, SL_CONSTRAINT_UNSCHEDULABLE);
    tolerate(rig, "node.kubernetes.io/unschedulable Exists - NoSchedule");
    expect(rig, SL_CONSTRAINT_NONE);
}

static void the_usual_tolerations_are_kept_as_they_are(void **state)
{
    struct rig *rig = *state;
    tolerate(rig, "node.kubernetes.io/unreachable Exists - NoExecute");
    tolerate(rig, "node.kubernetes.io/not-ready Exists - NoExecute");
    assert_int_equal(constraints_of(rig)->n_tolerations, 2);
    taint(rig, "node.kubernetes.io/not-ready:NoExecute");
    expect(rig, SL_CONSTRAINT_NONE);
    taint(rig, "node.kubernetes.io/not-ready:NoSchedule");
    expect(rig, SL_CONSTRAINT_TAINT);
}

/* ---- room ---- */

static void asks(struct rig *rig, const char *requests)
{
    rig->pod.containers = NULL;
    facts_container(&rig->facts, &rig->pod.containers, "main", requests, NULL);
}

static enum sl_constraint now(struct rig *rig, int64_t cpu_milli, int64_t memory, uint32_t n_pods)
{
    struct sl_view *view = sl_view_new(node_of(rig), NULL, 0);
    assert_non_null(view);
    view->cpu_milli = cpu_milli;
    view->memory_bytes = memory;
    view->n_pods = n_pods;
    enum sl_constraint found = sl_constraints_admit_now(constraints_of(rig), view);
    sl_view_free(view);
    return found;
}

static void room_is_what_allocatable_leaves(void **state)
{
    struct rig *rig = *state;
    rig->node.allocatable = facts_pairs(&rig->facts, "cpu=4 memory=1Gi pods=10");
    asks(rig, "cpu=1500m memory=512Mi");
    assert_int_equal(now(rig, 2500, 512 << 20, 9), SL_CONSTRAINT_NONE);
    assert_int_equal(now(rig, 2501, 0, 0), SL_CONSTRAINT_CPU);
    assert_int_equal(now(rig, 9000, 0, 0), SL_CONSTRAINT_CPU);
    assert_int_equal(now(rig, 0, (512 << 20) + 1, 0), SL_CONSTRAINT_MEMORY);
    assert_int_equal(now(rig, 0, 0, 10), SL_CONSTRAINT_PODS);
    rig->pod.node_selector = facts_pairs(&rig->facts, "zone=a");
    assert_int_equal(now(rig, 9000, 0, 10), SL_CONSTRAINT_SELECTOR);
}

static void who_asks_for_nothing_is_in_nobodys_way(void **state)
{
    struct rig *rig = *state;
    rig->node.allocatable = facts_pairs(&rig->facts, "cpu=4 memory=1Gi pods=10");
    assert_int_equal(now(rig, 9000, INT64_MAX, 9), SL_CONSTRAINT_NONE);
    assert_int_equal(now(rig, 0, 0, 10), SL_CONSTRAINT_PODS);
    asks(rig, "cpu=9999 memory=9999Ei");
    rig->node.allocatable = NULL;
    assert_int_equal(now(rig, INT64_MAX, INT64_MAX, UINT32_MAX), SL_CONSTRAINT_NONE);
}

static void requests_are_counted_as_kubernetes_counts_them(void **state)
{
    struct rig *rig = *state;
    struct sl_pod_facts *pod = &rig->pod;
    facts_container(&rig->facts, &pod->containers, "a", "cpu=100m memory=1Gi", "cpu=4");
    facts_container(&rig->facts, &pod->containers, "b", NULL, "cpu=200m memory=1k");
    facts_container(&rig->facts, &pod->init_containers, "i", "cpu=5 memory=1", NULL);
    assert_int_equal(constraints_of(rig)->cpu_milli, 5000); /* the init step is larger */
    assert_int_equal(constraints_of(rig)->memory_bytes, ((int64_t)1 << 30) + 1000);
    facts_container(&rig->facts, &pod->init_containers, "s", "cpu=7", NULL)->restart_always = true;
    assert_int_equal(constraints_of(rig)->cpu_milli, 7300); /* the sidecar runs with a and b */
    facts_container(&rig->facts, &pod->init_containers, "j", "cpu=0.5", NULL);
    assert_int_equal(constraints_of(rig)->cpu_milli, 7500); /* sidecar and second init step */
    pod->overhead = facts_pairs(&rig->facts, "cpu=10m memory=1");
    assert_int_equal(constraints_of(rig)->cpu_milli, 7510);
    assert_int_equal(constraints_of(rig)->memory_bytes, ((int64_t)1 << 30) + 1001);
    facts_container(&rig->facts, &pod->containers, "c", "cpu=9223372036854775807", NULL);
    assert_int_equal(constraints_of(rig)->cpu_milli, INT64_MAX);
    pod->containers = NULL;
    pod->init_containers = NULL;
    pod->overhead = NULL;
    facts_container(&rig->facts, &pod->containers, "d", "cpu=-1 memory=x", NULL);
    assert_null(constraints_of(rig));
}

/* ---- what is kept ---- */

static void constraints_live_in_the_pods_own_memory(void **state)
{
    struct rig *rig = *state;
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
    sl_arena_reset(&rig->facts.arena);
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

static void digests_tell_constraints_and_sites_apart(void **state)
{
    struct rig *rig = *state;
    uint64_t seen[16];
    size_t n = 0;
    static const char *const terms[] = {"a In b",        "a In c",        "a NotIn b", "a In b,c",
                                        "a In b|c In d", "a In b;c In d", "a Exists"};
    for (size_t i = 0; i < sizeof(terms) / sizeof(terms[0]); i++) {
        require(rig, terms[i]);
        seen[n++] = constraints_of(rig)->digest;
        assert_int_equal(constraints_of(rig)->digest, seen[n - 1]);
    }
    asks(rig, "cpu=1");
    seen[n++] = constraints_of(rig)->digest;
    tolerate(rig, "a Exists - -");
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
    rig->node.unschedulable = true;
    seen[n++] = node_of(rig)->site_digest;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++) {
            assert_true(seen[i] != seen[k]);
        }
    }
}

static void who_asks_for_a_nodes_own_labels_asks_by_name(void **state)
{
    struct rig *rig = *state;
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

static void too_much_of_a_constraint_is_left_out_and_said(void **state)
{
    struct rig *rig = *state;
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

static void labels_and_taints_beyond_what_is_kept_are_said(void **state)
{
    struct rig *rig = *state;
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

static void what_is_allocatable_beside_gpus_is_read(void **state)
{
    struct rig *rig = *state;
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

static void known_texts_are_found_and_others_are_not(void **state)
{
    (void)state;
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

static void constraints_have_names(void **state)
{
    (void)state;
    assert_string_equal(sl_constraint_name(SL_CONSTRAINT_NONE), "None");
    assert_string_equal(sl_constraint_name(SL_CONSTRAINT_SELECTOR), "NodeSelector");
    assert_string_equal(sl_constraint_name(SL_CONSTRAINT_PODS), "Pods");
    assert_string_equal(sl_constraint_name(SL_CONSTRAINT_COUNT), "Unknown");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_pod_that_says_nothing_goes_everywhere),
        TEST(all_labels_of_a_selector_have_to_be_there),
        TEST(affinity_follows_the_documented_rules),
        TEST(required_affinity_without_a_term_admits_no_node),
        TEST(taints_follow_the_documented_rules),
        TEST(each_taint_needs_a_toleration_of_its_own),
        TEST(a_cordoned_node_is_for_those_who_tolerate_it),
        TEST(the_usual_tolerations_are_kept_as_they_are),
        TEST(room_is_what_allocatable_leaves),
        TEST(who_asks_for_nothing_is_in_nobodys_way),
        TEST(requests_are_counted_as_kubernetes_counts_them),
        TEST(constraints_live_in_the_pods_own_memory),
        TEST(digests_tell_constraints_and_sites_apart),
        TEST(who_asks_for_a_nodes_own_labels_asks_by_name),
        TEST(too_much_of_a_constraint_is_left_out_and_said),
        TEST(labels_and_taints_beyond_what_is_kept_are_said),
        TEST(what_is_allocatable_beside_gpus_is_read),
        TEST(known_texts_are_found_and_others_are_not),
        TEST(constraints_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
