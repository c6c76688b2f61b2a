/* AdmissionReviews whose pods name owners. Whoever makes a pod writes them: only an owner that is a
 * DaemonSet of apps and controls the pod counts, as another reader of JSON sees them; and the user
 * who asks is the one of the request, whatever the pod says. */
#include "codec/extender.h"

#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA_MAX = 1 << 16 };

static bool is_text(const json_t *owner, const char *key, const char *value, size_t len)
{
    const char *text = json_string_value(json_object_get(owner, key));
    return text != NULL && strncmp(text, value, len) == 0;
}

/* As the DaemonSet controller writes them. */
static bool has_controller(const json_t *owners)
{
    for (size_t i = 0; i < json_array_size(owners); i++) {
        const json_t *owner = json_array_get(owners, i);
        if (is_text(owner, "apiVersion", "apps/", 5) && is_text(owner, "kind", "DaemonSet", 10) &&
            json_is_true(json_object_get(owner, "controller"))) {
            return true;
        }
    }
    return false;
}

static void compare(const struct sl_body *body, const json_t *root)
{
    const json_t *request = json_object_get(root, "request");
    const json_t *metadata = json_object_get(json_object_get(request, "object"), "metadata");
    const char *user =
        json_string_value(json_object_get(json_object_get(request, "userInfo"), "username"));
    if (sl_body_pod(body)->daemon_set &&
        !has_controller(json_object_get(metadata, "ownerReferences"))) {
        abort();
    }
    if (sl_body_review(body)->user.len > 0 &&
        !sl_str_eq(sl_body_review(body)->user, sl_str_of(user))) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct sl_text_limits limits = {
        .max_bytes = 1 << 18, .max_string = 1 << 12, .max_depth = 64};
    const struct sl_body_sink none = {.context = NULL};
    const char *text = size > 0 ? (const char *)data : "";
    struct sl_arena arena;
    sl_arena_init(&arena, ARENA_MAX);
    struct sl_body *body = sl_body_new(&limits, &arena);
    if (body == NULL) {
        return 0;
    }
    sl_body_begin(body, SL_BODY_REVIEW, &none);
    if (sl_body_feed(body, text, size, NULL) == 0 && sl_body_finish(body, NULL) == 0) {
        json_t *root = json_loadb(text, size, JSON_ALLOW_NUL, NULL);
        if (root != NULL) { /* a number that jansson finds too large, perhaps */
            compare(body, root);
        }
        json_decref(root);
    }
    sl_body_free(body);
    sl_arena_free(&arena);
    return 0;
}
