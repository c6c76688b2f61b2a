/* Tenants of a cluster: whose label the Namespaces name, and the record on the Lease of where they
 * stand on their shares. */
#include "cluster_rig.h"

TEST_FIXTURE(set_up, NULL)

/* ---- Namespaces ---- */

TEST_THAT(nobody_plans_before_the_list_of_namespaces_has_come)
{
    struct scene scene;
    atomic_store(&spaces, false);
    label = "team";
    begin_with(&scene, false, true);
    wait_missing(&scene, "waiting for the list of Namespaces, whose label names the tenants");
    wait_requests(&scene, "GET", SPACES, 2);
    assert_string_not_equal(missing(&scene), "");
    atomic_store(&spaces, true);
    wait_missing(&scene, "");
    wait_requests(&scene, "GET", "/api/v1/namespaces?watch", 1);
    unsigned lists = fake_api_count(scene.api, "GET", SPACES);
    sl_cluster_configure(scene.cluster, &scene.config);
    atomic_store(&spaces, false);
    scene.config.tenants.label[0] = 'T';
    sl_cluster_configure(scene.cluster, &scene.config);
    wait_requests(&scene, "GET", SPACES, lists + 1);
    assert_string_equal(missing(&scene), ""); /* the one that leads goes on */
    end(&scene);
}

TEST_THAT(without_a_label_no_namespace_is_asked_for)
{
    struct scene scene;
    begin_with(&scene, false, true);
    wait_missing(&scene, "");
    assert_int_equal(fake_api_count(scene.api, NULL, SPACES), 0);
    end(&scene);
}

/* ---- what a leader leaves to the next one ---- */

#define LEFT "tenants1 3600000\\ns a nvidia.com/gpu 4711\\n"

static const struct sl_tenants one_tenant = {.n_spaces = 1, .space = {{"default", "a"}}};

/* A scene that takes a lease which nobody holds. */
static void take_over(struct scene *scene, bool queue)
{
    atomic_store(&lease.exists, true);
    (void)snprintf(lease.note, sizeof(lease.note), "%s", LEFT);
    begin_with(scene, true, queue);
}

/* The n-th renewal, from 1; the first is the one that took the lease. */
static const char *renewal(struct scene *scene, unsigned n)
{
    wait_requests(scene, "PUT", LEASES, n);
    return fake_api_request(scene->api, place_of(scene, "PUT", LEASES, n))->body;
}

/* Waits for one with that text, and without the other. Returns which it is. */
static unsigned await_renewal(struct scene *scene, const char *with, const char *without)
{
    unsigned n = 1;
    int64_t until = (int64_t)time(NULL) + WAIT_S;
    while (strstr(renewal(scene, n), with) == NULL || strstr(renewal(scene, n), without) != NULL) {
        assert_true((int64_t)time(NULL) <= until);
        n++;
    }
    return n;
}

TEST_THAT(the_record_of_the_leader_before_lives_on_in_the_next_ones)
{
    struct scene scene;
    tenants = &one_tenant;
    take_over(&scene, true);
    wait_missing(&scene, "");
    assert_int_equal(sl_store_put_pod(scene.store, small_pod(), NULL), 0);
    assert_true(await_renewal(&scene, "s a nvidia.com/gpu 4711\\n", "tenants1 3600000") > 1);
    assert_non_null(strstr(renewal(&scene, 1), LEFT));
    end(&scene);
    assert_non_null(strstr(lease.note, "4711")); /* who gives the lease up leaves it there */
}

TEST_THAT(who_has_not_planned_yet_leaves_the_record_as_it_is)
{
    struct scene scene;
    tenants = &one_tenant;
    bound_pods = "[]"; /* no list: it never knows the cluster */
    take_over(&scene, true);
    for (unsigned n = 1; n <= 5; n++) {
        assert_non_null(strstr(renewal(&scene, n), LEFT));
    }
    end(&scene);
    assert_string_equal(lease.note, LEFT);
}

TEST_THAT(without_tenants_or_a_queue_the_record_goes)
{
    for (unsigned queue = 0; queue < 2; queue++) {
        struct scene scene;
        take_over(&scene, queue == 1);
        (void)await_renewal(&scene, "holderIdentity", NOTE);
        assert_non_null(strstr(renewal(&scene, 1), LEFT));
        end(&scene);
        assert_string_equal(lease.note, "");
    }
}

TEST_THAT(the_record_follows_a_reload)
{
    struct scene scene;
    take_over(&scene, true);
    (void)await_renewal(&scene, "holderIdentity", NOTE);
    scene.config.tenants = one_tenant;
    sl_cluster_configure(scene.cluster, &scene.config);
    (void)await_renewal(&scene, NOTE "\":\"tenants1 ", LEFT);
    end(&scene);
}
