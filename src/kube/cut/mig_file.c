/* YAML's events say on which line each entry begins and ends; the edit takes lines out and puts
 * others in. So comments, order and spelling of others' entries stay. */
#include "kube/cut/mig_file.h"

#include <stdlib.h>

#include "codec/stream/yaml.h"
#include "util/data/vec.h"

enum { DEPTH_MAX = 32, INDENT = 2, INDENT_MAX = 80, ENTRIES_MAX = 20000, SHOWN = 63 };

static const char file_head[] = "version: v1\nmig-configs:\n";

/* An entry of ours: the line has nothing else. */
struct own {
    struct sl_str name; /* in the text */
    unsigned line;
    bool whole; /* it ends on that line */
};

struct reading {
    struct sl_str text;
    size_t *line; /* offset of each line's first byte, and of the end */
    size_t n_lines;
    size_t lines_cap;
    struct own *own;
    size_t n_own;
    size_t own_cap;
    unsigned depth;
    unsigned documents;
    unsigned configs_line; /* of the key mig-configs; 0: not seen */
    unsigned object_line;  /* where the entries' mapping begins: in block style, at the first */
    unsigned object_column;
    unsigned first_line; /* of the first entry; 0: none */
    unsigned indent;     /* of entries */
    size_t entries;
    bool in_configs;
    bool version_next; /* the value of version is next */
    bool version;      /* it was v1 */
    bool ours;         /* within an entry of ours: the last of own */
};

bool sl_mig_entry_name(struct sl_str name, struct sl_str *stem)
{
    const struct sl_str prefix = SL_STR("sliced-");
    size_t at = prefix.len;
    if (!sl_str_starts(name, prefix)) {
        return false;
    }
    while (at < name.len && name.s[at] != '\0' && strchr("0123456789abcdef", name.s[at]) != NULL) {
        at++;
    }
    *stem = (struct sl_str){name.s, at};
    bool good = at > prefix.len && at + 1 < name.len && name.s[at] == '-';
    for (at++; good && at < name.len; at++) {
        good = name.s[at] >= '0' && name.s[at] <= '9';
    }
    return good;
}

/* ---- lines ---- */

static int add_line(struct reading *r, size_t offset, struct sl_error *err)
{
    if (sl_vec_reserve(&r->line, &r->lines_cap, r->n_lines + 1, sizeof(*r->line)) < 0) {
        return sl_error_nomem(err);
    }
    r->line[r->n_lines++] = offset;
    return 0;
}

/* libyaml counts other breaks as lines too: a text that has them is refused. */
static bool has_other_breaks(struct sl_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        const unsigned char *p = (const unsigned char *)text.s + i;
        bool cr = p[0] == '\r' && (i + 1 == text.len || p[1] != '\n');
        bool nel = p[0] == 0xc2 && i + 1 < text.len && p[1] == 0x85;
        bool separator =
            p[0] == 0xe2 && i + 2 < text.len && p[1] == 0x80 && (p[2] == 0xa8 || p[2] == 0xa9);
        if (cr || nel || separator) {
            return true;
        }
    }
    return false;
}

static int split_lines(struct reading *r, struct sl_error *err)
{
    if (has_other_breaks(r->text)) {
        return sl_error_set(err, SL_ERR_FIELD, "has line breaks other than \\n");
    }
    const char *end = r->text.s + r->text.len;
    const char *at = r->text.s;
    while (at < end) {
        if (add_line(r, (size_t)(at - r->text.s), err) < 0) {
            return -1;
        }
        const char *feed = memchr(at, '\n', (size_t)(end - at));
        at = feed == NULL ? end : feed + 1;
    }
    return add_line(r, r->text.len, err);
}

/* Does nothing but spaces stand before that column (from 1) of the line? */
static bool begins_line(const struct reading *r, unsigned line, unsigned column)
{
    if (line >= r->n_lines || column == 0 || column - 1 > INDENT_MAX ||
        r->line[line - 1] + column > r->text.len) {
        return false;
    }
    const char *p = r->text.s + r->line[line - 1];
    for (unsigned i = 0; i + 1 < column; i++) {
        if (p[i] != ' ') {
            return false;
        }
    }
    return true;
}

/* ---- entries ---- */

static int form_refuse(struct sl_error *err)
{
    return sl_error_set(err, SL_ERR_FIELD,
                        "its entries cannot be told apart line by line: expected \"version: v1\", "
                        "and under \"mig-configs:\" each entry on a line of its own, indented");
}

