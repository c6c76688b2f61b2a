/* A share told what happens by a few words, and asked when its pods start:
 *
 *     "0 +a 1 10, 0 +b 1 5, 3 -a 3"    ->    "a 0, b 3"
 *
 * T +NAME UNITS TIMEOUT [PRIORITY [USER]]: it comes; T -NAME RUN: it has ended after it had run so
 * long; T !NAME: it is withdrawn; T =SIZE: the size, in units, and more than one digit of a
 * fraction after it; T ?: nothing. Times in seconds. */
#ifndef SLICED_TEST_SHARE_RIG_H
#define SLICED_TEST_SHARE_RIG_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/share/share.h"
#include "unit/test.h"
#include "util/time.h"

enum { SHARE_TEXT = 512, SHARE_PODS = 32 };

struct share_rig_pod {
    char name[8];
    struct sl_share_pod *pod; /* NULL: ended or withdrawn */
};

struct share_rig {
    struct sl_share *share;
    struct share_rig_pod pod[SHARE_PODS];
    unsigned n;
    int64_t now_s;
    char starts[SHARE_TEXT];
};

static inline void share_rig_started(void *context, void *owner, int64_t start_us)
{
    char *text = context;
    const struct share_rig_pod *pod = owner;
    size_t len = strlen(text);
    (void)snprintf(text + len, SHARE_TEXT - len, "%s%s %g", len == 0 ? "" : ", ", pod->name,
                   (double)start_us / (double)SL_SECOND_US);
}

static inline void share_rig_play(struct share_rig *rig, int64_t now_s)
{
    rig->now_s = now_s;
    sl_share_play(rig->share, now_s * SL_SECOND_US, share_rig_started, rig->starts);
}

static inline struct share_rig_pod *share_rig_find(struct share_rig *rig, const char *name)
{
    for (unsigned i = 0; i < rig->n; i++) {
        if (strcmp(rig->pod[i].name, name) == 0) {
            return &rig->pod[i];
        }
    }
    fail_msg("no pod %s", name);
    return NULL;
}

static inline void share_rig_word(const char **at, char *out, size_t size)
{
    size_t len = strcspn(*at, " ,");
    (void)snprintf(out, size, "%.*s", (int)len, *at);
    *at += len + ((*at)[len] == ' ');
}

/* 0: there is none. */
static inline double share_rig_number(const char **at)
{
    char *end = NULL;
    double number = strtod(*at, &end);
    *at = end + (*end == ' ');
    return number;
}

/* False: no memory. */
static inline bool share_rig_come(struct share_rig *rig, const char *words)
{
    struct share_rig_pod *pod = &rig->pod[rig->n];
    char user[16] = "";
    assert_true(rig->n < SHARE_PODS);
    share_rig_word(&words, pod->name, sizeof(pod->name));
    int64_t units = (int64_t)share_rig_number(&words);
    int64_t timeout_us = (int64_t)(share_rig_number(&words) * SL_SECOND_US);
    int32_t priority = (int32_t)share_rig_number(&words);
    share_rig_word(&words, user, sizeof(user));
    const struct sl_share_facts facts = {
        .item = {.timeout_us = timeout_us,
                 .submit_us = rig->now_s * SL_SECOND_US,
                 .priority = priority},
        .number = rig->n,
        .units = units,
        .fifo_us = INT64_MAX,
        .user_us = INT64_MAX,
        .start_us = INT64_MAX,
        .run_us = -1,
        .owner = pod,
    };
    pod->pod = sl_share_arrive(rig->share, &facts, sl_str_of(user), rig->now_s * SL_SECOND_US);
    rig->n += pod->pod != NULL;
    return pod->pod != NULL;
}

static inline void share_rig_event(struct share_rig *rig, char what, const char *words)
{
    char name[8] = "";
    struct share_rig_pod *pod = NULL;
    switch (what) {
    case '+':
        assert_true(share_rig_come(rig, words));
        break;
    case '=':
        sl_share_resize(rig->share, (int64_t)(share_rig_number(&words) * SL_SHARE_ONE + 0.5));
        break;
    case '-':
    case '!':
        share_rig_word(&words, name, sizeof(name));
        pod = share_rig_find(rig, name);
        if (what == '-') {
            sl_share_over(rig->share, pod->pod, (int64_t)(share_rig_number(&words) * SL_SECOND_US),
                          rig->now_s * SL_SECOND_US);
        } else {
            sl_share_withdraw(rig->share, pod->pod);
        }
        pod->pod = NULL;
        break;
    default:
        assert_int_equal(what, '?');
    }
}

/* Returns the starts that were told. */
static inline const char *share_rig_story(struct share_rig *rig, const char *events)
{
    rig->starts[0] = '\0';
    for (const char *at = events; at != NULL; at = strchr(at, ',')) {
        char *what = NULL;
        at += *at == ',';
        int64_t now_s = strtoll(at, &what, 10);
        if (now_s > rig->now_s) { /* events of one time happen together */
            share_rig_play(rig, rig->now_s);
            share_rig_play(rig, now_s);
        }
        share_rig_event(rig, what[1], what + 2);
    }
    share_rig_play(rig, rig->now_s);
    return rig->starts;
}

static inline void share_rig_begin(struct share_rig *rig, enum sl_order_kind kind, bool users)
{
    const struct sl_share_config config = {
        .order = {.kind = kind,
                  .weights = {.alpha = SL_ORDER_ONE, .beta = SL_ORDER_ONE, .gamma = SL_ORDER_ONE}},
        .c_permille = 1000,
        .users = users};
    *rig = (struct share_rig){.share = sl_share_new(&config)};
}

#endif
