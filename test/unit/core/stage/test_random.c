/* Random stories: what stages say must be what a model says that looks at everything each time. */
#include "stage_rig.h"

enum { NAMES = 9, STORIES = 300, STEPS = 120, LABELS = 3 };

/* What there is under a name. */
struct thing {
    bool there;
    bool waits;
    unsigned uid;
    unsigned label; /* g=0.. */
    bool marked;    /* h=1 */
    bool of_job;    /* of the Job j */
    unsigned after[3];
    unsigned n_after;
    enum sl_pod_phase phase;
};

/* Items: 0..NAMES-1 pods, then selectors, then a Job that is never there. */
enum { ITEM_LABEL = NAMES, SELECTORS = 9, ITEM_JOB = ITEM_LABEL + SELECTORS, ITEMS };

static const char *const selectors[SELECTORS] = {
    "g=0", "g=1", "g=2", "g!=0", "g in (0,1,0)", "(h,g=2)", "(g=1,!h)", "!h", "(h)"};

static bool selects(unsigned selector, const struct thing *thing)
{
    switch (selector) {
    case 3:
        return thing->label != 0;
    case 4:
        return thing->label < 2;
    case 5:
        return thing->marked && thing->label == 2;
    case 6:
        return !thing->marked && thing->label == 1;
    case 7:
        return !thing->marked;
    case 8:
        return thing->marked;
    default:
        return thing->label == selector;
    }
}

struct model {
    struct thing thing[NAMES];
    bool past[ITEMS];    /* something succeeded and is gone while the item was waited for */
    bool watched[ITEMS]; /* somebody waits for it */
    unsigned uids;
    uint64_t seed;
};

static unsigned roll(struct model *model, unsigned n)
{
    model->seed = model->seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((model->seed >> 33) % n);
}

static bool names(const struct model *model, unsigned item, unsigned who)
{
    if (item < ITEM_LABEL) {
        return item == who;
    }
    return item < ITEM_JOB && selects(item - ITEM_LABEL, &model->thing[who]);
}

/* Whoever waits for a Job waits for its pods. */
static bool leads_to(const struct model *model, unsigned item, unsigned who)
{
    return item == ITEM_JOB ? model->thing[who].of_job : names(model, item, who);
}

/* Does a wait, by whatever way, for b? Marks what it has met. */
static bool reaches(const struct model *model, unsigned a, unsigned b, bool met[NAMES])
{
    const struct thing *thing = &model->thing[a];
    for (unsigned i = 0; i < thing->n_after; i++) {
        for (unsigned next = 0; next < NAMES; next++) {
            const struct thing *to = &model->thing[next];
            if (!to->waits || to->n_after == 0 || !leads_to(model, thing->after[i], next)) {
                continue;
            }
            if (next == b) {
                return true;
            }
            if (!met[next]) {
                met[next] = true;
                if (reaches(model, next, b, met)) {
                    return true;
                }
            }
        }
    }
    return false;
}

static enum sl_hold_reason expected(const struct model *model, unsigned who)
{
    const struct thing *thing = &model->thing[who];
    bool met[NAMES] = {false};
    bool done = true;
    if (reaches(model, who, who, met)) {
        return SL_HOLD_STAGE_CYCLE;
    }
    for (unsigned i = 0; i < thing->n_after; i++) {
        unsigned item = thing->after[i];
        unsigned n = 0;
        unsigned succeeded = 0;
        for (unsigned other = 0; other < NAMES; other++) {
            const struct thing *to = &model->thing[other];
            if (to->there && names(model, item, other)) {
                n++;
                succeeded += to->phase == SL_POD_SUCCEEDED;
                if (to->phase == SL_POD_FAILED) {
                    return SL_HOLD_STAGE_FAILED;
                }
            }
        }
        done = done && n == succeeded && (n > 0 || model->past[item]);
    }
    return done ? SL_HOLD_NONE : SL_HOLD_STAGE;
}

static void item_text(unsigned item, char *out, size_t size)
{
    if (item < ITEM_LABEL) {
        (void)snprintf(out, size, "pod/p%u", item);
    } else if (item < ITEM_JOB) {
        (void)snprintf(out, size, "%s", selectors[item - ITEM_LABEL]);
    } else {
        (void)snprintf(out, size, "job/j");
    }
}

static struct sl_pod *make(struct stage_rig *rig, const struct model *model, unsigned who)
{
    const struct thing *thing = &model->thing[who];
    char name[16];
    char uid[32];
    char labels[80];
    char after[128] = "";
    size_t len = 0;
    (void)snprintf(name, sizeof(name), "p%u", who);
    (void)snprintf(uid, sizeof(uid), "u%u", thing->uid);
    (void)snprintf(labels, sizeof(labels), "g=%u%s%s", thing->label, thing->marked ? " h=1" : "",
                   thing->of_job ? " job-name=j batch.kubernetes.io/job-name=j" : "");
    for (unsigned i = 0; i < thing->n_after; i++) {
        char item[32];
        item_text(thing->after[i], item, sizeof(item));
        len += (size_t)snprintf(after + len, sizeof(after) - len, "%s%s", i > 0 ? ", " : "", item);
    }
    return stage_rig_make(rig, name, uid, labels, len > 0 ? after : NULL,
                          sl_pod_phase_name(thing->phase));
}

