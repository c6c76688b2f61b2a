/* The kinds of the group, and one look at the objects of a kind. Private to this room. */
#ifndef SLICED_SERVER_VISIBILITY_KINDS_H
#define SLICED_SERVER_VISIBILITY_KINDS_H

#include "server/app/app.h"
#include "server/http/request.h"
#include "server/model/partition.h"
#include "server/model/queue.h"
#include "server/model/tenant.h"
#include "server/model/usage.h"

#define SL_VIS_GROUP   "visibility.sliced.dev"
#define SL_VIS_VERSION "v1alpha1"

enum { SL_VIS_ROWS_MAX = 100000, SL_VIS_KINDS = 8 };

struct sl_vis_object; /* what is remembered of a row from one look to the next */

/* One object of a look; all is borrowed from it. Members that a kind does not use are NULL. */
struct sl_vis_row {
    struct sl_str namespace; /* empty: the kind has none */
    struct sl_str name;
    struct sl_str uid;
    int64_t created_us; /* 0: unknown */
    const struct sl_pod *pod;
    const struct sl_queue_row *queued;
    size_t position; /* in the queue, from 1 */
    const struct sl_view *view;
    const struct sl_resident *resident;
    const struct sl_usage_row *usage;
    const struct sl_tenant_row *tenant;
    const struct sl_spent *spent;
    struct sl_vis_object *object;
};

/* The objects of a kind at a moment, with all that they are borrowed from. */
struct sl_vis_look {
    struct sl_app *app;
    int64_t now_us; /* Unix */
    struct sl_queue_list queue;
    const struct sl_snapshot *snapshot; /* NULL: none */
    struct sl_arena arena;
    struct sl_spent *spent; /* what tenants had; owned; NULL: not asked for */
    struct sl_vis_row *row; /* in the order in which they are listed */
    size_t n;
    size_t cap;
    const struct sl_score_config *detail; /* not NULL: one object is told, with all that is known */
};

void sl_vis_look_init(struct sl_vis_look *look, struct sl_app *app);
void sl_vis_look_free(struct sl_vis_look *look);
/* Adds an empty row; NULL with *err set when out of memory. */
struct sl_vis_row *sl_vis_look_add(struct sl_vis_look *look, struct sl_error *err);
/* Leaves max rows at most: of each namespace the first ones, and no more than its share. -1: out of
 * memory. */
int sl_vis_look_trim(struct sl_vis_look *look, size_t max, struct sl_error *err);

/* What a row's fields are read from. */
union sl_vis_record {
    struct sl_model_queued queued;
    struct sl_model_resident resident;
    struct sl_model_partition partition;
    struct sl_model_usage usage;
    struct sl_model_tenant tenant;
    struct sl_model_spent spent;
};

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): members in the order of a row
struct sl_vis_kind {
    const char *plural; /* "queuedpods" */
    const char *singular;
    const char *kind; /* "QueuedPod" */
    const char *alias;
    bool namespaced;
    /* Does this daemon have what it shows? */
    bool (*is_there)(const struct sl_app *app, const struct sl_config *config);
    /* Fills the look. -1 with *err set: SL_ERR_CONFLICT when this replica cannot know. */
    int (*collect)(struct sl_vis_look *look, struct sl_error *err);
    /* What the fields of the row are read from: *out, or what the row has. */
    const void *(*record)(const struct sl_vis_look *look, const struct sl_vis_row *row,
                          union sl_vis_record *out);
    const struct sl_field *status; /* equal as long as nothing has happened: no time that passes is
                                    * in it. It has the columns behind the name */
    const char *status_help;
    const char *selectors; /* fields for field selectors: "metadata.name, status.state" */
    const char *name_help; /* of the column that has the name */
    const char *help;      /* for kubectl explain */
};

extern const struct sl_vis_kind sl_vis_kinds[SL_VIS_KINDS];

/* StartEstimate, which is only created and never kept: collect is NULL. */
extern const struct sl_vis_kind sl_vis_estimate_kind;

/* Its place in sl_vis_kinds; -1: there is none of that name, or it is not there. */
int sl_vis_kind_find(const struct sl_app *app, const struct sl_config *config,
                     struct sl_str plural);

/* Calls write for every kind that is there. */
void sl_vis_visit(struct sl_request *request, struct sl_writer *w,
                  void (*write)(struct sl_writer *w, const struct sl_vis_kind *kind));

/* Writes the members of the row; with all that is known, where the look is at one object. */
void sl_vis_write_members(struct sl_writer *w, const struct sl_vis_kind *kind,
                          const struct sl_vis_look *look, const struct sl_vis_row *row);
/* The value of a field for field selectors, NULL when there is none; out may hold it. */
const char *sl_vis_field(const struct sl_vis_kind *kind, const struct sl_vis_look *look,
                         const struct sl_vis_row *row, struct sl_str name,
                         char out[SL_FIELD_TEXT_MAX]);

/* Writes a piece of JSON as it stands, but ' as a quotation mark, and for each % one of the texts,
 * which need no escape. A comma comes before it where one is due. */
#define sl_vis_say(...)           SAY_COUNTED(__VA_ARGS__, NULL)
#define SAY_COUNTED(w, text, ...) sl_vis_say_all((w), (text), (const char *const[]){__VA_ARGS__})
void sl_vis_say_all(struct sl_writer *w, const char *text, const char *const *value);

/* The parts of the table: each collects the rows of a kind. */
int sl_vis_queued_collect(struct sl_vis_look *look, struct sl_error *err);
int sl_vis_running_collect(struct sl_vis_look *look, struct sl_error *err);
int sl_vis_nodes_collect(struct sl_vis_look *look, struct sl_error *err);
int sl_vis_partitions_collect(struct sl_vis_look *look, struct sl_error *err);
int sl_vis_usages_collect(struct sl_vis_look *look, struct sl_error *err);
int sl_vis_tenants_collect(struct sl_vis_look *look, struct sl_error *err);
int sl_vis_spent_collect(struct sl_vis_look *look, struct sl_error *err);
int sl_vis_tenants_in_collect(struct sl_vis_look *look, struct sl_error *err);

#endif
