/* YAML (libyaml) to the same events as JSON: plain scalars become null, booleans and numbers by
 * YAML 1.2's core schema (nothing of 1.1's "yes" and "on"), quoted ones strings. Anchors, aliases
 * and tags are refused: no manifest that kubectl prints has them. */
#ifndef SLICED_CODEC_YAML_H
#define SLICED_CODEC_YAML_H

#include "codec/stream/event.h"

/* Parses all documents of text; none at all in an empty one. 0, or -1 with *err set. Columns count
 * characters, as libyaml does. A number that YAML has and JSON has not (0x1f, .inf) is a NUMBER. */
int sl_yaml_parse(const char *text, size_t len, const struct sl_text_limits *limits,
                  sl_event_fn receive, void *context, struct sl_error *err);

#endif
