/* Names of what a node's partitioning can be at. */
#include "server/app/partition_reader.h"

const char *sl_partition_phase_name(enum sl_partition_phase phase)
{
    static const char *const name[SL_PHASES] = {
        [SL_PHASE_IDLE] = "Idle",
        [SL_PHASE_DRAINING] = "Draining",
        [SL_PHASE_CUTTING] = "Cutting",
        [SL_PHASE_OUT] = "LeftOut",
    };
    return name[phase];
}
