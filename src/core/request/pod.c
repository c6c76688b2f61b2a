/* Pods: judged once from the facts, then immutable. */
#include "sliced/pod.h"

#include "core/request/constraint_draft.h"
#include "core/request/count.h"
#include "core/request/pod_read.h"
#include "util/show.h"
#include "util/time.h"

#include <stdlib.h>

/* Kubernetes' limits (DNS-1123 label and subdomain). UIDs have 36 bytes; others are let in. */
enum { NAMESPACE_MAX = 63, NAME_MAX_LEN = 253, UID_MAX = 128, PROBLEM_MAX = 512 };

/* The parts of one allocation. A text of length 0 becomes NULL in fields that may be NULL. */
struct parts {
    struct sl_str namespace;
    struct sl_str name;
    struct sl_str uid;
    struct sl_str node;
    struct sl_str malformed;
    struct sl_str assignment;
    struct sl_str problem;
    struct sl_str nominated;
    struct sl_str after;
    const struct sl_ask_item *items;
    const struct sl_constraints *constraints;
    const uint64_t *label;
    uint32_t n_items;
    uint32_t n_labels;
};

/* Bytes that the text takes behind the pod, with its NUL; 0 for an absent one. */
static size_t text_size(struct sl_str text)
{
    return text.len == 0 ? 0 : text.len + 1;
}

