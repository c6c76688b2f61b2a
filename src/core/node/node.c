/* Nodes: judged once from the facts (draft.h), then immutable. */
#include "sliced/node.h"

#include "core/node/draft.h"
#include "core/request/constraint_draft.h"

#include <stdlib.h>

#include "util/data/search.h"

enum { NODE_NAME_MAX = 253, ADDRESS_MAX = 45 };

/* Sets each pool's profile, from the first device whose model has it. */
static void find_profiles(struct sl_draft *draft)
{
    for (unsigned p = 0; p < draft->n_pools; p++) {
        struct sl_draft_pool *pool = &draft->pool[p];
        if (draft->model != NULL) {
            pool->pool.profile = sl_mig_profile_find(draft->model, pool->profile);
        }
        for (unsigned d = 0; d < draft->n_devices && pool->pool.profile == NULL; d++) {
            const struct sl_mig_model *model = draft->device[d].device.model;
            if (model != NULL) {
                pool->pool.profile = sl_mig_profile_find(model, pool->profile);
            }
        }
    }
}

/* Takes profiles from instances, which beat names: with several models a name may mean several
 * profiles. */
static void profiles_from_instances(struct sl_draft *draft)
{
    for (unsigned p = 0; p < draft->n_pools; p++) {
        const struct sl_mig_profile *first = NULL;
        bool used = false;
        for (unsigned i = 0; i < draft->n_instances; i++) {
            const struct sl_instance *instance = &draft->instance[i].instance;
            if (instance->pool == p) {
                first = first == NULL ? instance->profile : first;
                used = used || instance->profile == draft->pool[p].pool.profile;
            }
        }
        if (!used && first != NULL) {
            draft->pool[p].pool.profile = first;
        }
    }
}

static int judge(struct sl_draft *draft, struct sl_error *err)
{
    uint8_t rest[SL_NODE_DEVICES_MAX][SL_MIG_PROFILES_MAX];
    if (sl_draft_read(draft, err) != 0) {
        return -1;
    }
    sl_draft_absent(draft);
    sl_draft_partition(draft);
    find_profiles(draft);
    bool found = sl_draft_split_rest(draft, rest);
    if (sl_draft_annotated(draft, found ? rest : NULL, err) != 0) {
        return -1;
    }
    find_profiles(draft); /* of other models than the node's */
    if (draft->n_devices == 0) {
        sl_draft_infer(draft);
    }
    sl_draft_tie(draft);
    profiles_from_instances(draft);
    sl_draft_memory(draft);
    sl_draft_site(draft);
    return 0;
}

/* Initialises only the members that are read: the arrays are large, and their counts tell what they
 * hold. */
static void draft_init(struct sl_draft *draft, const struct sl_node_facts *facts)
{
    draft->facts = facts;
    draft->labels = (struct sl_draft_labels){0};
    draft->model = NULL;
    draft->gpu_count = 0;
    draft->layout = SL_LAYOUT_UNKNOWN;
    draft->n_pools = 0;
    draft->n_devices = 0;
    draft->n_instances = 0;
    draft->n_absent = 0;
    sl_text_init(&draft->problem, draft->problem_text, sizeof(draft->problem_text));
}

/* Returns how many instances or slices like that one the draft has. */
static unsigned count_like(const struct sl_draft *draft, const struct sl_draft_instance *one)
{
    unsigned n = 0;
    for (unsigned i = 0; i < draft->n_instances; i++) {
        const struct sl_draft_instance *other = &draft->instance[i];
        bool same = other->instance.device == one->instance.device &&
                    sl_str_eq(other->profile, one->profile);
        n += !same ? 0 : other->instance.slices > 0 ? other->instance.slices : 1;
    }
    return n;
}

/* Does nos' agent report the same instances or slices on each device? */
static bool reports_agree(const struct sl_draft *planned, const struct sl_draft *reported)
{
    bool agree = planned->n_instances == reported->n_instances;
    for (unsigned i = 0; agree && i < planned->n_instances; i++) {
        const struct sl_draft_instance *one = &planned->instance[i];
        agree = count_like(planned, one) == count_like(reported, one);
    }
    return agree;
}

/* Is all that the annotation names allocatable, and nothing else? Beside GPUs that are unsure
 * nobody can tell. */
