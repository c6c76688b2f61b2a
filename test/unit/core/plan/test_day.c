/* An hour of a small cluster, played in every order: pods come, start, run longer than stated,
 * do not take their nominations, are refused; kube-scheduler ends pods for others and falls silent;
 * nodes change. test/data/plan has what the planner did and said: a change of decisions shows there
 * as a difference of text. SLICED_WRITE=1 writes the files anew. Numbers are the same in every run.
 */
#include "plan_rig.h"

enum {
    NODES = 5,
    PODS = 48,
    SECONDS_PLAYED = 3600,
    TABLE_EVERY = 300,
    LOG = 1 << 18,
    SILENT_FROM = 900, /* kube-scheduler does nothing */
    SILENT_TO = 1020,
    NAME_AFTER = 3, /* seconds in which kube-scheduler names a node */
};

/* RULES: headroom, a limit, an autoscaler. CROWD: more pods than there is time for, on nodes of
 * two GPUs; ALIKE: on nodes of one. */
enum scene { SCENE_PLAIN, SCENE_RULES, SCENE_CROWD, SCENE_ALIKE, SCENES };

/* TOLD: two nominations a second, and its queue is written down too. */
enum mode { MODE_TOLD, MODE_WHEN_WOKEN, MODE_EVERY_SECOND };

enum fate { FATE_STARTS, FATE_STAYS, FATE_FAILS, FATE_DENIED };

struct life {
    struct plan_rig_pod *pod;
    int64_t comes;
    int64_t opens;  /* when others open their gate, or the pods before it have ended; 0: no need */
    int64_t leaves; /* without having started; 0: never */
    int64_t runs;
    int64_t takes;  /* seconds from a nomination to its start */
    int64_t told;   /* of the nomination or the release; 0: none */
    int64_t ends;   /* 0: does not run */
    enum fate fate; /* of its first nomination */
    bool staged;
    bool stage_fails;
    bool nominated;
    bool over;
};

struct world {
    struct plan_rig *rig;
    enum scene scene;
    enum mode mode;
    struct life life[PODS];
    bool changed[NODES];
    bool any_changed;
    uint64_t random;
    int64_t now; /* seconds played */
    size_t len;
    char log[LOG];
};

static unsigned draw(struct world *w, unsigned n)
{
    w->random = w->random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(w->random >> 33) % n;
}

