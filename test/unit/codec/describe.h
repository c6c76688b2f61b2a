/* For tests and fuzz targets of the decoders: writes decoded objects and errors down as lines, so
 * that results can be compared as text. */
#ifndef SLICED_TEST_DESCRIBE_H
#define SLICED_TEST_DESCRIBE_H

#include "codec/extender.h"
#include "codec/object.h"
#include "util/buf.h"

#include <stdio.h>
#include <stdlib.h>

static inline void describe_text(struct sl_buf *out, const char *name, struct sl_str text)
{
    if (text.len > 0) {
        sl_buf_printf(out, " %s=", name);
        sl_buf_append(out, text.s, text.len);
        /* all that is kept is NUL-terminated, too */
        sl_buf_puts(out, text.s[text.len] == '\0' && strlen(text.s) == text.len ? "" : " UNENDED");
    }
}

static inline void describe_number(struct sl_buf *out, const char *name, int64_t value)
{
    if (value != 0) {
        sl_buf_printf(out, " %s=", name);
        sl_buf_i64(out, value);
    }
}

static inline void describe_pairs(struct sl_buf *out, const char *name, const struct sl_pair *list)
{
    for (; list != NULL; list = list->next) {
        sl_buf_printf(out, "  %s ", name);
        sl_buf_append(out, list->key.s, list->key.len);
        describe_text(out, "", list->value);
        sl_buf_putc(out, '\n');
    }
}

static inline void describe_containers(struct sl_buf *out, const char *name,
                                       const struct sl_container_facts *list)
{
    for (; list != NULL; list = list->next) {
        sl_buf_printf(out, "  %s", name);
        describe_text(out, "name", list->name);
        sl_buf_puts(out, list->restart_always ? " sidecar\n" : "\n");
        describe_pairs(out, "  request", list->requests);
        describe_pairs(out, "  limit", list->limits);
    }
}

static inline void describe_expressions(struct sl_buf *out, const char *name,
                                        const struct sl_expression_facts *list)
{
    for (; list != NULL; list = list->next) {
        sl_buf_printf(out, "    %s", name);
        describe_text(out, "key", list->key);
        describe_text(out, "operator", list->op);
        for (const struct sl_text_facts *value = list->values; value != NULL; value = value->next) {
            describe_text(out, "value", value->text);
        }
        sl_buf_putc(out, '\n');
    }
}

static inline void describe_constraints(struct sl_buf *out, const struct sl_pod_facts *pod)
{
    describe_pairs(out, "selector", pod->node_selector);
    sl_buf_puts(out, pod->affinity ? "  affinity\n" : "");
    for (const struct sl_term_facts *term = pod->terms; term != NULL; term = term->next) {
        sl_buf_puts(out, "  term\n");
        describe_expressions(out, "expression", term->expressions);
        describe_expressions(out, "field", term->fields);
    }
    for (const struct sl_toleration_facts *t = pod->tolerations; t != NULL; t = t->next) {
        sl_buf_puts(out, "  toleration");
        describe_text(out, "key", t->key);
        describe_text(out, "operator", t->op);
        describe_text(out, "value", t->value);
        describe_text(out, "effect", t->effect);
        sl_buf_putc(out, '\n');
    }
}

static inline void describe_pod(struct sl_buf *out, const struct sl_pod_facts *pod)
{
    sl_buf_puts(out, "Pod");
    describe_text(out, "namespace", pod->namespace);
    describe_text(out, "name", pod->name);
    describe_text(out, "uid", pod->uid);
    describe_text(out, "rv", pod->resource_version);
    describe_text(out, "node", pod->node_name);
    describe_text(out, "scheduler", pod->scheduler_name);
    describe_text(out, "phase", pod->phase);
    describe_text(out, "nominated", pod->nominated);
    describe_text(out, "preemption", pod->preemption_policy);
    describe_number(out, "created", pod->created_us);
    describe_number(out, "started", pod->started_us);
    describe_number(out, "gone", pod->deleting_us);
    describe_number(out, "deadline", pod->deadline_s);
    describe_number(out, "priority", pod->priority);
    sl_buf_puts(out, pod->daemon_set ? " of a DaemonSet" : "");
    if (pod->owner.len > 0) {
        sl_buf_printf(out, " owner=%.*s", (int)pod->owner.len, pod->owner.s);
    }
    sl_buf_puts(out, pod->tried ? " tried" : "");
    sl_buf_puts(out, pod->queued ? " queued" : "");
    sl_buf_puts(out, pod->deleting ? " deleting\n" : "\n");
    if (pod->problem.len > 0) {
        sl_buf_printf(out, "  problem %s\n", pod->problem.s);
    }
    describe_pairs(out, "label", pod->labels);
    describe_pairs(out, "annotation", pod->annotations);
    describe_pairs(out, "overhead", pod->overhead);
    describe_pairs(out, "whole request", pod->whole.requests);
    describe_pairs(out, "whole limit", pod->whole.limits);
    describe_containers(out, "init", pod->init_containers);
    describe_containers(out, "container", pod->containers);
    describe_pairs(out, "gate", pod->gates);
    describe_constraints(out, pod);
}

