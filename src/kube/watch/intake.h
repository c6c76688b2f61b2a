/* Decodes the list or watch of a reflector as it streams in, and tells of it object by object.
 * Private to reflector.c, which holds its gate around all of it. */
#ifndef SLICED_KUBE_INTAKE_H
#define SLICED_KUBE_INTAKE_H

#include "kube/watch/account.h"

enum { SL_VERSION_MAX = 256 };

struct sl_intake {
    const struct sl_reflector_options *options;
    struct sl_account *account;
    struct sl_watch *list;
    struct sl_watch *stream;
    char version[SL_VERSION_MAX]; /* resourceVersion to watch from */
    int64_t received_us;
    int64_t skip_logged_us;
    /* of the present watch */
    bool expired;    /* an ERROR event said so */
    bool refused;    /* there was an ERROR event */
    bool lost;       /* a part of it could not be read: a list has to tell */
    bool progress;   /* it brought an event or a bookmark */
    int64_t news_us; /* its beginning, or its last event or bookmark */
};

/* Both arguments are borrowed. False when out of memory; sl_intake_free then frees it all the same.
 */
bool sl_intake_init(struct sl_intake *intake, const struct sl_reflector_options *options,
                    struct sl_account *account);
void sl_intake_free(struct sl_intake *intake);

void sl_intake_begin_watch(struct sl_intake *intake);
/* A piece of the list's or the watch's body. -1: the call is to end. */
int sl_intake_feed(struct sl_intake *intake, bool watching, const char *data, size_t len,
                   struct sl_error *err);

/* True for a status by which a version is too old to go on from. */
bool sl_intake_is_expired(int code, struct sl_str reason);

#endif
