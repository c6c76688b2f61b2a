#include "adversary/cuts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adversary/account.h"
#include "adversary/checks.h"
#include "adversary/fake_time.h"
#include "adversary/machines.h"
#include "adversary/verbs.h"
#include "adversary/world.h"

#define CONFIG "nvidia.com/mig.config"
#define MARK   "sliced.dev/cut"

enum { JUDGED = 64, NAMES = 512, NAME = 128, VERDICT = 600, ASKED = 128 };

struct cuts_counts cuts_counts;

static struct {
    /* orders that are under way, a ring; verdict "": good */
    struct {
        char *body;
        char verdict[VERDICT];
    } judged[JUDGED];
    unsigned n_judged;
    char name[NAMES][NAME]; /* "node name" that were ordered, a ring */
    unsigned n_names;
    /* binds that were asked for last, a ring */
    struct {
        char uid[MACHINE_UID];
        char node[NAME];
        bool cutting; /* the daemon knew that the node was being cut */
    } asked[ASKED];
    unsigned n_asked;
    unsigned born;
} cuts;

static const char *text_of(const json_t *object, const char *part, const char *key)
{
    const char *text = json_string_value(json_object_get(json_object_get(object, part), key));
    return text == NULL ? "" : text;
}

static const char *note_of(const json_t *object, const char *part, const char *key)
{
    return text_of(json_object_get(object, "metadata"), part, key);
}

void cuts_begin(void)
{
    memset(&cuts, 0, sizeof(cuts));
    cuts_counts = (struct cuts_counts){0};
    machines_begin();
}

void cuts_end(void)
{
    for (unsigned i = 0; i < JUDGED; i++) {
        free(cuts.judged[i].body);
    }
    machines_end();
}

/* ---- rules ---- */

static const struct thing *pod_by_uid(const char *uid)
{
    for (size_t i = 0; i < world.n[WORLD_PODS]; i++) {
        const struct thing *thing = &world.thing[WORLD_PODS][i];
        if (strcmp(text_of(thing->seen, "metadata", "uid"), uid) == 0 ||
            strcmp(text_of(thing->now, "metadata", "uid"), uid) == 0) {
            return thing;
        }
    }
    return NULL;
}

/* The daemon was told that it stands there, or has bound it there itself. */
static bool is_known(const struct machine *machine, const struct thing *thing, const char *uid)
{
    return thing != NULL && ((account_stands(thing->seen, machine->name) &&
                              strcmp(text_of(thing->seen, "metadata", "uid"), uid) == 0) ||
                             account_holds(uid, machine->name));
}

static bool is_changed(const struct machine *machine, const struct order *order, unsigned gpu)
{
    struct layout is = gpu_layout(&machine->gpu[gpu]);
    return order->named[gpu] && !layout_same(&is, &order->layout[gpu]);
}

/* A pod that the daemon knows to be there has an instance that the order destroys. */
static void judge_use(const struct machine *machine, const struct order *order, char *verdict)
{
    for (unsigned g = 0; g < machine->n_gpus; g++) {
        const struct gpu *gpu = &machine->gpu[g];
        for (unsigned i = 0; i < gpu->n && is_changed(machine, order, g); i++) {
            const char *uid = gpu->instance[i].pod;
            const struct thing *thing = uid[0] == '\0' ? NULL : pod_by_uid(uid);
            if (is_known(machine, thing, uid)) {
                (void)snprintf(verdict, VERDICT, "GPU %u is ordered cut, where %s runs in a %s", g,
                               thing->key, profile_names[gpu->instance[i].profile]);
            }
        }
    }
}

static bool is_let_in(const struct machine *machine, const char *uid)
{
    for (unsigned g = 0; g < machine->n_gpus; g++) {
        for (unsigned i = 0; i < machine->gpu[g].n; i++) {
            if (strcmp(machine->gpu[g].instance[i].pod, uid) == 0) {
                return true;
            }
        }
    }
    return false;
}

static int64_t units_of(const struct thing *thing, unsigned profile)
{
    char resource[64];
    (void)snprintf(resource, sizeof(resource), "nvidia.com/mig-%s", profile_names[profile]);
    return account_ask(thing->seen != NULL ? thing->seen : thing->now, resource);
}

/* Counts those that the daemon knows to be on their way there. */
static int64_t units_coming(const struct machine *machine, unsigned profile)
{
    int64_t units = 0;
    for (size_t i = 0; i < world.n[WORLD_PODS]; i++) {
        const struct thing *thing = &world.thing[WORLD_PODS][i];
        const char *uid =
            text_of(thing->seen != NULL ? thing->seen : thing->now, "metadata", "uid");
        if (is_known(machine, thing, uid) && !is_let_in(machine, uid)) {
            units += units_of(thing, profile);
        }
    }
    return units;
}

