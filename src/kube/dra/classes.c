/* Lists DeviceClasses again and again: operators change them seldom, and a minute's delay changes
 * the words for a pod that waits in any case. */
#include "kube/dra/classes.h"

#include <stdlib.h>

#include "kube/watch/list_read.h"
#include "util/log.h"
#include "util/time.h"

struct sl_dra_classes {
    struct sl_dra_classes_options options;
    struct sl_dra dra; /* of the list that is being read */
    bool complained;
};

/* Served since Kubernetes 1.34; versions before it have no extended resources of classes. */
static const char path[] = "/apis/resource.k8s.io/v1/deviceclasses";
static const int64_t timeout_us = 10 * SL_SECOND_US;

static void read_now(void *context);

static void on_class(void *context, const struct sl_object *object)
{
    struct sl_dra_classes *classes = context;
    sl_dra_add(&classes->dra, object->extended);
}

static void on_done(void *context, bool ok, const struct sl_error *err)
{
    struct sl_dra_classes *classes = context;
    bool failed = !ok && err->code != SL_ERR_NOTFOUND;
    if (ok) {
        sl_store_set_dra(classes->options.store, &classes->dra);
    } else if (failed && !classes->complained) {
        sl_log(SL_LOG_WARN, "DeviceClasses cannot be read: what they offer is told as not offered",
               "reason", err->message, (char *)NULL);
    }
    classes->complained = failed;
    int64_t every_us = classes->options.every_us;
    /* refused only when the client ends */
    (void)sl_client_after(classes->options.client, failed ? every_us / 4 : every_us, read_now,
                          classes);
}

static void read_now(void *context)
{
    struct sl_dra_classes *classes = context;
    struct sl_error err = {.code = SL_ERR_NONE};
    const struct sl_list_read list = {.client = classes->options.client,
                                      .kind = SL_OBJECT_DEVICE_CLASS,
                                      .path = path,
                                      .timeout_us = timeout_us,
                                      .object = on_class,
                                      .done = on_done,
                                      .context = classes};
    classes->dra.n = 0;
    if (sl_list_read(&list, &err) < 0) {
        on_done(classes, false, &err);
    }
}

struct sl_dra_classes *sl_dra_classes_start(const struct sl_dra_classes_options *options,
                                            struct sl_error *err)
{
    struct sl_dra_classes *classes = calloc(1, sizeof(*classes));
    if (classes == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    classes->options = *options;
    read_now(classes);
    return classes;
}

void sl_dra_classes_stop(struct sl_dra_classes *classes)
{
    free(classes);
}
