/* Counters and times under a lock. */
#include "kube/watch/account.h"

#include "util/clock.h"
#include "util/show.h"

void sl_account_init(struct sl_account *account)
{
    *account = (struct sl_account){.stats = {.lost_us = sl_clock_real_us()}};
    (void)pthread_mutex_init(&account->lock, NULL);
}

void sl_account_free(struct sl_account *account)
{
    (void)pthread_mutex_destroy(&account->lock);
}

void sl_account_count(struct sl_account *account, uint64_t *counter)
{
    (void)pthread_mutex_lock(&account->lock);
    (*counter)++;
    (void)pthread_mutex_unlock(&account->lock);
}

void sl_account_news(struct sl_account *account, uint64_t *counter)
{
    struct sl_reflector_stats *stats = &account->stats;
    (void)pthread_mutex_lock(&account->lock);
    (*counter)++;
    stats->synced = stats->synced || counter == &stats->listed;
    stats->last_event_us = sl_clock_real_us();
    stats->news_us = sl_clock_monotonic_us();
    stats->trouble[0] = '\0';
    (void)pthread_mutex_unlock(&account->lock);
}

void sl_account_lost(struct sl_account *account)
{
    struct sl_reflector_stats *stats = &account->stats;
    (void)pthread_mutex_lock(&account->lock);
    stats->lost_us = stats->synced ? sl_clock_real_us() : stats->lost_us;
    stats->synced = false;
    (void)pthread_mutex_unlock(&account->lock);
}

void sl_account_failed(struct sl_account *account, const struct sl_error *err)
{
    struct sl_reflector_stats *stats = &account->stats;
    (void)pthread_mutex_lock(&account->lock);
    stats->failures++;
    (void)sl_show(sl_str_of(err->message), stats->trouble, sizeof(stats->trouble));
    (void)pthread_mutex_unlock(&account->lock);
}

void sl_account_read(struct sl_account *account, struct sl_reflector_stats *out)
{
    (void)pthread_mutex_lock(&account->lock);
    *out = account->stats;
    (void)pthread_mutex_unlock(&account->lock);
}