/* Pods are on their way to what the order destroys. */
static void judge_coming(const struct machine *machine, const struct order *order, char *verdict)
{
    for (unsigned p = 0; p < PROFILES; p++) {
        int64_t stay = 0;
        int64_t go = 0;
        for (unsigned g = 0; g < machine->n_gpus; g++) {
            for (unsigned i = 0; i < machine->gpu[g].n; i++) {
                const struct instance *instance = &machine->gpu[g].instance[i];
                bool free = instance->profile == p && instance->pod[0] == '\0';
                stay += free && !is_changed(machine, order, g) ? 1 : 0;
                go += free && is_changed(machine, order, g) ? 1 : 0;
            }
        }
        int64_t coming = units_coming(machine, p);
        if (coming > stay && coming <= stay + go) {
            (void)snprintf(verdict, VERDICT,
                           "pods on their way to %lld %s are left %lld of them, as %lld free ones "
                           "are destroyed",
                           (long long)coming, profile_names[p], (long long)stay, (long long)go);
        }
    }
}

static void say_layout(const struct layout *layout, char *out, size_t size)
{
    size_t len = 0;
    out[0] = '\0';
    for (unsigned p = 0; p < PROFILES && len < size; p++) {
        if (layout->n[p] > 0) {
            len +=
                (size_t)snprintf(out + len, size - len, "%ux %s ", layout->n[p], profile_names[p]);
        }
    }
}

static bool is_empty(const struct layout *layout)
{
    static const struct layout nothing;
    return layout_same(layout, &nothing);
}

/* An order must make what is possible, and leave no more GPUs without instances than there were.
 */
static void judge_layout(const struct machine *machine, const struct order *order, char *verdict)
{
    char before[200];
    char after[200];
    int emptied = 0;
    for (unsigned g = 0; g < machine->n_gpus; g++) {
        const struct layout is = gpu_layout(&machine->gpu[g]);
        emptied += order->named[g] ? is_empty(&order->layout[g]) - is_empty(&is) : 0;
    }
    for (unsigned g = 0; g < machine->n_gpus; g++) {
        const struct layout is = gpu_layout(&machine->gpu[g]);
        say_layout(&is, before, sizeof(before));
        say_layout(&order->layout[g], after, sizeof(after));
        bool lost = emptied > 0 && is_changed(machine, order, g) && is_empty(&order->layout[g]);
        if (lost || !layout_fits(&order->layout[g])) {
            (void)snprintf(verdict, VERDICT, "GPU %u, %s, %s%s", g, before,
                           lost ? "is ordered cut into nothing" : "cannot have ", after);
        }
    }
}

static bool is_order(const char *label)
{
    size_t len = strlen(label);
    return strncmp(label, "sliced-", strlen("sliced-")) == 0 &&
           strcmp(label + len - strlen("-0"), "-0") != 0;
}

static void judge(const struct machine *machine, const char *label, char *verdict)
{
    struct order order;
    if (!machines_entry(machines_file(), label, &order)) {
        (void)snprintf(verdict, VERDICT, "the ConfigMap has no entry %s", label);
        return;
    }
    judge_layout(machine, &order, verdict);
    judge_coming(machine, &order, verdict);
    judge_use(machine, &order, verdict);
}

void cuts_called(const char *method, const char *path, const char *body, size_t len)
{
    static const char nodes[] = "/api/v1/nodes/";
    if (strcmp(method, "PATCH") != 0 || strncmp(path, nodes, strlen(nodes)) != 0) {
        return;
    }
    world_lock();
    json_t *patch = json_loadb(body, len, 0, NULL);
    const struct machine *machine = machine_find(path + strlen(nodes));
    const char *label = note_of(patch, "labels", CONFIG);
    unsigned i = cuts.n_judged++ % JUDGED;
    free(cuts.judged[i].body);
    cuts.judged[i].body = strndup(body, len);
    cuts.judged[i].verdict[0] = '\0';
    if (machine != NULL && is_order(label) && !world.unsure) {
        judge(machine, label, cuts.judged[i].verdict);
    }
    json_decref(patch);
    world_unlock();
}

static void check_name(const char *node, const char *label)
{
    char name[NAME];
    (void)snprintf(name, sizeof(name), "%s %s", node, label);
    for (unsigned i = 0; i < NAMES; i++) {
        if (strcmp(cuts.name[i], name) == 0) {
            check_failed("%s is ordered twice", name);
        }
    }
    memcpy(cuts.name[cuts.n_names++ % NAMES], name, NAME);
}

