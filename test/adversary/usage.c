#include "adversary/usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adversary/account.h"
#include "adversary/checks.h"
#include "adversary/desks.h"
#include "adversary/fake_time.h"
#include "adversary/gauges.h"
#include "adversary/verbs.h"
#include "adversary/world.h"
#include "util/clock.h"

enum {
    SEEN = 15,       /* samples after which a pod may count with what it was seen to use */
    LEAST = 20,      /* samples without which nothing is known */
    LAST = 3,        /* samples that show an excess */
    ASIDE_MIB = 576, /* that is in no ask: contexts, and what figures are rounded to */
    EACH_MIB = 750,  /* the same of each process */
};

static const int64_t second_us = 1000000;
static const int64_t slack_us = 20000000; /* for what is judged once an interval */

struct usage_counts usage_counts;

static struct {
    enum { BY_ASKS, BY_CBP, BY_CBP_PP, BY_PEAKS } sharing;
    int64_t interval_us, stale_us, idle_us, deadline_us;
    bool pages; /* exporters are asked, and judged when the next round begins */
    unsigned born;
} usage;

void usage_configure(struct rng *rng, char *out, size_t size)
{
    static const char *const sharing[] = {"asks", "cbp", "cbp-pp", "peaks"};
    static const unsigned intervals[] = {1, 5, 10};
    unsigned interval = rng_pick(rng, intervals);
    usage.sharing = rng_below(rng, 4);
    usage.interval_us = interval * second_us;
    usage.stale_us = 90 * second_us;
    usage.idle_us = 60 * second_us;
    usage.deadline_us = rng_chance(rng, 50) ? 0 : 60 * second_us;
    usage.pages = !rng_chance(rng, 70);
    gauges_window = rng_chance(rng, 50) ? 20 : 60;
    (void)snprintf(out, size,
                   "telemetry: {%s, sharing: %s, interval: %us, idleAfter: 60s, idleDeadline: "
                   "%us, window: %u}\n",
                   usage.pages ? "exporters: \"http://{node}:9400/metrics\""
                               : "url: \"http://prometheus:9090\"",
                   sharing[usage.sharing], interval, (unsigned)(usage.deadline_us / second_us),
                   (unsigned)gauges_window);
}

static const char *text_of(const json_t *object, const char *part, const char *key)
{
    const char *text = json_string_value(json_object_get(json_object_get(object, part), key));
    return text == NULL ? "" : text;
}

/* ---- what is given ---- */

/* What the daemon knows of a GPU's pods, in MiB. */
struct crowd {
    int64_t asks;
    int64_t fresh;  /* asks of those that are in no sample that was read */
    int64_t unseen; /* asks of those that are in too few of them */
    int64_t used;   /* the least of the last samples */
    unsigned n;
};

/* Pods of its workload have run there, or on two other nodes: it may count with what they used.
 * What one other node says of them is nothing, for its exporter may lie. */
static bool has_past(const struct gauge *gauge, unsigned workload)
{
    unsigned others = 0;
    for (const struct gauge *other = gauges; other < gauges + GAUGES; other++) {
        others += other != gauge && gauges_lived[other - gauges][workload];
    }
    bool known = gauges_lived[gauge - gauges][workload] || others > 1;
    return usage.sharing == BY_PEAKS && known;
}

static unsigned samples_since(const struct gauge *gauge, int64_t came_us)
{
    unsigned n = 0;
    for (size_t i = 0; gauge_read(gauge, i) != NULL && n < LEAST; i++) {
        n += gauge_read(gauge, i)->taken_us >= came_us ? 1 : 0;
    }
    return n;
}

static void count_pod(struct gauge *gauge, const json_t *pod, struct crowd *crowd)
{
    const struct tenant *tenant = gauge_tenant(gauge, text_of(pod, "metadata", "uid"));
    int64_t came_us = tenant == NULL ? fake_time_world_us() : tenant->came_us;
    int64_t ask = gauge_ask(gauge, pod);
    unsigned seen = samples_since(gauge, came_us);
    int64_t counts = has_past(gauge, gauge_workload(pod)) ? 0 : ask;
    crowd->n++;
    crowd->asks += ask;
    crowd->fresh += seen == 0 ? counts : 0;
    crowd->unseen += seen < SEEN ? counts : 0;
}

