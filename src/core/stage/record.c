/* Records the pods and Jobs that pods wait for, as watches and readings report them. */
#include "core/stage/internal.h"

#include "util/time.h"

#include <stdlib.h>

static struct sl_stage_record *find(const struct sl_stage_target *target, struct sl_str name)
{
    if (target->kind == SL_STAGE_SELECTOR) {
        return name.len == 0 ? NULL : sl_map_get(&target->records, name.s, name.len);
    }
    return target->only;
}

size_t sl_stage_records(const struct sl_stage_target *target)
{
    return target->kind == SL_STAGE_SELECTOR ? target->records.len : target->only != NULL;
}

static void set_full(struct sl_stages *stages, struct sl_stage_target *target, bool full)
{
    stages->n_full -= target->full;
    stages->n_full += full;
    target->full = full;
}

/* Chains the record with other selectors' records of the pod. False: out of memory. */
static bool chain(struct sl_stage_record *record, size_t len)
{
    struct sl_map *records = &record->target->space->records;
    record->next = sl_map_get(records, record->name, len);
    if (sl_map_put(records, record->name, len, record, NULL) < 0) {
        return false;
    }
    if (record->next != NULL) {
        record->next->prev = record;
    }
    return true;
}

static void unchain(struct sl_stage_record *record)
{
    struct sl_map *records = &record->target->space->records;
    size_t len = strlen(record->name);
    if (record->next != NULL) {
        record->next->prev = record->prev;
    }
    if (record->prev != NULL) {
        record->prev->next = record->next;
    } else if (record->next != NULL) { /* replaces an entry, which cannot fail */
        (void)sl_map_put(records, record->next->name, len, record->next, NULL);
    } else {
        (void)sl_map_remove(records, record->name, len);
    }
}

/* NULL: out of memory. */
static struct sl_stage_record *add(struct sl_stage_target *target, struct sl_str name)
{
    struct sl_stage_record *record = calloc(1, sizeof(*record) + name.len + 1);
    if (record == NULL) {
        return NULL;
    }
    memcpy(record->name, name.s, name.len);
    record->target = target;
    if (target->kind != SL_STAGE_SELECTOR) {
        target->only = record;
        return record;
    }
    if (sl_map_put(&target->records, record->name, name.len, record, NULL) < 0) {
        free(record);
        return NULL;
    }
    if (!chain(record, name.len)) {
        (void)sl_map_remove(&target->records, record->name, name.len);
        free(record);
        return NULL;
    }
    return record;
}

static void drop(struct sl_stages *stages, struct sl_stage_target *target,
                 struct sl_stage_record *record)
{
    target->count[record->phase]--;
    stages->n_records--;
    sl_stage_give_back(stages, target->space);
    if (target->kind == SL_STAGE_SELECTOR) {
        (void)sl_map_remove(&target->records, record->name, strlen(record->name));
        unchain(record);
    } else {
        target->only = NULL;
    }
    free(record);
    sl_stage_touch_all(stages, target);
}

static void take_gone(struct sl_stages *stages, struct sl_stage_target *target,
                      struct sl_stage_record *record)
{
    target->past = target->past || record->phase == SL_POD_SUCCEEDED;
    drop(stages, target, record);
}

static bool has_ended(enum sl_pod_phase phase)
{
    return phase == SL_POD_SUCCEEDED || phase == SL_POD_FAILED;
}

/* Sets the phase of a pod or Job. One that has ended stays so, because any other report of it is
 * older. */
static void set(struct sl_stages *stages, struct sl_stage_target *target, struct sl_str name,
                struct sl_str uid, enum sl_pod_phase phase)
{
    struct sl_stage_record *record = find(target, name);
    uint64_t hash = uid.len == 0 ? 0 : sl_hash(uid.s, uid.len);
    bool fresh = record == NULL;
    if (fresh && !sl_stage_has_room(stages, target->space, 0)) {
        stages->n_refused++;
        set_full(stages, target, true);
        sl_stage_touch_all(stages, target);
        return;
    }
    record = fresh ? add(target, name) : record;
    if (record == NULL) {
        sl_stage_unread(stages, target);
        return;
    }
    record->seen = true;
    if (!fresh && record->uid == hash && (has_ended(record->phase) || record->phase == phase)) {
        return;
    }
    stages->n_records += fresh;
    target->space->used += fresh;
    target->count[record->phase] -= !fresh;
    target->count[phase]++;
    record->phase = phase;
    record->uid = hash;
    sl_stage_touch_all(stages, target);
}

/* ---- what watches tell ---- */

