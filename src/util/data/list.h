/* A list of things that carry their own links: joining never fails. Zeroed it is empty. */
#ifndef SLICED_UTIL_LIST_H
#define SLICED_UTIL_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* The struct that has the member at that address. */
#define SL_CONTAINER(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

/* A member of each thing that is listed, one for each list that the thing is in at a time. */
struct sl_link {
    struct sl_link *prev; /* NULL: the first */
    struct sl_link *next; /* NULL: the last */
};

struct sl_list {
    struct sl_link *first;
    struct sl_link *last;
};

/* Puts the link, which is in no list, behind another of the list; NULL: before all. */
static inline void sl_list_add_behind(struct sl_list *list, struct sl_link *link,
                                      struct sl_link *other)
{
    struct sl_link *next = other == NULL ? list->first : other->next;
    *link = (struct sl_link){.prev = other, .next = next};
    *(other == NULL ? &list->first : &other->next) = link;
    *(next == NULL ? &list->last : &next->prev) = link;
}

static inline void sl_list_add_last(struct sl_list *list, struct sl_link *link)
{
    sl_list_add_behind(list, link, list->last);
}

static inline void sl_list_add_first(struct sl_list *list, struct sl_link *link)
{
    sl_list_add_behind(list, link, NULL);
}

/* Takes out the link, which is in this list. */
static inline void sl_list_remove(struct sl_list *list, struct sl_link *link)
{
    *(link->prev == NULL ? &list->first : &link->prev->next) = link->next;
    *(link->next == NULL ? &list->last : &link->next->prev) = link->prev;
    *link = (struct sl_link){.prev = NULL, .next = NULL};
}

/* Is the link in this list? While it is in none, it must be zeroed. */
static inline bool sl_list_has(const struct sl_list *list, const struct sl_link *link)
{
    return link->prev != NULL || list->first == link;
}

#endif
