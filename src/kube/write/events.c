/* Remembers what was told by object and reason, so that a repetition becomes a series. */
#include "kube/write/events.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "kube/client/pacing.h"
#include "kube/write/event_turns.h"
#include "kube/write/event_write.h"
#include "util/clock.h"
#include "util/data/hash.h"
#include "util/data/map.h"
#include "util/time.h"

enum { QUEUE_AHEAD, QUEUE_BEHIND, QUEUES };
enum { AHEAD_MAX = 7 /* in a row; then one of the others, which else might wait for ever */ };
enum { SENDING_MAX = 8, TRIES = 4, BODY_MAX = 16 << 10, KEY_MAX = 1024, PATH_BYTES = 2048 };

static const int64_t timeout_us = 10 * SL_SECOND_US;

/* Nodes take turns among themselves: a name that no namespace has. Their Events are in the
 * namespace default, as the API server demands of objects without one. */
static const char node_space[] = "Node";
static const char node_namespace[] = "default";

/* Remembers an object and a reason. One Event at a time tells of it. */
struct entry {
    struct sl_link by_use;
    struct sl_link turn; /* in its queue */
    struct sl_events *events;
    char *key; /* namespace (node_space for nodes), object, uid, reason: NUL between */
    size_t key_len;
    const char *object, *uid, *reason; /* in key */
    char action[SL_EVENT_WORD_MAX + 1];
    char note[SL_EVENT_NOTE_MAX + 1];
    char name[SL_EVENT_NAME_MAX + 1]; /* of the Event */
    bool warning;
    bool ahead;
    bool created; /* the API server has it */
    bool queued;
    bool sending;
    bool changed;    /* a new note came while the old one was sent */
    uint64_t count;  /* of this note */
    int64_t at_us;   /* Unix */
    int64_t last_us; /* Unix */
    int64_t sent_us; /* monotonic */
};

struct sl_events {
    struct sl_events_options options;
    char controller[SL_EVENT_NAME_MAX + 1];
    char instance[SL_EVENT_WORD_MAX + 1];
    pthread_mutex_t lock;
    struct sl_map map;
    struct sl_list by_use;               /* all entries, the newest first */
    struct sl_event_turns queue[QUEUES]; /* entries that wait to be sent */
    unsigned ahead;                      /* sent in a row while others waited */
    unsigned sending;
    unsigned refs; /* owner, timers, calls */
    bool pumping;  /* a timer is set */
    bool stopped;
    uint64_t last_number;
    struct sl_bucket bucket;
    struct sl_events_stats stats;
};

static void pump_entries(void *context);

/* ---- life ---- */

static struct entry *entry_of_use(struct sl_link *link)
{
    return link == NULL ? NULL : SL_CONTAINER(link, struct entry, by_use);
}

static void entry_free(struct entry *entry)
{
    free(entry->key);
    free(entry);
}

/* Unlocks, and frees what nobody refers to. */
static void unlock_unref(struct sl_events *events, unsigned refs)
{
    events->refs -= refs;
    bool last = events->refs == 0;
    (void)pthread_mutex_unlock(&events->lock);
    if (!last) {
        return;
    }
    for (unsigned i = 0; i < QUEUES; i++) {
        sl_event_turns_free(&events->queue[i]);
    }
    struct sl_link *at = events->by_use.first;
    while (at != NULL) {
        struct entry *entry = entry_of_use(at);
        at = at->next;
        entry_free(entry);
    }
    sl_map_free(&events->map);
    (void)pthread_mutex_destroy(&events->lock);
    free(events);
}

