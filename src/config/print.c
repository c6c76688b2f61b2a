/* The configuration as YAML, and the reference page. */
#include <stdio.h>

#include "config/keys.h"

enum { INDENT = 2 };

static unsigned depth_of(const char *path)
{
    unsigned n = path[0] == '\0' ? 0 : 1;
    for (; *path != '\0'; path++) {
        n += *path == '.';
    }
    return n;
}

static void indent_line(unsigned depth, struct sl_buf *out)
{
    for (unsigned i = 1; i < depth; i++) {
        sl_buf_puts(out, "  ");
    }
}

/* Values hold nothing that needs an escape: sl_value_text lets no quote and no control through. */
static void print_value(const struct sl_key *key, const void *base, struct sl_buf *out)
{
    if (key->text) {
        sl_buf_putc(out, '"');
        sl_buf_puts(out, sl_key_text(key, base));
        sl_buf_putc(out, '"');
    } else {
        sl_value_print(key, sl_key_number(key, base), out);
    }
}

static void print_entry(const struct sl_key_list *list, const void *entry, unsigned depth,
                        struct sl_buf *out)
{
    const char *mark = "- ";
    for (size_t i = 0; i < list->n_fields; i++) {
        const struct sl_key *key = &list->field[i];
        if (!key->text && !key->required && sl_key_number(key, entry) == key->number) {
            continue; /* left out: the built-in value may be none that can be written */
        }
        indent_line(depth + 1, out);
        sl_buf_puts(out, mark);
        sl_buf_puts(out, key->path + sl_key_parent_len(key->path) + 1);
        sl_buf_puts(out, ": ");
        print_value(key, entry, out);
        sl_buf_putc(out, '\n');
        mark = "  ";
    }
}

static void print_list(const struct sl_key_list *list, const struct sl_config *config,
                       struct sl_buf *out)
{
    unsigned depth = depth_of(list->path);
    size_t n = sl_list_count(list, config);
    indent_line(depth, out);
    sl_buf_printf(out, "# %s (up to %u of:", list->help, list->max);
    for (size_t i = 0; i < list->n_fields; i++) {
        const char *path = list->field[i].path;
        sl_buf_printf(out, "%s %s", i > 0 ? "," : "", path + sl_key_parent_len(path) + 1);
    }
    sl_buf_puts(out, ")\n");
    indent_line(depth, out);
    sl_buf_puts(out, list->path + sl_key_parent_len(list->path) + 1);
    sl_buf_puts(out, n == 0 ? ": []\n" : ":\n");
    for (size_t i = 0; i < n; i++) {
        print_entry(list, sl_list_entry_of(list, config, i), depth, out);
    }
}

static void print_key(const struct sl_key *key, const struct sl_config *config, struct sl_buf *out)
{
    unsigned depth = depth_of(key->path);
    indent_line(depth, out);
    sl_buf_puts(out, "# ");
    sl_buf_puts(out, key->help);
    if (!key->text) {
        sl_buf_puts(out, " (");
        sl_value_range(key, out);
        sl_buf_puts(out, ")");
    }
    sl_buf_putc(out, '\n');
    size_t parent = sl_key_parent_len(key->path);
    indent_line(depth, out);
    sl_buf_puts(out, key->path + parent + 1);
    sl_buf_puts(out, ": ");
    print_value(key, config, out);
    sl_buf_putc(out, '\n');
}

static void print_section(const struct sl_key_section *section, struct sl_buf *out)
{
    unsigned depth = depth_of(section->path);
    size_t parent = sl_key_parent_len(section->path);
    sl_buf_puts(out, depth == 1 ? "\n" : "");
    indent_line(depth, out);
    sl_buf_puts(out, "# ");
    sl_buf_puts(out, section->help);
    sl_buf_putc(out, '\n');
    indent_line(depth, out);
    sl_buf_puts(out, section->path + (parent == 0 ? 0 : parent + 1));
    sl_buf_puts(out, ":\n");
}

