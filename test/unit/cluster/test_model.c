/* A long random sequence of operations against a naive model. */
#include "model.h"

/* ---- the feed ---- */

static void hear(void *context, struct sl_pod *pod, bool is_waiting)
{
    struct model *model = context;
    long i = strtol(pod->name + 1, NULL, 10);
    unsigned uid = (unsigned)strtoul(pod->uid + strlen("uid-"), NULL, 10);
    if (is_waiting) {
        assert_true(model->fed[i] == 0 || model->fed[i] == uid);
        assert_true(sl_pod_waits(pod));
        model->fed[i] = uid;
    } else {
        assert_int_equal(model->fed[i], uid);
        model->fed[i] = 0;
    }
}

/* Whoever listens anew is told of all that wait. */
static void listen_anew(struct model *model)
{
    sl_store_set_feed(model->store, NULL, NULL);
    memset(model->fed, 0, sizeof(model->fed));
    sl_store_set_feed(model->store, hear, model);
}

/* ---- operations ---- */

static void name_of(int i, char out[8])
{
    snprintf(out, 8, "p%d", i);
}

static void uid_of(const struct model_pod *pod, char out[16])
{
    snprintf(out, 16, "uid-%u", pod->uid);
}

static void send_pod(struct model *model, int i, int node)
{
    const struct model_pod *pod = &model->pod[i];
    char name[8];
    char uid[16];
    char count[8];
    name_of(i, name);
    uid_of(pod, uid);
    snprintf(count, sizeof(count), "%d", pod->count);
    put_pod(model->store, (struct pod_spec){
                              .name = name,
                              .uid = uid,
                              .node = node < 0 ? NULL : node_name(node),
                              .resource = pod->whole ? GPU : SLICE,
                              .count = count,
                              .phase = pod->finished ? "Failed" : "Pending",
                              .deleting = pod->deleting,
                              .created_us = pod->uid,
                          });
}

static void make_pod(struct model *model, int i)
{
    struct model_pod *pod = &model->pod[i];
    *pod = (struct model_pod){.there = true, .node = -1, .reserved = -1, .nominated = -1};
    pod->uid = ++model->last_uid;
    pod->whole = random_below(&model->seed, 2) == 0;
    pod->count = 1 + (int)random_below(&model->seed, 3);
    if (random_below(&model->seed, 4) == 0) {
        pod->node = (int)random_below(&model->seed, NODES + 1);
    }
    send_pod(model, i, pod->node);
}

/* News of a known pod: bound, moved, unbound by an old message, ended, or going. */
static void change_pod(struct model *model, int i)
{
    struct model_pod *pod = &model->pod[i];
    if (!pod->there || random_below(&model->seed, 8) == 0) {
        make_pod(model, i);
        return;
    }
    switch (random_below(&model->seed, 4)) {
    case 0:
        if (pod->finished) {
            break;
        }
        pod->node = (int)random_below(&model->seed, NODES + 1);
        pod->reserved = -1;
        pod->nominated = -1;
        break;
    case 1: /* an older message: says nothing of where the pod stands now */
        if (!pod->finished) {
            send_pod(model, i, -1);
        }
        return;
    case 2:
        pod->finished = true;
        pod->reserved = -1;
        pod->nominated = -1;
        break;
    default:
        pod->deleting = true;
        pod->nominated = -1;
        break;
    }
    send_pod(model, i, pod->node);
}

static void remove_pod(struct model *model, int i)
{
    char name[8];
    name_of(i, name);
    assert_int_equal(delete_pod(model->store, name), model->pod[i].there ? 0 : -1);
    model->pod[i] = (struct model_pod){.node = -1, .reserved = -1, .nominated = -1};
}

static void lose_node(struct model *model, int node)
{
    model->capacity[node] = -1;
    for (int i = 0; i < PODS; i++) {
        if (model->pod[i].nominated == node) {
            model->pod[i].nominated = -1;
        }
    }
}

static void change_node(struct model *model, int node)
{
    if (random_below(&model->seed, 3) == 0) {
        assert_int_equal(sl_store_delete_node(model->store, sl_str_of(node_name(node)), NULL),
                         model->capacity[node] < 0 ? -1 : 0);
        lose_node(model, node);
        return;
    }
    model->capacity[node] = 4 * (1 + (int)random_below(&model->seed, 3));
    put_node(model->store, node_of(node, model->capacity[node]));
}

/* A list of all pods, as the API server has them: three of four are still there. Bindings that are
 * under way do not show in it. */
