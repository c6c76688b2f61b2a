/* A sorted list and a binary search. Unlike a hash, no request body can make it slow. */
#include "core/place/uids.h"

#include "util/data/search.h"

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

struct wanted {
    struct sl_str uid;
    uint64_t *compared;
};

static bool row_is_before(const void *item, const void *key)
{
    const struct wanted *wanted = key;
    (*wanted->compared)++;
    return compare(((const struct sl_uid_row *)item)->uid, wanted->uid) < 0;
}

int64_t sl_uids_find(struct sl_uids *uids, struct sl_str uid)
{
    struct wanted wanted = {uid, &uids->compared};
    size_t n = uid.len == 0 ? 0 : uids->n;
    size_t at = sl_lower_bound(uids->row, n, sizeof(*uids->row), &wanted, row_is_before);
    return at < n && sl_str_eq(uids->row[at].uid, uid) ? (int64_t)uids->row[at].resident : -1;
}
