/* Pods: judged once from the facts, then immutable. */
#include "sliced/pod.h"

#include "core/count.h"
#include "core/text.h"
#include "core/timeout.h"

#include <stdlib.h>

/* Kubernetes' own limits (DNS-1123 label and subdomain); a UID is 36 long, others are let in. */
enum { NAMESPACE_MAX = 63, NAME_MAX_LEN = 253, UID_MAX = 128, PROBLEM_MAX = 256 };

/* What goes into one allocation. Texts with len 0 become NULL where a pod has NULL for none. */
struct parts {
    struct sl_str namespace;
    struct sl_str name;
    struct sl_str uid;
    struct sl_str node;
    struct sl_str malformed;
    struct sl_str assignment;
    struct sl_str problem;
    const struct sl_ask_item *items;
    uint32_t n_items;
};

static size_t items_size(const struct parts *parts)
{
    size_t size = 0;
    for (uint32_t i = 0; i < parts->n_items; i++) {
        size += sizeof(parts->items[i]) + strlen(parts->items[i].resource) + 1;
    }
    return size;
}

/* Room for the text behind the pod, with its NUL; none for what is not there. */
static size_t text_size(struct sl_str text)
{
    return text.len == 0 ? 0 : text.len + 1;
}

static const char *put_text(char **at, struct sl_str text)
{
    char *start = *at;
    memcpy(start, text.s, text.len);
    start[text.len] = '\0';
    *at += text.len + 1;
    return start;
}

static const char *put_optional(char **at, struct sl_str text)
{
    return text.len == 0 ? NULL : put_text(at, text);
}

/* All but the plain fields, which are the caller's to set. */
static struct sl_pod *pod_alloc(const struct parts *parts)
{
    size_t size = sizeof(struct sl_pod) + items_size(parts) + parts->namespace.len + 1 +
                  parts->name.len + 1 + text_size(parts->uid) + text_size(parts->node) +
                  text_size(parts->malformed) + text_size(parts->assignment) +
                  text_size(parts->problem);
    struct sl_pod *pod = malloc(size);
    if (pod == NULL) {
        return NULL;
    }
    *pod = (struct sl_pod){.n_items = parts->n_items};
    pod->items = (struct sl_ask_item *)(pod + 1);
    char *at = (char *)(pod->items + parts->n_items);
    for (uint32_t i = 0; i < parts->n_items; i++) {
        pod->items[i] = parts->items[i];
        pod->items[i].resource = put_text(&at, sl_str_of(parts->items[i].resource));
    }
    pod->namespace = put_text(&at, parts->namespace);
    pod->name = put_text(&at, parts->name);
    pod->uid = parts->uid.len == 0 ? "" : put_text(&at, parts->uid);
    pod->node = put_optional(&at, parts->node);
    pod->malformed = put_optional(&at, parts->malformed);
    pod->assignment = put_optional(&at, parts->assignment);
    pod->problem = put_optional(&at, parts->problem);
    atomic_init(&pod->refs, 1);
    return pod;
}

static bool text_fits(struct sl_str text, size_t max, const char *field, struct sl_error *err)
{
    const char *complaint = NULL;
    if (text.len > max) {
        complaint = "is longer than Kubernetes allows";
    } else if (text.len > 0 && memchr(text.s, '\0', text.len) != NULL) {
        complaint = "holds a NUL character";
    }
    if (complaint == NULL) {
        return true;
    }
    (void)sl_error_set(err, SL_ERR_FIELD, "%s %s", field, complaint);
    return false;
}

static bool names_fit(const struct sl_pod_facts *facts, struct sl_error *err)
{
    if (facts->name.len == 0) {
        (void)sl_error_set(err, SL_ERR_FIELD, "metadata.name is missing");
        return false;
    }
    return text_fits(facts->name, NAME_MAX_LEN, "metadata.name", err) &&
           text_fits(facts->namespace, NAMESPACE_MAX, "metadata.namespace", err) &&
           text_fits(facts->uid, UID_MAX, "metadata.uid", err) &&
           text_fits(facts->node_name, NAME_MAX_LEN, "spec.nodeName", err);
}

static enum sl_pod_phase phase_of(struct sl_str phase)
{
    if (phase.len == 0) {
        return SL_POD_PENDING;
    }
    for (enum sl_pod_phase p = SL_POD_PENDING; p < SL_POD_UNKNOWN; p++) {
        if (sl_str_eq(phase, sl_str_of(sl_pod_phase_name(p)))) {
            return p;
        }
    }
    return SL_POD_UNKNOWN;
}

static int64_t timeout_of(const struct sl_pod_facts *facts, struct sl_text *problem)
{
    if (facts->deadline_s > 0) {
        return facts->deadline_s < SL_TIMEOUT_MAX_S ? facts->deadline_s : SL_TIMEOUT_MAX_S;
    }
    const struct sl_pair *pair = sl_pair_find(facts->annotations, SL_STR("sliced.dev/timeout"));
    int64_t seconds = 0;
    if (pair == NULL || sl_timeout_parse(pair->value, &seconds)) {
        return seconds;
    }
    sl_text_puts(problem, "annotation sliced.dev/timeout: ");
    sl_text_quoted(problem, pair->value);
    sl_text_puts(problem, " is not a duration such as \"1h30m\" or \"90\" (seconds): ignored");
    return 0;
}

/* What gpushare's extender wrote, in our spelling, into text[0..SL_ASSIGNMENT_TEXT_MAX]. Its index
 * stands on the pod alone, so it can only speak for one item. */
