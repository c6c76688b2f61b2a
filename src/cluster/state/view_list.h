/* Replaced views, kept until no reader can see them any more. */
#ifndef SLICED_CLUSTER_STATE_VIEW_LIST_H
#define SLICED_CLUSTER_STATE_VIEW_LIST_H

#include "sliced/view.h"
#include "util/check.h"

/* A view with its link, so that putting it into a list needs no memory. */
struct sl_linked_view {
    struct sl_view *view;
    struct sl_linked_view *next;
    SL_CHECKED(uint64_t seal;) /* of the view since it was published; 0: it never was */
};

struct sl_view_list {
    struct sl_linked_view *first;
    struct sl_linked_view *last;
};

/* Readers see the view from that generation on, and until it is freed nobody changes it. */
void sl_linked_view_show(struct sl_linked_view *linked, uint64_t generation);
void sl_view_list_add(struct sl_view_list *list, struct sl_linked_view *linked);
/* Appends all of from, which is empty afterwards. */
void sl_view_list_move(struct sl_view_list *to, struct sl_view_list *from);
void sl_view_list_free(struct sl_view_list *list);

#endif
