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

/* A pod's texts before its allocation has them; they need no NUL. */
struct texts {
#define TEXT(name, none, kept) struct sl_str name;
    SL_POD_TEXTS(TEXT)
#undef TEXT
};

/* Packs a pod with these texts, and all else of the draft, which keeps what it has. NULL while the
 * pack counts. */
static struct sl_pod *pack(const struct sl_pod *draft, const struct texts *texts,
                           struct sl_pack *at)
{
    struct sl_pod *pod = sl_pack_words(at, sizeof(*pod));
    size_t labels = draft->n_labels * sizeof(draft->label[0]);
    struct sl_ask_item *items = sl_pack_words(at, draft->n_items * sizeof(*items));
    uint64_t *label = sl_pack_words(at, labels);
    struct sl_pod made;
    memcpy(&made, draft, offsetof(struct sl_pod, refs));
    made.items = items;
    made.label = label;
    made.constraints = sl_constraint_pack(draft->constraints, at);
    for (uint32_t i = 0; i < draft->n_items; i++) {
        struct sl_ask_item item = draft->items[i];
        item.resource = sl_pack_text(at, item.resource);
        if (items != NULL) {
            items[i] = item;
        }
    }
#define TEXT(name, none, kept) made.name = sl_pack_str(at, texts->name, none);
    SL_POD_TEXTS(TEXT)
#undef TEXT
    if (pod != NULL) {
        memcpy(pod, &made, offsetof(struct sl_pod, refs));
        atomic_init(&pod->refs, 1);
    }
    if (label != NULL && labels > 0) {
        memcpy(label, draft->label, labels);
    }
    return pod;
}