static struct crowd crowd_of(struct gauge *gauge, const json_t *but)
{
    struct crowd crowd = {.used = GAUGE_MIB};
    for (size_t i = 0; i < world.n[WORLD_PODS]; i++) {
        const struct thing *thing = &world.thing[WORLD_PODS][i];
        const json_t *pod = thing->seen != NULL ? thing->seen : thing->now;
        const char *uid = text_of(pod, "metadata", "uid");
        if (pod != NULL && strcmp(uid, text_of(but, "metadata", "uid")) != 0 &&
            (account_stands(thing->seen, gauge->name) || account_holds(uid, gauge->name) ||
             account_nominates(i, gauge->name))) {
            count_pod(gauge, pod, &crowd);
        }
    }
    for (size_t i = 0; i < LAST; i++) {
        const struct sample *sample = gauge_read(gauge, i);
        int64_t used = sample == NULL ? 0 : sample->used_mib;
        crowd.used = used < crowd.used ? used : crowd.used;
    }
    return crowd;
}

static void check_room(const struct gauge *gauge, const json_t *pod, int64_t ask,
                       const struct crowd *crowd, int64_t taken, const char *why)
{
    const struct sample *last = gauge_read(gauge, 0);
    if (ask + taken > GAUGE_MIB) {
        check_failed("%s asks for %lld MiB and is bound to %s, where %lld of %d are taken: %s "
                     "(sharing %d; %u pods ask for %lld, %lld of them in no sample, %lld in too "
                     "few; %lld are in use by the last samples, the newest of %lld ms ago)",
                     text_of(pod, "metadata", "name"), (long long)gauge_ask(gauge, pod),
                     gauge->name, (long long)taken, (int)GAUGE_MIB, why, (int)usage.sharing,
                     crowd->n, (long long)crowd->asks, (long long)crowd->fresh,
                     (long long)crowd->unseen, (long long)crowd->used,
                     last == NULL ? -1LL
                                  : (long long)(fake_time_world_us() - last->taken_us) / 1000);
    }
}

/* Until it judges again, the daemon does not see that its clock was set, nor ever where it was set
 * back and forth in between: then what it knows counts until it is stale. */
static bool is_clock_news(void)
{
    return gauges_clock_set_us > 0 && fake_time_world_us() - gauges_clock_set_us <
                                          usage.stale_us + 2 * usage.interval_us + slack_us;
}

static void judge(struct gauge *gauge, const json_t *pod)
{
    int64_t ask = gauge_ask(gauge, pod);
    const struct crowd crowd = crowd_of(gauge, pod);
    const struct sample *last = gauge_read(gauge, 0);
    int64_t age_us = last == NULL ? INT64_MAX / 2 : sl_clock_real_us() - last->stamp_us;
    bool blind = (gauge_read(gauge, LEAST - 1) == NULL ||
                  age_us > usage.stale_us + 2 * usage.interval_us + slack_us) &&
                 !is_clock_news();
    bool fresh = age_us < usage.stale_us - slack_us && age_us > -second_us;
    int64_t aside = ASIDE_MIB + (crowd.n + 2) * EACH_MIB;
    int64_t used = crowd.used > aside ? crowd.used - aside : 0;
    usage_counts.judged++;
    usage_counts.beyond += ask + crowd.asks > GAUGE_MIB ? 1 : 0;
    if (!gauge->units && (usage.sharing == BY_ASKS || blind)) {
        check_room(gauge, pod, ask, &crowd, crowd.asks,
                   blind ? "nothing is known, so asks count" : "asks count");
    }
    ask = has_past(gauge, gauge_workload(pod)) ? 0 : ask;
    if (!gauge->units) {
        check_room(gauge, pod, ask, &crowd, crowd.unseen, "pods that were not seen for long");
    }
    if (fresh) {
        check_room(gauge, pod, ask, &crowd, used, "memory in use");
        check_room(gauge, pod, ask, &crowd, used + crowd.fresh, "memory in use, and newcomers");
    }
}

void usage_nominates(const json_t *pod, const char *node)
{
    struct gauge *gauge = gauge_find(node);
    if (gauge != NULL && gauge_ask(gauge, pod) > 0 && !gauge->unsure && !world.unsure &&
        !is_clock_news()) {
        judge(gauge, pod);
    }
}

