/* Moves of users, kubelets, operators and time. Those of schedulers are in verbs.c. */
#include "adversary/moves.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adversary/account.h"
#include "adversary/asks.h"
#include "adversary/checks.h"
#include "adversary/cuts.h"
#include "adversary/fake_time.h"
#include "adversary/gauges.h"
#include "adversary/grammar.h"
#include "adversary/hooks.h"
#include "adversary/nominees.h"
#include "adversary/usage.h"
#include "adversary/verbs.h"
#include "adversary/world.h"

enum { NODES = 12, PODS_MAX = 150, JOBS = 8 };

struct move_counts move_counts;
static _Atomic unsigned born;

static size_t count_now(enum world_kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < world.n[kind]; i++) {
        n += world.thing[kind][i].now != NULL ? 1 : 0;
    }
    return n;
}

struct thing *moves_pick(struct rig *rig, enum world_kind kind)
{
    size_t n = count_now(kind);
    size_t which = n == 0 ? 0 : rng_below(&rig->rng, (unsigned)n);
    for (size_t i = 0; i < world.n[kind] && n > 0; i++) {
        if (world.thing[kind][i].now != NULL && which-- == 0) {
            return &world.thing[kind][i];
        }
    }
    return NULL;
}

/* ---- pods ---- */

void moves_put_few(json_t *pod, bool gated, const char *node)
{
    enum { FEW = 40 };
    json_t *spec = json_object_get(pod, "spec");
    const json_t *name = json_object_get(json_object_get(pod, "metadata"), "name");
    if (gated) {
        (void)json_object_set_new(spec, "schedulingGates",
                                  json_pack("[{s:s}]", "name", "sliced.dev/queue"));
    }
    if (node != NULL) {
        (void)json_object_set_new(spec, "nodeName", json_string(node));
    }
    if (count_now(WORLD_PODS) < FEW &&
        world_find(WORLD_PODS, "team-a", json_string_value(name)) == NULL) {
        world_put(WORLD_PODS, pod);
    } else {
        json_decref(pod);
    }
}

/* It is deleted, or has succeeded. */
static void end_pod(struct rig *rig)
{
    world_lock();
    struct thing *thing = moves_pick(rig, WORLD_PODS);
    if (thing != NULL && (rng_chance(&rig->rng, 50) || !account_stands(thing->now, NULL))) {
        world_delete(WORLD_PODS, thing);
    } else if (thing != NULL) {
        json_t *pod = world_edit(thing);
        (void)json_object_set_new(json_object_get(pod, "status"), "phase",
                                  json_string("Succeeded"));
        world_put(WORLD_PODS, pod);
    }
    world_unlock();
}

static void add_one(struct rig *rig)
{
    struct rng *rng = &rig->rng;
    json_t *pod = grammar_pod(rng, ++born);
    unsigned spoilt = rng_chance(rng, 50) ? 0 : 1 + rng_below(rng, 3);
    for (unsigned i = 0; i < spoilt; i++) {
        grammar_spoil_pod(rng, pod, true);
    }
    const json_t *meta = json_object_get(pod, "metadata");
    const char *ns = json_string_value(json_object_get(meta, "namespace"));
    const char *name = json_string_value(json_object_get(meta, "name"));
    world_lock();
    if (world_find(WORLD_PODS, ns, name) == NULL && count_now(WORLD_PODS) < PODS_MAX) {
        world_put(WORLD_PODS, pod);
        move_counts.pods++;
    } else {
        json_decref(pod);
    }
    world_unlock();
}

static void add_pod(struct rig *rig)
{
    add_one(rig);
}

static void add_many(struct rig *rig)
{
    unsigned n = 1 + rng_below(&rig->rng, 40);
    for (unsigned i = 0; i < n; i++) {
        add_one(rig);
    }
}

static void touch_pod(struct rig *rig)
{
    world_lock();
    struct thing *thing = moves_pick(rig, WORLD_PODS);
    if (thing != NULL) {
        json_t *pod = world_edit(thing);
        grammar_touch_pod(&rig->rng, pod);
        world_put(WORLD_PODS, pod);
    }
    world_unlock();
}

static void delete_pod(struct rig *rig)
{
    world_lock();
    struct thing *thing = moves_pick(rig, WORLD_PODS);
    if (thing != NULL) {
        world_delete(WORLD_PODS, thing);
    }
    world_unlock();
}

/* The owner opens the gate, which an admission policy would forbid; or the pod is made anew under
 * its old name at once. */
