/* Finds namespaces and targets by their names, and says which pods a target names. */
#include "core/stage/internal.h"

/* Returns 0 for a key that is too long, which no target can have. */
size_t sl_stage_put_key(char out[SL_STAGE_KEY_MAX], struct sl_str space, enum sl_stage_kind kind,
                        struct sl_str text)
{
    static const char *const kinds[SL_STAGE_KINDS] = {
        [SL_STAGE_POD] = "/p/", [SL_STAGE_JOB] = "/j/", [SL_STAGE_SELECTOR] = "/s/"};
    if (space.len + 3 + text.len >= SL_STAGE_KEY_MAX) {
        return 0;
    }
    memcpy(out, space.s, space.len);
    memcpy(out + space.len, kinds[kind], 3);
    memcpy(out + space.len + 3, text.s, text.len);
    return space.len + 3 + text.len;
}

struct sl_stage_target *sl_stage_target_find(const struct sl_stages *stages, struct sl_str space,
                                             enum sl_stage_kind kind, struct sl_str text)
{
    char key[SL_STAGE_KEY_MAX];
    size_t len = sl_stage_put_key(key, space, kind, text);
    return len == 0 ? NULL : sl_map_get(&stages->targets, key, len);
}

struct sl_stage_space *sl_stage_space_find(const struct sl_stages *stages, struct sl_str name)
{
    return name.len == 0 ? NULL : sl_map_get(&stages->spaces, name.s, name.len);
}

bool sl_stage_names(const struct sl_stage_target *target, const struct sl_pod *pod)
{
    if (target->kind == SL_STAGE_POD) {
        return sl_str_eq(target->text, sl_str_of(pod->name));
    }
    return sl_stage_matches(target->rule, target->n_rules, target->hash, pod->label, pod->n_labels);
}
