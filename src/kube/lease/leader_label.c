/* The leader's label: one list at a time, and a patch of each pod whose label is wrong. All on the
 * client's thread. */
#include "kube/lease/leader_label.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/log.h"
#include "util/time.h"

enum { PATH_BYTES_MAX = 1024, TRIES = 3 };

static const int64_t try_us = 5 * SL_SECOND_US;

struct sl_leader_label {
    struct sl_leader_label_options options;
    bool asked; /* a list is under way */
    bool again; /* it began before the present leadership */
};

static void label_list(struct sl_leader_label *label);

static void log_trouble(const struct sl_reply *reply)
{
    sl_log(SL_LOG_WARN, "the leader's pod may lack its label", "problem", reply->err.message,
           (char *)NULL);
}

static void on_patched(void *context, const struct sl_reply *reply)
{
    (void)context;
    if (reply->status != 200 && reply->status != 404) {
        log_trouble(reply);
    }
}

static void label_patch(struct sl_leader_label *label, const char *pod, bool leader)
{
    static const char mark[] = "{\"metadata\":{\"labels\":{\"" SL_LEADER_LABEL "\":\"true\"}}}";
    static const char clear[] = "{\"metadata\":{\"labels\":{\"" SL_LEADER_LABEL "\":null}}}";
    char path[PATH_BYTES_MAX];
    struct sl_reply refused = {.status = 0};
    (void)snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods/%s", label->options.namespace,
                   pod);
    const struct sl_call_options call = {
        .method = "PATCH",
        .path = path,
        .content_type = "application/merge-patch+json",
        .body = sl_str_of(leader ? mark : clear),
        .priority = SL_CALL_LEASE,
        .form = SL_FORM_METADATA,
        .repeatable = true,
        .max_tries = TRIES,
        .timeout_us = try_us,
        .done = on_patched,
        .context = label,
    };
    if (sl_client_call(label->options.client, &call, NULL, &refused.err) < 0) {
        on_patched(label, &refused);
    }
}

/* A pod's name is part of a path: the API server gives no other. */
static bool is_name(const char *name)
{
    return name != NULL && name[0] != '\0' &&
           name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-.")] == '\0';
}

static void label_correct(struct sl_leader_label *label, const json_t *pods)
{
    bool marked = false;
    size_t i = 0;
    const json_t *pod = NULL;
    json_array_foreach(pods, i, pod)
    {
        const json_t *metadata = json_object_get(pod, "metadata");
        const char *name = json_string_value(json_object_get(metadata, "name"));
        if (name != NULL && strcmp(name, label->options.pod) == 0) {
            marked = true;
        } else if (is_name(name)) {
            label_patch(label, name, false);
        }
    }
    if (!marked) {
        label_patch(label, label->options.pod, true);
    }
}

static void on_listed(void *context, const struct sl_reply *reply)
{
    struct sl_leader_label *label = context;
    bool again = label->again;
    label->asked = false;
    label->again = false;
    if (again) {
        label_list(label);
        return;
    }
    bool leads = label->options.leads(label->options.context);
    if (leads && reply->status != 200) {
        log_trouble(reply);
    }
    json_t *list = reply->status != 200 ? NULL
                                        : json_loadb(reply->body.len == 0 ? "" : reply->body.s,
                                                     reply->body.len, 0, NULL);
    const json_t *pods = json_object_get(list, "items");
    if (leads && json_is_array(pods)) {
        label_correct(label, pods);
    }
    json_decref(list);
}

static void label_list(struct sl_leader_label *label)
{
    char path[PATH_BYTES_MAX];
    const struct sl_call_options call = {
        .method = "GET",
        .path = path,
        .priority = SL_CALL_LEASE,
        .repeatable = true,
        .max_tries = TRIES,
        .timeout_us = try_us,
        .done = on_listed,
        .context = label,
    };
    (void)snprintf(path, sizeof(path),
                   "/api/v1/namespaces/%s/pods?labelSelector=" SL_LEADER_LABEL "%%3Dtrue",
                   label->options.namespace);
    label->asked = sl_client_call(label->options.client, &call, NULL, NULL) == 0;
}

void sl_leader_label_look(struct sl_leader_label *label)
{
    if (label == NULL) {
        return;
    }
    if (label->asked) {
        label->again = true;
    } else {
        label_list(label);
    }
}

static void label_round(void *context)
{
    struct sl_leader_label *label = context;
    if (!label->asked && label->options.leads(label->options.context)) {
        label_list(label);
    }
    (void)sl_client_after(label->options.client, label->options.period_us, label_round, label);
}

struct sl_leader_label *sl_leader_label_start(const struct sl_leader_label_options *options,
                                              struct sl_error *err)
{
    struct sl_leader_label *label = calloc(1, sizeof(*label));
    if (label == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    label->options = *options;
    if (sl_client_after(options->client, 0, label_round, label) < 0) {
        free(label);
        (void)sl_error_nomem(err);
        return NULL;
    }
    return label;
}

void sl_leader_label_free(struct sl_leader_label *label)
{
    free(label);
}
