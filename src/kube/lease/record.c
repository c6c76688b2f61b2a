/* Reads and rewrites Lease objects. As client-go does, it keeps and writes back the whole object:
 * others' labels and fields stay. */
#include "kube/lease/record.h"

#include <stdio.h>

#include "kube/client/microtime.h"
#include "util/time.h"

enum { DURATION_MAX_S = 3600 }; /* leaderElection.leaseDuration's */

static const json_t *spec_of(const json_t *object)
{
    return json_object_get(object, "spec");
}

const char *sl_lease_record_holder(const json_t *object)
{
    const char *holder = json_string_value(json_object_get(spec_of(object), "holderIdentity"));
    return holder == NULL ? "" : holder;
}

int64_t sl_lease_record_duration_us(const json_t *object, int64_t otherwise_us)
{
    int64_t seconds = json_integer_value(json_object_get(spec_of(object), "leaseDurationSeconds"));
    /* a holder that died must not keep the others waiting for years */
    return seconds > 0 && seconds <= DURATION_MAX_S ? seconds * SL_SECOND_US : otherwise_us;
}

void sl_lease_record_leadership(const json_t *object, char *out, size_t size)
{
    const json_t *spec = spec_of(object);
    const char *since = json_string_value(json_object_get(spec, "acquireTime"));
    (void)snprintf(out, size, "%s %s %lld", sl_lease_record_holder(object),
                   since == NULL ? "" : since,
                   (long long)json_integer_value(json_object_get(spec, "leaseTransitions")));
}

struct sl_str sl_lease_record_note(const json_t *object, const char *key)
{
    const json_t *metadata = json_object_get(object, "metadata");
    const json_t *note = json_object_get(json_object_get(metadata, "annotations"), key);
    return (struct sl_str){json_string_value(note), json_string_length(note)};
}

bool sl_lease_record_same(const json_t *a, const json_t *b)
{
    const json_t *one = spec_of(a);
    const json_t *other = spec_of(b);
    return (one == NULL && other == NULL) ||
           (one != NULL && other != NULL && json_equal(one, other));
}

static json_t *new_object(const struct sl_lease_bid *bid)
{
    return json_pack("{s:s, s:s, s:{s:s, s:s}, s:{}}", "apiVersion", "coordination.k8s.io/v1",
                     "kind", "Lease", "metadata", "namespace", bid->namespace, "name", bid->name,
                     "spec");
}

/* The object's part of that name, which is added when there is none. */
static json_t *own_part(json_t *object, const char *name)
{
    json_t *part = json_object_get(object, name);
    if (!json_is_object(part)) {
        (void)json_object_set_new(object, name, json_object());
        part = json_object_get(object, name);
    }
    return part;
}

/* Leaves out a note that cannot be written: it must not keep the lease from being renewed. */
static void write_note(json_t *object, const struct sl_lease_bid *bid)
{
    json_t *metadata = own_part(object, "metadata");
    (void)json_object_del(json_object_get(metadata, "annotations"), bid->note_key);
    if (bid->note.len > 0) {
        (void)json_object_set_new(own_part(metadata, "annotations"), bid->note_key,
                                  json_stringn(bid->note.s, bid->note.len));
    }
}

/* Leaves acquireTime and leaseTransitions alone while the holder stays. Giving the lease up sets
 * acquireTime and is no transition (leaderelection.go: release). */
static int write_bid(json_t *spec, const struct sl_lease_bid *bid, bool first, bool same)
{
    char now[40];
    int failed = 0;
    bool given_up = bid->identity[0] == '\0';
    int64_t transitions = json_integer_value(json_object_get(spec, "leaseTransitions"));
    transitions = transitions > INT32_MAX ? INT32_MAX : transitions;
    sl_kube_microtime(bid->now_us, now);
    if (!same || given_up || json_object_get(spec, "acquireTime") == NULL) {
        failed |= json_object_set_new(spec, "acquireTime", json_string(now));
    }
    transitions += !first && !same && !given_up;
    /* Kubernetes has 32 bits for it: a number that somebody wrote must not make it refuse our lease
     * for ever */
    transitions = transitions < 0 || transitions > INT32_MAX ? 0 : transitions;
    failed |= json_object_set_new(spec, "holderIdentity", json_string(bid->identity));
    failed |= json_object_set_new(spec, "leaseDurationSeconds", json_integer(bid->duration_s));
    failed |= json_object_set_new(spec, "renewTime", json_string(now));
    failed |= json_object_set_new(spec, "leaseTransitions", json_integer(transitions));
    return failed;
}

static int append_text(const char *data, size_t len, void *context)
{
    sl_buf_append(context, data, len);
    return 0;
}

int sl_lease_record_write(const json_t *old, const struct sl_lease_bid *bid, struct sl_buf *out)
{
    bool same = strcmp(sl_lease_record_holder(old), bid->identity) == 0;
    json_t *object = old == NULL ? new_object(bid) : json_deep_copy(old);
    json_t *spec = own_part(object, "spec");
    if (bid->note_key != NULL) {
        write_note(object, bid);
    }
    int result = spec == NULL || write_bid(spec, bid, old == NULL, same) != 0 ||
                         json_dump_callback(object, append_text, out, JSON_COMPACT) != 0 ||
                         out->failed != SL_BUF_OK
                     ? -1
                     : 0;
    json_decref(object);
    return result;
}
