/* Policies by name. */
#include "sim/play/policy.h"

#include <stdio.h>
#include <stdlib.h>

#include "config/config.h"
#include "sim/input/csv/csv.h"

enum { WEIGHT_MAX = 1000, SHOWN_MAX = 60, PATH_TEXT = 4096 };

static const int64_t millionths = 1000000;

static int shown_length(struct sl_str text)
{
    return text.len < SHOWN_MAX ? (int)text.len : SHOWN_MAX;
}

static int value_expected(struct sl_str value, const char *what, struct sl_error *err)
{
    return sl_error_set(err, SL_ERR_FIELD, "expected %s, not \"%.*s\"", what, shown_length(value),
                        value.len > 0 ? value.s : "");
}

/* ---- parameters ---- */

static int set_alpha(struct sl_str value, struct sl_plan_config *plan, struct sl_error *err)
{
    return sl_order_weight_parse(value, SL_ORDER_ALPHA_MAX, &plan->order.weights.alpha)
               ? 0
               : value_expected(value, "a number in 0..1000000000", err);
}

static int set_weight(struct sl_str value, int64_t *weight, struct sl_error *err)
{
    return sl_order_weight_parse(value, SL_ORDER_WEIGHT_MAX, weight)
               ? 0
               : value_expected(value, "a number in 0..1000000", err);
}

static int set_beta(struct sl_str value, struct sl_plan_config *plan, struct sl_error *err)
{
    return set_weight(value, &plan->order.weights.beta, err);
}

static int set_gamma(struct sl_str value, struct sl_plan_config *plan, struct sl_error *err)
{
    return set_weight(value, &plan->order.weights.gamma, err);
}

static int set_c(struct sl_str value, struct sl_plan_config *plan, struct sl_error *err)
{
    int64_t permille = 0;
    if (!sl_csv_parse_time(value, 1000, &permille) || permille < SL_PROMISE_C_MIN ||
        permille > SL_PROMISE_C_MAX) {
        return value_expected(value, "a number in 1..100", err);
    }
    plan->promise.c_permille = (int32_t)permille;
    return 0;
}

static int set_backfill(struct sl_str value, struct sl_plan_config *plan, struct sl_error *err)
{
    if (!sl_str_eq(value, SL_STR("true")) && !sl_str_eq(value, SL_STR("false"))) {
        return value_expected(value, "true or false", err);
    }
    plan->backfill = sl_str_eq(value, SL_STR("true"));
    return 0;
}

static int set_default_timeout(struct sl_str value, struct sl_plan_config *plan,
                               struct sl_error *err)
{
    int64_t us = 0;
    if (!sl_csv_parse_time(value, millionths, &us) || us < millionths ||
        us > INT32_MAX * millionths) {
        return value_expected(value, "seconds, at least 1", err);
    }
    plan->default_timeout_us = us;
    return 0;
}

/* score=packing, or score=availability*3+packing */
static int set_score(struct sl_str value, struct sl_plan_config *plan, struct sl_error *err)
{
    struct sl_str rest = value;
    memset(&plan->score, 0, sizeof(plan->score));
    while (rest.len > 0) {
        struct sl_str factor = sl_str_cut(&rest, '+');
        struct sl_str name = sl_str_cut(&factor, '*');
        int64_t weight = 1;
        int term = 0;
        while (term < SL_TERM_COUNT &&
               !sl_str_eq(name, sl_str_of(sl_term_name((enum sl_term)term)))) {
            term++;
        }
        if (term == SL_TERM_COUNT || (factor.len > 0 && (!sl_str_to_i64(factor, &weight) ||
                                                         weight < 0 || weight > WEIGHT_MAX))) {
            return value_expected(value, "terms such as availability*3+packing", err);
        }
        plan->score.weight[term] = (int32_t)weight;
    }
    return 0;
}

static const struct parameter {
    const char *name;
    int (*set)(struct sl_str value, struct sl_plan_config *plan, struct sl_error *err);
    int order; /* of which it is; -1: of all */
} parameters[] = {
    {"alpha", set_alpha, SL_ORDER_P},
    {"beta", set_beta, SL_ORDER_P},
    {"gamma", set_gamma, SL_ORDER_P},
    {"c", set_c, SL_ORDER_BOUNDED},
    {"backfill", set_backfill, -1},
    {"score", set_score, -1},
    {"default-timeout", set_default_timeout, -1},
};

enum { PARAMETERS = sizeof(parameters) / sizeof(parameters[0]) };

