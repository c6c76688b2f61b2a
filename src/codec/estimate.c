/* Reads a StartEstimate. */
#include "codec/estimate.h"

#include "codec/object/parts.h"
#include "codec/stream/json.h"

#include <stdio.h>

struct estimate {
    struct sl_str api_version;
    struct sl_str kind;
    struct sl_build build; /* spec.pod */
    bool has_pod;
};

static int open_pod(struct sl_walker *walker, void *target, const struct sl_event *event,
                    struct sl_error *err)
{
    struct estimate *estimate = walker->context;
    (void)target;
    (void)event;
    (void)err;
    estimate->has_pod = true;
    return SL_EVENT_GO;
}

/* The answer has it, beside what was asked. */
static int refuse_status(struct sl_walker *walker, void *target, const struct sl_event *event,
                         struct sl_error *err)
{
    (void)target;
    return sl_walk_fail(walker, event, err, SL_ERR_FIELD, "is the answer's, not the question's");
}

static const struct sl_table status_table = {.n = 0};

static const struct sl_field spec_fields[] = {
    {SL_FIELD_NAME("pod"), .kind = SL_FIELD_OBJECT, .table = &sl_pod_table,
     .offset = offsetof(struct estimate, build), .open = open_pod},
};
static const struct sl_table spec_table = {SL_TABLE_FIELDS(spec_fields)};

static const struct sl_field estimate_fields[] = {
    {SL_FIELD_NAME("apiVersion"), .kind = SL_FIELD_STRING,
     .offset = offsetof(struct estimate, api_version)},
    {SL_FIELD_NAME("kind"), .kind = SL_FIELD_STRING, .offset = offsetof(struct estimate, kind)},
    {SL_FIELD_NAME("spec"), .kind = SL_FIELD_OBJECT, .table = &spec_table},
    {SL_FIELD_NAME("status"), .kind = SL_FIELD_OBJECT, .table = &status_table,
     .open = refuse_status},
};
static const struct sl_table estimate_table = {SL_TABLE_FIELDS(estimate_fields)};

static const struct sl_field root = {SL_FIELD_NAME(""), .kind = SL_FIELD_OBJECT,
                                     .table = &estimate_table};

static int fail_field(struct sl_error *err, const char *field, const char *message)
{
    (void)sl_error_set(err, SL_ERR_FIELD, "%s", message);
    (void)snprintf(err->field, sizeof(err->field), "%s", field);
    return -1;
}

static int check_estimate(const struct estimate *estimate, struct sl_error *err)
{
    if (!sl_str_eq(estimate->api_version, SL_STR("visibility.sliced.dev/v1alpha1"))) {
        return fail_field(err, "apiVersion", "is not visibility.sliced.dev/v1alpha1");
    }
    if (!sl_str_eq(estimate->kind, SL_STR("StartEstimate"))) {
        return fail_field(err, "kind", "is not StartEstimate");
    }
    return estimate->has_pod ? 0 : fail_field(err, "spec.pod", "is missing");
}

int sl_estimate_decode(struct sl_str text, const struct sl_text_limits *limits,
                       struct sl_arena *arena, struct sl_pod_facts *out, struct sl_error *err)
{
    struct estimate estimate = {.has_pod = false};
    struct sl_walker walker;
    struct sl_error own = {.code = SL_ERR_NONE};
    sl_walk_init(&walker, &root, &estimate, arena, &estimate);
    int result = sl_json_parse(text, limits, sl_walk_receive, &walker, &own);
    if (result != 0) {
        sl_walk_place(&walker, NULL, &own);
    }
    result = result == 0 ? check_estimate(&estimate, &own) : -1;
    if (result < 0) {
        if (err != NULL) {
            *err = own;
        }
        return -1;
    }
    sl_build_pod(&estimate.build);
    *out = estimate.build.pod;
    return 0;
}
