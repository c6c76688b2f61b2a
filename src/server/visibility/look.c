/* One look at the objects of a kind. */
#include "server/visibility/kinds.h"

#include "util/data/map.h"
#include "util/data/share.h"
#include "util/data/vec.h"

#include <stdlib.h>

enum { ARENA_MAX = 96 << 20 };

void sl_vis_look_init(struct sl_vis_look *look, struct sl_app *app)
{
    *look = (struct sl_vis_look){.app = app};
    sl_arena_init(&look->arena, ARENA_MAX);
}

void sl_vis_look_free(struct sl_vis_look *look)
{
    sl_queue_list_free(&look->queue);
    sl_store_release(look->app->store, look->snapshot);
    sl_arena_free(&look->arena);
    free(look->spent);
    free(look->row);
    *look = (struct sl_vis_look){.app = look->app};
}

struct sl_vis_row *sl_vis_look_add(struct sl_vis_look *look, struct sl_error *err)
{
    if (sl_vec_reserve(&look->row, &look->cap, look->n + 1, sizeof(*look->row)) < 0) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    struct sl_vis_row *row = &look->row[look->n];
    look->n++;
    *row = (struct sl_vis_row){.position = 0};
    return row;
}

/* ---- too many ---- */

int sl_vis_look_trim(struct sl_vis_look *look, size_t max, struct sl_error *err)
{
    struct sl_map spaces = {.len = 0};
    size_t kept = 0;
    int result = 0;
    if (look->n <= max) {
        return 0;
    }
    size_t *count = calloc(look->n, sizeof(*count)); /* of each namespace's rows that are kept */
    if (count == NULL) {
        return sl_error_nomem(err);
    }
    for (size_t i = 0; result == 0 && i < look->n; i++) {
        const struct sl_vis_row row = look->row[i];
        const char *space = row.namespace.len == 0 ? "" : row.namespace.s;
        size_t *own = sl_map_get(&spaces, space, row.namespace.len);
        if (own == NULL) {
            own = &count[spaces.len];
            result = sl_map_put(&spaces, space, row.namespace.len, own, NULL) < 0
                         ? sl_error_nomem(err)
                         : 0;
        }
        if (row.namespace.len == 0 ? kept < max : sl_share_allows(*own, kept, max)) {
            *own += 1;
            look->row[kept++] = row;
        }
    }
    look->n = result == 0 ? kept : look->n;
    sl_metrics_limit(&look->app->metrics, SL_LIMIT_OBJECTS);
    sl_map_free(&spaces);
    free(count);
    return result;
}
