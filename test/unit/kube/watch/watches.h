/* Lists and watches as the tests have the API server answer them. */
#ifndef SLICED_TEST_WATCHES_H
#define SLICED_TEST_WATCHES_H

#include "unit/kube/calls.h"

#include "kube/watch/reflector.h"

#define NODES   "/api/v1/nodes?limit"
#define PODS    "/api/v1/pods?limit"
#define W_NODES "/api/v1/nodes?watch"
#define W_PODS  "/api/v1/pods?watch"
/* A list of one page. */
#define WHOLE(kind, items)                                                                         \
    "{\"kind\":\"" kind "List\",\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[" items "]}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define TOO_OLD             EVENT("ERROR", "{\"code\":410}")

/* Patient: a loaded machine must not end a call. What fails is soon tried again. */
static inline struct sl_reflector_times watch_times(unsigned page)
{
    return (struct sl_reflector_times){.page = page,
                                       .page_us = 20000 * MS,
                                       .watch_us = 300000 * MS,
                                       .silence_us = 1000000 * MS,
                                       .backoff_us = 1 * MS,
                                       .backoff_max_us = 4 * MS};
}

/* An answer, in pieces; once, or a watch that stays open behind it. */
static inline void add_answer(struct rig *rig, const char *path, const char *body, bool stays_open)
{
    fake_api_add(rig->api, (struct fake_answer){.path = path,
                                                .times = stays_open ? 0 : 1,
                                                .body = body,
                                                .piece = 50,
                                                .hang = stays_open,
                                                .cut_at = stays_open ? strlen(body) : 0});
}

#endif
