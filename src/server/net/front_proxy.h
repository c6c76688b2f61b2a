/* The API server as a caller that forwards requests of its users: it has authenticated and
 * authorised them, and shows a certificate of its front proxy. The cluster says which certificates
 * these are (ConfigMap kube-system/extension-apiserver-authentication), and may change it. */
#ifndef SLICED_SERVER_FRONT_PROXY_H
#define SLICED_SERVER_FRONT_PROXY_H

#include "server/net/trust.h"

enum { SL_FRONT_PROXY_NAMES_MAX = 16 };

struct sl_front_proxy {
    struct sl_trust trust;
    pthread_mutex_t lock; /* guards what follows */
    struct sl_config_client name[SL_FRONT_PROXY_NAMES_MAX];
    size_t n; /* 0: whoever has a certificate of the authority */
    uint64_t serial;
};

void sl_front_proxy_init(struct sl_front_proxy *proxy);
void sl_front_proxy_free(struct sl_front_proxy *proxy);

/* Puts the authority (PEM) and the names of callers in force. -1 with *err set: what held before
 * holds on. Any thread. */
int sl_front_proxy_set(struct sl_front_proxy *proxy, struct sl_str pem, const struct sl_str *name,
                       size_t n, struct sl_error *err);

/* As sl_trust_peer_ok. *known becomes false while the cluster has not said whom to believe. */
bool sl_front_proxy_ok(struct sl_front_proxy *proxy, gnutls_session_t session,
                       struct sl_tls_peer *peer, bool *known, char *why, size_t size);

#endif
