/* Names that nearly every cluster uses: nodes and pods point to one shared text instead of holding
 * copies. */
#ifndef SLICED_CORE_KNOWN_H
#define SLICED_CORE_KNOWN_H

#include "util/str.h"

/* Returns the equal text of static lifetime, NULL when the text is not among them. */
const char *sl_known_text(struct sl_str text);

#endif