static void list_pods(struct model *model)
{
    size_t gone = 0;
    sl_store_sweep_begin(model->store, SL_SWEEP_PODS);
    for (int i = 0; i < PODS; i++) {
        struct model_pod *pod = &model->pod[i];
        if (!pod->there) {
            continue;
        }
        if (random_below(&model->seed, 4) == 0) {
            *pod = (struct model_pod){.node = -1, .reserved = -1, .nominated = -1};
            gone++;
        } else {
            send_pod(model, i, pod->node);
        }
    }
    assert_int_equal(sl_store_sweep_end(model->store, SL_SWEEP_PODS), gone);
}

static void list_nodes(struct model *model)
{
    size_t gone = 0;
    sl_store_sweep_begin(model->store, SL_SWEEP_NODES);
    for (int node = 0; node < NODES; node++) {
        if (model->capacity[node] < 0) {
            continue;
        }
        if (random_below(&model->seed, 4) == 0) {
            lose_node(model, node);
            gone++;
        } else {
            put_node(model->store, node_of(node, model->capacity[node]));
        }
    }
    assert_int_equal(sl_store_sweep_end(model->store, SL_SWEEP_NODES), gone);
}

static size_t expire_in_model(struct model *model)
{
    size_t n = 0;
    for (int i = 0; i < PODS; i++) {
        struct model_pod *pod = &model->pod[i];
        if (pod->there && pod->reserved >= 0 && pod->expires_us <= model->now_us) {
            pod->reserved = -1;
            n++;
        }
    }
    return n;
}

/* What the pod's own nomination holds there is free for it. */
static bool fits_in_model(const struct model *model, const struct model_pod *pod, int node)
{
    struct model without = *model;
    without.pod[pod - model->pod].nominated = -1;
    return pod->whole == node_is_whole(node) &&
           free_in_model(&without, node) >= (int64_t)pod->count;
}

static enum sl_bind_code expected_code(const struct model *model, const struct model_pod *pod,
                                       int node)
{
    if (!pod->there) {
        return SL_BIND_UNKNOWN_POD;
    }
    if (pod->node >= 0) {
        return pod->node == node ? SL_BIND_ALREADY : SL_BIND_OTHER_NODE;
    }
    if (pod->reserved >= 0) {
        return pod->reserved == node ? SL_BIND_IN_PROGRESS : SL_BIND_OTHER_NODE;
    }
    if (pod->finished || pod->deleting) {
        return SL_BIND_FINISHED;
    }
    if (model->capacity[node] < 0) {
        return SL_BIND_UNKNOWN_NODE;
    }
    return fits_in_model(model, pod, node) ? SL_BIND_RESERVED : SL_BIND_NO_ROOM;
}

static void bind_pod(struct model *model, int i)
{
    struct model_pod *pod = &model->pod[i];
    int node = (int)random_below(&model->seed, NODES);
    char name[8];
    char uid[16];
    struct sl_bind_result result;
    name_of(i, name);
    uid_of(pod, uid);
    (void)expire_in_model(model);
    enum sl_bind_code expected = expected_code(model, pod, node);
    reserve(model->store, name, uid, node_name(node), model->now_us, &result);
    assert_string_equal(sl_bind_code_name(result.code), sl_bind_code_name(expected));
    bool success = result.code == SL_BIND_RESERVED || result.code == SL_BIND_ALREADY;
    assert_int_equal(result.text[0] == '\0', success);
    if (result.code == SL_BIND_RESERVED) {
        assert_true(strlen(result.assignment) > 0);
        pod->reserved = node;
        pod->nominated = -1;
        pod->expires_us = model->now_us + EXPIRE_US;
    }
}

enum named { NAMED_NONE, NAMED_MAYBE, NAMED_FREE };

/* The devices that a nomination names: what the present snapshot leaves, as a plan would choose; or
 * some that a resident holds. While a batch is open the snapshot is of before. */