/* Drops records of the pod whose selectors no longer match, because its labels have changed. */
static void drop_unmatched(struct sl_stages *stages, const struct sl_stage_space *space,
                           const struct sl_pod *pod)
{
    struct sl_stage_record *record = sl_map_get(&space->records, pod->name, strlen(pod->name));
    while (record != NULL) {
        struct sl_stage_record *next = record->next;
        stages->looks++;
        if (!sl_stage_names(record->target, pod)) {
            drop(stages, record->target, record);
        }
        record = next;
    }
}

void sl_stage_pod_set(struct sl_stages *stages, struct sl_stage_space *space,
                      const struct sl_pod *pod)
{
    struct sl_str name = sl_str_of(pod->name);
    struct sl_stage_naming naming;
    struct sl_stage_target *target =
        sl_stage_target_find(stages, sl_str_of(space->name), SL_STAGE_POD, name);
    if (target != NULL) {
        set(stages, target, name, sl_str_of(pod->uid), pod->phase);
    }
    drop_unmatched(stages, space, pod);
    sl_stage_naming_begin(&naming, stages, space, pod);
    for (target = sl_stage_naming_next(&naming); target != NULL;
         target = sl_stage_naming_next(&naming)) {
        if (target->kind == SL_STAGE_SELECTOR) {
            set(stages, target, name, sl_str_of(pod->uid), pod->phase);
        }
    }
}

/* Notes a deletion during a reading, because the reading may still report the deleted pod. */
static void note_gone(struct sl_stage_target *target, struct sl_str name)
{
    if (target->gone == NULL) {
        return;
    }
    if (target->gone->n == SL_STAGE_GONE_MAX) {
        target->stale = true;
        return;
    }
    target->gone->hash[target->gone->n++] = sl_hash(name.s, name.len);
}

void sl_stage_pod_drop(struct sl_stages *stages, struct sl_stage_space *space, struct sl_str name)
{
    struct sl_stage_target *target =
        sl_stage_target_find(stages, sl_str_of(space->name), SL_STAGE_POD, name);
    if (target != NULL && target->only != NULL) {
        take_gone(stages, target, target->only);
    }
    struct sl_stage_record *record = sl_map_get(&space->records, name.s, name.len);
    while (record != NULL) {
        struct sl_stage_record *next = record->next;
        take_gone(stages, record->target, record);
        record = next;
    }
}

void sl_stage_note_gone(struct sl_stages *stages, const struct sl_stage_space *space,
                        struct sl_str name)
{
    for (int i = 0; i < SL_STAGE_READS_MAX; i++) {
        struct sl_stage_target *target = stages->reads[i];
        if (target != NULL && target->space == space &&
            (target->kind == SL_STAGE_SELECTOR ||
             (target->kind == SL_STAGE_POD && sl_str_eq(target->text, name)))) {
            note_gone(target, name);
        }
    }
}

void sl_stages_job(struct sl_stages *stages, struct sl_str namespace, struct sl_str name,
                   struct sl_str uid, enum sl_pod_phase phase)
{
    struct sl_stage_target *target = sl_stage_target_find(stages, namespace, SL_STAGE_JOB, name);
    if (target != NULL) {
        set(stages, target, name, uid, phase);
    }
}

void sl_stages_job_gone(struct sl_stages *stages, struct sl_str namespace, struct sl_str name)
{
    struct sl_stage_target *target = sl_stage_target_find(stages, namespace, SL_STAGE_JOB, name);
    if (target != NULL) {
        if (target->only != NULL) {
            take_gone(stages, target, target->only);
        }
        note_gone(target, name);
    }
}

void sl_stages_reread(struct sl_stages *stages, bool jobs)
{
    size_t at = 0;
    for (struct sl_stage_target *target = sl_map_next(&stages->targets, &at); target != NULL;
         target = sl_map_next(&stages->targets, &at)) {
        if ((target->kind == SL_STAGE_JOB) == jobs) {
            sl_stage_unread(stages, target);
        }
    }
}

/* ---- readings ---- */

static struct sl_stage_target *being_read(const struct sl_stages *stages, uint64_t id)
{
    for (int i = 0; i < SL_STAGE_READS_MAX; i++) {
        if (stages->reads[i] != NULL && stages->reads[i]->reading == id) {
            return stages->reads[i];
        }
    }
    return NULL;
}

static void end_reading(struct sl_stages *stages, struct sl_stage_target *target)
{
    for (int i = 0; i < SL_STAGE_READS_MAX; i++) {
        if (stages->reads[i] == target) {
            stages->reads[i] = NULL;
        }
    }
    if (target->reading != 0) {
        sl_stage_turn_end(target);
    }
    free(target->gone);
    target->gone = NULL;
    target->reading = 0;
}

