/* Reads, now and then, whom the cluster lets forward requests of its users: ConfigMap
 * kube-system/extension-apiserver-authentication, which the API server writes. */
#ifndef SLICED_KUBE_FRONT_PROXY_H
#define SLICED_KUBE_FRONT_PROXY_H

#include "kube/client/client.h"

enum { SL_FRONT_NAMES_MAX = 16 };

/* The contents of that ConfigMap; valid during the call. */
struct sl_front_proxy_said {
    struct sl_str authorities; /* PEM */
    struct sl_str name[SL_FRONT_NAMES_MAX];
    size_t n; /* 0: anybody with a certificate of the authorities */
};

struct sl_front_proxy_options {
    struct sl_client *client;
    int64_t every_us; /* from one reading to the next; ten times as often until the first */
    /* Is told what was read each time; or, where err is set, why it could not be. On the client's
     * thread. */
    void (*told)(void *context, const struct sl_front_proxy_said *said, const struct sl_error *err);
    void *context;
};

struct sl_front_proxy_reader;

/* Starts the first reading. NULL with *err set. */
struct sl_front_proxy_reader *sl_front_proxy_start(const struct sl_front_proxy_options *options,
                                                   struct sl_error *err);
/* After the client was freed, which ends readings and timers. NULL is allowed. */
void sl_front_proxy_stop(struct sl_front_proxy_reader *reader);

#endif