static bool is_allocatable(const struct sl_draft *planned)
{
    int64_t named = 0;
    bool whole = false;
    bool good = planned->n_pools > 0;
    for (const struct sl_device_facts *d = planned->facts->devices; d != NULL; d = d->next) {
        whole = whole || (!d->mig && d->instances == NULL);
        good = good && !d->unsure;
        for (const struct sl_instance_facts *i = d->instances; i != NULL; i = i->next) {
            named++;
        }
    }
    for (unsigned i = 0; i < planned->n_instances; i++) {
        const struct sl_instance *instance = &planned->instance[i].instance;
        named -= instance->slices > 0 ? instance->slices : 1;
    }
    for (unsigned p = 0; p < planned->n_pools; p++) {
        good = good && planned->pool[p].pool.on_devices;
        whole = whole && planned->pool[p].on_instances;
    }
    return good && named <= 0 && !whole; /* less: nobody knows what some devices have */
}

/* Is the node as sliced.dev/cut-devices says? */
static bool shows_planned(const struct sl_draft *draft)
{
    struct sl_node_facts facts = *draft->facts;
    struct sl_draft planned;
    struct sl_error err;
    if (draft->partition.cut.len == 0 || facts.planned == NULL) {
        return false;
    }
    facts.devices = facts.planned;
    draft_init(&planned, &facts);
    bool follows = judge(&planned, &err) == 0 && is_allocatable(&planned);
    bool reported = draft->facts->devices == NULL &&
                    (draft->labels.slices || draft->layout == SL_LAYOUT_ANNOTATED);
    return follows && (!reported || reports_agree(&planned, draft));
}

/* A text that is longer than any UID counts as none. */
static struct sl_str uid_of(const struct sl_draft *draft)
{
    struct sl_str uid = draft->facts->uid;
    return uid.len > NODE_NAME_MAX ? (struct sl_str){NULL, 0} : uid;
}

static bool is_address(struct sl_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.s[i];
        bool digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
        if (!digit && c != '.' && c != ':') {
            return false;
        }
    }
    return text.len > 0 && text.len <= ADDRESS_MAX;
}

static struct sl_str address_of(const struct sl_draft *draft)
{
    const struct sl_address_facts *at = draft->facts->addresses;
    while (at != NULL && !(sl_str_eq(at->type, SL_STR("InternalIP")) && is_address(at->address))) {
        at = at->next;
    }
    return at == NULL ? (struct sl_str){NULL, 0} : at->address;
}

static void pack_devices(const struct sl_draft *draft, struct sl_node *node, struct sl_pack *at)
{
    node->model = draft->n_devices > 0 ? draft->device[0].device.model : draft->model;
    for (unsigned i = 0; i < draft->n_devices; i++) {
        const struct sl_draft_device *from = &draft->device[i];
        struct sl_device device = from->device;
        device.uuid = sl_pack_str(at, from->uuid, NULL);
        device.product = sl_pack_str(at, from->product, from->unnamed ? NULL : node->product);
        if (device.model != node->model) {
            node->model = NULL;
        }
        if (node->device != NULL) {
            node->device[i] = device;
        }
    }
}

static void pack_pools(const struct sl_draft *draft, struct sl_node *node, struct sl_pack *at)
{
    for (unsigned i = 0; i < draft->n_pools; i++) {
        struct sl_pool pool = draft->pool[i].pool;
        pool.resource = sl_pack_str(at, draft->pool[i].resource, NULL);
        if (node->pool != NULL) {
            node->pool[i] = pool;
        }
    }
}

static void pack_texts(const struct sl_draft *draft, struct sl_node *node, struct sl_pack *at)
{
    const struct sl_draft_partition *partition = &draft->partition;
    node->name = sl_pack_str(at, draft->facts->name, NULL);
    node->uid = sl_pack_str(at, uid_of(draft), NULL);
    node->address = sl_pack_str(at, address_of(draft), NULL);
    node->product = sl_pack_str(at, draft->labels.product, NULL);
    node->problem = sl_pack_str(at, (struct sl_str){draft->problem.out, draft->problem.len}, NULL);
    node->partition.wanted = sl_pack_str(at, partition->wanted, NULL);
    node->partition.applied = sl_pack_str(at, partition->applied, NULL);
    node->partition.cut = sl_pack_str(at, partition->cut, NULL);
    node->partition.cut_text = sl_pack_str(at, partition->cut_text, NULL);
}

/* Copies instances sorted by device, then start; the draft has them by device. */
static void copy_instances(struct sl_node *node, const struct sl_draft *draft)
{
    for (unsigned i = 0; i < draft->n_instances; i++) {
        const struct sl_instance *from = &draft->instance[i].instance;
        unsigned at = i;
        for (; at > 0 && node->instance[at - 1].device == from->device &&
               node->instance[at - 1].start > from->start;
             at--) {
            node->instance[at] = node->instance[at - 1];
        }
        node->instance[at] = *from;
    }
}

