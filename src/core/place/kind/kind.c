/* The table of how kinds are placed. */
#include "core/place/kind/kind.h"

const struct sl_kind_place *const sl_kind_places[SL_KIND_COUNT] = {
#define KIND(kind, name, ...) &sl_place_##name,
    SL_KINDS(KIND)
#undef KIND
};