static void open_gate(struct rig *rig)
{
    world_lock();
    struct thing *thing = moves_pick(rig, WORLD_PODS);
    if (thing != NULL) {
        json_t *pod = world_edit(thing);
        (void)json_object_del(json_object_get(pod, "spec"), "schedulingGates");
        world_put(WORLD_PODS, pod);
    }
    world_unlock();
}

static void make_anew(struct rig *rig)
{
    char uid[48];
    world_lock();
    struct thing *thing = moves_pick(rig, WORLD_PODS);
    if (thing != NULL) {
        json_t *pod = world_edit(thing);
        json_t *meta = json_object_get(pod, "metadata");
        world_delete(WORLD_PODS, thing);
        (void)snprintf(uid, sizeof(uid), "00000000-0000-4000-8000-%012u", ++born);
        (void)json_object_set_new(meta, "uid", json_string(uid));
        (void)json_object_del(meta, "deletionTimestamp");
        (void)json_object_del(json_object_get(pod, "spec"), "nodeName");
        (void)json_object_set_new(json_object_get(pod, "status"), "phase", json_string("Pending"));
        world_put(WORLD_PODS, pod);
    }
    world_unlock();
}

/* ---- nodes and Jobs ---- */

static void add_node(struct rig *rig)
{
    char name[16];
    unsigned number = rng_below(&rig->rng, NODES);
    (void)snprintf(name, sizeof(name), "n%u", number);
    world_lock();
    if (world_find(WORLD_NODES, "", name) == NULL) {
        world_put(WORLD_NODES, grammar_node(&rig->rng, number));
        move_counts.nodes++;
    }
    world_unlock();
}

static void touch_node(struct rig *rig)
{
    world_lock();
    struct thing *thing = moves_pick(rig, WORLD_NODES);
    if (thing != NULL) {
        json_t *node = world_edit(thing);
        grammar_touch_node(&rig->rng, node);
        world_put(WORLD_NODES, node);
    }
    world_unlock();
}

static void delete_node(struct rig *rig)
{
    world_lock();
    struct thing *thing = moves_pick(rig, WORLD_NODES);
    if (thing != NULL) {
        world_delete(WORLD_NODES, thing);
    }
    world_unlock();
}

static void change_job(struct rig *rig)
{
    char name[16];
    (void)snprintf(name, sizeof(name), "j%u", rng_below(&rig->rng, JOBS));
    world_lock();
    struct thing *thing = world_find(WORLD_JOBS, "team-a", name);
    if (thing != NULL && rng_chance(&rig->rng, 30)) {
        world_delete(WORLD_JOBS, thing);
    } else {
        world_put(WORLD_JOBS,
                  json_pack("{s:{s:s, s:s, s:s}, s:{s:[{s:s, s:s}]}}", "metadata", "name", name,
                            "namespace", "team-a", "uid", name, "status", "conditions", "type",
                            rng_chance(&rig->rng, 50) ? "Complete" : "Failed", "status",
                            rng_chance(&rig->rng, 70) ? "True" : "False"));
    }
    world_unlock();
}

/* Whose a Namespace is changes, or it comes or goes. */
static void change_space(struct rig *rig)
{
    static const char *const spaces[] = {"team-a", "team-b", "default", "kube-system", "odd"};
    static const char *const keys[] = {"team", "team", "owner"};
    static const char *const values[] = {
        "a", "b",      "others",
        "",  "Team_c", "a-value-that-is-longer-than-the-sixty-three-bytes-which-labels-take"};
    const char *name = rng_pick(&rig->rng, spaces);
    world_lock();
    struct thing *thing = world_find(WORLD_SPACES, "", name);
    if (thing != NULL && rng_chance(&rig->rng, 20)) {
        world_delete(WORLD_SPACES, thing);
    } else {
        const char *key = rng_pick(&rig->rng, keys);
        json_t *value =
            rng_chance(&rig->rng, 5) ? json_integer(7) : json_string(rng_pick(&rig->rng, values));
        world_put(WORLD_SPACES,
                  json_pack("{s:{s:s, s:{s:o, s:s}}}", "metadata", "name", name, "labels", key,
                            value, "kubernetes.io/metadata.name", name));
    }
    world_unlock();
}

/* ---- the way to the API server ---- */

static void carry_on(struct rig *rig)
{
    rig_carry_on(rig, 1 + rng_below(&rig->rng, 40));
}

static void round_of_queue(struct rig *rig)
{
    rig_round(rig);
}

static void tick(struct rig *rig)
{
    rig_tick(rig);
}

