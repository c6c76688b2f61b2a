/* Decides what becomes of a Secret's certificate at a time. Pure: the Secret as it is and the clock
 * decide.
 *
 * kube-scheduler reads files once, when it starts, so a certificate is replaced in two steps that
 * lie a year apart. Two years before it ends the next pair is made, and its authority stands in
 * ca.crt beside the present one, for whoever starts from then on. One year before the end the next
 * pair is used. Both stay valid to their ends: whoever was started before goes on for a year. */
#ifndef SLICED_KUBE_CERTS_RENEWAL_H
#define SLICED_KUBE_CERTS_RENEWAL_H

#include "kube/certs/pair.h"

/* What the Secret holds: PEM, NULL where there is none. */
struct sl_cert_secret {
    char *ca; /* ca.crt: one or more authorities */
    char *crt;
    char *key;
    char *next_crt; /* next.crt, next.key: from two years before the end to one */
    char *next_key;
};

enum sl_cert_change {
    SL_CERT_KEPT,
    SL_CERT_MADE,    /* there was none */
    SL_CERT_RENAMED, /* there was one for another name */
    SL_CERT_NEXT_MADE,
    SL_CERT_NEXT_USED,
};

/* Changes *secret, whose texts are then the arena's or those that were there. *until_s: when the
 * certificate in use ends. -1: what is there is no certificate; nothing has changed. */
int sl_cert_renew(struct sl_cert_secret *secret, const struct sl_cert_wish *wish, int64_t now_s,
                  struct sl_arena *arena, enum sl_cert_change *change, int64_t *until_s,
                  struct sl_error *err);

#endif