static int note_entry(struct reading *r, const struct sl_event *event, struct sl_error *err)
{
    struct sl_str stem;
    if (!begins_line(r, event->line, event->column) || event->line == r->configs_line ||
        (r->entries > 0 && event->column - 1 != r->indent)) {
        return form_refuse(err);
    }
    if (++r->entries > ENTRIES_MAX) {
        return sl_error_set(err, SL_ERR_LIMIT, "has more than %d entries", (int)ENTRIES_MAX);
    }
    if (r->entries == 1) {
        if (event->line != r->object_line || event->column != r->object_column) {
            return form_refuse(err);
        }
        r->first_line = event->line;
        r->indent = event->column - 1;
    }
    r->ours = sl_mig_entry_name(event->text, &stem);
    if (!r->ours) {
        return 0;
    }
    if (sl_vec_reserve(&r->own, &r->own_cap, r->n_own + 1, sizeof(*r->own)) < 0) {
        return sl_error_nomem(err);
    }
    /* the name is plain: it stands in the text as it is, or between quotes */
    const char *at = r->text.s + r->line[event->line - 1] + r->indent;
    at += *at == '"' || *at == '\'';
    struct sl_str name = {at, event->text.len};
    if (at + name.len > r->text.s + r->text.len || !sl_str_eq(name, event->text)) {
        return form_refuse(err);
    }
    r->own[r->n_own++] = (struct own){.name = name, .line = event->line};
    return 0;
}

/* An entry of ours is a sequence in brackets: where its end stands is told. */
static void note_end(struct reading *r, const struct sl_event *event)
{
    struct own *own = &r->own[r->n_own - 1];
    size_t at = r->line[event->line - 1] + event->column - 1;
    own->whole = event->line == own->line && at < r->text.len && r->text.s[at] == ']';
}

static int note_key(struct reading *r, const struct sl_event *event, struct sl_error *err)
{
    if (r->depth == 2 && r->in_configs) {
        return note_entry(r, event, err);
    }
    if (r->depth == 1) {
        r->in_configs = sl_str_eq(event->text, SL_STR("mig-configs"));
        r->version_next = sl_str_eq(event->text, SL_STR("version"));
        if (r->in_configs) {
            r->configs_line = event->line;
        }
    }
    return 0;
}

static int receive(void *context, const struct sl_event *event, struct sl_error *err)
{
    struct reading *r = context;
    int result = 0;
    switch (event->type) {
    case SL_EVENT_OBJECT:
        if (r->depth == 1 && r->in_configs) {
            r->object_line = event->line;
            r->object_column = event->column;
        }
        r->depth++;
        break;
    case SL_EVENT_ARRAY:
        r->depth++;
        break;
    case SL_EVENT_OBJECT_END:
    case SL_EVENT_ARRAY_END:
        r->depth--;
        if (r->ours && r->depth == 2) {
            note_end(r, event);
            r->ours = false;
        }
        break;
    case SL_EVENT_KEY:
        result = note_key(r, event, err);
        break;
    case SL_EVENT_STRING:
        r->version = r->version ||
                     (r->depth == 1 && r->version_next && sl_str_eq(event->text, SL_STR("v1")));
        break;
    case SL_EVENT_DOCUMENT_END:
        r->documents++;
        break;
    case SL_EVENT_NUMBER:
    case SL_EVENT_BOOL:
    case SL_EVENT_NULL:
    case SL_EVENT_STRINGS:
        break;
    }
    return result < 0 ? SL_EVENT_FAIL : SL_EVENT_GO;
}

static int file_read(struct reading *r, struct sl_error *err)
{
    const struct sl_text_limits limits = {
        .max_bytes = SIZE_MAX, .max_string = SIZE_MAX, .max_depth = DEPTH_MAX};
    if (split_lines(r, err) < 0 ||
        sl_yaml_parse(r->text.s, r->text.len, &limits, receive, r, err) < 0) {
        return -1;
    }
    if (!r->version || r->documents != 1 || r->entries == 0) {
        return form_refuse(err);
    }
    return 0;
}

/* ---- the edit ---- */

static void put_entry(struct sl_buf *out, unsigned indent, const struct sl_mig_entry *entry)
{
    for (unsigned i = 0; i < indent; i++) {
        sl_buf_putc(out, ' ');
    }
    sl_buf_puts(out, entry->name);
    sl_buf_puts(out, ": ");
    sl_buf_append(out, entry->text.s, entry->text.len);
    sl_buf_putc(out, '\n');
}

