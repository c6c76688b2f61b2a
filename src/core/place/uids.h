/* Finds a view's residents by UID, for requests that name many pods. */
#ifndef SLICED_CORE_UIDS_H
#define SLICED_CORE_UIDS_H

#include "sliced/view.h"

struct sl_uid_row {
    struct sl_str uid; /* borrowed from the pod */
    uint32_t resident;
};

struct sl_uids {
    struct sl_uid_row *row; /* ascending; without residents that have no UID */
    size_t n;
    uint64_t compared; /* UIDs compared in searches, so that a test can count work */
};

/* False when out of memory. The view must outlive it. O(residents log residents). */
bool sl_uids_init(struct sl_uids *uids, const struct sl_view *view);
void sl_uids_free(struct sl_uids *uids);

/* Returns the index of the first resident with that UID, -1 when there is none. O(log n). */
int64_t sl_uids_find(struct sl_uids *uids, struct sl_str uid);

#endif
