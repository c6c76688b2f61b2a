/* Replaced views, kept until no reader can see them any more. */
#ifndef SLICED_CLUSTER_STATE_VIEW_LIST_H
#define SLICED_CLUSTER_STATE_VIEW_LIST_H

#include "sliced/view.h"

/* A view with its link, so that putting it into a list needs no memory. */
struct sl_linked_view {
    struct sl_view *view;
    struct sl_linked_view *next;
};

struct sl_view_list {
    struct sl_linked_view *first;
    struct sl_linked_view *last;
};

void sl_view_list_add(struct sl_view_list *list, struct sl_linked_view *linked);
/* Appends all of from, which is empty afterwards. */
void sl_view_list_move(struct sl_view_list *to, struct sl_view_list *from);
void sl_view_list_free(struct sl_view_list *list);

#endif