void sl_config_print(const struct sl_config *config, struct sl_buf *out)
{
    sl_buf_puts(out, "apiVersion: " SL_CONFIG_API_VERSION "\nkind: " SL_CONFIG_KIND "\n");
    for (size_t s = 1; s < SL_KEY_SECTIONS; s++) {
        const char *path = sl_key_sections[s].path;
        print_section(&sl_key_sections[s], out);
        for (size_t i = 0; i < sl_n_keys; i++) {
            size_t len = sl_key_parent_len(sl_keys[i].path);
            if (len == strlen(path) && memcmp(sl_keys[i].path, path, len) == 0) {
                print_key(&sl_keys[i], config, out);
            }
        }
        for (size_t i = 0; i < SL_KEY_LISTS; i++) {
            size_t len = sl_key_parent_len(sl_key_lists[i].path);
            if (len == strlen(path) && memcmp(sl_key_lists[i].path, path, len) == 0) {
                print_list(&sl_key_lists[i], config, out);
            }
        }
    }
}

static void print_row(const struct sl_key *key, const struct sl_config *defaults,
                      struct sl_buf *out)
{
    sl_buf_puts(out, "| `");
    sl_buf_puts(out, key->path);
    sl_buf_puts(out, "` | ");
    sl_buf_puts(out, sl_value_type_name(key));
    if (key->text && sl_key_text(key, defaults)[0] == '\0') {
        sl_buf_puts(out, " | (empty) | ");
    } else {
        sl_buf_puts(out, " | `");
        if (key->text) {
            sl_buf_puts(out, sl_key_text(key, defaults));
        } else {
            sl_value_print(key, sl_key_number(key, defaults), out);
        }
        sl_buf_puts(out, "` | ");
    }
    sl_value_range(key, out);
    sl_buf_puts(out, key->restart ? " | restart | " : " | reload | ");
    sl_buf_puts(out, key->help);
    sl_buf_puts(out, " |\n");
}

/* A list, and below it what its entries have. */
static void print_list_rows(const struct sl_key_list *list, struct sl_buf *out)
{
    sl_buf_printf(out, "| `%s` | list | (empty) | up to %u entries | reload | %s |\n", list->path,
                  list->max, list->help);
    for (size_t i = 0; i < list->n_fields; i++) {
        const struct sl_key *key = &list->field[i];
        size_t parent = sl_key_parent_len(key->path);
        sl_buf_printf(out, "| `%.*s[].%s` | %s | ", (int)parent, key->path, key->path + parent + 1,
                      sl_value_type_name(key));
        if (!key->required && !key->text && key->number >= key->min) {
            sl_buf_putc(out, '`');
            sl_value_print(key, key->number, out);
            sl_buf_puts(out, "` | ");
        } else {
            sl_buf_puts(out, key->required ? "(required) | " : "(empty) | ");
        }
        sl_value_range(key, out);
        sl_buf_printf(out, " | reload | %s |\n", key->help);
    }
}

void sl_config_reference(struct sl_buf *out)
{
    struct sl_config defaults;
    sl_config_defaults(&defaults);
    sl_buf_puts(
        out,
        "<!-- Made by `sliced --print-config-reference`; change src/config/keys.c instead. -->\n"
        "# Configuration\n\n"
        "`sliced --config FILE` reads one YAML (or JSON) file. `apiVersion: " SL_CONFIG_API_VERSION
        "` and\n`kind: " SL_CONFIG_KIND
        "` must be there; every other key may be left out and then has its default.\n"
        "`sliced --config FILE --check-config` says what is wrong with it: the error names the "
        "file, line, column\nand key, what was found and what was expected. A key that is set and "
        "does nothing, as `queue.bound` with\nanother order than `bounded`, gets a warning there, "
        "and in the log at start and SIGHUP.\n`sliced --config FILE --print-config` prints all "
        "keys as a file, each with "
        "its meaning; without FILE these are the\ndefaults. `sliced --print-config-schema` prints "
        "a "
        "JSON Schema of the file, for editors.\n\n"
        "On SIGHUP the daemon reads the file again. Keys marked *restart* keep the value that the "
        "daemon was started\nwith, everywhere, and the log and `/api/v1/state` name those that "
        "differ in the file. A file with an error\nchanges nothing.\n\n"
        "Sizes are bytes, plain or as a Kubernetes quantity: `65536`, `64Ki`, `1Gi`. Durations are "
        "written as\nin Go: `500ms`, `5s`, `1m30s`.\n\n"
        "| key | type | default | range | change | meaning |\n"
        "|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sl_n_keys; i++) {
        print_row(&sl_keys[i], &defaults, out);
    }
    for (size_t i = 0; i < SL_KEY_LISTS; i++) {
        print_list_rows(&sl_key_lists[i], out);
    }
}
