/* Where published data is. */
#ifndef SLICED_EVIDENCE_DATA_H
#define SLICED_EVIDENCE_DATA_H

#include <stddef.h>

#include "util/error.h"

/* Finds a file of Ferikoglou et al., in FOLDER/ferikoglou or in the folder itself.
 * SL_ERR_NOTFOUND: it is in neither. */
int sl_ferikoglou_path(const char *folder, const char *name, char *path, size_t size,
                       struct sl_error *err);

#endif