void usage_binds(size_t which, const char *node)
{
    const struct thing *thing = &world.thing[WORLD_PODS][which];
    const json_t *pod = thing->seen != NULL ? thing->seen : thing->now;
    struct gauge *gauge = gauge_find(node);
    if (gauge == NULL || gauge_ask(gauge, pod) == 0) {
        return;
    }
    if (!account_nominates(which, node)) {
        usage_nominates(pod, node);
    }
    if (gauge_tenant(gauge, text_of(pod, "metadata", "uid")) == NULL) {
        (void)gauge_place(gauge, pod);
    }
}

/* ---- what is ended ---- */

static int64_t deadline_of(const json_t *pod)
{
    const json_t *value = json_object_get(json_object_get(pod, "spec"), "activeDeadlineSeconds");
    return json_is_integer(value) ? json_integer_value(value) : -1;
}

/* How long ago something ran, by the samples that were read. */
static int64_t idle_of(const struct gauge *gauge)
{
    const struct sample *newest = gauge_read(gauge, 0);
    const struct sample *oldest = newest;
    for (size_t i = 1; oldest != NULL && oldest->busy < 10 && gauge_read(gauge, i) != NULL; i++) {
        oldest = gauge_read(gauge, i);
    }
    return newest == NULL ? 0 : newest->till_us - oldest->from_us;
}

void usage_patched(const json_t *pod, const json_t *patch)
{
    const struct gauge *gauge = gauge_find(text_of(pod, "spec", "nodeName"));
    int64_t before = deadline_of(pod);
    int64_t after = deadline_of(patch);
    if (after >= 0 && after < before && desk_works(text_of(pod, "metadata", "uid"))) {
        check_failed("%s is ended, though it works: deadline %lld s",
                     text_of(pod, "metadata", "name"), (long long)after);
    }
    if (gauge == NULL || before < 0 || after < 0 || after >= before) {
        return;
    }
    usage_counts.ended++;
    int64_t idle_us = idle_of(gauge);
    if (!gauge->unsure && !is_clock_news() &&
        idle_us < usage.idle_us + usage.deadline_us - second_us) {
        check_failed("%s is ended on %s, where nothing was seen to run for %lld s only",
                     text_of(pod, "metadata", "name"), gauge->name,
                     (long long)(idle_us / second_us));
    }
}

/* ---- moves ---- */

void usage_add_gauge(struct rig *rig)
{
    struct gauge *gauge = &gauges[rng_below(&rig->rng, GAUGES)];
    world_lock();
    if (gauge->name[0] == '\0') {
        gauge_add(&rig->rng, gauge);
    }
    world_unlock();
}

void usage_lose_gauge(struct rig *rig)
{
    struct gauge *gauge = &gauges[rng_below(&rig->rng, GAUGES)];
    world_lock();
    if (gauge->name[0] != '\0') {
        gauge_lose(gauge);
    }
    world_unlock();
}

static json_t *make_pod(struct rng *rng, bool units)
{
    static const int64_t asks[] = {1000, 2000, 4000, 8000, 8000, 12000, 15000};
    static const char *const timeouts[] = {"10m", "2h", "24h"};
    char name[32];
    char uid[GAUGE_UID];
    char count[16];
    char ask[24];
    char workload[32];
    unsigned number = ++usage.born;
    int64_t mib = rng_pick(rng, asks);
    (void)snprintf(name, sizeof(name), "u%u", number % 200);
    (void)snprintf(uid, sizeof(uid), "00000000-0000-4000-a000-%012u", number);
    (void)snprintf(count, sizeof(count), "%u", units ? (unsigned)(mib / GAUGE_UNIT_MIB) + 1 : 1);
    (void)snprintf(ask, sizeof(ask), "%lldMi", (long long)mib);
    (void)snprintf(workload, sizeof(workload), "%u", rng_below(rng, GAUGE_WORKLOADS));
    const char *resource = units ? "aliyun.com/gpu-mem" : "nvidia.com/gpu.shared";
    json_t *pod = json_pack(
        "{s:{s:s, s:s, s:s, s:s, s:{s:s}, s:{s:s}}, s:{s:s, s:[{s:s, s:s, s:{s:{s:s}, s:{s:s}}}], "
        "s:i}, s:{s:s}}",
        "metadata", "name", name, "namespace", "team-a", "uid", uid, "creationTimestamp",
        "2026-09-21T14:13:20Z", "annotations", "sliced.dev/timeout", rng_pick(rng, timeouts),
        "labels", "workload", workload, "spec", "schedulerName", "default-scheduler", "containers",
        "name", "c", "image", workload, "resources", "limits", resource, count, "requests",
        resource, count, "priority", (int)rng_below(rng, 3) * 100, "status", "phase", "Pending");
    if (!units) {
        (void)json_object_set_new(json_object_get(json_object_get(pod, "metadata"), "annotations"),
                                  "sliced.dev/gpu-memory", json_string(ask));
    }
    return pod;
}

