/* Measurements in words. */
#include "core/request/text.h"
#include "core/place/choose.h"
#include "sliced/harvest.h"
#include "sliced/usage.h"

enum { SAID_MAX = 3 };

/* Says what comes of it by the rule, and why nothing does. */
static void say_room(const struct sl_measured *m, struct sl_text *text)
{
    if (m->room_mib >= 0) {
        sl_text_puts(text, ", room for ");
        sl_text_i64(text, m->room_mib);
        sl_text_puts(text, " by ");
        sl_text_puts(text, sl_sharing_name(m->by));
    } else if (m->state != SL_SERIES_GOOD) {
        sl_text_puts(text, ", ");
        sl_text_puts(text, sl_series_state_name(m->state));
    } else if (m->by == SL_SHARING_ASKS) {
        sl_text_puts(text, ", not measured since pods came or went");
    } else {
        sl_text_puts(text, ", no room by ");
        sl_text_puts(text, sl_sharing_name(m->by));
    }
    if (m->state == SL_SERIES_SHORT) {
        sl_text_puts(text, ": ");
        sl_text_i64(text, m->samples);
        sl_text_puts(text, " of ");
        sl_text_i64(text, SL_HARVEST_SAMPLES_MIN);
        sl_text_puts(text, m->by == SL_SHARING_ASKS ? " samples" : " samples for ");
        sl_text_puts(text, m->by == SL_SHARING_ASKS ? "" : sl_sharing_name(m->by));
    }
}

static void say_device(const struct sl_device *device, const struct sl_measured *m,
                       struct sl_text *text)
{
    sl_text_puts(text, "GPU ");
    sl_text_i64(text, device->index);
    sl_text_puts(text, ": ");
    if (m->used_mib < 0) {
        sl_text_puts(text, sl_series_state_name(m->state));
        return;
    }
    sl_text_i64(text, m->used_mib);
    sl_text_puts(text, " of ");
    sl_text_i64(text, device->memory_mib);
    sl_text_puts(text, " MiB used");
    if (m->by_use) {
        say_room(m, text);
    }
}

void sl_usage_text(const struct sl_view *view, const struct sl_ask *ask, char *out, size_t size)
{
    bool declares = sl_items_workload(ask->item, ask->n) != 0;
    struct sl_text text;
    unsigned said = 0;
    sl_text_init(&text, out, size);
    for (unsigned i = 0; view->measured != NULL && declares && i < view->node->n_devices; i++) {
        const struct sl_measured *m = &view->measured[i];
        bool counts = m->by_use || m->over_mib > 0;
        if (counts && said < SAID_MAX) {
            sl_text_puts(&text, said == 0 ? "" : "; ");
            say_device(&view->node->device[i], m, &text);
        }
        said += counts;
    }
    if (said > SAID_MAX) {
        sl_text_puts(&text, "; ");
        sl_text_i64(&text, said - SAID_MAX);
        sl_text_puts(&text, " more");
    }
}

static void put_gpus(struct sl_text *text, uint64_t gpus)
{
    bool first = true;
    sl_text_puts(text, (gpus & (gpus - 1)) == 0 ? "GPU " : "GPUs ");
    for (int64_t i = 0; i < 64; i++) {
        if ((gpus & UINT64_C(1) << i) != 0) {
            sl_text_puts(text, first ? "" : ", ");
            sl_text_i64(text, i);
            first = false;
        }
    }
}

void sl_usage_idle_text(const struct sl_view *view, const struct sl_pod_use *use, char *out,
                        size_t size)
{
    struct sl_text text;
    int held = __builtin_popcountll(use->held);
    sl_text_init(&text, out, size);
    sl_text_puts(&text, "nothing has run for ");
    sl_text_duration(&text, use->idle_us);
    sl_text_puts(&text, " on what it holds of node ");
    sl_text_puts(&text, view->node->name);
    sl_text_puts(&text, ", ");
    if (held > 0 && held < __builtin_popcountll(use->gpus)) {
        sl_text_i64(&text, held);
        sl_text_puts(&text, " of ");
    }
    put_gpus(&text, use->gpus);
}