static inline void describe_devices(struct sl_buf *out, const struct sl_device_facts *list)
{
    for (; list != NULL; list = list->next) {
        sl_buf_printf(out, "  device %d", list->index);
        describe_text(out, "uuid", list->uuid);
        describe_text(out, "product", list->product);
        describe_number(out, "memory", list->memory_mib);
        sl_buf_puts(out, list->unhealthy ? " unhealthy" : "");
        sl_buf_puts(out, list->unsure ? " unsure" : "");
        sl_buf_puts(out, list->mig ? " mig\n" : "\n");
        for (const struct sl_instance_facts *i = list->instances; i != NULL; i = i->next) {
            sl_buf_printf(out, "    instance %s at %d\n", i->profile.s, i->start);
        }
    }
}

static inline void describe_node(struct sl_buf *out, const struct sl_node_facts *node)
{
    sl_buf_puts(out, "Node");
    describe_text(out, "name", node->name);
    describe_text(out, "uid", node->uid);
    describe_text(out, "rv", node->resource_version);
    sl_buf_puts(out, node->unschedulable ? " unschedulable" : "");
    sl_buf_puts(out, node->deleting ? " deleting\n" : "\n");
    describe_pairs(out, "label", node->labels);
    describe_pairs(out, "annotation", node->annotations);
    describe_pairs(out, "allocatable", node->allocatable);
    describe_pairs(out, "capacity", node->capacity);
    for (const struct sl_taint_facts *t = node->taints; t != NULL; t = t->next) {
        sl_buf_puts(out, "  taint");
        describe_text(out, "key", t->key);
        describe_text(out, "value", t->value);
        describe_text(out, "effect", t->effect);
        sl_buf_putc(out, '\n');
    }
    for (const struct sl_address_facts *a = node->addresses; a != NULL; a = a->next) {
        sl_buf_puts(out, "  address");
        describe_text(out, "type", a->type);
        describe_text(out, "is", a->address);
        sl_buf_putc(out, '\n');
    }
    describe_devices(out, node->devices);
    if (node->problem.len > 0) {
        sl_buf_printf(out, "  problem %s\n", node->problem.s);
    }
}

/* An sl_object_fn: context is a struct sl_buf. */
static inline int describe_object(void *context, const struct sl_object *object,
                                  struct sl_error *err)
{
    struct sl_buf *out = context;
    (void)err;
    if (object->pod != NULL) {
        describe_pod(out, object->pod);
    } else if (object->node != NULL) {
        describe_node(out, object->node);
    } else if (object->job != NULL) {
        sl_buf_puts(out, "Job");
        describe_text(out, "namespace", object->job->namespace);
        describe_text(out, "name", object->job->name);
        describe_text(out, "uid", object->job->uid);
        sl_buf_puts(out, object->job->complete ? " complete" : "");
        sl_buf_puts(out, object->job->failed ? " failed" : "");
        sl_buf_putc(out, '\n');
    } else {
        sl_buf_puts(out, "Other ");
        sl_buf_append(out, object->kind_name.s, object->kind_name.len);
        describe_text(out, "offers", object->extended);
        describe_text(out, "name", object->space);
        sl_buf_putc(out, '\n');
        describe_pairs(out, "label", object->labels);
    }
    return 0;
}