static int pair_apply(struct sl_str pair, struct sl_plan_config *plan, struct sl_error *err)
{
    struct sl_buf names;
    struct sl_str value = pair;
    struct sl_str name = sl_str_cut(&value, '=');
    sl_buf_init(&names, 256);
    for (size_t i = 0; i < PARAMETERS; i++) {
        const struct parameter *parameter = &parameters[i];
        if (parameter->order >= 0 && parameter->order != (int)plan->order.kind) {
            continue;
        }
        if (sl_str_eq(name, sl_str_of(parameter->name))) {
            sl_buf_free(&names);
            return parameter->set(value, plan, err) < 0 ? sl_error_wrap(err, "%s", parameter->name)
                                                        : 0;
        }
        sl_buf_printf(&names, "%s%s", names.len > 0 ? ", " : "", parameter->name);
    }
    int rc = sl_error_set(err, SL_ERR_FIELD, "%s has no parameter \"%.*s\"; it takes %.*s",
                          sl_order_name(plan->order.kind), shown_length(name),
                          name.len > 0 ? name.s : "", (int)names.len, names.data);
    sl_buf_free(&names);
    return rc;
}

/* ---- configuration files ---- */

/* Takes a configuration as the daemon does, without preemption and autoscaler, which the simulation
 * lacks. */
static void from_config(const struct sl_config *config, struct sl_engine_config *engine)
{
    sl_config_engine(config, engine);
    engine->plan.preemption = false;
    engine->plan.autoscaler_pods = 0;
}

/* A name stands for the daemon's defaults with another order. */
static void use_defaults(struct sl_engine_config *engine)
{
    struct sl_config config;
    sl_config_defaults(&config);
    from_config(&config, engine);
}

static int read_config(struct sl_str path, struct sl_policy *policy, struct sl_error *err)
{
    char file[PATH_TEXT];
    struct sl_config config;
    sl_config_defaults(&config);
    if (path.len == 0 || path.len >= sizeof(file)) {
        return sl_error_set(err, SL_ERR_FIELD, "config: expected config:FILE");
    }
    (void)snprintf(file, sizeof(file), "%.*s", (int)path.len, path.s);
    if (sl_config_load(file, &config, NULL, err) < 0) {
        char text[sizeof(err->message)];
        sl_config_describe(file, err, text, sizeof(text));
        return sl_error_set(err, err->code, "%s", text);
    }
    from_config(&config, &policy->engine);
    if (policy->engine.plan.tenants != NULL) { /* the configuration does not last */
        policy->tenants = malloc(sizeof(*policy->tenants));
        if (policy->tenants == NULL) {
            return sl_error_nomem(err);
        }
        *policy->tenants = config.tenants;
        policy->tenants->reclaim = false; /* preemption, too */
        policy->engine.plan.tenants = policy->tenants;
    }
    return 0;
}

/* ---- policies ---- */

static int policy_unknown(struct sl_str name, struct sl_error *err)
{
    struct sl_buf names;
    sl_buf_init(&names, 256);
    for (int i = 0; i < SL_ORDER_KINDS; i++) {
        sl_buf_printf(&names, "%s, ", sl_order_name((enum sl_order_kind)i));
    }
    int rc =
        sl_error_set(err, SL_ERR_FIELD, "there is no policy \"%.*s\"; there are %.*sconfig:FILE",
                     shown_length(name), name.len > 0 ? name.s : "", (int)names.len, names.data);
    sl_buf_free(&names);
    return rc;
}

int sl_policy_parse(struct sl_str text, struct sl_policy *out, struct sl_error *err)
{
    struct sl_str rest = text;
    struct sl_str name = sl_str_cut(&rest, ':');
    struct sl_policy made;
    memset(&made, 0, sizeof(made));
    use_defaults(&made.engine);
    if (text.len == 0 || text.len >= sizeof(made.name)) {
        return policy_unknown(name, err);
    }
    memcpy(made.name, text.s, text.len);
    if (sl_str_eq(name, SL_STR("config"))) {
        if (read_config(rest, &made, err) < 0) {
            return -1;
        }
        rest.len = 0;
    } else if (!sl_order_parse(name, &made.engine.plan.order.kind)) {
        return policy_unknown(name, err);
    }
    while (rest.len > 0) {
        if (pair_apply(sl_str_cut(&rest, ':'), &made.engine.plan, err) < 0) {
            return -1; /* only names have pairs: there are no tenants to free */
        }
    }
    *out = made;
    return 0;
}

void sl_policies_free(struct sl_policies *policies)
{
    for (size_t i = 0; i < policies->n; i++) {
        free(policies->policy[i].tenants);
    }
    policies->n = 0;
}

int sl_policies_parse(const char *text, struct sl_policies *out, struct sl_error *err)
{
    struct sl_str rest = sl_str_of(text);
    out->n = 0;
    do {
        struct sl_str one = sl_str_cut(&rest, ',');
        if (out->n == SL_POLICIES_MAX) {
            return sl_error_set(err, SL_ERR_LIMIT, "more than %d policies", SL_POLICIES_MAX);
        }
        if (sl_policy_parse(one, &out->policy[out->n], err) < 0) {
            return -1;
        }
        for (size_t i = 0; i < out->n; i++) {
            if (strcmp(out->policy[i].name, out->policy[out->n].name) == 0) {
                free(out->policy[out->n].tenants);
                return sl_error_set(err, SL_ERR_FIELD, "\"%s\" is there twice",
                                    out->policy[i].name);
            }
        }
        out->n++;
    } while (rest.len > 0);
    return 0;
}