static struct sl_str line_of(const struct reading *r, unsigned line)
{
    size_t begin = r->line[line - 1];
    return (struct sl_str){r->text.s + begin, r->line[line] - begin};
}

/* Finds the entry of that line. n: none. */
static size_t entry_find(const struct sl_mig_entry *entry, size_t n, struct sl_str name)
{
    size_t at = 0;
    while (at < n && !sl_str_eq(sl_str_of(entry[at].name), name)) {
        at++;
    }
    return at;
}

struct edit {
    const struct sl_mig_entry *entry;
    size_t n;
    bool (*keeps)(void *context, struct sl_str name);
    void *context;
};

static bool entry_stands(const struct reading *r, const struct own *own,
                         const struct sl_mig_entry *entry)
{
    struct sl_buf line;
    sl_buf_init(&line, SL_MIG_FILE_MAX);
    put_entry(&line, r->indent, entry);
    bool same = sl_str_eq((struct sl_str){line.data, line.len}, line_of(r, own->line));
    sl_buf_free(&line);
    return same;
}

/* Is the text as it should be: has it every entry once, and none that is to go? */
static bool is_right(const struct reading *r, const struct edit *edit)
{
    size_t found = 0;
    for (size_t i = 0; i < r->n_own; i++) {
        const struct own *own = &r->own[i];
        size_t at = entry_find(edit->entry, edit->n, own->name);
        if (at == edit->n) {
            if (own->whole && !edit->keeps(edit->context, own->name)) {
                return false;
            }
            continue;
        }
        bool same = entry_stands(r, own, &edit->entry[at]);
        if (!same) {
            return false;
        }
        found++;
    }
    return found == edit->n;
}

/* Writes the text without the entries that go or are written anew, and these before the first. */
static int file_write(const struct reading *r, const struct edit *edit, struct sl_buf *out,
                      struct sl_error *err)
{
    size_t next = 0;
    for (unsigned line = 1; line < r->n_lines; line++) {
        const struct own *own =
            next < r->n_own && r->own[next].line == line ? &r->own[next++] : NULL;
        for (size_t i = 0; line == r->first_line && i < edit->n; i++) {
            put_entry(out, r->indent, &edit->entry[i]);
        }
        bool mine = own != NULL && entry_find(edit->entry, edit->n, own->name) < edit->n;
        if (mine && !own->whole) {
            return sl_error_set(err, SL_ERR_FIELD, "its entry %.*s was rewritten by somebody",
                                (int)(own->name.len < SHOWN ? own->name.len : SHOWN), own->name.s);
        }
        if (own == NULL || (!mine && (!own->whole || edit->keeps(edit->context, own->name)))) {
            struct sl_str text = line_of(r, line);
            sl_buf_append(out, text.s, text.len);
        }
    }
    return 0;
}

static bool is_blank(struct sl_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.s[i] != '\0' && strchr(" \t\r\n", text.s[i]) == NULL) {
            return false;
        }
    }
    return true;
}

static void file_begin(const struct edit *edit, struct sl_buf *out)
{
    sl_buf_puts(out, file_head);
    for (size_t i = 0; i < edit->n; i++) {
        put_entry(out, INDENT, &edit->entry[i]);
    }
}

int sl_mig_file_edit(struct sl_str text, const struct sl_mig_entry *entry, size_t n,
                     bool (*keeps)(void *context, struct sl_str name), void *context,
                     struct sl_buf *out, struct sl_error *err)
{
    const struct edit edit = {entry, n, keeps, context};
    struct reading r = {.text = text};
    int result = 1;
    if (is_blank(text)) {
        file_begin(&edit, out);
    } else if (file_read(&r, err) < 0) {
        result = -1;
    } else if (is_right(&r, &edit)) {
        result = 0;
    } else {
        result = file_write(&r, &edit, out, err) < 0 ? -1 : 1;
    }
    if (result == 1 && out->failed != SL_BUF_OK) {
        result = out->failed == SL_BUF_NOMEM
                     ? sl_error_nomem(err)
                     : sl_error_set(err, SL_ERR_LIMIT, "would be longer than %zu bytes", out->max);
    }
    free(r.line);
    free(r.own);
    return result;
}