void usage_add_pod(struct rig *rig)
{
    json_t *pod = make_pod(&rig->rng, rng_chance(&rig->rng, 20));
    bool gated = rng_chance(&rig->rng, 50);
    world_lock();
    moves_put_few(pod, gated, NULL);
    world_unlock();
}

void usage_add_foreign(struct rig *rig)
{
    world_lock();
    struct gauge *gauge = &gauges[rng_below(&rig->rng, GAUGES)];
    if (gauge->name[0] != '\0') {
        json_t *pod = make_pod(&rig->rng, gauge->units);
        moves_put_few(pod, false, gauge->name);
    }
    world_unlock();
}

void usage_quiet(struct rig *rig)
{
    struct gauge *gauge = &gauges[rng_below(&rig->rng, GAUGES)];
    world_lock();
    if (rng_chance(&rig->rng, 50)) {
        gauge->quiet_us = fake_time_world_us() + rng_below(&rig->rng, 240) * second_us;
    } else {
        gauge->names = (unsigned)rng_below(&rig->rng, 4);
    }
    world_unlock();
}

void usage_desk(struct rig *rig)
{
    world_lock();
    switch (rng_below(&rig->rng, 12)) {
    case 0:
        desk_add(&rig->rng);
        break;
    case 1:
        desk_relabel(&rig->rng);
        break;
    case 2:
        if (rng_chance(&rig->rng, 40)) {
            desk_lose(&rig->rng);
        }
        break;
    default:
        desk_sit(&rig->rng);
        break;
    }
    world_unlock();
}

void usage_go_on(struct rig *rig)
{
    world_lock();
    gauges_act(&rig->rng);
    world_unlock();
    rig_measure(rig);
    world_lock();
    gauges_judged_us = usage.pages ? fake_time_world_us() - usage.interval_us : INT64_MAX;
    world_unlock();
}

/* Nobody says of a pod that works that it idles: what is stale says nothing. */
static void check_idlers(const json_t *root)
{
    enum { OLD_S = 150 }; /* more than what is stale, and than clocks are apart */
    size_t i = 0;
    const json_t *item = NULL;
    bool set = gauges_clock_set_us > fake_time_world_us() - 300 * second_us;
    json_array_foreach(json_object_get(root, "items"), i, item)
    {
        const char *name = json_string_value(json_object_get(item, "name"));
        const json_t *idle = json_object_get(item, "idleSeconds");
        if (name != NULL && json_is_integer(idle) && json_integer_value(idle) > OLD_S && !set) {
            usage_counts.idlers++;
            if (desk_works_by_name(name)) {
                check_failed("%s works, and is said to idle for %lld s", name,
                             (long long)json_integer_value(idle));
            }
        }
    }
}

void usage_check(struct rig *rig)
{
    static const char *const paths[] = {"/api/v1/usage", "/api/v1/usage?by=pod",
                                        "/api/v1/usage?by=namespace"};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        struct http_reply reply = rig_ask(rig, "GET", paths[i], NULL);
        json_t *root = json_loadb(reply.text, reply.len, JSON_ALLOW_NUL, NULL);
        if (reply.status != 200 || root == NULL) {
            check_failed("GET %s is answered %u: %.2000s", paths[i], reply.status, reply.text);
        }
        world_lock();
        check_idlers(root);
        if (i == 0) {
            desks_check(json_object_get(root, "items"));
        }
        world_unlock();
        json_decref(root);
        http_reply_free(&reply);
    }
}
