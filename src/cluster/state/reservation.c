/* Reservations and nominations. */
#include "cluster/state/reservation.h"

static struct sl_reservation *reservation_of(struct sl_link *link)
{
    return link == NULL ? NULL : SL_CONTAINER(link, struct sl_reservation, link);
}

struct sl_reservation *sl_reservation_first(const struct sl_list *list)
{
    return reservation_of(list->first);
}

void sl_reservation_add(struct sl_list *list, struct sl_reservation *reservation)
{
    struct sl_link *before = list->last;
    while (before != NULL && reservation_of(before)->expires_us > reservation->expires_us) {
        before = before->prev; /* only after the clock was turned back */
    }
    sl_list_add_behind(list, &reservation->link, before);
}
