/* Whom to believe as the API server's front proxy. */
#include "server/net/front_proxy.h"

#include <stdio.h>

void sl_front_proxy_init(struct sl_front_proxy *proxy)
{
    sl_trust_init(&proxy->trust);
    (void)pthread_mutex_init(&proxy->lock, NULL);
    proxy->n = 0;
    proxy->serial = 0;
}

void sl_front_proxy_free(struct sl_front_proxy *proxy)
{
    sl_trust_free(&proxy->trust);
    (void)pthread_mutex_destroy(&proxy->lock);
}

static int check_names(const struct sl_str *name, size_t n, struct sl_error *err)
{
    if (n > SL_FRONT_PROXY_NAMES_MAX) {
        return sl_error_set(err, SL_ERR_LIMIT, "found %zu names, expected %d at most", n,
                            SL_FRONT_PROXY_NAMES_MAX);
    }
    for (size_t i = 0; i < n; i++) {
        if (name[i].len == 0 || name[i].len >= sizeof(((struct sl_config_client *)0)->name)) {
            return sl_error_set(err, SL_ERR_FIELD, "found a name of %zu bytes", name[i].len);
        }
    }
    return 0;
}

int sl_front_proxy_set(struct sl_front_proxy *proxy, struct sl_str pem, const struct sl_str *name,
                       size_t n, struct sl_error *err)
{
    const gnutls_datum_t data = {(unsigned char *)pem.s, (unsigned)pem.len};
    if (check_names(name, n, err) < 0) {
        return -1;
    }
    gnutls_x509_trust_list_t authorities =
        sl_trust_read(&data, "requestheader-client-ca-file", err);
    if (authorities == NULL) {
        return -1;
    }
    (void)pthread_mutex_lock(&proxy->lock);
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(proxy->name[i].name, sizeof(proxy->name[i].name), "%.*s", (int)name[i].len,
                       name[i].s);
    }
    proxy->n = n;
    proxy->serial++;
    sl_trust_put(&proxy->trust, authorities);
    (void)pthread_mutex_unlock(&proxy->lock);
    return 0;
}

bool sl_front_proxy_ok(struct sl_front_proxy *proxy, gnutls_session_t session,
                       struct sl_tls_peer *peer, bool *known, char *why, size_t size)
{
    (void)pthread_mutex_lock(&proxy->lock);
    const struct sl_tls_names names = {proxy->name, proxy->n, proxy->serial, proxy->n == 0, true};
    *known = proxy->serial > 0;
    bool ok = *known && sl_trust_peer_ok(&proxy->trust, session, &names, peer, why, size);
    (void)pthread_mutex_unlock(&proxy->lock);
    return ok;
}
