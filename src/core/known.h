/* Names that nearly every cluster uses: they are referred to where copies would take memory on
 * each node and pod. */
#ifndef SLICED_CORE_KNOWN_H
#define SLICED_CORE_KNOWN_H

#include "util/str.h"

/* The same text with static lifetime; NULL when it is none of them. */
const char *sl_known_text(struct sl_str text);

#endif