struct sl_events *sl_events_new(const struct sl_events_options *options, struct sl_error *err)
{
    struct sl_events *events = calloc(1, sizeof(*events));
    if (events == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    events->options = *options;
    (void)sl_event_cut(options->controller, SL_EVENT_NAME_MAX, events->controller);
    (void)sl_event_cut(options->instance, SL_EVENT_WORD_MAX, events->instance);
    (void)pthread_mutex_init(&events->lock, NULL);
    sl_bucket_init(&events->bucket, options->per_second, options->burst, sl_clock_monotonic_us());
    events->refs = 1;
    return events;
}

void sl_events_free(struct sl_events *events)
{
    if (events != NULL) {
        (void)pthread_mutex_lock(&events->lock);
        events->stopped = true;
        unlock_unref(events, 1);
    }
}

void sl_events_stats(struct sl_events *events, struct sl_events_stats *out)
{
    (void)pthread_mutex_lock(&events->lock);
    *out = events->stats;
    (void)pthread_mutex_unlock(&events->lock);
}

/* ---- what is remembered (lock held) ---- */

/* Makes room for one more; false when all entries are still to be sent. */
static bool make_room(struct sl_events *events)
{
    struct entry *entry = entry_of_use(events->by_use.last);
    if (events->map.len < events->options.max_remembered) {
        return true;
    }
    while (entry != NULL && (entry->queued || entry->sending)) {
        entry = entry_of_use(entry->by_use.prev);
    }
    if (entry == NULL) {
        return false;
    }
    (void)sl_map_remove(&events->map, entry->key, entry->key_len);
    sl_list_remove(&events->by_use, &entry->by_use);
    entry_free(entry);
    return true;
}

static struct sl_str space_of(const struct sl_event_note *note)
{
    return note->kind == SL_EVENT_NODE ? sl_str_of(node_space) : note->namespace;
}

/* 0 when a part is missing or they are longer than names can be. */
static size_t make_key(const struct sl_event_note *note, char out[KEY_MAX])
{
    struct sl_str reason = sl_str_of(note->reason);
    reason.len = reason.len < SL_EVENT_WORD_MAX ? reason.len : SL_EVENT_WORD_MAX;
    bool unknown = note->kind == SL_EVENT_NODE && note->uid.len == 0;
    const struct sl_str parts[] = {space_of(note), note->name, unknown ? note->name : note->uid,
                                   reason};
    size_t len = 0;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (parts[i].len == 0 || len + parts[i].len + 1 > KEY_MAX) {
            return 0;
        }
        memcpy(out + len, parts[i].s, parts[i].len);
        len += parts[i].len;
        out[len++] = '\0';
    }
    return len;
}

static struct entry *add_entry(struct sl_events *events, const char *key, size_t len)
{
    struct entry *entry = calloc(1, sizeof(*entry));
    if (entry == NULL) {
        return NULL;
    }
    entry->key = malloc(len);
    if (entry->key == NULL) {
        entry_free(entry);
        return NULL;
    }
    memcpy(entry->key, key, len);
    entry->key_len = len;
    entry->events = events;
    entry->object = entry->key + strlen(entry->key) + 1;
    entry->uid = entry->object + strlen(entry->object) + 1;
    entry->reason = entry->uid + strlen(entry->uid) + 1;
    if (sl_map_put(&events->map, entry->key, len, entry, NULL) < 0) {
        entry_free(entry);
        return NULL;
    }
    sl_list_add_first(&events->by_use, &entry->by_use);
    return entry;
}

/* ---- telling ---- */

/* The Event begins anew, with that note. */
static void set_note(struct sl_events *events, struct entry *entry,
                     const struct sl_event_note *note, const char *text)
{
    uint64_t number = (uint64_t)sl_clock_real_us() * SL_US_NS; /* as client-go: Unix nanoseconds */
    events->last_number = number > events->last_number ? number : events->last_number + 1;
    number = note->once ? sl_rank_hash(entry->key, entry->key_len) : events->last_number;
    sl_event_name(note->name, number, entry->name);
    (void)sl_event_cut(note->action, SL_EVENT_WORD_MAX, entry->action);
    (void)sl_event_cut(text, SL_EVENT_NOTE_MAX, entry->note);
    entry->warning = note->warning;
    entry->ahead = note->warning || note->ahead;
    entry->created = false;
    entry->count = 0;
    entry->at_us = sl_clock_real_us();
}

static struct sl_event_turns *queue_of(struct sl_events *events, bool ahead)
{
    return &events->queue[ahead ? QUEUE_AHEAD : QUEUE_BEHIND];
}

