/* What users of the group share: watches, what is remembered of objects that went, rows of a look.
 * Whatever one namespace, or one user, does, the others have their part. */
#include "unit/server/rig.h"

#include "server/app/app.h"
#include "server/visibility/watch.h"

#include <stdlib.h>

enum { CALM = 3, MANY = 2 * SL_VIS_GONE_MAX };

static struct sl_app app;
static const char *user; /* whom the API server names */

/* In the place of the HTTP library's. */
void MHD_suspend_connection(struct MHD_Connection *connection)
{
    (void)connection;
}

void MHD_resume_connection(struct MHD_Connection *connection)
{
    (void)connection;
}

const char *MHD_lookup_connection_value(struct MHD_Connection *connection, enum MHD_ValueKind kind,
                                        const char *key)
{
    (void)connection;
    return kind == MHD_HEADER_KIND && strcmp(key, "X-Remote-User") == 0 ? user : NULL;
}

/* ---- a kind whose objects are numbers ---- */

static struct {
    unsigned calm; /* how many there are of each namespace, */
    unsigned greedy;
    unsigned first; /* and the first one's number */
} there;

static int add_objects(struct sl_vis_look *look, struct sl_str namespace, unsigned n,
                       struct sl_error *err)
{
    for (unsigned i = 0; i < n; i++) {
        struct sl_vis_row *row = sl_vis_look_add(look, err);
        char name[16];
        (void)snprintf(name, sizeof(name), "p-%u", there.first + i);
        row->namespace = namespace;
        row->name = sl_str_of(sl_arena_strdup(&look->arena, name, strlen(name)));
        row->position = look->n;
    }
    return 0;
}

static int collect(struct sl_vis_look *look, struct sl_error *err)
{
    return add_objects(look, SL_STR("greedy"), there.greedy, err) < 0
               ? -1
               : add_objects(look, SL_STR("calm"), there.calm, err);
}

static const void *record_of(const struct sl_vis_look *look, const struct sl_vis_row *row,
                             union sl_vis_record *out)
{
    (void)look;
    (void)out;
    return row;
}

static const struct sl_field nothing[] = {SL_FIELDS_END};

static const struct sl_vis_kind kind = {.plural = "numbers",
                                        .namespaced = true,
                                        .collect = collect,
                                        .record = record_of,
                                        .status = nothing};

struct scene {
    struct sl_vis_cache cache;
    struct sl_request request[2 * SL_VIS_WATCHES_MAX];
    unsigned n;
};

static struct scene *scene_new(void)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    assert_non_null(scene);
    app.store = rig_store("");
    app.synced = true;
    user = NULL;
    sl_vis_cache_init(&scene->cache, &app, &kind);
    return scene;
}

static void scene_free(struct scene *scene)
{
    for (unsigned i = 0; i < scene->n; i++) {
        if (scene->request[i].ended != NULL) {
            scene->request[i].ended(&scene->request[i]);
        }
        sl_buf_free(&scene->request[i].reply);
    }
    sl_vis_cache_free(&scene->cache);
    sl_store_free(app.store);
    free(scene);
}

/* Returns the revision up to which all is known. */
static int64_t look(struct scene *scene)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    scene->cache.looked_ns = scene->cache.looked_ns == 0 ? 0 : 1; /* long ago */
    scene->cache.cost_ns = 0;
    assert_int_equal(sl_vis_cache_look(&scene->cache, &err), 0);
    return scene->cache.revision;
}

/* The code of the refusal; 0: it is watched. */
static unsigned watch(struct scene *scene, const char *namespace, int64_t since)
{
    struct sl_request *request = &scene->request[scene->n++];
    const struct sl_vis_query query = {
        .namespace = sl_str_of(namespace), .watch = true, .since = since};
    *request =
        (struct sl_request){.app = &app, .metrics = &app.metrics, .audiences = SL_FOR_FORWARDED};
    return sl_vis_watch_begin(request, &scene->cache, &query) < 0 ? request->code : 0;
}

/* ---- watches ---- */