static void note(struct world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void note(struct world *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    w->len += (size_t)vsnprintf(w->log + w->len, LOG - w->len, format, args);
    va_end(args);
    assert_true(w->len < LOG);
}

/* ---- what there is ---- */

static bool is_crowded(const struct world *w)
{
    return w->scene >= SCENE_CROWD;
}

static unsigned gpus_of(const struct world *w, unsigned otherwise)
{
    return w->scene == SCENE_ALIKE ? 1 : w->scene == SCENE_CROWD ? 2 : otherwise;
}

static void set_up_nodes(struct world *w)
{
    static const unsigned gpus[NODES] = {1, 2, 4, 4, 2};
    for (unsigned i = 0; i < NODES; i++) {
        char name[PLAN_NAME];
        (void)snprintf(name, sizeof(name), "n%u", i);
        struct plan_rig_node *n = plan_rig_node(w->rig, name, gpus_of(w, gpus[i]));
        n->node.host.cpu_milli = i == 4 ? 8000 : 2000;
        if (i % 2 == 1 && !is_crowded(w)) {
            plan_rig_share(n, 8);
        }
        w->changed[i] = true;
    }
    w->any_changed = true;
}

static void draw_pod(struct world *w, unsigned i)
{
    static const int32_t priorities[] = {0, 0, 0, 0, 5, 5, 100};
    struct life *life = &w->life[i];
    char name[PLAN_NAME];
    (void)snprintf(name, sizeof(name), "p%02u", i);
    bool shares = draw(w, 4) == 0 && !is_crowded(w);
    int64_t timeout = 30 * (1 + (int64_t)draw(w, 20)) / (is_crowded(w) && i > 24 ? 4 : 1);
    struct plan_rig_pod *p = plan_rig_pod(w->rig, name, shares ? MEM : GPU,
                                          1 + draw(w, shares ? 6 : gpus_of(w, 4)), timeout);
    life->pod = p;
    life->comes = i < 12 ? draw(w, 5) : draw(w, 1200);
    life->fate = draw(w, 5) == 0 ? (enum fate)(1 + draw(w, 3)) : FATE_STARTS;
    life->takes = 3 + draw(w, 12);
    life->runs = timeout * (2 + (int64_t)draw(w, 10)) / 10; /* some are late */
    p->pod.created_us = w->rig->now_us + SECONDS(life->comes - (int64_t)draw(w, 20));
    p->pod.priority = priorities[draw(w, 7)];
    p->pod.never_preempts = draw(w, 5) == 0;
    if (is_crowded(w)) {
        life->comes /= 2;
        p->pod.priority /= 100;
    } else if (draw(w, 6) == 0) {
        p->constraints.cpu_milli = 4000;
        p->constraints.digest = 4000;
        p->pod.constraints = &p->constraints;
    }
    unsigned before = draw(w, 9);
    if (before < 2) {
        life->opens = life->comes + 20 + draw(w, 60);
        life->staged = before == 1;
        life->stage_fails = life->staged && draw(w, 4) == 0;
        p->pod.after = life->staged ? "pod/other" : NULL;
        p->pod.gate = life->staged ? SL_GATE_OURS : SL_GATE_OTHERS;
    }
    life->leaves = draw(w, 8) == 0 ? life->comes + 60 + draw(w, 200) : 0;
}

/* The pod of the same name as its manifest reads from now on. */
static void put_again(struct world *w, struct life *life, enum sl_gate gate, const char *nominated)
{
    struct plan_rig_pod *was = life->pod;
    struct plan_rig_pod *p = plan_rig_pod(w->rig, was->name, was->item[0].resource,
                                          was->item[0].count, was->pod.timeout_s);
    p->pod.created_us = was->pod.created_us;
    p->pod.priority = was->pod.priority;
    p->pod.never_preempts = was->pod.never_preempts;
    p->pod.after = was->pod.after;
    p->constraints = was->constraints;
    p->pod.constraints = was->pod.constraints == NULL ? NULL : &p->constraints;
    p->pod.gate = gate;
    if (nominated != NULL) {
        (void)snprintf(p->nominated, sizeof(p->nominated), "%s", nominated);
        p->pod.nominated = p->nominated;
    }
    life->pod = p;
    plan_rig_put(w->rig, p);
}

static void touch_node(struct world *w, unsigned i)
{
    w->changed[i] = true;
    w->any_changed = true;
}

static unsigned number_of(const char *node)
{
    return (unsigned)(node[1] - '0');
}

/* ---- what kube-scheduler does ---- */

static bool is_on(const struct life *life, const struct sl_node *node)
{
    return life->ends > 0 && !life->over && strcmp(life->pod->bound->node, node->name) == 0;
}

/* Ends pods that matter less on the first node where that makes room. */
static const char *make_room(struct world *w, const struct life *vip)
{
    for (unsigned n = 0; n < w->rig->n_nodes && vip->pod->item[0].kind == SL_KIND_WHOLE; n++) {
        const struct sl_node *node = &w->rig->node[n].node;
        int64_t room = node->n_devices;
        int64_t lower = 0;
        for (unsigned i = 0; i < PODS; i++) {
            const struct life *life = &w->life[i];
            bool counts = is_on(life, node);
            bool less = counts && life->pod->pod.priority < vip->pod->pod.priority;
            room -= counts && !less ? life->pod->item[0].count : 0;
            lower += less;
        }
        for (unsigned i = 0; i < PODS && lower > 0 && room >= vip->pod->item[0].count; i++) {
            struct life *life = &w->life[i];
            if (is_on(life, node) && life->pod->pod.priority < vip->pod->pod.priority) {
                int64_t gone = w->now + 5 + (int64_t)i % 20;
                life->ends = gone < life->ends ? gone : life->ends;
                life->pod->bound->deleting = true;
                life->pod->bound->gone_s = (uint32_t)(w->rig->now_us / SECONDS(1) + gone - w->now);
                touch_node(w, n);
            }
        }
        if (lower > 0 && room >= vip->pod->item[0].count) {
            return node->name;
        }
    }
    return NULL;
}

static void start_pod(struct world *w, struct life *life)
{
    sl_planner_heard(w->rig->planner, sl_str_of(life->pod->name), w->rig->now_us);
    plan_rig_bind(w->rig, life->pod->name);
    life->ends = w->now + life->runs;
    touch_node(w, number_of(life->pod->bound->node));
}

static bool serve_nomination(struct world *w, struct life *life)
{
    int64_t since = w->now - life->told;
    struct sl_str uid = sl_str_of(life->pod->name);
    enum fate fate = life->fate;
    if (since == 1 && fate == FATE_DENIED) {
        life->fate = FATE_STARTS;
        life->told = 0;
        sl_planner_denied(w->rig->planner, uid, w->rig->now_us);
    } else if (since == 1) {
        sl_planner_released(w->rig->planner, uid, w->rig->now_us);
        struct sl_queue_row row;
        assert_true(plan_rig_row(w->rig, life->pod->name, &row));
        put_again(w, life, SL_GATE_NONE, row.node);
    } else if (since == 2 && fate == FATE_FAILS) {
        life->fate = FATE_STARTS;
        life->told = 0;
        sl_planner_failed(w->rig->planner, uid, w->rig->now_us);
    } else if (since >= life->takes && fate != FATE_STAYS) {
        start_pod(w, life);
    } else {
        return false;
    }
    return true;
}

static bool serve_release(struct world *w, struct life *life)
{
    int64_t since = w->now - life->told;
    if (since == 1) {
        put_again(w, life, SL_GATE_NONE, NULL);
    } else if (since == NAME_AFTER && !life->pod->pod.never_preempts) {
        const char *node = make_room(w, life);
        if (node == NULL) {
            return false;
        }
        note(w, "%02d:%02d     %s is to have %s\n", (int)w->now / 60, (int)w->now % 60,
             life->pod->name, node);
        put_again(w, life, SL_GATE_NONE, node);
    } else {
        return false;
    }
    return true;
}

/* ---- what happens in a second ---- */

static void set_stage(struct world *w, const struct life *life)
{
    enum sl_hold_reason stage = life->stage_fails ? SL_HOLD_STAGE_FAILED : SL_HOLD_NONE;
    sl_planner_set_stage(w->rig->planner, sl_str_of(life->pod->name), stage, "it has ended",
                         w->rig->now_us);
}

static bool live(struct world *w, struct life *life)
{
    bool silent = w->now >= SILENT_FROM && w->now < SILENT_TO;
    if (life->over || w->now < life->comes) {
        return false;
    }
    if (w->now == life->comes) {
        plan_rig_put(w->rig, life->pod);
        return true;
    }
    if (life->ends > 0) {
        if (w->now < life->ends) {
            return false;
        }
        touch_node(w, number_of(life->pod->bound->node));
        plan_rig_end(w->rig, life->pod->name);
        life->over = true;
        return true;
    }
    if (w->now == life->opens && life->staged) {
        set_stage(w, life);
        return true;
    }
    if (w->now == life->opens) {
        put_again(w, life, SL_GATE_OURS, NULL);
        return true;
    }
    if (w->now == life->leaves && life->told == 0) {
        sl_planner_remove(w->rig->planner, sl_str_of(life->pod->name), w->rig->now_us);
        life->over = true;
        return true;
    }
    if (life->told == 0 || silent) {
        return false;
    }
    return life->nominated ? serve_nomination(w, life) : serve_release(w, life);
}

/* Another planner takes over, which knows what the cluster's objects tell. */
static void take_over(struct world *w)
{
    struct sl_error err = {0};
    sl_planner_free(w->rig->planner);
    w->rig->planner = sl_planner_new(&w->rig->config, &err);
    assert_non_null(w->rig->planner);
    for (unsigned i = 0; i < PODS; i++) {
        struct life *life = &w->life[i];
        if (life->comes < w->now && !life->over && life->ends == 0) {
            life->told = 0;
            plan_rig_put(w->rig, life->pod);
            if (life->staged && life->opens < w->now) {
                set_stage(w, life);
            }
        }
    }
    w->any_changed = true;
}

static bool change_cluster(struct world *w)
{
    struct plan_rig_node *n = w->rig->node;
    switch (w->now) {
    case 240:
    case 420:
        n[1].node.unschedulable = !n[1].node.unschedulable;
        n[1].node.site_digest = 1 + n[1].node.unschedulable;
        touch_node(w, 1);
        return true;
    case 500:
    case 640:
        n[2].device[0].healthy = !n[2].device[0].healthy;
        touch_node(w, 2);
        return true;
    case 520:
    case 660:
        n[3].device[3].healthy = !n[3].device[3].healthy;
        touch_node(w, 3);
        return true;
    case 800:
        take_over(w);
        return true;
    case 1100:
    case 1200:
        w->rig->n_nodes = w->now == 1100 ? NODES - 1 : NODES; /* the last goes and comes */
        touch_node(w, NODES - 1);
        return true;
    case 700:
        plan_rig_configure(w->rig);
        return true;
    default:
        return false;
    }
}

static void act(void *context, const struct sl_plan_action *action)
{
    struct world *w = context;
    unsigned i = (unsigned)strtoul(action->pod->name + 1, NULL, 10);
    struct life *life = &w->life[i];
    w->rig->log[0] = '\0';
    plan_rig_act(w->rig, action);
    note(w, "%02d:%02d %s", (int)w->now / 60, (int)w->now % 60, w->rig->log);
    if (action->kind == SL_PLAN_NOMINATE || action->kind == SL_PLAN_RELEASE) {
        life->told = w->now;
        life->nominated = action->kind == SL_PLAN_NOMINATE;
    } else {
        life->fate = action->reason == SL_HOLD_EXPIRED ? FATE_STARTS : life->fate;
        life->told = 0;
    }
}

static void tell_cluster(struct world *w)
{
    struct sl_error err = {0};
    struct sl_pod *pods[PODS];
    const struct sl_view *views[NODES];
    struct sl_view *left[NODES] = {NULL};
    unsigned n = 0;
    for (unsigned i = 0; i < PODS; i++) {
        if (w->life[i].ends > 0 && !w->life[i].over) {
            pods[n] = w->life[i].pod->bound;
            n++;
        }
    }
    for (unsigned i = 0; i < NODES; i++) {
        if (w->changed[i]) {
            left[i] = w->rig->view[i];
            w->rig->view[i] = sl_view_new(&w->rig->node[i].node, pods, n);
            assert_non_null(w->rig->view[i]);
        }
        views[i] = w->rig->view[i];
        w->changed[i] = false;
    }
    assert_int_equal(
        sl_planner_cluster(w->rig->planner, views, w->rig->n_nodes, w->rig->now_us, &err), 0);
    for (unsigned i = 0; i < NODES; i++) {
        sl_view_free(left[i]);
    }
    w->any_changed = false;
}

static void note_row(void *context, const struct sl_queue_row *row)
{
    struct world *w = context;
    char text[SL_PLAN_TEXT_MAX];
    (void)sl_queue_text(row, w->rig->now_us, text, sizeof(text));
    note(w, "      %s (%s", row->pod->name, sl_estimate_name(row->estimate));
    if (row->latest_start_us > 0) {
        note(w, ", latest %lld", (long long)(row->latest_start_us - w->rig->now_us) / SECONDS(1));
    }
    note(w, ") %s\n", text);
}

static void note_table(struct world *w)
{
    struct sl_error err = {0};
    struct sl_plan_stats stats;
    assert_int_equal(sl_planner_estimate(w->rig->planner, w->rig->now_us, &err), 0);
    sl_planner_stats(w->rig->planner, &stats);
    note(w, "%02d:%02d %d nominations, %d backfilled, %d expired, %d failed, %d released\n",
         (int)w->now / 60, (int)w->now % 60, (int)stats.nominations, (int)stats.backfills,
         (int)stats.expiries, (int)stats.failed, (int)stats.releases);
    (void)sl_planner_visit(w->rig->planner, w->rig->now_us, PODS, note_row, w);
}

static void play_second(struct world *w)
{
    struct sl_error err = {0};
    bool happened = change_cluster(w);
    for (unsigned i = 0; i < PODS; i++) {
        happened = live(w, &w->life[i]) || happened;
    }
    if (w->any_changed) {
        tell_cluster(w);
    }
    if (happened || w->mode == MODE_EVERY_SECOND ||
        sl_planner_wake(w->rig->planner) <= w->rig->now_us) {
        assert_int_equal(sl_planner_run(w->rig->planner, NULL, w->mode == MODE_TOLD ? 2 : PODS,
                                        w->rig->now_us, act, w, &err),
                         0);
    }
    if (w->now % TABLE_EVERY == 0 && w->mode == MODE_TOLD) {
        note_table(w);
    }
}

/* ---- the plays ---- */

/* Rules that hold pods back though there is room, and releases of pods for which there is none. */
static void set_rules(struct sl_plan_config *config)
{
    config->n_headrooms = 1;
    (void)snprintf(config->headroom[0].resource, sizeof(config->headroom[0].resource), "%s", GPU);
    config->headroom[0].units = 2;
    config->headroom[0].max_timeout_us = SECONDS(300);
    config->n_limits = 1;
    config->limit[0].max_timeout_us = SECONDS(570);
    config->autoscaler_pods = 1;
}

static struct world *play(enum sl_order_kind order, uint64_t seed, enum scene scene, enum mode mode)
{
    struct world *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    w->rig = plan_rig_new();
    w->random = seed;
    w->scene = scene;
    w->mode = mode;
    w->rig->config.order.kind = order;
    w->rig->config.hold_us = SECONDS(30);
    w->rig->config.hold_max_us = SECONDS(120);
    w->rig->config.promise.c_permille = SL_PROMISE_C_MIN;
    if (scene == SCENE_RULES) {
        set_rules(&w->rig->config);
    }
    plan_rig_configure(w->rig);
    set_up_nodes(w);
    for (unsigned i = 0; i < PODS; i++) {
        draw_pod(w, i);
    }
    for (w->now = 0; w->now <= SECONDS_PLAYED; w->now++) {
        play_second(w);
        w->rig->now_us += SECONDS(1);
    }
    w->rig->n_nodes = NODES;
    plan_rig_free(w->rig);
    w->rig = NULL;
    return w;
}

static void compare_with_file(const struct world *w, enum sl_order_kind order)
{
    static const char *const names[SCENES] = {"plain", "rules", "crowd", "alike"};
    static char text[LOG];
    char path[512];
    (void)snprintf(path, sizeof(path), SL_SOURCE_DIR "/test/data/plan/%s-%s.txt",
                   sl_order_name(order), names[w->scene]);
    bool writes = getenv("SLICED_WRITE") != NULL; // NOLINT(concurrency-mt-unsafe)
    FILE *file = fopen(path, writes ? "w" : "r");
    assert_non_null(file);
    if (writes) {
        assert_int_equal(fwrite(w->log, 1, w->len, file), w->len);
    } else {
        text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
        assert_string_equal(text, w->log);
    }
    assert_int_equal(fclose(file), 0);
}

TEST_THAT(every_order_does_what_is_written_down)
{
    for (int order = 0; order < SL_ORDER_KINDS; order++) {
        int scenes = order == SL_ORDER_BOUNDED ? SCENES : SCENE_CROWD;
        for (int scene = 0; scene < scenes; scene++) {
            struct world *w = play((enum sl_order_kind)order, 7, (enum scene)scene, MODE_TOLD);
            compare_with_file(w, (enum sl_order_kind)order);
            free(w);
        }
    }
}

/* In the other orders time alone changes who is first, or who is late. */
TEST_THAT(a_planner_that_runs_only_when_woken_misses_nothing)
{
    static const enum sl_order_kind orders[] = {SL_ORDER_FIFO, SL_ORDER_SJF, SL_ORDER_P};
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        for (uint64_t seed = 1; seed <= 8; seed++) {
            enum scene scene = (enum scene)(seed % SCENES);
            struct world *woken = play(orders[i], seed, scene, MODE_WHEN_WOKEN);
            struct world *eager = play(orders[i], seed, scene, MODE_EVERY_SECOND);
            assert_string_equal(woken->log, eager->log);
            free(woken);
            free(eager);
        }
    }
}