/* False: out of memory. */
static bool entry_enqueue(struct sl_events *events, struct entry *entry)
{
    entry->queued =
        sl_event_turns_push(queue_of(events, entry->ahead), sl_str_of(entry->key), &entry->turn);
    return entry->queued;
}

/* The queue of the next entry to be sent; NULL: none waits. */
static struct sl_event_turns *next_queue(struct sl_events *events)
{
    struct sl_event_turns *ahead = &events->queue[QUEUE_AHEAD];
    struct sl_event_turns *behind = &events->queue[QUEUE_BEHIND];
    if (ahead->n == 0 || (behind->n > 0 && events->ahead >= AHEAD_MAX)) {
        return behind->n == 0 ? NULL : behind;
    }
    return ahead;
}

static struct entry *entry_dequeue(struct sl_events *events, struct sl_event_turns *queue)
{
    struct entry *entry = SL_CONTAINER(sl_event_turns_pop(queue), struct entry, turn);
    entry->queued = false;
    events->ahead = queue == &events->queue[QUEUE_AHEAD] ? events->ahead + 1 : 0;
    return entry;
}

/* Sets the timer that sends; without one the next note sets it. */
static void start_pump(struct sl_events *events, int64_t delay_us)
{
    if (!events->pumping && !events->stopped && next_queue(events) != NULL &&
        events->sending < SENDING_MAX &&
        sl_client_after(events->options.client, delay_us, pump_entries, events) == 0) {
        events->pumping = true;
        events->refs++;
    }
}

/* Counts the note. True when it is to be sent by itself. */
static bool take_note(struct sl_events *events, struct entry *entry,
                      const struct sl_event_note *note)
{
    char text[SL_EVENT_NOTE_MAX + 1];
    (void)sl_event_cut(note->note, SL_EVENT_NOTE_MAX, text);
    bool fresh = entry->name[0] == '\0';
    bool other = fresh || entry->warning != note->warning || strcmp(entry->note, text) != 0;
    if (other && entry->sending) {
        entry->changed = true;
    }
    if (other) {
        set_note(events, entry, note, text);
    }
    entry->count++;
    entry->last_us = sl_clock_real_us();
    return !entry->queued && !entry->sending &&
           (other || !entry->created ||
            sl_clock_monotonic_us() - entry->sent_us >= events->options.repeat_us);
}

static bool tell_note(struct sl_events *events, const struct sl_event_note *note, const char *key,
                      size_t len)
{
    struct entry *entry = len == 0 ? NULL : sl_map_get(&events->map, key, len);
    bool full = !sl_event_turns_have_room(queue_of(events, note->warning || note->ahead),
                                          space_of(note), events->options.max_queued);
    if (entry == NULL && len > 0 && !full && make_room(events)) {
        entry = add_entry(events, key, len);
    }
    if (entry == NULL) {
        events->stats.dropped++;
        return false;
    }
    sl_list_remove(&events->by_use, &entry->by_use);
    sl_list_add_first(&events->by_use, &entry->by_use);
    bool changed = entry->changed;
    if (!take_note(events, entry, note)) {
        events->stats.aggregated += entry->changed == changed; /* else it is sent after this one */
    } else if (full || !entry_enqueue(events, entry)) {
        events->stats.dropped++; /* its count is kept, and told with the next */
        return false;
    }
    return true;
}

bool sl_events_tell(struct sl_events *events, const struct sl_event_note *note)
{
    char key[KEY_MAX];
    size_t len = make_key(note, key);
    (void)pthread_mutex_lock(&events->lock);
    bool taken = tell_note(events, note, key, len);
    start_pump(events, 0);
    (void)pthread_mutex_unlock(&events->lock);
    return taken;
}

/* ---- sending, on the client's thread ---- */