TEST_THAT(one_user_takes_a_part_of_the_watches)
{
    static char names[SL_VIS_WATCHES_MAX][16]; /* a request keeps its texts */
    struct scene *scene = scene_new();
    unsigned granted = 0;
    (void)look(scene);
    user = "system:serviceaccount:greedy:one";
    for (unsigned i = 0; i < SL_VIS_WATCHES_MAX; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "ns-%u", i);
        user = i % 2 == 0 ? "system:serviceaccount:greedy:one" : "system:serviceaccount:greedy:two";
        granted += watch(scene, i % 3 == 0 ? "" : names[i], 0) == 0;
    }
    assert_in_range(granted, 8, SL_VIS_WATCHES_MAX / 4);
    user = "somebody";
    assert_int_equal(watch(scene, "calm", 0), 0);
    assert_int_equal(watch(scene, "", 0), 0);
    scene_free(scene);
}

/* ---- what went ---- */

TEST_THAT(deletions_of_one_namespace_are_not_forgotten_for_anothers)
{
    struct scene *scene = scene_new();
    there.calm = CALM;
    there.greedy = MANY;
    int64_t since = look(scene);
    there.calm = CALM - 1;
    int64_t later = look(scene);
    there.greedy = 0;
    (void)look(scene);
    there.greedy = MANY; /* others, that go as well */
    there.first = MANY;
    (void)look(scene);
    there.greedy = 0;
    there.first = 0;
    assert_true(look(scene) > later);
    assert_int_equal(scene->cache.n_gone, SL_VIS_GONE_MAX);
    assert_int_equal(watch(scene, "greedy", since), 410);
    assert_int_equal(watch(scene, "", since), 410);
    assert_int_equal(watch(scene, "calm", since), 0);
    assert_int_equal(scene->request[2].more(&scene->request[2]), 0);
    assert_non_null(strstr(rig_text(&scene->request[2].reply), "\"type\":\"DELETED\""));
    assert_non_null(strstr(rig_text(&scene->request[2].reply), "\"name\":\"p-2\""));
    scene_free(scene);
}

/* Who watches while it happens misses nothing, either. */
TEST_THAT(a_watch_is_not_lost_for_what_goes_elsewhere)
{
    struct scene *scene = scene_new();
    there.calm = CALM;
    there.greedy = MANY;
    int64_t since = look(scene);
    assert_int_equal(watch(scene, "calm", since), 0);
    assert_int_equal(scene->request[0].more(&scene->request[0]), 0);
    there.calm = 0;
    (void)look(scene);
    there.greedy = 0;
    (void)look(scene);
    assert_int_equal(scene->cache.lost, 0);
    scene_free(scene);
}

/* ---- rows ---- */

static unsigned rows_of(const struct sl_vis_look *look, const char *namespace)
{
    unsigned n = 0;
    for (size_t i = 0; i < look->n; i++) {
        n += sl_str_eq(look->row[i].namespace, sl_str_of(namespace));
    }
    return n;
}

TEST_THAT(rows_of_one_namespace_do_not_push_out_anothers)
{
    static const struct {
        unsigned greedy, calm, max, greedy_kept, calm_kept;
    } cases[] = {{100, 1, 10, 8, 1}, {100, 30, 11, 9, 2}, {100, 3, 103, 100, 3},
                 {9, 0, 4, 3, 0},    {2, 7, 8, 2, 5},     {5, 5, 1, 1, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sl_error err = {.code = SL_ERR_NONE};
        struct sl_vis_look look;
        sl_vis_look_init(&look, &app);
        there.greedy = cases[i].greedy;
        there.calm = cases[i].calm;
        assert_int_equal(collect(&look, &err), 0);
        assert_int_equal(sl_vis_look_trim(&look, cases[i].max, &err), 0);
        assert_int_equal(rows_of(&look, "greedy"), cases[i].greedy_kept);
        assert_int_equal(rows_of(&look, "calm"), cases[i].calm_kept);
        for (size_t k = 1; k < look.n; k++) { /* the first ones, in their order */
            assert_true(look.row[k - 1].position < look.row[k].position);
        }
        assert_true(look.n == 0 || look.row[0].position == 1);
        sl_vis_look_free(&look);
    }
}