/* Returns NULL while the pack counts. */
static struct sl_node *pack(const struct sl_draft *draft, struct sl_pack *at)
{
    struct sl_node *node = sl_pack_words(at, sizeof(*node));
    struct sl_node made = {
        .layout = draft->layout,
        .dynamic_mig = draft->dynamic_mig,
        .partition = draft->partition.known,
        .n_devices = (uint16_t)draft->n_devices,
        .n_instances = (uint16_t)draft->n_instances,
        .n_pools = (uint16_t)draft->n_pools,
        .n_absent = (uint16_t)draft->n_absent,
    };
    made.device = sl_pack_words(at, draft->n_devices * sizeof(*made.device));
    made.instance = sl_pack_words(at, draft->n_instances * sizeof(*made.instance));
    made.pool = sl_pack_words(at, draft->n_pools * sizeof(*made.pool));
    made.absent = sl_pack_words(at, draft->n_absent * sizeof(*made.absent));
    sl_draft_site_pack(draft, &made, at);
    pack_texts(draft, &made, at);
    pack_devices(draft, &made, at);
    pack_pools(draft, &made, at);
    if (node != NULL) {
        copy_instances(&made, draft);
        memcpy(made.absent, draft->absent, draft->n_absent * sizeof(draft->absent[0]));
        memcpy((void *)node, (const void *)&made, offsetof(struct sl_node, refs));
        atomic_init(&node->refs, 1);
    }
    return node;
}

static struct sl_node *build(const struct sl_draft *draft)
{
    struct sl_pack at = {0};
    (void)pack(draft, &at);
    return sl_pack_allocate(&at) ? pack(draft, &at) : NULL;
}

static bool name_is_good(struct sl_str name, struct sl_error *err)
{
    if (name.len == 0) {
        (void)sl_error_set(err, SL_ERR_FIELD, "metadata.name is missing");
        return false;
    }
    if (name.len > NODE_NAME_MAX || memchr(name.s, '\0', name.len) != NULL) {
        (void)sl_error_set(err, SL_ERR_FIELD, "metadata.name is not a name that Kubernetes allows");
        return false;
    }
    return true;
}

struct sl_node *sl_node_new(const struct sl_node_facts *facts, struct sl_error *err)
{
    if (!name_is_good(facts->name, err)) {
        return NULL;
    }
    struct sl_draft draft;
    draft_init(&draft, facts);
    sl_text_shown(&draft.problem, facts->problem);
    if (judge(&draft, err) != 0) {
        return NULL;
    }
    sl_draft_follows(&draft, shows_planned(&draft));
    struct sl_node *node = build(&draft);
    if (node == NULL) {
        (void)sl_error_nomem(err);
    }
    return node;
}

struct sl_node *sl_node_ref(struct sl_node *node)
{
    (void)atomic_fetch_add_explicit(&node->refs, 1, memory_order_relaxed);
    return node;
}

void sl_node_unref(struct sl_node *node)
{
    if (node != NULL && atomic_fetch_sub_explicit(&node->refs, 1, memory_order_acq_rel) == 1) {
        struct sl_node *judged = node->judged;
        free(node);
        sl_node_unref(judged);
    }
}

bool sl_node_has_gpus(const struct sl_node *node)
{
    return node->n_pools > 0;
}

int sl_node_pool(const struct sl_node *node, uint64_t key)
{
    for (unsigned i = 0; i < node->n_pools; i++) {
        if (node->pool[i].key == key) {
            return (int)i;
        }
    }
    return -1;
}

static bool label_is_before(const void *item, const void *key)
{
    return strcmp(((const struct sl_label *)item)->key, key) < 0;
}

const char *sl_node_label(const struct sl_node *node, const char *key)
{
    size_t at =
        sl_lower_bound(node->label, node->n_labels, sizeof(node->label[0]), key, label_is_before);
    return at < node->n_labels && strcmp(node->label[at].key, key) == 0 ? node->label[at].value
                                                                        : NULL;
}

bool sl_node_is_of(const struct sl_node *node, const char *model)
{
    const char *label = sl_node_label(node, SL_MODEL_LABEL);
    return model[0] == '\0' ||
           sl_str_eq(sl_str_of(label == NULL ? node->product : label), sl_str_of(model));
}

const char *sl_layout_name(enum sl_layout layout)
{
    static const char *const names[] = {
        [SL_LAYOUT_UNKNOWN] = "unknown",
        [SL_LAYOUT_INFERRED] = "inferred",
        [SL_LAYOUT_ANNOTATED] = "annotated",
    };
    size_t i = (size_t)layout;
    return i < sizeof(names) / sizeof(names[0]) ? names[i] : "unknown";
}