/* Takes the next entry, when one more may be sent; else NULL, and how long to wait for a token. */
static struct entry *take_next(struct sl_events *events, int64_t *wait_us)
{
    struct sl_event_turns *queue = next_queue(events);
    int64_t now_us = sl_clock_monotonic_us();
    *wait_us = 0;
    if (queue == NULL || events->stopped || events->sending >= SENDING_MAX) {
        return NULL;
    }
    if (!sl_bucket_take(&events->bucket, now_us)) {
        *wait_us = sl_bucket_wait_us(&events->bucket, now_us);
        return NULL;
    }
    struct entry *entry = entry_dequeue(events, queue);
    entry->sending = true;
    entry->changed = false;
    events->sending++;
    return entry;
}

/* Notes how a try to send it ended; true when it must be sent again. */
static bool entry_settle(struct sl_events *events, struct entry *entry,
                         const struct sl_reply *reply, bool patch)
{
    bool done = reply->status == 200 || reply->status == 201;
    /* the name is new: an earlier try of the same call made it; or it is told once only */
    done = done || (!patch && reply->status == 409);
    entry->sending = false;
    events->sending--;
    entry->sent_us = sl_clock_monotonic_us();
    if (patch && reply->status == 404 && !entry->changed) {
        entry->created = false; /* Events last an hour: it begins anew, with its count */
        return true;
    }
    events->stats.sent += done;
    events->stats.failed += !done;
    if (!entry->changed) {
        entry->created = done || entry->created;
        return false;
    }
    return true;
}

static void on_reply(struct entry *entry, const struct sl_reply *reply, bool patch)
{
    struct sl_events *events = entry->events;
    (void)pthread_mutex_lock(&events->lock);
    if (entry_settle(events, entry, reply, patch) && !entry_enqueue(events, entry)) {
        events->stats.dropped++;
    }
    start_pump(events, 0);
    unlock_unref(events, 1);
}

static void on_created(void *context, const struct sl_reply *reply)
{
    on_reply(context, reply, false);
}

static void on_patched(void *context, const struct sl_reply *reply)
{
    on_reply(context, reply, true);
}

static int send_entry(struct sl_events *events, struct entry *entry)
{
    char path[PATH_BYTES];
    struct sl_buf body;
    bool node = strcmp(entry->key, node_space) == 0;
    const char *namespace = node ? node_namespace : entry->key;
    const struct sl_event_text text = {
        .name = entry->name,
        .namespace = namespace,
        .kind = node ? "Node" : "Pod",
        .object = entry->object,
        .uid = entry->uid,
        .reason = entry->reason,
        .action = entry->action,
        .note = entry->note,
        .controller = events->controller,
        .instance = events->instance,
        .warning = entry->warning,
        .count = entry->count,
        .at_us = entry->at_us,
        .last_us = entry->last_us,
    };
    bool patch = entry->created;
    sl_buf_init(&body, BODY_MAX);
    (patch ? sl_event_write_series : sl_event_write)(&text, &body);
    (void)snprintf(path, sizeof(path), "/apis/events.k8s.io/v1/namespaces/%s/events%s%s", namespace,
                   patch ? "/" : "", patch ? entry->name : "");
    const struct sl_call_options call = {
        .method = patch ? "PATCH" : "POST",
        .path = path,
        .content_type = patch ? "application/merge-patch+json" : NULL,
        .body = {body.data, body.len},
        .priority = SL_CALL_LOW,
        .repeatable = true, /* the name and the count are fixed */
        .max_tries = TRIES,
        .timeout_us = timeout_us,
        .done = patch ? on_patched : on_created,
        .context = entry,
    };
    int result =
        body.failed == SL_BUF_OK ? sl_client_call(events->options.client, &call, NULL, NULL) : -1;
    sl_buf_free(&body);
    return result;
}

static void pump_entries(void *context)
{
    struct sl_events *events = context;
    int64_t wait_us = 0;
    (void)pthread_mutex_lock(&events->lock);
    events->pumping = false;
    struct entry *entry = take_next(events, &wait_us);
    while (entry != NULL) {
        if (send_entry(events, entry) == 0) {
            events->refs++;
        } else {
            const struct sl_reply refused = {.status = 0};
            (void)entry_settle(events, entry, &refused, entry->created);
        }
        entry = take_next(events, &wait_us);
    }
    start_pump(events, wait_us);
    unlock_unref(events, 1);
}