static void change_faults(struct rig *rig)
{
    static const struct client_faults faults[] = {{0},
                                                  {0},
                                                  {0},
                                                  {.lost = 20},
                                                  {.refused = 20},
                                                  {.cut = 5},
                                                  {.lost = 10, .refused = 10, .cut = 2},
                                                  {.lost = 60},
                                                  {.garbled = 10}};
    rig->faults = rng_pick(&rig->rng, faults);
    if (rig_plays() != PLAY_ALL) { /* what is made up would only take what was told apart */
        rig->faults.garbled = 0;
    }
    client_set_faults(client_latest(), &rig->faults);
}

static void end_watches(struct rig *rig)
{
    bool expired = rng_chance(&rig->rng, 50);
    world_lock();
    if (expired && rng_chance(&rig->rng, 50)) {
        world_compact();
    }
    world_unlock();
    client_end_watches(client_latest(), expired);
    move_counts.relists++;
}

static void lose_lease(struct rig *rig)
{
    static const char *const notes[] = {
        NULL,
        NULL,
        "",
        "tenants2 7\ns a nvidia.com/gpu 7\n",
        "tenants1 1\ns a nvidia.com/gpu 9223372036854775807\ns others  \ne 0 - 1 0 1 0 0 0 1\n",
        ("tenants1 99999999999999\ns a nvidia.com/gpu 90000\ns b nvidia.com/gpu -1\n"
         "e 0 team-a 2147483647 -2147483648 9999999999 -9999999999 - 0 60\n"
         "e 0 - -1 0 0 0 0 0 -1\ne 1 x 1 0 60 90 80 70 1\ne 7 - 1 0 60 90 80 70 1\n"
         "p ffffffffffffffff - -\np 0 0 0\np x\np\n\ns\n"),
    };
    world_lock();
    world_take_lease(true, rng_pick(&rig->rng, notes));
    world_unlock();
    fake_time_pass(rng_chance(&rig->rng, 50) ? 3000000 : 30000000);
    rig_carry_on(rig, 20);
    for (unsigned i = 0; rig->threads && i < 20 && rig_leads(rig); i++) {
        hooks_nap();
    }
    rig_tick(rig);
    rig_round(rig);
    world_lock();
    world_take_lease(false, NULL);
    world_unlock();
    move_counts.leaderships++;
}

/* ---- operators and time ---- */

static void reload(struct rig *rig)
{
    rig_reload(rig);
    move_counts.reloads++;
}

static void pass_time(struct rig *rig)
{
    static const int64_t spans[] = {1000,    100000,   1000000,   2500000,
                                    5000000, 31000000, 120000000, INT64_C(3700000000)};
    /* with threads: seldom so long that the lease is lost, for nothing is decided then */
    enum { SHORT = 4 };
    bool any = !rig->threads || rng_chance(&rig->rng, 5);
    fake_time_pass(any ? rng_pick(&rig->rng, spans) : spans[rng_below(&rig->rng, SHORT)]);
}

/* As long as agents and kubelets take. */
static void pass_moment(struct rig *rig)
{
    static const int64_t spans[] = {1000,    100000,  500000,   1000000,  2000000,
                                    4000000, 7000000, 11000000, 30000000, 90000000};
    fake_time_pass(rng_chance(&rig->rng, 2) ? INT64_C(700000000) : rng_pick(&rig->rng, spans));
}

/* The daemon and kube-scheduler go on. */
static void work(struct rig *rig)
{
    enum { CALLS = 20, PODS = 4 };
    rig_carry_on(rig, CALLS);
    rig_tick(rig);
    rig_round(rig);
    for (unsigned i = 0; i < PODS; i++) {
        verbs_schedule(rig);
    }
    rig_carry_on(rig, CALLS);
}

static void step_clock(struct rig *rig)
{
    static const int64_t steps[] = {-1000,     -1000000,           1000000,
                                    -60000000, INT64_C(600000000), INT64_C(-7200000000)};
    world_lock();
    fake_time_step(rng_pick(&rig->rng, steps));
    gauges_clock_set();
    world_unlock();
}

static void restart(struct rig *rig)
{
    rig_restart(rig);
    move_counts.restarts++;
}

/* ---- checks ---- */

void moves_settle(struct rig *rig)
{
    if (!rig_settle(rig)) {
        return;
    }
    /* Only a list tells what the daemon knows: the first takes out what was made up, and the second
     * puts in what that kept out, being told with its UID. */
    for (unsigned lists = world.unsure ? 2 : 0; lists > 0; lists--) {
        client_end_watches(client_latest(), true);
        world.unsure = false;
        (void)rig_settle(rig);
    }
    if (!world.unsure) {
        check_all(rig);
        cuts_check(rig);
        nominees_check(rig);
        if (rig_plays() == PLAY_USAGE) {
            usage_check(rig);
        }
        move_counts.checks++;
    }
}

