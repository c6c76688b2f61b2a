/* Policies by name: turns the items of --policy into configurations of the engine. */
#ifndef SLICED_SIM_POLICY_H
#define SLICED_SIM_POLICY_H

#include "sliced/engine.h"

enum { SL_POLICIES_MAX = 64, SL_POLICY_NAME_MAX = 128 };

struct sl_policy {
    char name[SL_POLICY_NAME_MAX]; /* as it was given */
    struct sl_engine_config engine;
    struct sl_tenants *tenants; /* that engine names; NULL: none */
};

struct sl_policies {
    size_t n;
    struct sl_policy policy[SL_POLICIES_MAX];
};

void sl_policies_free(struct sl_policies *policies);

/* "fifo,p:gamma=0.25,config:sliced.yaml". The error for an unknown name lists the known ones. */
int sl_policies_parse(const char *text, struct sl_policies *out, struct sl_error *err);

/* One policy: "bounded:c=1.3". Of a configuration with tenants, they are to be freed. */
int sl_policy_parse(struct sl_str text, struct sl_policy *out, struct sl_error *err);

#endif
