/* A sorted list and a binary search: unlike a hash, nothing that a body says makes it slow. */
#include "core/uids.h"

#include <stdlib.h>

static int compare(struct sl_str a, struct sl_str b)
{
    int order = memcmp(a.s, b.s, a.len < b.len ? a.len : b.len);
    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

static int by_uid(const void *a, const void *b)
{
    const struct sl_uid_row *x = a;
    const struct sl_uid_row *y = b;
    int order = compare(x->uid, y->uid);
    return order != 0 ? order : (x->resident > y->resident) - (x->resident < y->resident);
}

bool sl_uids_init(struct sl_uids *uids, const struct sl_view *view)
{
    *uids = (struct sl_uids){.row = NULL};
    if (view->n_residents == 0) {
        return true;
    }
    uids->row = malloc(view->n_residents * sizeof(*uids->row));
    if (uids->row == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < view->n_residents; i++) {
        struct sl_str uid = sl_str_of(view->resident[i].pod->uid);
        if (uid.len > 0) {
            uids->row[uids->n++] = (struct sl_uid_row){uid, i};
        }
    }
    qsort(uids->row, uids->n, sizeof(*uids->row), by_uid);
    return true;
}

void sl_uids_free(struct sl_uids *uids)
{
    free(uids->row);
    uids->row = NULL;
}

int64_t sl_uids_find(struct sl_uids *uids, struct sl_str uid)
{
    size_t low = 0;
    size_t high = uid.len == 0 ? 0 : uids->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uids->compared++;
        if (compare(uids->row[middle].uid, uid) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (uid.len == 0 || low == uids->n || !sl_str_eq(uids->row[low].uid, uid)) {
        return -1;
    }
    return uids->row[low].resident;
}