static enum named plan_nomination(struct model *model, const struct model_pod *pod, int node,
                                  char *text, size_t size)
{
    const struct sl_snapshot *snapshot = sl_store_acquire(model->store);
    const struct sl_view *view = view_at(snapshot, node_name(node));
    enum named named = NAMED_NONE;
    if (view != NULL && pod->whole == node_is_whole(node)) {
        struct sl_scratch scratch;
        struct sl_assignment assignment;
        struct sl_ask ask = {.n = 1};
        const char *resource = resource_at(node);
        ask.item[0] = (struct sl_ask_item){.resource = resource,
                                           .key = sl_hash(resource, strlen(resource)),
                                           .count = pod->count,
                                           .kind = pod->whole ? SL_KIND_WHOLE : SL_KIND_MIG};
        sl_scratch_init(&scratch, view);
        unsigned n = 0;
        for (; random_below(&model->seed, 4) == 0 && n < view->n_residents; n++) {
            sl_scratch_remove(&scratch, n);
        }
        if (sl_choose_on(&scratch, &ask, &assignment, NULL) &&
            sl_assignment_format(view->node, &ask, &assignment, text, size) > 0) {
            named = n == 0 && !model->batch ? NAMED_FREE : NAMED_MAYBE;
        }
    }
    sl_store_release(model->store, snapshot);
    return named;
}

/* Which places are free the model does not know: those that a resident held may be refused even
 * where the sum would do, but are never given where it does not. */
static void expect_nomination(const struct model *model, const struct model_pod *pod, int node,
                              enum named named, const struct sl_bind_result *result)
{
    enum sl_bind_code expected = expected_code(model, pod, node);
    bool fits = expected == SL_BIND_RESERVED;
    bool refused = fits && (named == NAMED_NONE ||
                            (named == NAMED_MAYBE && result->code == SL_BIND_NOT_NOMINATED));
    if ((pod->there && pod->nominated >= 0) || expected == SL_BIND_NO_ROOM || refused) {
        expected = SL_BIND_NOT_NOMINATED;
    }
    assert_string_equal(sl_bind_code_name(result->code), sl_bind_code_name(expected));
    assert_int_equal(result->text[0] == '\0',
                     expected == SL_BIND_RESERVED || expected == SL_BIND_ALREADY);
}

/* The resident with that UID stands where its assignment says. */
static void expect_in_its_place(const struct model *model, int node, const char *uid)
{
    if (model->batch) {
        return;
    }
    const struct sl_snapshot *snapshot = sl_store_acquire(model->store);
    const struct sl_view *view = view_at(snapshot, node_name(node));
    unsigned found = 0;
    for (uint32_t i = 0; i < view->n_residents; i++) {
        if (strcmp(view->resident[i].pod->uid, uid) == 0) {
            assert_false(view->resident[i].assumed);
            found++;
        }
    }
    assert_int_equal(found, 1);
    sl_store_release(model->store, snapshot);
}

static void nomination_for_pod(struct model *model, int i)
{
    struct model_pod *pod = &model->pod[i];
    int node = (int)random_below(&model->seed, NODES);
    for (int k = 0; k < NODES && !fits_in_model(model, pod, node); k++) {
        node = (node + 1) % NODES;
    }
    char uid[16];
    char text[SL_ASSIGNMENT_TEXT_MAX] = "";
    char where[32] = "";
    struct sl_bind_result result;
    uid_of(pod, uid);
    enum named named = plan_nomination(model, pod, node, text, sizeof(text));
    sl_store_nominate(model->store, sl_str_of(uid), sl_str_of(node_name(node)), sl_str_of(text),
                      &result);
    expect_nomination(model, pod, node, named, &result);
    if (result.code == SL_BIND_RESERVED) {
        assert_string_equal(result.assignment, text);
        pod->nominated = node;
        model->nominations++;
        expect_in_its_place(model, node, uid);
    }
    bool nominated = sl_store_nominated_node(model->store, sl_str_of(uid), where, sizeof(where));
    assert_int_equal(nominated, pod->there && pod->nominated >= 0);
    assert_string_equal(where, nominated ? node_name(pod->nominated) : "");
}

static void give_nominations_back(struct model *model, int i)
{
    struct model_pod *pod = &model->pod[i];
    char uid[16];
    uid_of(pod, uid);
    if (random_below(&model->seed, 20) > 0) {
        assert_int_equal(sl_store_withdraw(model->store, sl_str_of(uid)), pod->nominated >= 0);
        pod->nominated = -1;
        return;
    }
    size_t n = 0;
    for (int k = 0; k < PODS; k++) {
        n += model->pod[k].nominated >= 0;
        model->pod[k].nominated = -1;
    }
    assert_int_equal(sl_store_withdraw_all(model->store), n);
}

