/* The parameters of a request, as kubectl and client libraries send them. Private to this room. */
#ifndef SLICED_SERVER_VISIBILITY_QUERY_H
#define SLICED_SERVER_VISIBILITY_QUERY_H

#include "server/visibility/kinds.h"
#include "sliced/selector.h"

enum { SL_VIS_FIELDS_MAX = 8 };

enum sl_vis_include { SL_VIS_METADATA, SL_VIS_OBJECT, SL_VIS_NOTHING }; /* in rows of a table */

/* Its texts are the request's. */
struct sl_vis_query {
    struct sl_str namespace; /* empty: all */
    struct sl_str name;      /* empty: a list is asked for */
    struct sl_selector labels;
    struct sl_vis_field {
        struct sl_str name;
        struct sl_str value;
        bool differs;
    } field[SL_VIS_FIELDS_MAX];
    unsigned n_fields;
    size_t limit;  /* SIZE_MAX: none */
    size_t offset; /* rows to pass over: ?continue= */
    bool table;
    enum sl_vis_include include;
    bool watch;
    bool bookmarks;
    bool initial;      /* begin with all that is there, and say when that was all */
    int64_t since;     /* revision that the client knows; 0: none */
    int64_t timeout_s; /* of a watch; 0: ours */
};

/* Reads the query and the header Accept. -1 after sl_request_fail. */
int sl_vis_query_read(struct sl_request *request, const struct sl_vis_kind *kind,
                      struct sl_vis_query *out);

bool sl_vis_query_matches(const struct sl_vis_query *query, const struct sl_vis_kind *kind,
                          const struct sl_vis_look *look, const struct sl_vis_row *row);
/* Could an object of these names match? With sl_vis_query_is_by_names it does: nothing that may
 * change is asked for. */
bool sl_vis_query_names_match(const struct sl_vis_query *query, struct sl_str namespace,
                              struct sl_str name);
bool sl_vis_query_is_by_names(const struct sl_vis_query *query);

#endif