static bool stands(const char *key)
{
    for (size_t i = 0; i < world.n[WORLD_PODS]; i++) {
        if (strcmp(world.thing[WORLD_PODS][i].key, key) == 0) {
            return account_stands(world.thing[WORLD_PODS][i].seen, NULL);
        }
    }
    return false;
}

/* A node without what depends on the order of news: where those stand that nobody has said it of,
 * and what is set aside, which a new plan may choose anew. */
static json_t *picture_of(const json_t *node)
{
    json_t *pods = json_object();
    char key[WORLD_KEY];
    size_t i = 0;
    const json_t *pod = NULL;
    json_array_foreach(json_object_get(node, "pods"), i, pod)
    {
        (void)snprintf(key, sizeof(key), "%s/%s",
                       json_string_value(json_object_get(pod, "namespace")),
                       json_string_value(json_object_get(pod, "name")));
        bool assumed = json_is_true(json_object_get(pod, "assumed")) || !stands(key);
        json_t *devices = assumed ? json_null() : json_incref(json_object_get(pod, "devices"));
        (void)json_object_set_new(pods, key, devices);
    }
    return json_pack("{s:O, s:O, s:o}", "name", json_object_get(node, "name"), "pools",
                     json_object_get(node, "pools"), "pods", pods);
}