static void finish_bind(struct model *model, int i)
{
    struct model_pod *pod = &model->pod[i];
    char uid[16];
    uid_of(pod, uid);
    bool reserved = pod->there && pod->reserved >= 0;
    if (random_below(&model->seed, 2) == 0) {
        assert_int_equal(sl_store_rollback(model->store, sl_str_of(uid)), reserved);
    } else {
        bool stands = reserved || (pod->there && pod->node >= 0);
        assert_int_equal(sl_store_commit(model->store, sl_str_of(uid), SL_POD_RUNNING), stands);
        pod->node = reserved ? pod->reserved : pod->node;
    }
    pod->reserved = -1;
}

static void pass_time(struct model *model)
{
    model->now_us += random_below(&model->seed, EXPIRE_US / 2);
    size_t expected = expire_in_model(model);
    assert_int_equal(sl_store_expire(model->store, model->now_us), expected);
}

static void toggle_batch(struct model *model)
{
    if (model->batch) {
        assert_int_equal(sl_store_end(model->store, NULL), 0);
    } else {
        sl_store_begin(model->store);
    }
    model->batch = !model->batch;
}

static void step(struct model *model)
{
    int i = (int)random_below(&model->seed, PODS);
    unsigned dice = random_below(&model->seed, 100);
    if (dice == 0) {
        if (random_below(&model->seed, 2) == 0) {
            list_pods(model);
        } else {
            list_nodes(model);
        }
    } else if (dice < 30) {
        change_pod(model, i);
    } else if (dice < 36) {
        remove_pod(model, i);
    } else if (dice < 41) {
        change_node(model, (int)random_below(&model->seed, NODES));
    } else if (dice < 65) {
        bind_pod(model, i);
    } else if (dice < 78) {
        nomination_for_pod(model, i);
    } else if (dice < 81) {
        give_nominations_back(model, i);
    } else if (dice < 92) {
        finish_bind(model, i);
    } else if (dice < 93) {
        listen_anew(model);
    } else if (dice < 98 || (!model->batch && dice < 99)) {
        pass_time(model);
    } else {
        toggle_batch(model);
    }
}

/* ---- held snapshots ---- */

static void hold(struct model *model, struct picture *picture)
{
    if (picture->snapshot != NULL) {
        sl_store_release(model->store, picture->snapshot);
    }
    picture->snapshot = sl_store_acquire(model->store);
    picture->generation = picture->snapshot->generation;
    picture->n_nodes = picture->snapshot->n_nodes;
    for (int node = 0; node < NODES; node++) {
        const struct sl_view *view = view_at(picture->snapshot, node_name(node));
        picture->free[node] = free_at(picture->snapshot, node_name(node), resource_at(node));
        picture->residents[node] = view == NULL ? 0 : residents_in_view(view);
    }
}

static void expect_unchanged(const struct picture *picture)
{
    const struct sl_snapshot *snapshot = picture->snapshot;
    if (snapshot == NULL) {
        return;
    }
    assert_int_equal(snapshot->generation, picture->generation);
    assert_int_equal(snapshot->n_nodes, picture->n_nodes);
    for (int node = 0; node < NODES; node++) {
        const struct sl_view *view = view_at(snapshot, node_name(node));
        assert_int_equal(free_at(snapshot, node_name(node), resource_at(node)),
                         picture->free[node]);
        assert_int_equal(view == NULL ? 0 : residents_in_view(view), picture->residents[node]);
    }
}

static void run(uint64_t seed)
{
    const struct sl_store_limits limits = {NODES, (size_t)4 * PODS, PODS, EXPIRE_US};
    struct picture held[HELD] = {{0}};
    struct model model = {.store = store_of(&limits), .seed = seed};
    for (int node = 0; node < NODES; node++) {
        model.capacity[node] = -1;
    }
    for (int i = 0; i < PODS; i++) {
        model.pod[i] = (struct model_pod){.node = -1, .reserved = -1, .nominated = -1};
    }
    sl_store_set_feed(model.store, hear, &model);
    for (int i = 0; i < STEPS; i++) {
        step(&model);
        expect_same(&model);
        if (random_below(&model.seed, 10) == 0) {
            hold(&model, &held[random_below(&model.seed, HELD)]);
        }
        expect_unchanged(&held[random_below(&model.seed, HELD)]);
    }
    assert_true(model.nominations > STEPS / 100); /* enough to mean something */
    for (int i = 0; i < HELD; i++) {
        expect_unchanged(&held[i]);
        sl_store_release(model.store, held[i].snapshot);
    }
    sl_store_free(model.store);
}

TEST_THAT(a_random_life_agrees_with_the_model)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        run(seed * 0x9e3779b97f4a7c15u);
    }
}