static struct sl_pod *pod_alloc(const struct sl_pod *draft, const struct texts *texts)
{
    struct sl_pack at = {0};
    (void)pack(draft, texts, &at);
    return sl_pack_allocate(&at) ? pack(draft, texts, &at) : NULL;
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
static struct sl_pod read_plain(const struct sl_pod_facts *facts, struct sl_text *problem)
{
    const struct sl_pair *taken =
        sl_pair_find(facts->annotations, SL_STR("ALIYUN_COM_GPU_MEM_ASSIGNED"));
    struct sl_str scheduler =
        facts->scheduler_name.len > 0 ? facts->scheduler_name : SL_STR("default-scheduler");
    return (struct sl_pod){
        .phase = sl_pod_read_phase(facts->phase),
        .gate = sl_pod_read_gate(facts->gates),
        .priority = facts->priority,
        .gone_s = seconds_of(facts->deleting_us),
        .created_us = time_of(facts->created_us),
        .started_us = time_of(facts->started_us),
        .timeout_s = sl_pod_read_timeout(facts, problem),
        .owner = owner_of(facts),
        .scheduler = sl_hash(scheduler.s, scheduler.len),
        .deleting = facts->deleting,
        .has_deadline = facts->deadline_s > 0,
        .never_preempts = sl_str_eq(facts->preemption_policy, SL_STR("Never")),
        .plugin_took = taken != NULL && sl_str_eq(taken->value, SL_STR("true")),
        .tried = facts->tried,
        .queued = facts->queued,
        .daemon_set = facts->daemon_set,
        .gate_seen = sl_pair_find(facts->gates, SL_STR("sliced.dev/queue")) != NULL,
        .released = sl_pair_find(facts->annotations, SL_STR("sliced.dev/released")) != NULL,
        .poses = sl_pod_read_poses(facts),
    };
}

/* Adds GPU memory and the number of GPUs, which come from annotations and labels. */
static void complete_items(struct sl_pod *pod, const struct sl_pod_facts *facts,
                           struct sl_str namespace, struct sl_text *problem)
{
    int64_t memory = sl_pod_read_gpu_memory(facts, SL_STR("sliced.dev/gpu-memory"), problem);
    int64_t least = sl_pod_read_gpu_memory(facts, SL_STR("sliced.dev/min-gpu-memory"), problem);
    uint32_t workload = workload_of(namespace, facts->containers);
    pod->gpu_memory_mib = (int32_t)memory; /* as it was read */
    pod->min_gpu_memory_mib = (int32_t)least;
    for (uint32_t i = 0; i < pod->n_items; i++) {
        struct sl_ask_item *item = &pod->items[i];
        bool shares = sl_kinds[item->kind].memory;
        item->memory_mib = shares ? 0 : (int32_t)memory;
        item->least_mib = shares ? 0 : (int32_t)least;
        item->gpus = shares ? sl_pod_read_gpus(facts, item->count, problem) : 1;
        item->workload = !shares && memory > 0 ? workload : 0;
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
    struct sl_pod plain = read_plain(facts, &problem);
    struct sl_host_ask host = sl_host_count(facts);
    draft.constraints =
        (struct sl_constraints){.cpu_milli = host.cpu_milli, .memory_bytes = host.memory_bytes};
    struct texts texts = {
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
    };
    /* One that was bound all the same may hold every readable part of a malformed ask. */
    bool holds = ask.malformed && facts->node_name.len > 0;
    plain.n_items = holds ? sl_ask_count_all(facts, held) : ask.n;
    plain.items = holds ? held : ask.item;
    complete_items(&plain, facts, texts.namespace, &problem);
    plain.label = label;
    plain.n_labels = sl_pod_read_labels(facts, label, &problem);
    plain.constraints = sl_constraint_read(&draft, facts, &problem);
    texts.problem = (struct sl_str){problem.out, problem.len};
    struct sl_pod *pod = pod_alloc(&plain, &texts);
    if (pod == NULL) {
        (void)sl_error_nomem(err);
    }
    return pod;
}

/* ---- copies ---- */

/* What the rows of fields say of them. */
enum { NOW, GIVEN, EVER, TIMEOUT, QUIET, NEVER };

/* What a pod has, with the ask of given, once it was given that; it borrows all of it. */
static struct sl_pod kept(const struct sl_pod *pod, const struct sl_pod *given)
{
    const struct sl_pod *timed = pod->has_deadline ? pod : given;
    struct sl_pod made = {.constraints = pod->constraints,
                          .label = pod->label,
                          .items = given->items,
                          .n_items = given->n_items,
                          .n_labels = pod->n_labels};
#define TEXT(name, none, kept) made.name = (kept) == GIVEN ? given->name : pod->name;
#define NUMBER(type, name, kept)                                                                   \
    made.name = ((kept) == GIVEN ? given : (kept) == TIMEOUT ? timed : pod)->name;
#define FLAG(name, kept)                                                                           \
    made.name = (kept) != NEVER && (pod->name || ((kept) == EVER && given->name));
    SL_POD_TEXTS(TEXT)
    SL_POD_NUMBERS(NUMBER)
    SL_POD_FLAGS(FLAG)
#undef TEXT
#undef NUMBER
#undef FLAG
    return made;
}

static struct sl_pod *copy(const struct sl_pod *pod)
{
#define TEXT(name, none, kept) .name = sl_str_of(pod->name),
    const struct texts texts = {SL_POD_TEXTS(TEXT)};
#undef TEXT
    return pod_alloc(pod, &texts);
}

struct sl_pod *sl_pod_bound_to(const struct sl_pod *pod, const char *node, const char *assignment,
                               enum sl_pod_phase phase)
{
    struct sl_pod bound = kept(pod, pod);
    bound.node = node;
    bound.assignment = assignment;
    bound.phase = phase;
    return copy(&bound);
}

struct sl_pod *sl_pod_without_uid(const struct sl_pod *pod)
{
    char text[PROBLEM_MAX];
    struct sl_text problem;
    struct sl_pod without = kept(pod, pod);
    sl_text_init(&problem, text, sizeof(text));
    sl_text_puts(&problem, "metadata.uid: another pod has it too, so it is not used");
    if (pod->problem != NULL) {
        sl_text_next(&problem, pod->problem);
    }
    without.uid = NULL;
    without.problem = text;
    return copy(&without);
}

struct sl_pod *sl_pod_given(const struct sl_pod *pod, const struct sl_pod *given,
                            enum sl_pod_phase phase)
{
    struct sl_pod made = kept(pod, given);
    made.phase = phase;
    return copy(&made);
}

/* ---- comparisons ---- */

static bool same_text(const char *a, const char *b)
{
    return sl_str_eq(sl_str_of(a), sl_str_of(b)) && (a == NULL) == (b == NULL);
}

bool sl_pod_same_ask(const struct sl_pod *a, const struct sl_pod *b)
{
    bool same = a->n_items == b->n_items;
    for (uint32_t i = 0; same && i < a->n_items; i++) {
        uint64_t x[SL_ITEM_WORDS];
        uint64_t y[SL_ITEM_WORDS];
        sl_item_words(&a->items[i], x);
        sl_item_words(&b->items[i], y);
        same = memcmp(x, y, sizeof(x)) == 0;
    }
    return same;
}

/* True when the pods are alike but for their lists. */
static bool same_fields(const struct sl_pod *a, const struct sl_pod *b)
{
    bool same = true;
#define TEXT(name, none, kept)   same = same && same_text(a->name, b->name);
#define NUMBER(type, name, kept) same = same && a->name == b->name;
#define FLAG(name, kept)         same = same && ((kept) == QUIET || a->name == b->name);
    SL_POD_NUMBERS(NUMBER)
    SL_POD_FLAGS(FLAG)
    SL_POD_TEXTS(TEXT)
#undef TEXT
#undef NUMBER
#undef FLAG
    return same;
}

bool sl_pod_has_given(const struct sl_pod *pod, const struct sl_pod *given)
{
    const struct sl_pod made = kept(pod, given);
    return sl_pod_same_ask(pod, given) && same_fields(pod, &made);
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
    return same_fields(a, b) && same_items(a, b) && a->n_labels == b->n_labels &&
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