/* "WrongType Pod.spec: expected an object, found a string (1:8)". */
static inline void describe_error(struct sl_buf *out, const struct sl_error *err)
{
    sl_buf_printf(out, "%s %s%s%s (%u:%u)\n", sl_error_code_name(err->code), err->field,
                  err->field[0] == '\0' ? "" : ": ", err->message, err->line, err->column);
}

static inline int describe_name(void *context, struct sl_str name, struct sl_error *err)
{
    struct sl_buf *out = context;
    (void)err;
    sl_buf_puts(out, "node ");
    sl_buf_append(out, name.s, name.len);
    sl_buf_putc(out, '\n');
    return 0;
}

static inline int describe_victims(void *context, struct sl_str node, struct sl_error *err)
{
    struct sl_buf *out = context;
    (void)err;
    sl_buf_puts(out, "victims on ");
    sl_buf_append(out, node.s, node.len);
    sl_buf_putc(out, '\n');
    return 0;
}

static inline int describe_victim(void *context, struct sl_str uid, struct sl_error *err)
{
    struct sl_buf *out = context;
    (void)err;
    sl_buf_puts(out, "  victim ");
    sl_buf_append(out, uid.s, uid.len);
    sl_buf_putc(out, '\n');
    return 0;
}

static inline int describe_victims_end(void *context, int64_t pdb_violations, struct sl_error *err)
{
    struct sl_buf *out = context;
    (void)err;
    sl_buf_puts(out, "  violations ");
    sl_buf_i64(out, pdb_violations);
    sl_buf_putc(out, '\n');
    return 0;
}

static inline void describe_review(struct sl_buf *out, const struct sl_body *body)
{
    const struct sl_review *review = sl_body_review(body);
    sl_buf_puts(out, "review");
    describe_text(out, "uid", review->uid);
    describe_text(out, "operation", review->operation);
    describe_text(out, "subresource", review->subresource);
    describe_text(out, "group", review->group);
    describe_text(out, "version", review->version);
    describe_text(out, "kind", review->kind);
    sl_buf_putc(out, '\n');
    if (review->has_object) {
        describe_pod(out, sl_body_pod(body));
    }
}

/* The whole result of a body that comes in pieces of chunk bytes (0: at once): what the sink was
 * told, then what was read, or the error. 0 or -1 as the decoder said. */
static inline int describe_body(struct sl_buf *out, struct sl_body *body, enum sl_body_kind kind,
                                const char *text, size_t len, size_t chunk)
{
    const struct sl_body_sink sink = {.context = out,
                                      .node = describe_name,
                                      .victims = describe_victims,
                                      .victim = describe_victim,
                                      .victims_end = describe_victims_end};
    struct sl_error err = {0};
    int result = 0;
    sl_body_begin(body, kind, &sink);
    for (size_t at = 0; at < len && result == 0;) {
        size_t n = chunk == 0 || chunk > len - at ? len - at : chunk;
        char *piece = malloc(n); /* of its own, so that a read beyond its end is seen */
        if (piece == NULL) {
            return -1;
        }
        memcpy(piece, text + at, n);
        result = sl_body_feed(body, piece, n, &err);
        free(piece);
        at += n;
    }
    if (result == 0) {
        result = sl_body_finish(body, &err);
    }
    if (result != 0) {
        describe_error(out, &err);
    } else if (kind == SL_BODY_BINDING) {
        const struct sl_binding_args *args = sl_body_binding(body);
        sl_buf_puts(out, "bind");
        describe_text(out, "name", args->pod_name);
        describe_text(out, "namespace", args->pod_namespace);
        describe_text(out, "uid", args->pod_uid);
        describe_text(out, "node", args->node);
        sl_buf_putc(out, '\n');
    } else if (kind == SL_BODY_REVIEW) {
        describe_review(out, body);
    } else {
        sl_buf_puts(out, sl_body_by_nodes(body) ? "by nodes\n" : "");
        describe_pod(out, sl_body_pod(body));
    }
    return result;
}

/* Writes down all objects of a manifest, or why it is none; NUL-terminated. */
static inline void describe_manifest(struct sl_buf *out, const struct sl_text_limits *limits,
                                     const char *text, size_t len)
{
    struct sl_error err = {0};
    out->len = 0;
    if (sl_manifest_decode(text, len, limits, describe_object, out, &err) != 0) {
        describe_error(out, &err);
    }
    sl_buf_putc(out, '\0');
}

#endif
