/* What pods on a shared GPU teach as they go, in random stories in which the test knows what each
 * of them really used, and the code only the sum. */
#include <stdlib.h>

#include "core/usage/lives.h"
#include "unit/test.h"

enum { PODS = 6, STEPS = 60, STORIES = 400, STEP_S = 20, BLOCK = SL_USAGE_STEP_MIB };

struct truth {
    bool there;
    struct sl_lives_pod pod;
    int64_t started_us; /* 0: it does not run yet */
    int64_t uses;       /* MiB */
    int64_t given;      /* by all since it came, and not taken again */
    int64_t alone;      /* the most that was used while it was alone */
    int64_t together;   /* the most that all used while it was there */
    unsigned windows;
};

struct story {
    struct truth pod[PODS];
    struct sl_usage_unit unit;
    int64_t now_us;
    unsigned taught;
    uint64_t pods; /* so many have come */
    uint64_t seed;
};

static unsigned draw(struct story *story, unsigned n)
{
    story->seed = story->seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(story->seed >> 33) % n;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t sum_of(const struct story *story, unsigned *n)
{
    int64_t sum = 0;
    *n = 0;
    for (unsigned i = 0; i < PODS; i++) {
        sum += story->pod[i].there ? story->pod[i].uses : 0;
        *n += story->pod[i].there;
    }
    return sum;
}

static bool any_is_young(const struct story *story)
{
    bool young = false;
    for (unsigned i = 0; i < PODS; i++) {
        const struct truth *pod = &story->pod[i];
        int64_t age_us = story->now_us - pod->started_us;
        young = young || (pod->there &&
                          (pod->started_us == 0 || age_us < SL_USAGE_YOUNG_S * INT64_C(1000000)));
    }
    return young;
}

/* ---- what happens ---- */

static void come(struct story *story, struct truth *who)
{
    *who = (struct truth){.there = true, .uses = BLOCK * (int64_t)draw(story, 40)};
    who->pod = (struct sl_lives_pod){
        .pod = ++story->pods,
        .workload = draw(story, 8) == 0 ? 0 : (uint32_t)story->pods,
        .ask_mib = draw(story, 8) == 0 ? -1 : 500 + (int64_t)draw(story, 5000)};
    who->started_us = draw(story, 5) == 0 ? 0 : story->now_us;
}

/* Uses so much more, or less. What no young pod can have brought was given back before. */
static void change(struct story *story, struct truth *who, int64_t by)
{
    bool young = any_is_young(story);
    by = most(by, -who->uses);
    who->uses += by;
    for (unsigned i = 0; i < PODS; i++) {
        struct truth *pod = &story->pod[i];
        pod->given = by < 0 || !young ? most(pod->given - by, 0) : pod->given;
    }
}

/* spike: so much more was used in between, and given back. */
static void measure(struct story *story, int64_t spike, struct sl_past *peaks)
{
    unsigned n = 0;
    const int64_t sum = sum_of(story, &n);
    const int64_t highest = sum + spike;
    const struct sl_extent since = {(int32_t)sum, (int32_t)highest, 2, story->now_us};
    const bool alone = n == 1;
    for (unsigned i = 0; i < PODS; i++) {
        struct truth *pod = &story->pod[PODS - 1 - i]; /* any order will do */
        if (pod->there) {
            pod->pod.runs = pod->started_us > 0;
            sl_lives_meet(&story->unit, &pod->pod, story->now_us, false);
            pod->windows++;
            pod->alone = most(pod->alone, alone ? highest : 0);
            pod->together = most(pod->together, highest);
        }
    }
    sl_lives_part(&story->unit);
    for (unsigned i = 0; i < story->unit.n; i++) { /* no newcomer grows while another goes */
        story->unit.life[i].settled = true;
        story->unit.life[i].glimpse_mib = INT32_MAX;
    }
    sl_lives_measure(&story->unit, &since, (int32_t)sum, peaks);
}

static int64_t permille(int64_t mib, int64_t ask_mib)
{
    int64_t whole = mib * 1000 / ask_mib;
    return least(whole * ask_mib < mib * 1000 ? whole + 1 : whole, 1000);
}

/* One or two pods go. A pod surely used what it used alone and, when no other went with it, what
 * fell away with it; it used no more than that and what anybody may have given back before, nor
 * than all together. */
static void go(struct story *story, struct truth *const *who, unsigned n)
{
    struct sl_past *expected = sl_past_new(8);
    struct sl_past *learned = sl_past_new(8);
    int64_t fell = 0;
    for (unsigned i = 0; i < n; i++) {
        fell += who[i]->uses;
        who[i]->there = false;
    }
    measure(story, 0, learned);
    for (unsigned i = 0; i < n; i++) {
        const struct truth *pod = who[i];
        const int64_t low = most(pod->alone, n == 1 ? fell : 0);
        const int64_t high = most(low, least(fell + pod->given, pod->together));
        const bool ran = pod->started_us > 0; /* else nothing of it was seen */
        if (ran && pod->windows >= SL_USAGE_LIFE_WINDOWS && pod->pod.ask_mib > 0) {
            sl_peaks_learn(expected, 0, pod->pod.workload, (int32_t)permille(low, pod->pod.ask_mib),
                           (int32_t)permille(high, pod->pod.ask_mib));
        }
        unsigned n_expected = 0;
        unsigned n_learned = 0;
        const int32_t *a =
            sl_past_values(expected, sl_peaks_key(0, pod->pod.workload), &n_expected);
        const int32_t *b = sl_past_values(learned, sl_peaks_key(0, pod->pod.workload), &n_learned);
        if (pod->pod.workload == 0) { /* nobody's life */
            n_expected = 0;
        }
        assert_int_equal(n_learned, n_expected);
        assert_true(n_learned == 0 || *a == *b);
        story->taught += n_learned;
    }
    sl_past_free(expected);
    sl_past_free(learned);
}

static void step(struct story *story)
{
    struct truth *who = &story->pod[draw(story, PODS)];
    struct truth *other = &story->pod[draw(story, PODS)];
    const int64_t some = BLOCK * (1 + (int64_t)draw(story, 20));
    int64_t spike = 0;
    story->now_us += STEP_S * INT64_C(1000000);
    switch (who->there ? draw(story, 9) : 9) {
    case 0:
        go(story, &who, 1);
        return;
    case 1:
        go(story, (struct truth *[]){who, other}, other->there && other != who ? 2 : 1);
        return;
    case 2:
        who->started_us = who->started_us == 0 ? story->now_us : who->started_us;
        break;
    case 3:
    case 4:
        change(story, who, some);
        break;
    case 5:
    case 6:
        change(story, who, -some);
        break;
    case 9:
        come(story, who);
        break;
    default: /* more for a while, and as before */
        spike = some;
        change(story, who, spike);
        change(story, who, -spike);
        break;
    }
    measure(story, spike, NULL);
}

TEST_THAT(pods_teach_what_the_sum_shows_of_them)
{
    unsigned taught = 0;
    for (unsigned i = 0; i < STORIES; i++) {
        struct story story = {.seed = i, .now_us = INT64_C(1000000000)};
        measure(&story, 0, NULL);
        for (unsigned k = 0; k < STEPS; k++) {
            step(&story);
        }
        taught += story.taught;
    }
    assert_true(taught > 2 * STORIES);
}
