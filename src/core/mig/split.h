/* Splits instances over devices whose own instances are unknown. */
#ifndef SLICED_CORE_SPLIT_H
#define SLICED_CORE_SPLIT_H

#include "sliced/mig.h"

/* The number of ways to put the instances on the devices, whichever device is which. */
enum sl_split { SL_SPLIT_NONE, SL_SPLIT_ONE, SL_SPLIT_MANY };

/* Looks for ways to put counts[i] instances of the model's profile i on n devices, at most
 * SL_NODE_DEVICES_MAX. Answers MANY also when the search would take too long. On ONE, split[d] is
 * what device d holds. */
enum sl_split sl_split_find(const struct sl_mig_model *model,
                            const int64_t counts[SL_MIG_PROFILES_MAX], unsigned n,
                            uint8_t split[SL_NODE_DEVICES_MAX][SL_MIG_PROFILES_MAX]);

#endif