static char *picture(struct rig *rig)
{
    struct http_reply reply = rig_ask(rig, "GET", "/api/v1/nodes?limit=5000", NULL);
    json_t *root = json_loadb(reply.text, reply.len, JSON_ALLOW_NUL, NULL);
    json_t *nodes = json_array();
    size_t i = 0;
    const json_t *node = NULL;
    json_array_foreach(json_object_get(root, "items"), i, node)
    {
        (void)json_array_append_new(nodes, picture_of(node));
    }
    char *text = json_dumps(nodes, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(nodes);
    json_decref(root);
    http_reply_free(&reply);
    return text;
}

static char *nominations(struct rig *rig)
{
    static char text[65536];
    size_t len = 0;
    text[0] = '\0';
    for (size_t i = 0; i < world.n[WORLD_PODS]; i++) {
        const json_t *meta = json_object_get(world.thing[WORLD_PODS][i].seen, "metadata");
        const char *uid = json_string_value(json_object_get(meta, "uid"));
        if (uid != NULL && len < sizeof(text) - 700) {
            len += (size_t)snprintf(text + len, sizeof(text) - len, "%s ", rig_nominated(rig, uid));
        }
    }
    return strdup(text);
}

void moves_relist(struct rig *rig)
{
    (void)rig_settle(rig);
    char *before = picture(rig);
    char *nominated_before = nominations(rig);
    client_end_watches(client_latest(), true);
    (void)rig_settle(rig);
    char *after = picture(rig);
    char *nominated_after = nominations(rig);
    if (strcmp(before, after) != 0 && strcmp(nominated_before, nominated_after) == 0) {
        size_t at = 0;
        while (before[at] == after[at]) {
            at++;
        }
        at = at > 200 ? at - 200 : 0;
        check_failed("a new list of the same changed nodes:\n%.600s\n%.600s", before + at,
                     after + at);
    }
    free(before);
    free(after);
    free(nominated_before);
    free(nominated_after);
    move_counts.relists++;
}

static void relist(struct rig *rig)
{
    moves_settle(rig);
    moves_relist(rig);
}

void moves_after(struct rig *rig)
{
    if (rig_plays() == PLAY_CUTS) {
        cuts_go_on(rig);
    } else if (rig_plays() == PLAY_USAGE) {
        usage_go_on(rig);
    }
}

void moves_end_all(struct rig *rig)
{
    if (rig_plays() == PLAY_CUTS) {
        cuts_come_to_rest(rig);
    }
    world_lock();
    for (unsigned kind = 0; kind < WORLD_KINDS; kind++) {
        for (size_t i = 0; i < world.n[kind]; i++) {
            if (world.thing[kind][i].now != NULL) {
                world_delete(kind, &world.thing[kind][i]);
            }
        }
    }
    world_unlock();
    moves_settle(rig);
}

enum {
    IN_ALL = 1U << PLAY_ALL,
    IN_CUTS = 1U << PLAY_CUTS,
    IN_USAGE = 1U << PLAY_USAGE,
    EVERYWHERE = IN_ALL | IN_CUTS | IN_USAGE
};

const struct move moves[] = {
    {"add-pod", MOVE_USER, 60, add_pod, IN_ALL},
    {"add-many", MOVE_USER, 4, add_many, IN_ALL},
    {"touch-pod", MOVE_USER, 50, touch_pod, IN_ALL},
    {"delete-pod", MOVE_USER, 25, delete_pod, IN_ALL},
    {"open-gate", MOVE_USER, 4, open_gate, IN_ALL},
    {"make-anew", MOVE_USER, 4, make_anew, IN_ALL},
    {"add-node", MOVE_USER, 12, add_node, IN_ALL},
    {"touch-node", MOVE_USER, 6, touch_node, IN_ALL},
    {"delete-node", MOVE_ALONE, 2, delete_node, IN_ALL},
    {"nominate", MOVE_SCHEDULER, 30, nominees_move, IN_ALL},
    {"change-job", MOVE_USER, 4, change_job, IN_ALL},
    {"change-space", MOVE_USER, 8, change_space, IN_ALL},
    {"carry-on", MOVE_ALONE, 60, carry_on, EVERYWHERE},
    {"round", MOVE_ALONE, 40, round_of_queue, EVERYWHERE},
    {"tick", MOVE_OPERATOR, 10, tick, EVERYWHERE},
    {"faults", MOVE_OPERATOR, 6, change_faults, EVERYWHERE},
    {"end-watches", MOVE_USER, 3, end_watches, EVERYWHERE},
    {"lose-lease", MOVE_OPERATOR, 1, lose_lease, EVERYWHERE},
    {"restart", MOVE_ALONE, 2, restart, EVERYWHERE},
    {"reload", MOVE_OPERATOR, 4, reload, EVERYWHERE},
    {"time", MOVE_OPERATOR, 20, pass_time, IN_ALL},
    {"clock", MOVE_OPERATOR, 2, step_clock, EVERYWHERE},
    {"settle", MOVE_ALONE, 20, moves_settle, EVERYWHERE},
    {"relist", MOVE_ALONE, 1, relist, IN_ALL},
    {"schedule", MOVE_SCHEDULER, 60, verbs_schedule, EVERYWHERE},
    {"attack-bind", MOVE_SCHEDULER, 15, verbs_attack, EVERYWHERE},
    {"filter", MOVE_SCHEDULER, 15, verbs_filter, EVERYWHERE},
    {"preempt", MOVE_SCHEDULER, 6, verbs_preempt, EVERYWHERE},
    {"review", MOVE_READER, 6, verbs_review, EVERYWHERE},
    {"read", MOVE_READER, 10, verbs_read, EVERYWHERE},
    {"explain", MOVE_READER, 5, verbs_explain, EVERYWHERE},
    {"estimates", MOVE_ALONE, 2, asks_estimates, IN_ALL},
    {"watches", MOVE_ALONE, 3, asks_watches, IN_ALL},
    {"moment", MOVE_ALONE, 120, pass_moment, IN_CUTS | IN_USAGE},
    {"work", MOVE_ALONE, 250, work, IN_CUTS | IN_USAGE},
    {"add-machine", MOVE_ALONE, 6, cuts_add_machine, IN_CUTS},
    {"lose-machine", MOVE_ALONE, 1, cuts_lose_machine, IN_CUTS},
    {"add-slice", MOVE_ALONE, 40, cuts_add_pod, IN_CUTS},
    {"foreign", MOVE_ALONE, 30, cuts_add_foreign, IN_CUTS},
    {"end-slice", MOVE_ALONE, 50, end_pod, IN_CUTS},
    {"mishap", MOVE_ALONE, 4, cuts_mishap, IN_CUTS},
    {"heal", MOVE_ALONE, 4, cuts_heal, IN_CUTS},
    {"add-gauge", MOVE_ALONE, 6, usage_add_gauge, IN_USAGE},
    {"lose-gauge", MOVE_ALONE, 1, usage_lose_gauge, IN_USAGE},
    {"add-share", MOVE_ALONE, 40, usage_add_pod, IN_USAGE},
    {"foreign-share", MOVE_ALONE, 5, usage_add_foreign, IN_USAGE},
    {"end-share", MOVE_ALONE, 30, end_pod, IN_USAGE},
    {"quiet", MOVE_ALONE, 4, usage_quiet, IN_USAGE},
    {"desk", MOVE_ALONE, 90, usage_desk, IN_USAGE},
};

const size_t n_moves = sizeof(moves) / sizeof(moves[0]);
