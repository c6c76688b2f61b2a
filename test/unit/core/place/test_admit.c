/* Where pods may go: selectors, affinity, taints and room, against tables taken from what
 * Kubernetes documents ("Assigning Pods to Nodes", "Taints and Tolerations") and from its plugins'
 * code. */
#include "admit_rig.h"

#include "core/request/count.h"

#include "sliced/view.h"

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct rig *rig, a_pod_that_says_nothing_goes_everywhere)
{
    expect(rig, SL_CONSTRAINT_NONE);
    assert_null(rig->made->constraints);
}

TEST_ON(struct rig *rig, all_labels_of_a_selector_have_to_be_there)
{
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

TEST_ON(struct rig *rig, affinity_follows_the_documented_rules)
{
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
        /* an operator that is not known is left to kube-scheduler */
        {"zone in a", true},
        {"zone Near a", true},
        {"zone Near a;disk In hdd", false},
        {"@metadata.name Near n2", true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        require(rig, cases[i].terms);
        enum sl_constraint found = sl_constraints_admit(constraints_of(rig), node_of(rig));
        if ((found == SL_CONSTRAINT_NONE) != cases[i].admitted) {
            fail_msg("%s: %d", cases[i].terms, (int)found);
        }
    }
}

TEST_ON(struct rig *rig, required_affinity_without_a_term_admits_no_node)
{
    rig->pod.affinity = true;
    expect(rig, SL_CONSTRAINT_AFFINITY);
}

TEST_ON(struct rig *rig, a_pod_may_select_one_value_alone)
{
    static const struct {
        const char *selector;
        const char *terms;
        const char *only; /* NULL: others too */
    } cases[] = {
        {"", NULL, NULL},
        {"disk=ssd", NULL, NULL},
        {"zone=a", NULL, "a"},
        {"zone=a", "zone In b,c", "a"}, /* goes nowhere */
        {"disk=ssd", "zone In a", "a"},
        {"", "disk In x;zone In a", "a"},
        {"", "zone In a,b", NULL},
        {"", "zone NotIn a", NULL},
        {"", "zone Exists", NULL},
        {"", "@metadata.name In a", NULL},
        {"", "zone In a|disk In x;zone In a", "a"},
        {"", "zone In a||zone In a", "a"}, /* that between them admits no node */
        {"", "zone In a|zone In b", NULL},
        {"", "zone In a|disk In x", NULL},
        {"", "disk In x|zone In a", NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rig->pod.node_selector = facts_pairs(&rig->facts, cases[i].selector);
        rig->pod.terms = NULL;
        rig->pod.affinity = false;
        if (cases[i].terms != NULL) {
            require(rig, cases[i].terms);
        }
        const char *only = sl_constraints_only(constraints_of(rig), "zone");
        if ((only == NULL) != (cases[i].only == NULL) ||
            (only != NULL && strcmp(only, cases[i].only) != 0)) {
            fail_msg("%s, %s: %s", cases[i].selector, cases[i].terms, only);
        }
    }
}

TEST_THAT(taints_follow_the_documented_rules)
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
        /* numbers (KEP-5471): the taint's is more, or less */
        {"sla=950:NoSchedule", "sla Gt 900 NoSchedule", true},
        {"sla=950:NoSchedule", "sla Gt 950 NoSchedule", false},
        {"sla=950:NoExecute", "sla Gt 990 -", false},
        {"sla=950:NoSchedule", "sla Lt 990 NoSchedule", true},
        {"sla=950:NoSchedule", "sla Lt 950 NoSchedule", false},
        {"sla=-5:NoSchedule", "sla Lt 0 NoSchedule", true},
        {"sla=0:NoSchedule", "sla Gt -1 -", true},
        {"sla=950:NoSchedule", "sla Gt 0900 -", false},
        {"sla=0950:NoSchedule", "sla Gt 900 -", false},
        {"sla=-0:NoSchedule", "sla Gt -1 -", false},
        {"sla=high:NoSchedule", "sla Gt 900 -", false},
        {"sla=950:NoSchedule", "sla Lt high -", false},
        {"sla:NoSchedule", "sla Gt - -", false},
        {"sla=99999999999999999999:NoSchedule", "sla Gt 1 -", false},
        {"sla=950:NoSchedule", "tier Gt 900 -", false},
        {"sla=950:NoExecute", "sla Gt 900 NoSchedule", false},
        {"sla=950:NoSchedule", "- Gt 900 -", true}, /* every key, as with the others */
        /* an operator that is not known is left to kube-scheduler */
        {"gpu=a30:NoSchedule", "gpu Near a30 NoSchedule", true},
        {"gpu=a30:NoSchedule", "gpu In a30 NoSchedule", true},
        {"gpu=a30:NoSchedule", "cpu Near a30 NoSchedule", false},
        {"gpu=a30:NoExecute", "gpu Near a30 NoSchedule", false},
        {"gpu=a30:NoSchedule", "gpu Exists - Sometimes", false},
    };
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
            fail_msg("%s with %s: %d", cases[i].taint, cases[i].toleration, (int)found);
        }
        (void)tear_down(&own);
    }
}