void cuts_written(const char *node, const json_t *patch, const char *body, size_t len)
{
    const char *label = note_of(patch, "labels", CONFIG);
    const json_t *notes = json_object_get(json_object_get(patch, "metadata"), "annotations");
    cuts_counts.ends += json_is_null(json_object_get(notes, MARK)) ? 1 : 0;
    if (!is_order(label)) {
        return;
    }
    cuts_counts.orders++;
    for (unsigned i = 0; i < JUDGED; i++) {
        const char *text = cuts.judged[i].body;
        if (text != NULL && strlen(text) == len && memcmp(text, body, len) == 0 &&
            cuts.judged[i].verdict[0] != '\0') {
            check_failed("%s, order %s: %s", node, label, cuts.judged[i].verdict);
        }
    }
    check_name(node, label);
}

void cuts_asked(const char *uid, const char *node)
{
    unsigned i = cuts.n_asked++ % ASKED;
    cuts.asked[i].cutting = false;
    (void)snprintf(cuts.asked[i].uid, MACHINE_UID, "%.*s", MACHINE_UID - 1, uid);
    (void)snprintf(cuts.asked[i].node, NAME, "%.*s", NAME - 1, node);
    for (size_t k = 0; k < world.n[WORLD_NODES] && machine_find(node) != NULL; k++) {
        const struct thing *thing = &world.thing[WORLD_NODES][k];
        if (strcmp(thing->key + 1, node) == 0) {
            cuts.asked[i].cutting = note_of(thing->seen, "annotations", MARK)[0] != '\0' &&
                                    note_of(thing->now, "annotations", MARK)[0] != '\0';
        }
    }
}

void cuts_binds(const char *uid, const char *node)
{
    for (unsigned i = cuts.n_asked; i > 0 && i + ASKED > cuts.n_asked; i--) {
        unsigned at = (i - 1) % ASKED;
        if (strcmp(cuts.asked[at].uid, uid) == 0 && strcmp(cuts.asked[at].node, node) == 0) {
            if (cuts.asked[at].cutting && !world.unsure) {
                check_failed("%s is bound to %s, which is being cut", uid, node);
            }
            return;
        }
    }
}

/* ---- moves ---- */

void cuts_add_machine(struct rig *rig)
{
    struct machine *machine = &machines[rng_below(&rig->rng, MACHINES)];
    world_lock();
    if (machine->name[0] == '\0') {
        machine_add(&rig->rng, machine);
    }
    world_unlock();
}

/* With the pods that stand there. */
void cuts_lose_machine(struct rig *rig)
{
    world_lock();
    struct machine *machine = &machines[rng_below(&rig->rng, MACHINES)];
    struct thing *node = world_find(WORLD_NODES, "", machine->name);
    if (machine->name[0] != '\0' && node != NULL) {
        for (size_t i = 0; i < world.n[WORLD_PODS]; i++) {
            if (account_stands(world.thing[WORLD_PODS][i].now, machine->name)) {
                world_delete(WORLD_PODS, &world.thing[WORLD_PODS][i]);
            }
        }
        world_delete(WORLD_NODES, node);
        machine->name[0] = '\0';
    }
    world_unlock();
}

static json_t *make_pod(struct rng *rng, unsigned profile)
{
    static const char *const timeouts[] = {"1m", "10m", "2h"};
    char name[32];
    char uid[MACHINE_UID];
    char resource[64];
    unsigned number = ++cuts.born;
    (void)snprintf(name, sizeof(name), "c%u", number % 200);
    (void)snprintf(uid, sizeof(uid), "00000000-0000-4000-9000-%012u", number);
    (void)snprintf(resource, sizeof(resource), "nvidia.com/mig-%s", profile_names[profile]);
    return json_pack(
        "{s:{s:s, s:s, s:s, s:s, s:{s:s}, s:{}}, s:{s:s, s:[{s:s, s:{s:{s:s}, s:{s:s}}}], s:i}, "
        "s:{s:s}}",
        "metadata", "name", name, "namespace", "team-a", "uid", uid, "creationTimestamp",
        "2026-09-21T14:13:20Z", "annotations", "sliced.dev/timeout", rng_pick(rng, timeouts),
        "labels", "spec", "schedulerName", "default-scheduler", "containers", "name", "c",
        "resources", "limits", resource, "1", "requests", resource, "1", "priority",
        (int)rng_below(rng, 3) * 100, "status", "phase", "Pending");
}

