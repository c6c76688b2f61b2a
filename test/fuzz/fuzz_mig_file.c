/* Any text as the mig-manager's file: an edit of it is an edit only once, and takes no line away
 * but those of entries of ours. */
#include <stdlib.h>

#include "codec/stream/yaml.h"
#include "kube/cut/mig_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds) {
        abort();
    }
}

static bool keeps(void *context, struct sl_str name)
{
    (void)context;
    return name.s[name.len - 1] == '7';
}

static int ignore_event(void *context, const struct sl_event *event, struct sl_error *err)
{
    (void)context;
    (void)event;
    (void)err;
    return SL_EVENT_GO;
}

static bool is_ours(struct sl_str line)
{
    struct sl_str stem;
    while (line.len > 0 && (*line.s == ' ' || *line.s == '"' || *line.s == '\'')) {
        line.s++;
        line.len--;
    }
    size_t n = 0;
    while (n < line.len && line.s[n] != ':' && line.s[n] != '"' && line.s[n] != '\'' &&
           line.s[n] != ' ') {
        n++;
    }
    return sl_mig_entry_name((struct sl_str){line.s, n}, &stem);
}

static struct sl_str next_line(struct sl_str *rest)
{
    const char *feed = memchr(rest->s, '\n', rest->len);
    size_t n = feed == NULL ? rest->len : (size_t)(feed - rest->s) + 1;
    struct sl_str line = {rest->s, n};
    rest->s += n;
    rest->len -= n;
    return line;
}

/* The lines of others stand in both, in one order. */
static void check_lines(struct sl_str before, struct sl_str after)
{
    while (before.len > 0 || after.len > 0) {
        struct sl_str old = {NULL, 0};
        struct sl_str new = {NULL, 0};
        while (before.len > 0 && (old.len == 0 || is_ours(old))) {
            old = next_line(&before);
        }
        while (after.len > 0 && (new.len == 0 || is_ours(new))) {
            new = next_line(&after);
        }
        check(sl_str_eq(old, new) || is_ours(old) || is_ours(new));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct sl_mig_entry entry[] = {{"sliced-5c3d-1", SL_STR("[{devices: [0]}]")},
                                         {"sliced-5c3d-2", SL_STR("[{devices: [0]}]")}};
    const struct sl_text_limits limits = {
        .max_bytes = SIZE_MAX, .max_string = SIZE_MAX, .max_depth = 64};
    const struct sl_str text = {size == 0 ? "" : (const char *)data, size};
    struct sl_buf once;
    struct sl_buf twice;
    struct sl_error err;
    sl_buf_init(&once, SL_MIG_FILE_MAX);
    sl_buf_init(&twice, SL_MIG_FILE_MAX);
    if (sl_mig_file_edit(text, entry, 2, keeps, NULL, &once, &err) == 1) {
        const struct sl_str edited = {once.data, once.len};
        check(sl_yaml_parse(edited.s, edited.len, &limits, ignore_event, NULL, &err) == 0);
        check(sl_mig_file_edit(edited, entry, 2, keeps, NULL, &twice, &err) == 0);
        if (memchr(text.s, ':', text.len) != NULL) { /* else it was blank, and is begun */
            check_lines(text, edited);
        }
    }
    sl_buf_free(&once);
    sl_buf_free(&twice);
    return 0;
}
