/* The orders that do more than compare two pods. */
#include "core/plan/decide/decide.h"

static const struct sl_plan_order *const orders[SL_ORDER_KINDS] = {
    [SL_ORDER_BOUNDED] = &sl_plan_bounded,
};

const struct sl_plan_order *sl_plan_order_of(enum sl_order_kind kind)
{
    return kind < SL_ORDER_KINDS ? orders[kind] : NULL;
}
