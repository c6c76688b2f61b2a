/* The annotation that a leader leaves to the next one. */
#include "lease_rig.h"

#define KEY "sliced.dev/tenants"

struct noted {
    struct election e; /* first: it is the callbacks' context */
    const char *says;  /* NULL: nothing yet */
    atomic_uint asked;
    atomic_uint finds;
    char found[SL_LEASE_NOTE_MAX + 1];
    int refuses; /* status of a write with the annotation */
    atomic_uint refused;
};

static bool say(void *context, struct sl_buf *out)
{
    struct noted *noted = context;
    assert_true(atomic_load(&noted->e.store.leader));
    (void)atomic_fetch_add(&noted->asked, 1);
    sl_buf_puts(out, noted->says == NULL ? "" : noted->says);
    return noted->says != NULL;
}

static void find(void *context, struct sl_str note)
{
    struct noted *noted = context;
    assert_false(atomic_load(&noted->e.store.leader));
    (void)atomic_fetch_add(&noted->finds, 1);
    (void)snprintf(noted->found, sizeof(noted->found), "%.*s", (int)note.len,
                   note.len == 0 ? "" : note.s);
}

/* before: the annotation of a Lease that nobody holds; NULL: it has none. */
static void start_with(struct noted *noted, const char *before)
{
    json_t *object =
        json_pack("{s:{s:s, s:{s:s, s:s*}}, s:{s:s}}", "metadata", "name", "sliced", "annotations",
                  "other", "stays", KEY, before, "spec", "holderIdentity", "");
    char *text = json_dumps(object, JSON_COMPACT);
    *noted = (struct noted){.says = NULL};
    start(&noted->e, text);
    free(text);
    json_decref(object);
    noted->e.options.note_key = KEY;
    noted->e.options.note = say;
    noted->e.options.note_found = find;
}

static void note_is(struct election *e, unsigned at, const char *expected)
{
    json_t *object = NULL;
    (void)spec_of(e, at, &object);
    const json_t *annotations = json_object_get(json_object_get(object, "metadata"), "annotations");
    const char *note = json_string_value(json_object_get(annotations, KEY));
    assert_string_equal(fake_api_request(e->rig.api, at)->method, "PUT");
    assert_string_equal(text(annotations, "other"), "stays");
    assert_string_equal(note == NULL ? "none" : note, expected == NULL ? "none" : expected);
    json_decref(object);
}

static const struct row {
    const char *name;
    const char *before;
    const char *says;
    const char *after; /* on each renewal */
} rows[] = {
    {"what_stands_stays_until_the_leader_says_something", "old\n1 2\n", NULL, "old\n1 2\n"},
    {"what_the_leader_says_takes_its_place", "old\n", "new\n\"3\"\t\\4\n", "new\n\"3\"\t\\4\n"},
    {"what_the_leader_says_is_added", NULL, "new\n", "new\n"},
    {"who_says_nothing_takes_it_away", "old\n", "", NULL},
    {"no_note_is_made_of_nothing", NULL, NULL, NULL},
    {"what_is_no_text_is_left_out", "old\n", "\xff\xfe", NULL},
};

TEST_EACH(a_renewal_carries_what_the_leader_says, rows)
{
    struct noted noted;
    start_with(&noted, row->before);
    noted.says = row->says;
    become_leader(&noted.e);
    assert_int_equal(noted.finds, 1);
    assert_string_equal(noted.found, row->before == NULL ? "" : row->before);
    fake_api_wait(noted.e.rig.api, 4);
    note_is(&noted.e, 1, row->before); /* when it took the lease */
    note_is(&noted.e, 2, row->after);
    note_is(&noted.e, 3, row->after);
    end(&noted.e);
    assert_int_equal(noted.e.changes.done, 2);
    assert_int_equal(noted.finds, 1);
}

TEST_ALONE(a_note_that_is_longer_than_it_may_be_counts_as_none)
{
    static char longer[SL_LEASE_NOTE_MAX + 2];
    memset(longer, 'x', sizeof(longer) - 1);
    for (unsigned more = 0; more < 2; more++) {
        struct noted noted;
        longer[SL_LEASE_NOTE_MAX + more] = '\0';
        start_with(&noted, longer);
        longer[SL_LEASE_NOTE_MAX + more] = 'x';
        become_leader(&noted.e);
        assert_int_equal(strlen(noted.found), more == 0 ? SL_LEASE_NOTE_MAX : 0);
        end(&noted.e);
    }
}

TEST_ALONE(a_standby_says_nothing)
{
    struct noted noted;
    start_with(&noted, "old\n");
    noted.says = "new\n";
    put(&noted.e.store, OTHER);
    serve_well(&noted.e);
    run(&noted.e);
    fake_api_wait(noted.e.rig.api, 4);
    assert_int_equal(fake_api_count(noted.e.rig.api, "PUT", NULL), 0);
    assert_int_equal(noted.asked + noted.finds, 0);
    end(&noted.e);
}

/* ---- refusals ---- */

static void serve_plain(void *context, const struct fake_request *request,
                        struct fake_answer *reply)
{
    struct noted *noted = context;
    if (strstr(request->body, KEY) != NULL) {
        (void)atomic_fetch_add(&noted->refused, 1);
        refuse(reply, (unsigned)noted->refuses);
    } else {
        serve(&noted->e.store, request, reply);
    }
}

static const struct refusal {
    const char *name;
    int status;
} refusals[] = {
    {"as_a_bad_request", 400},
    {"as_forbidden", 403},
    {"as_too_large", 413},
    {"as_invalid", 422},
};

TEST_EACH(a_lease_is_held_though_its_note_is_refused, refusals)
{
    struct noted noted;
    start_with(&noted, "old\n");
    noted.refuses = row->status;
    noted.says = "new\n";
    fake_api_add(noted.e.rig.api,
                 (struct fake_answer){.method = "PUT", .fn = serve_plain, .context = &noted});
    become_leader(&noted.e);
    assert_string_equal(noted.found, "old\n");
    fake_api_wait(noted.e.rig.api, 5);
    note_is(&noted.e, 1, "old\n");
    note_is(&noted.e, 2, NULL); /* at once */
    note_is(&noted.e, 4, NULL);
    assert_int_equal(noted.refused, 1);

    fake_clock_advance(noted.e.rig.client, 60000 * MS); /* it is tried again */
    while (noted.refused < 2) {
        fake_api_wait(noted.e.rig.api, fake_api_requests(noted.e.rig.api) + 1);
    }
    fake_api_wait(noted.e.rig.api, fake_api_requests(noted.e.rig.api) + 2);
    assert_int_equal(noted.refused, 2);
    assert_int_equal(noted.e.changes.done, 1);
    assert_true(sl_lease_held(noted.e.lease));
    end(&noted.e);
}

TEST_ALONE(a_failure_that_is_no_refusal_costs_no_note)
{
    struct noted noted;
    start_with(&noted, "old\n");
    noted.says = "new\n";
    become_leader(&noted.e);
    fake_api_wait(noted.e.rig.api, 3);
    fake_api_clear(noted.e.rig.api);
    unsigned before = fake_api_requests(noted.e.rig.api);
    fake_api_add(noted.e.rig.api, (struct fake_answer){.times = 1, .status = 500});
    serve_well(&noted.e);
    fake_api_wait(noted.e.rig.api, before + 3);
    note_is(&noted.e, before, "new\n");
    note_is(&noted.e, before + 1, "new\n");
    end(&noted.e);
}