static size_t texts_size(const struct parts *parts)
{
    size_t size = parts->namespace.len + 1 + parts->name.len + 1 + text_size(parts->uid) +
                  text_size(parts->node) + text_size(parts->malformed) +
                  text_size(parts->assignment) + text_size(parts->problem) +
                  text_size(parts->nominated) + text_size(parts->after);
    for (uint32_t i = 0; i < parts->n_items; i++) {
        size += sl_pack_text_size(parts->items[i].resource);
    }
    return size;
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

static void put_texts(struct sl_pod *pod, const struct parts *parts, struct sl_pack *at)
{
    for (uint32_t i = 0; i < parts->n_items; i++) {
        pod->items[i] = parts->items[i];
        pod->items[i].resource = sl_pack_text(at, parts->items[i].resource);
    }
    pod->namespace = put_text(&at->text, parts->namespace);
    pod->name = put_text(&at->text, parts->name);
    pod->uid = parts->uid.len == 0 ? "" : put_text(&at->text, parts->uid);
    pod->node = put_optional(&at->text, parts->node);
    pod->malformed = put_optional(&at->text, parts->malformed);
    pod->assignment = put_optional(&at->text, parts->assignment);
    pod->problem = put_optional(&at->text, parts->problem);
    pod->nominated = put_optional(&at->text, parts->nominated);
    pod->after = put_optional(&at->text, parts->after);
}

/* Makes a pod of the parts; the caller sets the plain fields. */
static struct sl_pod *pod_alloc(const struct parts *parts)
{
    size_t labels = parts->n_labels * sizeof(parts->label[0]);
    size_t items = parts->n_items * sizeof(parts->items[0]);
    size_t words = sizeof(struct sl_pod) + items + labels;
    size_t text = texts_size(parts);
    sl_constraint_measure(parts->constraints, &words, &text);
    char *block = malloc(words + text);
    if (block == NULL) {
        return NULL;
    }
    struct sl_pod *pod = (struct sl_pod *)(void *)block;
    *pod = (struct sl_pod){.n_items = parts->n_items, .n_labels = parts->n_labels};
    pod->items = (struct sl_ask_item *)(pod + 1);
    uint64_t *label = (uint64_t *)(void *)(block + sizeof(*pod) + items);
    if (labels > 0) {
        memcpy(label, parts->label, labels);
    }
    pod->label = label;
    struct sl_pack at = {block + sizeof(*pod) + items + labels, block + words};
    pod->constraints = sl_constraint_pack(parts->constraints, &at);
    put_texts(pod, parts, &at);
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

/* Cuts a long time to the largest value, because users choose the grace, and 0 means unknown. */
static uint32_t seconds_of(int64_t us)
{
    int64_t s = us / SL_SECOND_US;
    return s < 0 ? 0 : s < UINT32_MAX ? (uint32_t)s : UINT32_MAX;
}

/* Cuts times to the year 2255, so that their differences and sums stay far from overflow. */
static int64_t time_of(int64_t us)
{
    const int64_t most = INT64_C(1) << 53;
    return us < 0 ? 0 : us < most ? us : most;
}

/* Chained by what no image has, so that ("a", "b") is not ("ab"). */
static uint32_t workload_of(struct sl_str namespace, const struct sl_container_facts *container)
{
    uint64_t word[2] = {sl_hash(namespace.s, namespace.len), 0};
    for (; container != NULL; container = container->next) {
        word[1] = sl_hash(container->image.s, container->image.len);
        word[0] = sl_hash((const char *)word, sizeof(word));
    }
    uint32_t half = (uint32_t)(word[0] >> 32);
    return half == 0 ? 1 : half; /* 0 stands for none */
}

/* A CronJob names its Jobs "<name>-<minutes since 1970>". */
static struct sl_str without_minute(struct sl_str owner)
{
    enum { MINUTE_DIGITS = 8 };
    size_t len = owner.len;
    while (len > 0 && owner.s[len - 1] >= '0' && owner.s[len - 1] <= '9') {
        len--;
    }
    bool cron = sl_str_starts(owner, SL_STR("Job/")) && owner.len - len >= MINUTE_DIGITS &&
                len > 0 && owner.s[len - 1] == '-';
    return cron ? (struct sl_str){owner.s, len} : owner;
}

/* Users write any reference, but their own namespace. */
static uint64_t owner_of(const struct sl_pod_facts *facts)
{
    struct sl_str space = facts->namespace.len > 0 ? facts->namespace : SL_STR("default");
    struct sl_str owner = without_minute(facts->owner);
    uint64_t word[2] = {sl_hash(space.s, space.len), sl_hash(owner.s, owner.len)};
    return owner.len == 0 ? 0 : sl_hash((const char *)word, sizeof(word)) | 1;
}

/* Reads the fields that are neither text nor list. */
static void read_plain(struct sl_pod *pod, const struct sl_pod_facts *facts)
{
    pod->phase = sl_pod_read_phase(facts->phase);
    pod->gate = sl_pod_read_gate(facts->gates);
    pod->gate_seen = sl_pair_find(facts->gates, SL_STR("sliced.dev/queue")) != NULL;
    pod->deleting = facts->deleting;
    pod->tried = facts->tried;
    pod->queued = facts->queued;
    pod->daemon_set = facts->daemon_set;
    pod->released = sl_pair_find(facts->annotations, SL_STR("sliced.dev/released")) != NULL;
    pod->gone_s = seconds_of(facts->deleting_us);
    pod->priority = facts->priority;
    pod->created_us = time_of(facts->created_us);
    pod->started_us = time_of(facts->started_us);
    pod->has_deadline = facts->deadline_s > 0;
    pod->never_preempts = sl_str_eq(facts->preemption_policy, SL_STR("Never"));
    const struct sl_pair *taken =
        sl_pair_find(facts->annotations, SL_STR("ALIYUN_COM_GPU_MEM_ASSIGNED"));
    pod->plugin_took = taken != NULL && sl_str_eq(taken->value, SL_STR("true"));
    struct sl_str scheduler =
        facts->scheduler_name.len > 0 ? facts->scheduler_name : SL_STR("default-scheduler");
    pod->scheduler = sl_hash(scheduler.s, scheduler.len);
    pod->owner = owner_of(facts);
}

/* Adds GPU memory and the number of GPUs, which come from annotations and labels. */
static void complete_items(struct sl_ask_item *item, uint32_t n, const struct sl_pod_facts *facts,
                           int64_t memory, int64_t least, uint32_t workload,
                           struct sl_text *problem)
{
    for (uint32_t i = 0; i < n; i++) {
        bool shares = item[i].kind == SL_KIND_MEMORY;
        item[i].memory_mib = shares ? 0 : (int32_t)memory;
        item[i].least_mib = shares ? 0 : (int32_t)least;
        item[i].gpus = shares ? sl_pod_read_gpus(facts, item[i].count, problem) : 1;
        item[i].workload = !shares && memory > 0 ? workload : 0;
    }
}

struct sl_pod *sl_pod_new(const struct sl_pod_facts *facts, struct sl_error *err)
{
    struct sl_ask ask;
    struct sl_ask_item held[SL_POD_ITEMS_MAX];
    char why[SL_ASK_WHY_MAX];
    char problem_text[PROBLEM_MAX];
    char assignment[SL_ASSIGNMENT_TEXT_MAX + 1];
    char node[NAME_MAX_LEN + 1];
    uint64_t label[2 * SL_POD_LABELS_MAX];
    struct sl_constraint_draft draft;
    struct sl_text problem;
    if (!names_fit(facts, err)) {
        return NULL;
    }
    sl_text_init(&problem, problem_text, sizeof(problem_text));
    sl_text_shown(&problem, facts->problem);
    (void)sl_ask_count(facts, &ask, why);
    int64_t timeout_s = sl_pod_read_timeout(facts, &problem);
    struct sl_host_ask host = sl_host_count(facts);
    draft.constraints =
        (struct sl_constraints){.cpu_milli = host.cpu_milli, .memory_bytes = host.memory_bytes};
    struct parts parts = {
        .namespace = facts->namespace.len > 0 ? facts->namespace : SL_STR("default"),
        .name = facts->name,
        .uid = facts->uid,
        /* the API server accepts any text here: bytes that no node's name has are escaped */
        .node = {node, sl_show(facts->node_name, node, sizeof(node))},
        .malformed = sl_str_of(ask.malformed ? why : NULL),
        .assignment = sl_pod_read_assignment(facts, &ask, assignment, &problem),
        .nominated = text_fits(facts->nominated, NAME_MAX_LEN, "", NULL) ? facts->nominated
                                                                         : (struct sl_str){0},
        .after = sl_pod_read_after(facts, &problem),
        .items = ask.item,
        .n_items = ask.n,
        .label = label,
    };
    if (ask.malformed && facts->node_name.len > 0) {
        /* It was bound all the same, so it may hold every readable part of its ask. */
        parts.n_items = sl_ask_count_all(facts, held);
        parts.items = held;
    }
    int64_t memory = sl_pod_read_gpu_memory(facts, SL_STR("sliced.dev/gpu-memory"), &problem);
    int64_t least = sl_pod_read_gpu_memory(facts, SL_STR("sliced.dev/min-gpu-memory"), &problem);
    uint32_t workload = workload_of(parts.namespace, facts->containers);
    complete_items(parts.items == held ? held : ask.item, parts.n_items, facts, memory, least,
                   workload, &problem);
    parts.n_labels = sl_pod_read_labels(facts, label, &problem);
    parts.constraints = sl_constraint_read(&draft, facts, &problem);
    parts.problem = (struct sl_str){problem.out, problem.len};
    struct sl_pod *pod = pod_alloc(&parts);
    if (pod == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    read_plain(pod, facts);
    pod->timeout_s = timeout_s;
    pod->gpu_memory_mib = (int32_t)memory; /* as it was read */
    pod->min_gpu_memory_mib = (int32_t)least;
    pod->poses = sl_pod_read_poses(facts);
    return pod;
}

/* The parts of pod with the ask of share. */
static struct parts parts_of(const struct sl_pod *pod, const struct sl_pod *share)
{
    return (struct parts){
        .namespace = sl_str_of(pod->namespace),
        .name = sl_str_of(pod->name),
        .uid = sl_str_of(pod->uid),
        .node = sl_str_of(pod->node),
        .malformed = sl_str_of(share->malformed),
        .assignment = sl_str_of(pod->assignment),
        .problem = sl_str_of(pod->problem),
        .nominated = sl_str_of(pod->nominated),
        .after = sl_str_of(pod->after),
        .items = share->items,
        .constraints = pod->constraints,
        .label = pod->label,
        .n_items = share->n_items,
        .n_labels = pod->n_labels,
    };
}

/* Makes a pod of the parts with all else of pod, and what belongs to the ask of share. */
static struct sl_pod *copy(const struct parts *parts, const struct sl_pod *pod,
                           const struct sl_pod *share, enum sl_pod_phase phase)
{
    struct sl_pod *made = pod_alloc(parts);
    if (made == NULL) {
        return NULL;
    }
    made->phase = phase;
    made->gate = pod->gate;
    made->deleting = pod->deleting;
    made->tried = pod->tried;
    made->queued = pod->queued;
    made->daemon_set = pod->daemon_set;
    made->gate_seen = pod->gate_seen;
    made->released = pod->released;
    made->poses = pod->poses;
    made->gone_s = pod->gone_s;
    made->priority = pod->priority;
    made->created_us = pod->created_us;
    made->started_us = pod->started_us;
    made->timeout_s = pod->timeout_s;
    made->gpu_memory_mib = share->gpu_memory_mib;
    made->min_gpu_memory_mib = share->min_gpu_memory_mib;
    made->has_deadline = pod->has_deadline;
    made->never_preempts = pod->never_preempts;
    made->plugin_took = pod->plugin_took;
    made->scheduler = pod->scheduler;
    made->owner = pod->owner;
    return made;
}

struct sl_pod *sl_pod_bound_to(const struct sl_pod *pod, const char *node, const char *assignment,
                               enum sl_pod_phase phase)
{
    struct parts parts = parts_of(pod, pod);
    parts.node = sl_str_of(node);
    parts.assignment = sl_str_of(assignment);
    return copy(&parts, pod, pod, phase);
}

struct sl_pod *sl_pod_without_uid(const struct sl_pod *pod)
{
    char text[PROBLEM_MAX];
    struct sl_text problem;
    struct parts parts = parts_of(pod, pod);
    sl_text_init(&problem, text, sizeof(text));
    sl_text_puts(&problem, "metadata.uid: another pod has it too, so it is not used");
    if (pod->problem != NULL) {
        sl_text_next(&problem, pod->problem);
    }
    parts.uid = (struct sl_str){0};
    parts.problem = (struct sl_str){problem.out, problem.len};
    return copy(&parts, pod, pod, pod->phase);
}

struct sl_pod *sl_pod_given(const struct sl_pod *pod, const struct sl_pod *given,
                            enum sl_pod_phase phase)
{
    struct parts parts = parts_of(pod, given);
    parts.node = sl_str_of(given->node);
    parts.assignment = sl_str_of(given->assignment);
    struct sl_pod *made = copy(&parts, pod, given, phase);
    if (made != NULL) {
        made->timeout_s = pod->has_deadline ? pod->timeout_s : given->timeout_s;
        made->gate_seen = pod->gate_seen || given->gate_seen;
        made->plugin_took = pod->plugin_took || given->plugin_took;
    }
    return made;
}

static bool same_text(const char *a, const char *b)
{
    return sl_str_eq(sl_str_of(a), sl_str_of(b)) && (a == NULL) == (b == NULL);
}

bool sl_pod_same_ask(const struct sl_pod *a, const struct sl_pod *b)
{
    bool same = a->n_items == b->n_items;
    for (uint32_t i = 0; same && i < a->n_items; i++) {
        const struct sl_ask_item *x = &a->items[i];
        const struct sl_ask_item *y = &b->items[i];
        same = x->key == y->key && x->count == y->count && x->each == y->each &&
               x->memory_mib == y->memory_mib && x->least_mib == y->least_mib && x->gpus == y->gpus;
    }
    return same;
}

bool sl_pod_has_given(const struct sl_pod *pod, const struct sl_pod *given)
{
    return sl_pod_same_ask(pod, given) && same_text(pod->node, given->node) &&
           same_text(pod->assignment, given->assignment) &&
           same_text(pod->malformed, given->malformed) &&
           pod->gpu_memory_mib == given->gpu_memory_mib &&
           pod->min_gpu_memory_mib == given->min_gpu_memory_mib &&
           (pod->has_deadline || pod->timeout_s == given->timeout_s) &&
           (pod->gate_seen || !given->gate_seen) && (pod->plugin_took || !given->plugin_took);
}

static bool same_texts(const struct sl_pod *a, const struct sl_pod *b)
{
    return same_text(a->namespace, b->namespace) && same_text(a->name, b->name) &&
           same_text(a->uid, b->uid) && same_text(a->node, b->node) &&
           same_text(a->malformed, b->malformed) && same_text(a->assignment, b->assignment) &&
           same_text(a->problem, b->problem) && same_text(a->nominated, b->nominated) &&
           same_text(a->after, b->after);
}

static bool same_flags(const struct sl_pod *a, const struct sl_pod *b)
{
    return a->deleting == b->deleting && a->has_deadline == b->has_deadline &&
           a->never_preempts == b->never_preempts && a->plugin_took == b->plugin_took &&
           a->tried == b->tried && a->daemon_set == b->daemon_set && a->gate_seen == b->gate_seen &&
           a->released == b->released && a->set_aside == b->set_aside && a->poses == b->poses;
}

static bool same_numbers(const struct sl_pod *a, const struct sl_pod *b)
{
    return a->phase == b->phase && a->gate == b->gate && a->priority == b->priority &&
           a->gone_s == b->gone_s && a->created_us == b->created_us &&
           a->started_us == b->started_us && a->gpu_memory_mib == b->gpu_memory_mib &&
           a->min_gpu_memory_mib == b->min_gpu_memory_mib && a->timeout_s == b->timeout_s &&
           a->owner == b->owner && a->scheduler == b->scheduler;
}

/* Two asks of one key may be for different resources, or be made by different workloads. */
static bool same_items(const struct sl_pod *a, const struct sl_pod *b)
{
    bool same = sl_pod_same_ask(a, b);
    for (uint32_t i = 0; same && i < a->n_items; i++) {
        same = same_text(a->items[i].resource, b->items[i].resource) &&
               a->items[i].workload == b->items[i].workload;
    }
    return same;
}

bool sl_pod_same(const struct sl_pod *a, const struct sl_pod *b)
{
    bool bare = a->constraints == NULL || b->constraints == NULL;
    return same_numbers(a, b) && same_flags(a, b) && same_texts(a, b) && same_items(a, b) &&
           a->n_labels == b->n_labels &&
           (a->n_labels == 0 ||
            memcmp(a->label, b->label, a->n_labels * sizeof(a->label[0])) == 0) &&
           (bare ? a->constraints == b->constraints
                 : a->constraints->digest == b->constraints->digest);
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
    const uint32_t n = pod->n_items < SL_ASK_ITEMS_MAX ? pod->n_items : SL_ASK_ITEMS_MAX;
    out->n = (uint8_t)n;
    out->malformed = pod->malformed != NULL;
    out->cpu_milli = pod->constraints == NULL ? 0 : pod->constraints->cpu_milli;
    memcpy(out->item, pod->items, n * sizeof(pod->items[0]));
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

bool sl_pod_is_exempt(struct sl_str namespace, bool daemon_set, const struct sl_queue_scope *scope)
{
    bool believed = sl_str_eq(namespace, SL_STR("kube-system"));
    for (size_t i = 0; i < scope->n_daemon_sets && !believed; i++) {
        believed = sl_str_eq(namespace, sl_str_of(scope->daemon_sets[i].namespace));
    }
    return daemon_set && believed;
}

bool sl_pod_is_queued(const struct sl_pod *pod, const struct sl_queue_scope *scope)
{
    struct sl_str scheduler = scope->scheduler;
    if (pod->gate == SL_GATE_OURS || pod->gate_seen) {
        return true;
    }
    if (sl_pod_is_exempt(sl_str_of(pod->namespace), pod->daemon_set, scope)) {
        return false;
    }
    if (pod->gate == SL_GATE_OTHERS) {
        return true;
    }
    return (pod->released || pod->daemon_set || !scope->gated) &&
           (scheduler.len == 0 || pod->scheduler == sl_hash(scheduler.s, scheduler.len));
}
