/* Counts for a reflector, and keeps how fresh its picture is. Any thread. Private to reflector.c
 * and intake.c. */
#ifndef SLICED_KUBE_ACCOUNT_H
#define SLICED_KUBE_ACCOUNT_H

#include <pthread.h>

#include "kube/watch/reflector.h"

struct sl_account {
    pthread_mutex_t lock;
    struct sl_reflector_stats stats;
};

void sl_account_init(struct sl_account *account);
void sl_account_free(struct sl_account *account);
/* counter: one of its stats. */
void sl_account_count(struct sl_account *account, uint64_t *counter);
/* Counts news: they show that the picture is fresh, a complete list (stats.listed) that it is
 * whole. */
void sl_account_news(struct sl_account *account, uint64_t *counter);
void sl_account_lost(struct sl_account *account); /* the picture is not whole any more */
void sl_account_failed(struct sl_account *account, const struct sl_error *err);
void sl_account_read(struct sl_account *account, struct sl_reflector_stats *out);

#endif
