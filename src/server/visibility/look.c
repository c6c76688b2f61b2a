/* One look at the objects of a kind, and pieces of their cells. */
#include "server/visibility/kinds.h"

#include "util/data/map.h"
#include "util/data/vec.h"
#include "util/show.h"

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
    if (look->snapshot != NULL) {
        sl_store_release(look->app->store, look->snapshot);
    }
    sl_arena_free(&look->arena);
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

/* The rows of a namespace. */
struct share {
    size_t n;
    size_t left; /* that it may still have */
    bool more;   /* it had one of what is left over when all have the same */
};

static const char *space_of(const struct sl_vis_row *row)
{
    return row->namespace.len == 0 ? "" : row->namespace.s;
}

static struct share *share_of(const struct sl_map *shares, const struct sl_vis_row *row)
{
    return sl_map_get(shares, space_of(row), row->namespace.len);
}

/* Counts each namespace's rows. -1: out of memory. */
static int count_shares(const struct sl_vis_look *look, struct sl_map *shares, struct share *share)
{
    size_t n = 0;
    for (size_t i = 0; i < look->n; i++) {
        const struct sl_vis_row *row = &look->row[i];
        struct share *own = share_of(shares, row);
        if (own == NULL) {
            own = &share[n++];
            if (sl_map_put(shares, space_of(row), row->namespace.len, own, NULL) < 0) {
                return -1;
            }
        }
        own->n++;
    }
    return 0;
}

/* How many rows there are if no namespace has more than so many. */
static size_t rows_within(const struct share *share, size_t n, size_t each)
{
    size_t rows = 0;
    for (size_t i = 0; i < n; i++) {
        rows += share[i].n < each ? share[i].n : each;
    }
    return rows;
}

int sl_vis_look_trim(struct sl_vis_look *look, size_t max, struct sl_error *err)
{
    struct sl_map shares = {.len = 0};
    size_t low = 0; /* so many each are few enough, */
    size_t high = max;
    size_t kept = 0;
    if (look->n <= max) {
        return 0;
    }
    struct share *share = calloc(look->n, sizeof(*share));
    int result = share == NULL || count_shares(look, &shares, share) < 0 ? sl_error_nomem(err) : 0;
    while (result == 0 && low < high) {
        size_t each = low + (high - low + 1) / 2;
        if (rows_within(share, shares.len, each) <= max) {
            low = each;
        } else {
            high = each - 1;
        }
    }
    for (size_t i = 0; result == 0 && i < shares.len; i++) {
        share[i].left = low;
    }
    size_t over = result == 0 ? max - rows_within(share, shares.len, low) : 0;
    for (size_t i = 0; result == 0 && i < look->n; i++) {
        struct share *own = share_of(&shares, &look->row[i]);
        if (own->left > 0 || (over > 0 && !own->more)) {
            own->more = own->left == 0;
            over -= own->more;
            own->left -= !own->more;
            look->row[kept++] = look->row[i];
        }
    }
    look->n = result == 0 ? kept : look->n;
    sl_metrics_limit(&look->app->metrics, SL_LIMIT_OBJECTS);
    sl_map_free(&shares);
    free(share);
    return result;
}

/* ---- pieces of cells ---- */

void sl_vis_write_duration(struct sl_writer *w, int64_t us)
{
    char text[32] = "";
    if (us > 0) {
        (void)sl_queue_duration_text(us, text, sizeof(text));
    }
    sl_write_text(w, text);
}

void sl_vis_write_shown(struct sl_writer *w, const char *text)
{
    char shown[1024];
    char piece[SL_SHOWN_MAX];
    struct sl_str rest = sl_str_of(text);
    size_t len = 0;
    while (rest.len > 0) {
        size_t n = sl_show_next(&rest, piece);
        if (len + n > sizeof(shown)) {
            break;
        }
        memcpy(shown + len, piece, n);
        len += n;
    }
    sl_write_str(w, (struct sl_str){shown, len});
}
