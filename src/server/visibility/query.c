/* Parameters of get, list and watch. */
#include "server/visibility/query.h"

#include <stdio.h>
#include <stdlib.h>

#include "util/data/hash.h"

enum { SHOWN = 64, WATCH_SECONDS_MAX = 86400, NODE_LABELS_MAX = 512, KEY_MAX = 320 };

static int refuse(struct sl_request *request, const char *field, struct sl_str found,
                  const char *expected)
{
    (void)sl_error_set(&request->err, SL_ERR_FIELD, "found \"%.*s\", expected %s",
                       (int)(found.len > SHOWN ? SHOWN : found.len), found.len == 0 ? "" : found.s,
                       expected);
    (void)snprintf(request->err.field, sizeof(request->err.field), "%s", field);
    return sl_request_fail(request, 400);
}

static struct sl_str trim(struct sl_str text)
{
    while (text.len > 0 && text.s[0] == ' ') {
        text = (struct sl_str){text.s + 1, text.len - 1};
    }
    while (text.len > 0 && text.s[text.len - 1] == ' ') {
        text.len--;
    }
    return text;
}

static bool contains(struct sl_str text, const char *part)
{
    size_t n = strlen(part);
    for (size_t i = 0; i + n <= text.len; i++) {
        if (memcmp(text.s + i, part, n) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- the form of the answer ---- */

/* Takes the first form of the header Accept that there is. */
static int read_accept(struct sl_request *request, bool *table)
{
    const char *accept =
        MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
    struct sl_str rest = sl_str_of(accept);
    *table = false;
    if (accept == NULL) {
        return 0;
    }
    while (rest.s != NULL) {
        struct sl_str each = trim(sl_str_cut(&rest, ','));
        bool json = sl_str_starts(each, SL_STR("application/json")) ||
                    sl_str_starts(each, SL_STR("*/*")) ||
                    sl_str_starts(each, SL_STR("application/*"));
        bool as_table = contains(each, "as=Table");
        if (json && (as_table || !contains(each, "as="))) {
            *table = as_table;
            return 0;
        }
    }
    (void)sl_error_set(&request->err, SL_ERR_FIELD,
                       "only application/json is served, also as=Table;v=v1;g=meta.k8s.io");
    return sl_request_fail(request, 406);
}

static int read_include(struct sl_request *request, struct sl_vis_query *out)
{
    struct sl_str text = sl_request_query(request, "includeObject");
    out->include = SL_VIS_METADATA;
    if (sl_str_eq(text, SL_STR("Object"))) {
        out->include = SL_VIS_OBJECT;
    } else if (sl_str_eq(text, SL_STR("None"))) {
        out->include = SL_VIS_NOTHING;
    } else if (text.len > 0 && !sl_str_eq(text, SL_STR("Metadata"))) {
        return refuse(request, "includeObject", text, "None, Metadata or Object");
    }
    return 0;
}

/* ---- selectors ---- */

static bool is_field(const char *names, struct sl_str name)
{
    struct sl_str rest = sl_str_of(names);
    while (rest.s != NULL) {
        if (sl_str_eq(trim(sl_str_cut(&rest, ',')), name)) {
            return name.len > 0;
        }
    }
    return false;
}

/* "name=value", "name==value" or "name!=value". */
static bool split_field(struct sl_str text, struct sl_vis_field *out)
{
    const char *sign = text.len == 0 ? NULL : memchr(text.s, '=', text.len);
    if (sign == NULL) {
        return false;
    }
    size_t at = (size_t)(sign - text.s);
    out->differs = at > 0 && text.s[at - 1] == '!';
    out->name = trim((struct sl_str){text.s, at - (out->differs ? 1 : 0)});
    at += at + 1 < text.len && text.s[at + 1] == '=' && !out->differs ? 2 : 1;
    out->value = trim((struct sl_str){text.s + at, text.len - at});
    return true;
}

static int read_fields(struct sl_request *request, const struct sl_vis_kind *kind,
                       struct sl_vis_query *out)
{
    struct sl_str rest = sl_request_query(request, "fieldSelector");
    while (rest.len > 0) {
        struct sl_str each = sl_str_cut(&rest, ',');
        if (out->n_fields == SL_VIS_FIELDS_MAX) {
            return refuse(request, "fieldSelector", each, "eight fields at most");
        }
        struct sl_vis_field *field = &out->field[out->n_fields];
        if (!split_field(each, field) || !is_field(kind->selectors, field->name)) {
            char expected[256];
            (void)snprintf(expected, sizeof(expected), "=, == or != with one of %s",
                           kind->selectors == NULL ? "none" : kind->selectors);
            return refuse(request, "fieldSelector", each, expected);
        }
        out->n_fields++;
    }
    return 0;
}

static int read_labels(struct sl_request *request, struct sl_vis_query *out)
{
    if (sl_selector_parse(sl_request_query(request, "labelSelector"), &out->labels, &request->err) <
        0) {
        (void)snprintf(request->err.field, sizeof(request->err.field), "labelSelector");
        return sl_request_fail(request, 400);
    }
    return 0;
}

/* ---- numbers ---- */

static int read_number(struct sl_request *request, const char *name, int64_t max, int64_t *out)
{
    struct sl_str text = sl_request_query(request, name);
    *out = 0;
    if (text.len > 0 && (!sl_str_to_i64(text, out) || *out < 0)) {
        return refuse(request, name, text, "a number");
    }
    *out = *out > max ? max : *out;
    return 0;
}

static int read_numbers(struct sl_request *request, struct sl_vis_query *out)
{
    int64_t limit = 0;
    int64_t offset = 0;
    if (read_number(request, "limit", SL_VIS_ROWS_MAX, &limit) < 0 ||
        read_number(request, "continue", SL_VIS_ROWS_MAX, &offset) < 0 ||
        read_number(request, "timeoutSeconds", WATCH_SECONDS_MAX, &out->timeout_s) < 0 ||
        (out->watch && read_number(request, "resourceVersion", INT64_MAX, &out->since) < 0)) {
        return -1;
    }
    out->limit = limit == 0 ? SIZE_MAX : (size_t)limit;
    out->offset = (size_t)offset;
    return 0;
}

static bool is_on(const struct sl_request *request, const char *name)
{
    struct sl_str text = sl_request_query(request, name);
    return sl_str_eq(text, SL_STR("true")) || sl_str_eq(text, SL_STR("1"));
}

int sl_vis_query_read(struct sl_request *request, const struct sl_vis_kind *kind,
                      struct sl_vis_query *out)
{
    out->watch = is_on(request, "watch");
    out->bookmarks = is_on(request, "allowWatchBookmarks");
    out->initial = is_on(request, "sendInitialEvents");
    return read_accept(request, &out->table) < 0 || read_include(request, out) < 0 ||
                   read_fields(request, kind, out) < 0 || read_labels(request, out) < 0 ||
                   read_numbers(request, out) < 0
               ? -1
               : 0;
}

/* ---- matching ---- */

static int by_value(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

static bool node_matches(const struct sl_selector *labels, const struct sl_node *node)
{
    uint64_t hash[2 * NODE_LABELS_MAX];
    uint32_t n = 0;
    for (unsigned i = 0; i < node->n_labels && n + 2 <= sizeof(hash) / sizeof(hash[0]); i++) {
        char pair[KEY_MAX + 1];
        int len = snprintf(pair, sizeof(pair), "%s=%s", node->label[i].key, node->label[i].value);
        if (len > 0 && (size_t)len < sizeof(pair)) {
            hash[n] = sl_hash(node->label[i].key, strlen(node->label[i].key));
            hash[n + 1] = sl_hash(pair, (size_t)len);
            n += 2;
        }
    }
    qsort(hash, n, sizeof(hash[0]), by_value);
    return sl_selector_matches(labels, hash, n);
}

static bool labels_match(const struct sl_selector *labels, const struct sl_vis_row *row)
{
    if (labels->n_rules == 0) {
        return true;
    }
    if (row->view == NULL && row->pod == NULL) {
        return sl_selector_matches(labels, NULL, 0);
    }
    return row->pod != NULL ? sl_selector_matches(labels, row->pod->label, row->pod->n_labels)
                            : node_matches(labels, row->view->node);
}

/* The name that the field selects by; NULL: it selects by something that may change. */
static const struct sl_str *name_of(const struct sl_vis_field *field,
                                    const struct sl_str *namespace, const struct sl_str *name)
{
    if (sl_str_eq(field->name, SL_STR("metadata.name"))) {
        return name;
    }
    return sl_str_eq(field->name, SL_STR("metadata.namespace")) ? namespace : NULL;
}

bool sl_vis_query_names_match(const struct sl_vis_query *query, struct sl_str namespace,
                              struct sl_str name)
{
    if ((query->namespace.len > 0 && !sl_str_eq(query->namespace, namespace)) ||
        (query->name.len > 0 && !sl_str_eq(query->name, name))) {
        return false;
    }
    for (unsigned i = 0; i < query->n_fields; i++) {
        const struct sl_vis_field *field = &query->field[i];
        const struct sl_str *found = name_of(field, &namespace, &name);
        if (found != NULL && sl_str_eq(field->value, *found) == field->differs) {
            return false;
        }
    }
    return true;
}

bool sl_vis_query_is_by_names(const struct sl_vis_query *query)
{
    const struct sl_str none = {NULL, 0};
    bool by_names = query->labels.n_rules == 0;
    for (unsigned i = 0; i < query->n_fields; i++) {
        by_names = by_names && name_of(&query->field[i], &none, &none) != NULL;
    }
    return by_names;
}

bool sl_vis_query_matches(const struct sl_vis_query *query, const struct sl_vis_kind *kind,
                          const struct sl_vis_look *look, const struct sl_vis_row *row)
{
    char text[SL_FIELD_TEXT_MAX];
    if (!sl_vis_query_names_match(query, row->namespace, row->name)) {
        return false;
    }
    for (unsigned i = 0; i < query->n_fields; i++) {
        const struct sl_vis_field *field = &query->field[i];
        const char *value = sl_vis_field(kind, look, row, field->name, text);
        bool same = sl_str_eq(field->value, sl_str_of(value == NULL ? "" : value));
        if (same == field->differs) {
            return false;
        }
    }
    return labels_match(&query->labels, row);
}
