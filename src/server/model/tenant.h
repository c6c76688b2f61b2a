/* Shows a tenant's part of a resource, and its hours. */
#ifndef SLICED_SERVER_MODEL_TENANT_H
#define SLICED_SERVER_MODEL_TENANT_H

#include "server/app/usage_reader.h"
#include "server/model/field.h"
#include "sliced/plan.h"

/* Parts of units are in thousandths. */
struct sl_model_tenant {
    const struct sl_tenant_row *row;
    const char *model; /* NULL: all */
    int64_t share;
    int64_t borrowed;
    int64_t lent;
    int64_t late_us; /* -1: no pod is due */
    int64_t waiting; /* pods, as all that follows */
    int64_t due;
    int64_t running;
    int64_t overdue;
};
/* Names no other tenant, and no pod. */
extern const struct sl_field sl_model_tenant[];
void sl_model_tenant_of(const struct sl_tenant_row *row, struct sl_model_tenant *out);

/* Hours of a unit, in thousandths. */
struct sl_model_spent {
    const struct sl_spent *row;
    int64_t milli[SL_SPENT_KINDS];
};
extern const struct sl_field sl_model_spent[];
void sl_model_spent_of(const struct sl_spent *row, struct sl_model_spent *out);

#endif
