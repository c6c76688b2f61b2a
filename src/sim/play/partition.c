/* How the GPUs of a fleet are cut during a run. */
#include "sim/play/partition.h"

#include "sim/input/become.h"
#include "sliced/cut_run.h"

/* ---- parsing ---- */

enum { NODES_MAX = 1000 };

static bool seconds_parse(struct sl_str text, int64_t *out)
{
    int64_t seconds = 0;
    bool good = sl_str_to_i64(text, &seconds) && seconds >= 0 && seconds <= 86400;
    *out = good ? seconds * SL_SECOND_US : *out;
    return good;
}

/* "seconds=60" */
static int setting_parse(struct sl_str item, struct sl_sim_cutting *out, struct sl_error *err)
{
    struct sl_str value = item;
    struct sl_str key = sl_str_cut(&value, '=');
    int64_t number = 0;
    if (sl_str_eq(key, SL_STR("seconds")) && seconds_parse(value, &out->seconds_us)) {
        return 0;
    }
    if (sl_str_eq(key, SL_STR("window")) && seconds_parse(value, &out->window_us)) {
        return 0;
    }
    if (sl_str_eq(key, SL_STR("nodes")) && sl_str_to_i64(value, &number) && number >= 1 &&
        number <= NODES_MAX) {
        out->max_nodes = number;
        return 0;
    }
    bool yes = sl_str_eq(value, SL_STR("true"));
    if (sl_str_eq(key, SL_STR("drain")) && (yes || sl_str_eq(value, SL_STR("false")))) {
        out->drain = yes;
        return 0;
    }
    bool nos = sl_str_eq(value, SL_STR("nos"));
    if (sl_str_eq(key, SL_STR("actuator")) && (nos || sl_str_eq(value, SL_STR("mig-manager")))) {
        out->actuator = nos ? SL_ACTUATOR_NOS_MIG : SL_ACTUATOR_MIG_MANAGER;
        return 0;
    }
    return sl_error_set(err, SL_ERR_FIELD,
                        "\"%.*s\": expected seconds=N, actuator=mig-manager|nos, nodes=N, window=N "
                        "or drain=true|false",
                        (int)(item.len < 60 ? item.len : 60), item.s);
}

int sl_partitioning_parse(const char *text, struct sl_partitioning *out, struct sl_error *err)
{
    struct sl_str rest = sl_str_of(text);
    const struct sl_str fixed = SL_STR("static:");
    *out = (struct sl_partitioning){.kind = SL_PARTITIONING_NONE};
    if (sl_str_eq(rest, SL_STR("none"))) {
        return 0;
    }
    if (sl_str_eq(rest, SL_STR("best-static"))) {
        out->kind = SL_PARTITIONING_BEST_STATIC;
        return 0;
    }
    if (sl_str_starts(rest, fixed) && rest.len > fixed.len) {
        out->kind = SL_PARTITIONING_STATIC;
        out->cut = (struct sl_str){rest.s + fixed.len, rest.len - fixed.len};
        return 0;
    }
    if (!sl_str_eq(sl_str_cut(&rest, ','), SL_STR("dynamic"))) {
        return sl_error_set(err, SL_ERR_FIELD,
                            "\"%.80s\": expected none, static:CUT, best-static or "
                            "dynamic[,seconds=N], where CUT is as in static:1g.5gb*7",
                            text);
    }
    out->kind = SL_PARTITIONING_DYNAMIC;
    out->cutting = (struct sl_sim_cutting){.actuator = SL_ACTUATOR_MIG_MANAGER,
                                           .seconds_us = -1,
                                           .window_us = -1,
                                           .max_nodes = -1,
                                           .drain = -1};
    while (rest.len > 0) {
        if (setting_parse(sl_str_cut(&rest, ','), &out->cutting, err) < 0) {
            return -1;
        }
    }
    if (out->cutting.seconds_us < 0) { /* as the daemon takes them for before it has learned them */
        out->cutting.seconds_us = sl_cut_seconds_us(NULL, 0, out->cutting.actuator);
    }
    return 0;
}

/* ---- fleets ---- */

struct sl_actuator_rule sl_partitioning_rule(const struct sl_partitioning *how)
{
    bool nos = how->cutting.actuator == SL_ACTUATOR_NOS_MIG;
    return (struct sl_actuator_rule){
        .enabled = how->kind == SL_PARTITIONING_DYNAMIC,
        .choice = nos ? SL_CHOOSE_NOS : SL_CHOOSE_MIG_MANAGER,
    };
}

int sl_partitioning_apply(const struct sl_partitioning *how, struct sl_fleet *fleet,
                          struct sl_error *err)
{
    const struct sl_mig_model *model = NULL;
    struct sl_counts counts;
    if (how->kind == SL_PARTITIONING_NONE) {
        return 0;
    }
    if (sl_fleet_cuttable(fleet, &model) == 0) {
        return sl_error_set(err, SL_ERR_FIELD,
                            "no node has GPUs of a known model that can be cut, such as "
                            "--gpus 4x8:A100-SXM4-40GB");
    }
    if (model == NULL && how->kind != SL_PARTITIONING_DYNAMIC) {
        return sl_error_set(err, SL_ERR_FIELD,
                            "the GPUs are of several models, which have no cut "
                            "in common");
    }
    if (how->kind != SL_PARTITIONING_STATIC) {
        return 0;
    }
    return sl_counts_parse(how->cut, model, &counts, err) < 0
               ? -1
               : sl_fleet_cut(fleet, &counts, NULL, err);
}

/* ---- runs ---- */

int sl_partitioned_run(const struct sl_partitioning *how, const struct sl_sim_input *input,
                       struct sl_sim_run *run, char cut[SL_FIXED_TEXT_MAX], struct sl_error *err)
{
    struct sl_sim_input with = *input;
    cut[0] = '\0';
    if (how->kind == SL_PARTITIONING_BEST_STATIC) {
        with.record = NULL; /* which of the many runs is the best is not known yet */
        return sl_fixed_run(&with, run, cut, err);
    }
    with.cutting = how->kind == SL_PARTITIONING_DYNAMIC ? &how->cutting : NULL;
    return sl_sim_run(&with, run, err);
}
