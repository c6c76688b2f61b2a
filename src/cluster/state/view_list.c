/* Lists of replaced views. */
#include "cluster/state/view_list.h"

#include <stdlib.h>

void sl_linked_view_show(struct sl_linked_view *linked, uint64_t generation)
{
    linked->view->shown = generation;
    SL_CHECKED(linked->seal = sl_view_seal(linked->view);)
}

void sl_view_list_add(struct sl_view_list *list, struct sl_linked_view *linked)
{
    linked->next = NULL;
    if (list->last != NULL) {
        list->last->next = linked;
    } else {
        list->first = linked;
    }
    list->last = linked;
}

void sl_view_list_move(struct sl_view_list *to, struct sl_view_list *from)
{
    if (from->first == NULL) {
        return;
    }
    if (to->last != NULL) {
        to->last->next = from->first;
    } else {
        to->first = from->first;
    }
    to->last = from->last;
    *from = (struct sl_view_list){0};
}

void sl_view_list_free(struct sl_view_list *list)
{
    struct sl_linked_view *linked = list->first;
    while (linked != NULL) {
        struct sl_linked_view *next = linked->next;
        SL_CHECKED(SL_CHECK(linked->seal == 0 || linked->seal == sl_view_seal(linked->view));)
        sl_view_free(linked->view);
        free(linked);
        linked = next;
    }
    *list = (struct sl_view_list){0};
}