/* Reads full targets again, when there is room. */
static void refill(struct sl_stages *stages)
{
    size_t at = 0;
    if (stages->n_full == 0 || !stages->refills) {
        return;
    }
    stages->refills = false;
    for (struct sl_stage_target *target = sl_map_next(&stages->targets, &at); target != NULL;
         target = sl_map_next(&stages->targets, &at)) {
        if (target->full && sl_stage_has_room(stages, target->space, stages->max / 8)) {
            set_full(stages, target, false);
            sl_stage_unread(stages, target);
        }
    }
}

/* Calls each for every record of a target; it may remove the record. */
static void for_each(struct sl_stages *stages, struct sl_stage_target *target,
                     void (*each)(struct sl_stages *stages, struct sl_stage_target *target,
                                  struct sl_stage_record *record))
{
    size_t at = 0;
    if (target->kind != SL_STAGE_SELECTOR) {
        if (target->only != NULL) {
            each(stages, target, target->only);
        }
        return;
    }
    struct sl_stage_record *record = sl_map_next(&target->records, &at);
    while (record != NULL) {
        struct sl_stage_record *next = sl_map_next(&target->records, &at);
        each(stages, target, record);
        record = next;
    }
}

static void unsee(struct sl_stages *stages, struct sl_stage_target *target,
                  struct sl_stage_record *record)
{
    (void)stages;
    (void)target;
    record->seen = false;
}

static void drop_unseen(struct sl_stages *stages, struct sl_stage_target *target,
                        struct sl_stage_record *record)
{
    if (!record->seen) {
        take_gone(stages, target, record);
    }
}

bool sl_stages_next_read(struct sl_stages *stages, int64_t now_us, struct sl_stage_read *out)
{
    int slot = 0;
    refill(stages);
    while (slot < SL_STAGE_READS_MAX && stages->reads[slot] != NULL) {
        slot++;
    }
    struct sl_stage_target *target =
        slot == SL_STAGE_READS_MAX ? NULL : sl_stage_next(stages, now_us);
    if (target == NULL) {
        return false;
    }
    target->gone = calloc(1, sizeof(*target->gone));
    if (target->gone == NULL) {
        return false;
    }
    sl_stage_turn_begin(stages, target);
    for_each(stages, target, unsee);
    target->stale = false;
    target->reading = ++stages->reading;
    stages->reads[slot] = target;
    *out = (struct sl_stage_read){.id = target->reading,
                                  .kind = target->kind,
                                  .namespace = sl_str_of(target->space->name),
                                  .text = target->text};
    return true;
}

/* True when the pod was deleted during the reading, whose report is older then. */
static bool was_deleted(const struct sl_stage_target *target, struct sl_str name)
{
    uint64_t hash = sl_hash(name.s, name.len);
    for (uint32_t i = 0; i < target->gone->n; i++) {
        if (target->gone->hash[i] == hash) {
            return true;
        }
    }
    return false;
}

void sl_stages_read_pod(struct sl_stages *stages, uint64_t id, const struct sl_pod *pod)
{
    struct sl_stage_target *target = being_read(stages, id);
    struct sl_str name = sl_str_of(pod->name);
    if (target != NULL && target->kind != SL_STAGE_JOB &&
        strcmp(target->space->name, pod->namespace) == 0 && sl_stage_names(target, pod) &&
        !was_deleted(target, name)) {
        set(stages, target, name, sl_str_of(pod->uid), pod->phase);
    }
}

void sl_stages_read_job(struct sl_stages *stages, uint64_t id, struct sl_str name,
                        struct sl_str uid, enum sl_pod_phase phase)
{
    struct sl_stage_target *target = being_read(stages, id);
    if (target != NULL && target->kind == SL_STAGE_JOB && sl_str_eq(target->text, name) &&
        !was_deleted(target, name)) {
        set(stages, target, name, uid, phase);
    }
}

void sl_stages_read_end(struct sl_stages *stages, uint64_t id, bool ok, int64_t now_us)
{
    struct sl_stage_target *target = being_read(stages, id);
    stages->failures = ok ? 0 : stages->failures + 1;
    if (stages->failures >= SL_STAGE_FAILURES) {
        stages->rest_us = now_us + SL_SECOND_US;
    }
    if (target == NULL) {
        return;
    }
    bool stale = target->stale;
    end_reading(stages, target);
    if (!ok) {
        sl_stage_turn_failed(stages, target, now_us);
        return;
    }
    target->failures = 0;
    if (stale) {
        sl_stage_unread(stages, target);
        return;
    }
    for_each(stages, target, drop_unseen);
    if (!target->known) {
        target->known = true;
        sl_stage_touch_all(stages, target);
    }
}

void sl_stage_forget(struct sl_stages *stages, struct sl_stage_target *target)
{
    sl_stage_take_out(stages, target);
    end_reading(stages, target);
    set_full(stages, target, false);
    for_each(stages, target, drop);
    sl_map_free(&target->records);
}
