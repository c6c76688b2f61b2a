/* Looks up keys in the facts' lists. */
#include "sliced/facts.h"

const struct sl_pair *sl_pair_find(const struct sl_pair *list, struct sl_str key)
{
    for (; list != NULL; list = list->next) {
        if (sl_str_eq(list->key, key)) {
            return list;
        }
    }
    return NULL;
}