void cuts_add_pod(struct rig *rig)
{
    static const unsigned asks[] = {0, 0, 0, 1, 1, 2, 2, 3, 4};
    json_t *pod = make_pod(&rig->rng, rng_pick(&rig->rng, asks));
    bool gated = rng_chance(&rig->rng, 90);
    world_lock();
    moves_put_few(pod, gated, NULL);
    world_unlock();
}

/* One that is being cut just now, seldom any. NULL: none. */
static const struct machine *pick_machine(struct rng *rng)
{
    const struct machine *machine = &machines[rng_below(rng, MACHINES)];
    bool any = rng_chance(rng, 20) && machine->name[0] != '\0';
    for (unsigned i = 0; i < MACHINES && !any; i++) {
        const struct thing *thing = world_find(WORLD_NODES, "", machines[i].name);
        if (thing != NULL && note_of(thing->now, "annotations", MARK)[0] != '\0') {
            return &machines[i];
        }
    }
    return any ? machine : NULL;
}

static unsigned pick_profile(struct rng *rng, const struct machine *machine)
{
    const struct gpu *gpu = &machine->gpu[rng_below(rng, machine->n_gpus)];
    for (unsigned i = 0; i < gpu->n; i++) {
        if (gpu->instance[i].pod[0] == '\0' && rng_chance(rng, 60)) {
            return gpu->instance[i].profile;
        }
    }
    return rng_below(rng, PROFILES);
}

void cuts_add_foreign(struct rig *rig)
{
    world_lock();
    const struct machine *machine = pick_machine(&rig->rng);
    if (machine != NULL) {
        json_t *pod = make_pod(&rig->rng, pick_profile(&rig->rng, machine));
        moves_put_few(pod, false, machine->name);
    }
    world_unlock();
}

void cuts_mishap(struct rig *rig)
{
    world_lock();
    machines[rng_below(&rig->rng, MACHINES)].mishap = (enum mishap)rng_below(&rig->rng, MISHAPS);
    world_unlock();
}

void cuts_heal(struct rig *rig)
{
    (void)rig;
    world_lock();
    machines_heal();
    world_unlock();
}

void cuts_go_on(struct rig *rig)
{
    world_lock();
    machines_act(&rig->rng);
    world_unlock();
}

/* ---- checks ---- */

/* A cut that was begun is ended or given up. */
static void check_ended(void)
{
    for (unsigned i = 0; i < MACHINES; i++) {
        const struct thing *node = world_find(WORLD_NODES, "", machines[i].name);
        const char *mark = node == NULL ? "" : note_of(node->now, "annotations", MARK);
        if (mark[0] != '\0') {
            check_failed("%s is still being cut by %s", node->key, mark);
        }
    }
}

static void go_on_without_mishaps(struct rig *rig)
{
    static const int64_t step_us = 5000000; /* in which no lease is lost */
    cuts_heal(rig);
    cuts_go_on(rig);
    fake_time_pass(step_us);
    rig_tick(rig);
    (void)rig_settle(rig);
}

void cuts_come_to_rest(struct rig *rig)
{
    /* the last is longer than partitioning.timeout, and the waits after it */
    enum { STEPS = 40, LAST_STEPS = 220 };
    const struct client_faults none = {0};
    rig->faults = none;
    client_set_faults(client_latest(), &none);
    for (unsigned i = 0; i < STEPS; i++) {
        go_on_without_mishaps(rig);
        verbs_schedule(rig);
    }
    world_lock();
    for (size_t i = 0; i < world.n[WORLD_PODS]; i++) { /* nobody needs a cut any more */
        if (world.thing[WORLD_PODS][i].now != NULL) {
            world_delete(WORLD_PODS, &world.thing[WORLD_PODS][i]);
        }
    }
    world_unlock();
    for (unsigned i = 0; i < LAST_STEPS; i++) {
        go_on_without_mishaps(rig);
    }
    check_ended();
}

void cuts_check(struct rig *rig)
{
    struct http_reply reply = rig_ask(rig, "GET", "/api/v1/partitions", NULL);
    json_t *root = json_loadb(reply.text, reply.len, JSON_ALLOW_NUL, NULL);
    if (reply.status != 200 || root == NULL) {
        check_failed("GET /api/v1/partitions is answered %u: %.2000s", reply.status, reply.text);
    }
    json_decref(root);
    http_reply_free(&reply);
    reply = rig_ask(rig, "GET", "/api/v1/partitions?output=table", NULL);
    check_lines("the table of partitions", reply.text, reply.len);
    http_reply_free(&reply);
}
