/* The kinds of the group, and one look at the objects of a kind. Private to this room. */
#ifndef SLICED_SERVER_VISIBILITY_KINDS_H
#define SLICED_SERVER_VISIBILITY_KINDS_H

#include "server/app/app.h"
#include "server/http/request.h"

#define SL_VIS_GROUP   "visibility.sliced.dev"
#define SL_VIS_VERSION "v1alpha1"

enum { SL_VIS_ROWS_MAX = 100000, SL_VIS_KINDS = 5 };

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
    struct sl_vis_object *object;
};

/* The objects of a kind at a moment, with all that they are borrowed from. */
struct sl_vis_look {
    struct sl_app *app;
    int64_t now_us; /* Unix */
    struct sl_queue_list queue;
    const struct sl_snapshot *snapshot; /* NULL: none */
    struct sl_arena arena;
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

struct sl_vis_column {
    const char *name; /* "Start-In" */
    const char *type; /* "string", "integer" */
    bool wide;        /* with -o wide alone */
    const char *help;
};

/* A member of an object, for kubectl explain. */
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): members in the order of a row
struct sl_vis_member {
    unsigned
        depth; /* 0: beside metadata; those of a deeper level follow the one that they are in */
    const char *name; /* as it is written */
    enum sl_vis_type {
        SL_VIS_OF_MEMBERS,
        SL_VIS_LIST, /* of objects */
        SL_VIS_TEXT,
        SL_VIS_TIME,
        SL_VIS_NUMBER,
        SL_VIS_FLAG,
    } type;
    const char *help; /* a sentence or more */
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
    /* Writes the members beside kind, apiVersion and metadata. They are equal as long as nothing
     * has happened: no time that passes is in them. */
    void (*write)(struct sl_writer *w, const struct sl_vis_look *look,
                  const struct sl_vis_row *row);
    const struct sl_vis_column *column; /* the first is the name */
    unsigned n_columns;
    /* Writes the cells behind the name. */
    void (*cells)(struct sl_writer *w, const struct sl_vis_look *look,
                  const struct sl_vis_row *row);
    /* The value of a field for field selectors, NULL when the kind has no such field. */
    const char *(*field)(const struct sl_vis_row *row, struct sl_str name);
    const char *fields; /* their names: "metadata.name, status.state" */
    const char *help;   /* for kubectl explain, as what follows: a test holds write to it */
    const struct sl_vis_member *member;
    unsigned n_members;
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

/* The parts of the table. */
bool sl_vis_queued_there(const struct sl_app *app, const struct sl_config *config);
int sl_vis_queued_collect(struct sl_vis_look *look, struct sl_error *err);
void sl_vis_queued_write(struct sl_writer *w, const struct sl_vis_look *look,
                         const struct sl_vis_row *row);
void sl_vis_queued_cells(struct sl_writer *w, const struct sl_vis_look *look,
                         const struct sl_vis_row *row);
const char *sl_vis_queued_field(const struct sl_vis_row *row, struct sl_str name);

int sl_vis_running_collect(struct sl_vis_look *look, struct sl_error *err);
void sl_vis_running_write(struct sl_writer *w, const struct sl_vis_look *look,
                          const struct sl_vis_row *row);
void sl_vis_running_cells(struct sl_writer *w, const struct sl_vis_look *look,
                          const struct sl_vis_row *row);
const char *sl_vis_running_field(const struct sl_vis_row *row, struct sl_str name);

int sl_vis_nodes_collect(struct sl_vis_look *look, struct sl_error *err);
void sl_vis_nodes_write(struct sl_writer *w, const struct sl_vis_look *look,
                        const struct sl_vis_row *row);
void sl_vis_nodes_cells(struct sl_writer *w, const struct sl_vis_look *look,
                        const struct sl_vis_row *row);

bool sl_vis_partitions_there(const struct sl_app *app, const struct sl_config *config);
int sl_vis_partitions_collect(struct sl_vis_look *look, struct sl_error *err);
void sl_vis_partitions_write(struct sl_writer *w, const struct sl_vis_look *look,
                             const struct sl_vis_row *row);
void sl_vis_partitions_cells(struct sl_writer *w, const struct sl_vis_look *look,
                             const struct sl_vis_row *row);

bool sl_vis_usages_there(const struct sl_app *app, const struct sl_config *config);
int sl_vis_usages_collect(struct sl_vis_look *look, struct sl_error *err);
void sl_vis_usages_write(struct sl_writer *w, const struct sl_vis_look *look,
                         const struct sl_vis_row *row);
void sl_vis_usages_cells(struct sl_writer *w, const struct sl_vis_look *look,
                         const struct sl_vis_row *row);
const char *sl_vis_node_field(const struct sl_vis_row *row, struct sl_str name);

/* Writes "4m10s", or nothing when us is 0 or less. */
void sl_vis_write_duration(struct sl_writer *w, int64_t us);
/* Writes a text of users: control characters as escapes; nothing for NULL. */
void sl_vis_write_shown(struct sl_writer *w, const char *text);

#endif