TEST_ON(struct rig *rig, each_taint_needs_a_toleration_of_its_own)
{
    taint(rig, "a=1:NoSchedule");
    taint(rig, "b=1:NoExecute");
    tolerate(rig, "a Exists - -");
    expect(rig, SL_CONSTRAINT_TAINT);
    tolerate(rig, "b Equal 1 NoExecute");
    expect(rig, SL_CONSTRAINT_NONE);
}

TEST_ON(struct rig *rig, a_cordoned_node_is_for_those_who_tolerate_it)
{
    rig->node.unschedulable = true;
    expect(rig, SL_CONSTRAINT_UNSCHEDULABLE);
    tolerate(rig, "node.kubernetes.io/unschedulable Exists - NoExecute");
    expect(rig, SL_CONSTRAINT_UNSCHEDULABLE);
    tolerate(rig, "node.kubernetes.io/unschedulable Exists - NoSchedule");
    expect(rig, SL_CONSTRAINT_NONE);
}

TEST_ON(struct rig *rig, the_usual_tolerations_are_kept_as_they_are)
{
    tolerate(rig, "node.kubernetes.io/unreachable Exists - NoExecute");
    tolerate(rig, "node.kubernetes.io/not-ready Exists - NoExecute");
    assert_int_equal(constraints_of(rig)->n_tolerations, 2);
    taint(rig, "node.kubernetes.io/not-ready:NoExecute");
    expect(rig, SL_CONSTRAINT_NONE);
    taint(rig, "node.kubernetes.io/not-ready:NoSchedule");
    expect(rig, SL_CONSTRAINT_TAINT);
}

/* ---- room ---- */

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

TEST_ON(struct rig *rig, room_is_what_allocatable_leaves)
{
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

TEST_ON(struct rig *rig, who_asks_for_nothing_is_in_nobodys_way)
{
    rig->node.allocatable = facts_pairs(&rig->facts, "cpu=4 memory=1Gi pods=10");
    assert_int_equal(now(rig, 9000, INT64_MAX, 9), SL_CONSTRAINT_NONE);
    assert_int_equal(now(rig, 0, 0, 10), SL_CONSTRAINT_PODS);
    asks(rig, "cpu=9999 memory=9999Ei");
    rig->node.allocatable = NULL;
    assert_int_equal(now(rig, INT64_MAX, INT64_MAX, UINT32_MAX), SL_CONSTRAINT_NONE);
}

TEST_ON(struct rig *rig, requests_are_counted_as_kubernetes_counts_them)
{
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
    assert_int_equal(constraints_of(rig)->cpu_milli, SL_HOST_MAX);
    pod->containers = NULL;
    pod->init_containers = NULL;
    pod->overhead = NULL;
    facts_container(&rig->facts, &pod->containers, "d", "cpu=-1 memory=x", NULL);
    assert_null(constraints_of(rig));
}

TEST_ON(struct rig *rig, requests_beyond_all_numbers_are_the_most_or_nothing_by_their_sign)
{
    asks(rig, "cpu=99999999999999999999 memory=99999999999999999999");
    assert_int_equal(constraints_of(rig)->cpu_milli, SL_HOST_MAX);
    assert_int_equal(constraints_of(rig)->memory_bytes, SL_HOST_MAX);
    asks(rig, "memory=5");
    facts_container(&rig->facts, &rig->pod.containers, "b", "cpu=-1", "cpu=4");
    assert_int_equal(constraints_of(rig)->cpu_milli, 0); /* the limit is not asked for */
    asks(rig, "cpu=-99999999999999999999 memory=5");
    assert_int_equal(constraints_of(rig)->cpu_milli, 0);
    assert_int_equal(constraints_of(rig)->memory_bytes, 5);
}