static struct sl_str gpushare_assignment(const struct sl_pod_facts *facts, const struct sl_ask *ask,
                                         char *text)
{
    static const char *const resource = "aliyun.com/gpu-mem";
    struct sl_text out;
    sl_text_init(&out, text, SL_ASSIGNMENT_TEXT_MAX + 1);
    const struct sl_pair *pair = sl_pair_find(facts->annotations, SL_STR("ALIYUN_COM_GPU_MEM_IDX"));
    int64_t index = -1; /* gpushare's own word for "not assigned" */
    if (pair != NULL && ask->n == 1 && strcmp(ask->item[0].resource, resource) == 0 &&
        sl_str_to_i64(pair->value, &index) && index >= 0) {
        sl_text_puts(&out, resource);
        sl_text_puts(&out, "=");
        sl_text_i64(&out, index);
        sl_text_puts(&out, "*");
        sl_text_i64(&out, ask->item[0].count);
    }
    return (struct sl_str){text, out.len};
}

static struct sl_str assignment_of(const struct sl_pod_facts *facts, const struct sl_ask *ask,
                                   char *text, struct sl_text *problem)
{
    const struct sl_pair *pair = sl_pair_find(facts->annotations, SL_STR("sliced.dev/assignment"));
    if (pair == NULL) {
        return gpushare_assignment(facts, ask, text);
    }
    if (pair->value.len <= SL_ASSIGNMENT_TEXT_MAX &&
        (pair->value.len == 0 || memchr(pair->value.s, '\0', pair->value.len) == NULL)) {
        return pair->value;
    }
    sl_text_puts(problem, problem->len > 0 ? "; " : "");
    sl_text_puts(problem, "annotation sliced.dev/assignment: not written by sliced: ignored");
    return (struct sl_str){0};
}

struct sl_pod *sl_pod_new(const struct sl_pod_facts *facts, struct sl_error *err)
{
    struct sl_ask ask;
    char why[SL_ASK_WHY_MAX];
    char problem_text[PROBLEM_MAX];
    char gpushare[SL_ASSIGNMENT_TEXT_MAX + 1];
    struct sl_text problem;
    if (!names_fit(facts, err)) {
        return NULL;
    }
    sl_text_init(&problem, problem_text, sizeof(problem_text));
    (void)sl_ask_count(facts, &ask, why);
    int64_t timeout_s = timeout_of(facts, &problem);
    struct parts parts = {
        .namespace = facts->namespace.len > 0 ? facts->namespace : SL_STR("default"),
        .name = facts->name,
        .uid = facts->uid,
        .node = facts->node_name,
        .malformed = sl_str_of(ask.malformed ? why : NULL),
        .assignment = assignment_of(facts, &ask, gpushare, &problem),
        .problem = {problem.out, problem.len},
        .items = ask.item,
        .n_items = ask.n,
    };
    struct sl_pod *pod = pod_alloc(&parts);
    if (pod == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    pod->phase = phase_of(facts->phase);
    pod->deleting = facts->deleting;
    pod->priority = facts->priority;
    pod->created_us = facts->created_us;
    pod->timeout_s = timeout_s;
    pod->has_deadline = facts->deadline_s > 0;
    return pod;
}

struct sl_pod *sl_pod_bound_to(const struct sl_pod *pod, const char *node, const char *assignment,
                               enum sl_pod_phase phase)
{
    const struct parts parts = {
        .namespace = sl_str_of(pod->namespace),
        .name = sl_str_of(pod->name),
        .uid = sl_str_of(pod->uid),
        .node = sl_str_of(node),
        .malformed = sl_str_of(pod->malformed),
        .assignment = sl_str_of(assignment),
        .problem = sl_str_of(pod->problem),
        .items = pod->items,
        .n_items = pod->n_items,
    };
    struct sl_pod *copy = pod_alloc(&parts);
    if (copy == NULL) {
        return NULL;
    }
    copy->phase = phase;
    copy->deleting = pod->deleting;
    copy->priority = pod->priority;
    copy->created_us = pod->created_us;
    copy->timeout_s = pod->timeout_s;
    copy->has_deadline = pod->has_deadline;
    return copy;
}

struct sl_pod *sl_pod_ref(struct sl_pod *pod)
{
    (void)atomic_fetch_add_explicit(&pod->refs, 1, memory_order_relaxed);
    return pod;
}

void sl_pod_unref(struct sl_pod *pod)
{
    if (pod != NULL && atomic_fetch_sub_explicit(&pod->refs, 1, memory_order_acq_rel) == 1) {
        free(pod);
    }
}

void sl_pod_ask(const struct sl_pod *pod, struct sl_ask *out)
{
    out->n = (uint8_t)pod->n_items;
    out->malformed = pod->malformed != NULL;
    memcpy(out->item, pod->items, pod->n_items * sizeof(pod->items[0]));
}

static bool is_finished(const struct sl_pod *pod)
{
    return pod->phase == SL_POD_SUCCEEDED || pod->phase == SL_POD_FAILED;
}

bool sl_pod_holds(const struct sl_pod *pod)
{
    return pod->node != NULL && !is_finished(pod);
}

bool sl_pod_waits(const struct sl_pod *pod)
{
    return pod->node == NULL && !is_finished(pod) && !pod->deleting &&
           (pod->n_items > 0 || pod->malformed != NULL);
}

const char *sl_pod_phase_name(enum sl_pod_phase phase)
{
    static const char *const names[] = {
        [SL_POD_PENDING] = "Pending",     [SL_POD_RUNNING] = "Running",
        [SL_POD_SUCCEEDED] = "Succeeded", [SL_POD_FAILED] = "Failed",
        [SL_POD_UNKNOWN] = "Unknown",
    };
    size_t i = (size_t)phase;
    return i < sizeof(names) / sizeof(names[0]) ? names[i] : "Unknown";
}
