/* The list of connections and its regular check. */
#include "server/net/deadlines.h"

#include <sys/socket.h>

static struct sl_deadline *deadline_of(struct sl_link *link)
{
    return SL_CONTAINER(link, struct sl_deadline, link);
}

void sl_deadlines_init(struct sl_deadlines *deadlines)
{
    deadlines->list = (struct sl_list){.first = NULL};
    deadlines->n = 0;
    (void)pthread_mutex_init(&deadlines->lock, NULL);
}

void sl_deadlines_free(struct sl_deadlines *deadlines)
{
    (void)pthread_mutex_destroy(&deadlines->lock);
}

size_t sl_deadlines_add(struct sl_deadlines *deadlines, struct sl_deadline *deadline, int fd,
                        uint16_t address)
{
    deadline->fd = fd;
    deadline->address = address;
    (void)pthread_mutex_lock(&deadlines->lock);
    sl_list_add_first(&deadlines->list, &deadline->link);
    size_t n = ++deadlines->n;
    (void)pthread_mutex_unlock(&deadlines->lock);
    return n;
}

void sl_deadlines_remove(struct sl_deadlines *deadlines, struct sl_deadline *deadline)
{
    (void)pthread_mutex_lock(&deadlines->lock);
    sl_list_remove(&deadlines->list, &deadline->link);
    deadlines->n--;
    (void)pthread_mutex_unlock(&deadlines->lock);
}

void sl_deadline_set(struct sl_deadline *deadline, enum sl_limit what, int64_t now_ns,
                     int64_t patience_ns)
{
    atomic_store_explicit(&deadline->what, (unsigned)what, memory_order_relaxed);
    atomic_store_explicit(&deadline->since_ns, now_ns, memory_order_relaxed);
    atomic_store_explicit(&deadline->at_ns, now_ns + patience_ns, memory_order_release);
}

void sl_deadline_clear(struct sl_deadline *deadline)
{
    atomic_store_explicit(&deadline->at_ns, 0, memory_order_relaxed);
}

/* False when the peer has just spoken: the connection has another deadline then, or none. */
static bool end_wait(struct sl_deadline *deadline, int64_t at_ns)
{
    if (!atomic_compare_exchange_strong(&deadline->at_ns, &at_ns, 0)) {
        return false;
    }
    (void)shutdown(deadline->fd, SHUT_RDWR);
    return true;
}

void sl_deadlines_enforce(struct sl_deadlines *deadlines, int64_t now_ns,
                          struct sl_metrics *metrics)
{
    (void)pthread_mutex_lock(&deadlines->lock);
    for (struct sl_link *link = deadlines->list.first; link != NULL; link = link->next) {
        struct sl_deadline *at = deadline_of(link);
        int64_t due_ns = atomic_load_explicit(&at->at_ns, memory_order_acquire);
        unsigned what = atomic_load_explicit(&at->what, memory_order_relaxed);
        if (due_ns != 0 && due_ns <= now_ns && end_wait(at, due_ns)) {
            sl_metrics_limit(metrics, (enum sl_limit)what);
        }
    }
    (void)pthread_mutex_unlock(&deadlines->lock);
}

/* Counts by address the peers that are waited for and have shown no certificate. */
static void count_addresses(const struct sl_deadlines *deadlines, unsigned count[SL_ADDRESSES])
{
    for (struct sl_link *link = deadlines->list.first; link != NULL; link = link->next) {
        const struct sl_deadline *at = deadline_of(link);
        if (atomic_load(&at->at_ns) != 0 && !atomic_load(&at->proven)) {
            count[at->address]++;
        }
    }
}

/* Must a go before b does? */
static bool goes_first(const struct sl_deadline *a, const struct sl_deadline *b,
                       const unsigned count[SL_ADDRESSES])
{
    bool proven = atomic_load(&a->proven);
    if (proven != atomic_load(&b->proven)) {
        return !proven;
    }
    if (!proven && count[a->address] != count[b->address]) {
        return count[a->address] > count[b->address];
    }
    return atomic_load(&a->since_ns) < atomic_load(&b->since_ns);
}

bool sl_deadlines_make_room(struct sl_deadlines *deadlines, const struct sl_deadline *keep)
{
    unsigned count[SL_ADDRESSES] = {0};
    struct sl_deadline *victim = NULL;
    int64_t victim_at_ns = 0;
    (void)pthread_mutex_lock(&deadlines->lock);
    count_addresses(deadlines, count);
    for (struct sl_link *link = deadlines->list.first; link != NULL; link = link->next) {
        struct sl_deadline *at = deadline_of(link);
        int64_t at_ns = atomic_load(&at->at_ns);
        if (at != keep && at_ns != 0 && (victim == NULL || goes_first(at, victim, count))) {
            victim = at;
            victim_at_ns = at_ns;
        }
    }
    bool ended = victim != NULL && end_wait(victim, victim_at_ns);
    (void)pthread_mutex_unlock(&deadlines->lock);
    return ended;
}
