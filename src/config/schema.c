/* The configuration as a JSON Schema (draft 7), for editors and for the chart's values. */
#include <stdio.h>

#include "codec/write.h"
#include "config/keys.h"

static void schema_numbers(const struct sl_key *key, struct sl_writer *w)
{
    double unit = key->type == SL_KEY_DECIMAL ? SL_ORDER_ONE : 1;
    sl_write_key(w, "minimum");
    sl_write_double(w, (double)key->min / unit);
    sl_write_key(w, "maximum");
    sl_write_double(w, (double)key->max / unit);
}

static void schema_pattern(const struct sl_key *key, struct sl_writer *w)
{
    char text[256];
    (void)snprintf(text, sizeof(text), "^(%s)%s$", sl_value_pattern(key),
                   sl_value_may_be_empty(key) ? "?" : "");
    sl_write_member_text(w, "pattern", text);
}

static void schema_types(const char *a, const char *b, struct sl_writer *w)
{
    sl_write_member_array(w, "type");
    sl_write_text(w, a);
    sl_write_text(w, b);
    sl_write_array_end(w);
}

/* 0 needs no unit. */
static void schema_duration(const struct sl_key *key, struct sl_writer *w)
{
    if (key->min > 0) {
        sl_write_member_text(w, "type", "string");
    } else {
        schema_types("integer", "string", w);
        sl_write_member_i64(w, "maximum", 0);
    }
    schema_pattern(key, w);
}

/* A pattern speaks of texts alone, minimum and maximum of numbers alone. */
static void schema_value(const struct sl_key *key, struct sl_writer *w)
{
    switch (key->type) {
    case SL_KEY_BOOLEAN:
        sl_write_member_text(w, "type", "boolean");
        break;
    case SL_KEY_INTEGER:
    case SL_KEY_DECIMAL:
        sl_write_member_text(w, "type", key->type == SL_KEY_INTEGER ? "integer" : "number");
        schema_numbers(key, w);
        break;
    case SL_KEY_ENUM:
        sl_write_member_array(w, "enum");
        for (size_t i = 0; key->words[i] != NULL; i++) {
            sl_write_text(w, key->words[i]);
        }
        sl_write_array_end(w);
        break;
    case SL_KEY_SIZE:
        schema_types("integer", "string", w);
        schema_numbers(key, w);
        schema_pattern(key, w);
        break;
    case SL_KEY_DURATION:
        schema_duration(key, w);
        break;
    default:
        sl_write_member_text(w, "type", "string");
        sl_write_member_i64(w, "maxLength", key->size - 1);
        schema_pattern(key, w);
        break;
    }
}

static void schema_key(const struct sl_key *key, struct sl_writer *w)
{
    sl_write_member_object(w, key->path + sl_key_parent_len(key->path) + 1);
    schema_value(key, w);
    sl_write_member_text(w, "description", key->help);
    sl_write_object_end(w);
}

/* An object that takes no other members than those that follow, until schema_close(). */
static void schema_open(struct sl_writer *w)
{
    sl_write_member_text(w, "type", "object");
    sl_write_member_bool(w, "additionalProperties", false);
    sl_write_member_object(w, "properties");
}

static void schema_close(struct sl_writer *w)
{
    sl_write_object_end(w);
    sl_write_object_end(w);
}

static void schema_list(const struct sl_key_list *list, struct sl_writer *w)
{
    sl_write_member_object(w, list->path + sl_key_parent_len(list->path) + 1);
    sl_write_member_text(w, "type", "array");
    sl_write_member_i64(w, "maxItems", list->max);
    sl_write_member_text(w, "description", list->help);
    sl_write_member_object(w, "items");
    sl_write_member_array(w, "required");
    for (size_t i = 0; i < list->n_fields; i++) {
        if (list->field[i].required) {
            sl_write_text(w, list->field[i].path + sl_key_parent_len(list->field[i].path) + 1);
        }
    }
    sl_write_array_end(w);
    schema_open(w);
    for (size_t i = 0; i < list->n_fields; i++) {
        schema_key(&list->field[i], w);
    }
    schema_close(w);
    sl_write_object_end(w);
}

static bool schema_is_in(const char *path, const char *section)
{
    size_t len = sl_key_parent_len(path);
    return len == strlen(section) && memcmp(path, section, len) == 0;
}

static void schema_section(const struct sl_key_section *section, struct sl_writer *w)
{
    sl_write_member_text(w, "description", section->help);
    schema_open(w);
    for (size_t i = 0; i < sl_n_keys; i++) {
        if (schema_is_in(sl_keys[i].path, section->path)) {
            schema_key(&sl_keys[i], w);
        }
    }
    for (size_t i = 0; i < SL_KEY_LISTS; i++) {
        if (schema_is_in(sl_key_lists[i].path, section->path)) {
            schema_list(&sl_key_lists[i], w);
        }
    }
    for (size_t i = 1; i < SL_KEY_SECTIONS; i++) {
        const char *path = sl_key_sections[i].path;
        if (schema_is_in(path, section->path)) {
            size_t parent = sl_key_parent_len(path);
            sl_write_member_object(w, path + parent + (parent > 0));
            schema_section(&sl_key_sections[i], w);
            schema_close(w);
        }
    }
}

static void schema_constant(const char *key, const char *value, struct sl_writer *w)
{
    sl_write_member_object(w, key);
    sl_write_member_text(w, "const", value);
    sl_write_object_end(w);
}

void sl_config_schema(struct sl_buf *out)
{
    struct sl_writer w = {.buf = out};
    sl_write_object(&w);
    sl_write_member_text(&w, "$schema", "http://json-schema.org/draft-07/schema#");
    schema_section(&sl_key_sections[0], &w);
    schema_constant("apiVersion", SL_CONFIG_API_VERSION, &w);
    schema_constant("kind", SL_CONFIG_KIND, &w);
    schema_close(&w);
    sl_buf_putc(out, '\n');
}
