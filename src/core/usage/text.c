/* Measurements in words. */
#include <stdio.h>

#include "core/request/text.h"
#include "sliced/usage.h"

enum { SAID_MAX = 3 };

static bool declares(const struct sl_ask *ask)
{
    for (unsigned i = 0; i < ask->n; i++) {
        if (ask->item[i].workload != 0) {
            return true;
        }
    }
    return false;
}

static int say_device(const struct sl_device *device, const struct sl_measured *m, char *out,
                      size_t size)
{
    if (m->used_mib < 0) {
        return snprintf(out, size, "GPU %d: %s", device->index, sl_series_state_name(m->state));
    }
    if (m->room_mib < 0) {
        return snprintf(out, size, "GPU %d: %d of %lld MiB used, %s", device->index, m->used_mib,
                        (long long)device->memory_mib,
                        m->state == SL_SERIES_GOOD ? "no room by that"
                                                   : sl_series_state_name(m->state));
    }
    return snprintf(out, size, "GPU %d: %d of %lld MiB used, room for %d by %s", device->index,
                    m->used_mib, (long long)device->memory_mib, m->room_mib,
                    sl_sharing_name(m->by));
}

void sl_usage_text(const struct sl_view *view, const struct sl_ask *ask, char *out, size_t size)
{
    size_t len = 0;
    unsigned said = 0;
    unsigned more = 0;
    out[0] = '\0';
    for (unsigned i = 0; view->measured != NULL && declares(ask) && i < view->node->n_devices;
         i++) {
        if (!view->measured[i].by_use) {
            continue;
        }
        if (said == SAID_MAX || len + 1 >= size) {
            more++;
            continue;
        }
        len += said == 0 ? 0 : (size_t)snprintf(out + len, size - len, "; ");
        len = len < size ? len : size - 1;
        int wrote = say_device(&view->node->device[i], &view->measured[i], out + len, size - len);
        len += wrote > 0 ? (size_t)wrote : 0;
        len = len < size ? len : size - 1;
        said++;
    }
    if (more > 0) {
        (void)snprintf(out + len, size - len, "; %u more", more);
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
