/* Writes down, as text, what a reader of samples tells. */
#ifndef SLICED_TEST_TOLD_H
#define SLICED_TEST_TOLD_H

#include <stdio.h>
#include <string.h>

#include "telemetry/prometheus/answer.h"

struct told {
    char text[4096];
    size_t len;
    bool refuse;      /* no series is wanted */
    int64_t begin_us; /* times are told from there */
};

static inline void told_begin(struct told *told)
{
    told->len = 0;
    told->text[0] = '\0';
}

static inline void told_say(struct told *told, const char *a, const char *b)
{
    told->len +=
        (size_t)snprintf(told->text + told->len, sizeof(told->text) - told->len, "%s%s", a, b);
}

static inline bool told_series(void *context, const struct sl_answer_series *metric)
{
    struct told *told = context;
    told_say(told, "[", metric->name);
    told_say(told, " ", metric->node[0]);
    told_say(told, " gpu ", metric->gpu);
    told_say(told, " ", metric->uuid);
    told_say(told, " i", metric->instance);
    told_say(told, " ", metric->profile);
    for (size_t i = 0; i < SL_ANSWER_NAMES; i++) {
        told_say(told, metric->pod.text[i][0] == '\0' ? "" : " pod ", metric->pod.text[i]);
        told_say(told, metric->namespace.text[i][0] == '\0' ? "" : " of ",
                 metric->namespace.text[i]);
    }
    told_say(told, metric->pod.more ? " and more" : "", metric->namespace.more ? " of more" : "");
    told_say(told, metric->node[1][0] == '\0' ? "]" : "]2:", metric->node[1]);
    return !told->refuse;
}

static inline void told_sample(void *context, int64_t at_us, double value)
{
    struct told *told = context;
    told->len += (size_t)snprintf(told->text + told->len, sizeof(told->text) - told->len,
                                  " %lld=%.17g", (long long)(at_us - told->begin_us), value);
}

#endif