/* Only while somebody waits for an item is remembered what succeeded. */
static void follow_watched(struct model *model)
{
    for (unsigned item = 0; item < ITEMS; item++) {
        bool watched = false;
        for (unsigned who = 0; who < NAMES; who++) {
            for (unsigned i = 0; i < model->thing[who].n_after; i++) {
                watched =
                    watched || (model->thing[who].waits && model->thing[who].after[i] == item);
            }
        }
        model->past[item] = model->past[item] && watched;
        model->watched[item] = watched;
    }
}

static void tell(struct stage_rig *rig, const struct model *model, unsigned who)
{
    struct sl_pod *pod = make(rig, model, who);
    sl_stages_pod(rig->stages, pod);
    if (model->thing[who].waits) {
        assert_int_equal(sl_stages_put(rig->stages, pod, NULL), 0);
    } else {
        sl_stages_remove(rig->stages, sl_str_of(pod->uid));
    }
    sl_pod_unref(pod);
}

static void take_away(struct stage_rig *rig, struct model *model, unsigned who)
{
    struct thing *thing = &model->thing[who];
    char name[16];
    struct sl_pod *pod = make(rig, model, who);
    for (unsigned item = 0; item < ITEMS; item++) {
        model->past[item] = model->past[item] || (thing->phase == SL_POD_SUCCEEDED &&
                                                  model->watched[item] && names(model, item, who));
    }
    (void)snprintf(name, sizeof(name), "p%u", who);
    stage_rig_gone(rig, name);
    sl_stages_remove(rig->stages, sl_str_of(pod->uid));
    sl_pod_unref(pod);
    *thing = (struct thing){.there = false};
}

static void step(struct stage_rig *rig, struct model *model)
{
    unsigned who = roll(model, NAMES);
    struct thing *thing = &model->thing[who];
    if (!thing->there) {
        *thing = (struct thing){.there = true,
                                .waits = true,
                                .uid = ++model->uids,
                                .label = roll(model, LABELS),
                                .marked = roll(model, 2) == 0,
                                .of_job = roll(model, 8) == 0,
                                .n_after = roll(model, 3)};
        for (unsigned i = 0; i < thing->n_after; i++) {
            thing->after[i] = roll(model, 20) == 0 ? ITEM_JOB : roll(model, ITEM_JOB);
        }
    } else if (roll(model, 4) == 0) {
        take_away(rig, model, who);
        follow_watched(model);
        return;
    } else if (thing->waits && roll(model, 3) == 0) {
        thing->label = roll(model, LABELS);
        thing->marked = roll(model, 2) == 0;
        thing->n_after = roll(model, 3);
        for (unsigned i = 0; i < thing->n_after; i++) {
            thing->after[i] = roll(model, ITEM_JOB);
        }
    } else if (thing->waits) {
        thing->waits = false;
        thing->phase = SL_POD_RUNNING;
    } else if (thing->phase == SL_POD_RUNNING) {
        thing->phase = roll(model, 4) == 0 ? SL_POD_FAILED : SL_POD_SUCCEEDED;
    }
    tell(rig, model, who);
    follow_watched(model);
}

/* Reads as an API server would answer. */
static void read_all(struct stage_rig *rig, struct model *model)
{
    struct sl_stage_read read;
    while (stage_rig_next(rig, &read)) {
        uint64_t id = read.id;
        for (unsigned who = 0; who < NAMES; who++) {
            if (model->thing[who].there) {
                struct sl_pod *pod = make(rig, model, who);
                sl_stages_read_pod(rig->stages, id, pod);
                sl_pod_unref(pod);
            }
        }
        sl_stages_read_end(rig->stages, id, roll(model, 4) > 0, rig->now_us);
    }
}

struct told {
    enum sl_hold_reason stage[STEPS * NAMES]; /* by number of the UID */
};

static void note(void *context, struct sl_str uid, enum sl_hold_reason stage, const char *why)
{
    struct told *told = context;
    assert_true((why == NULL) == (stage == SL_HOLD_NONE));
    told->stage[strtoul(uid.s + 1, NULL, 10)] = stage;
}

TEST_THAT(stages_say_what_a_look_at_everything_says)
{
    unsigned seen[SL_HOLD_REASONS] = {0};
    for (unsigned story = 0; story < STORIES; story++) {
        struct stage_rig *rig = stage_rig_new(10000);
        struct model model = {.seed = story * 7919 + 1};
        struct told told = {.stage = {SL_HOLD_NONE}};
        for (unsigned i = 0; i < STEPS; i++) {
            step(rig, &model);
            read_all(rig, &model); /* what succeeded and is gone before that is not known of */
            if (roll(&model, 3) == 0) {
                continue;
            }
            sl_stages_collect(rig->stages, note, &told);
            for (unsigned who = 0; who < NAMES; who++) {
                const struct thing *thing = &model.thing[who];
                if (!thing->there || !thing->waits || thing->n_after == 0) {
                    continue;
                }
                enum sl_hold_reason wanted = expected(&model, who);
                seen[wanted]++;
                if (told.stage[thing->uid] != wanted) {
                    fail_msg("story %u, step %u: p%u is %s, not %s", story, i, who,
                             sl_hold_reason_name(told.stage[thing->uid]),
                             sl_hold_reason_name(wanted));
                }
            }
        }
        stage_rig_free(rig);
    }
    assert_true(seen[SL_HOLD_NONE] > 100 && seen[SL_HOLD_STAGE] > 100 &&
                seen[SL_HOLD_STAGE_FAILED] > 100 && seen[SL_HOLD_STAGE_CYCLE] > 100);
}
