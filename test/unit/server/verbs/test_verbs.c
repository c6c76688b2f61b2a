/* What the queue has to say of a pod that kube-scheduler asks about. */
#include "server/app/app.h"
#include "server/http/request.h"
#include "server/verbs/verbs.h"
#include "unit/test.h"

static bool known;

static void status(void *context, struct sl_str uid, struct sl_queue_status *out)
{
    (void)context;
    (void)uid;
    *out = (struct sl_queue_status){.state = SL_QUEUE_HELD, .known = known, .text = "held: so"};
}

/* Behind a policy pods without the gate go: but the queue knows this one as a pod that had it. */
TEST_THAT(a_pod_that_the_queue_knows_is_held_without_its_gate)
{
    static struct sl_app app;
    static struct sl_live live;
    static struct sl_request request;
    struct sl_queue_status out;
    struct sl_ahead ahead;
    struct sl_pair limit = {SL_STR("nvidia.com/gpu"), SL_STR("1"), NULL};
    struct sl_container_facts container = {.name = SL_STR("c"), .limits = &limit};
    struct sl_pod_facts facts = {.name = SL_STR("p"), .uid = SL_STR("u"), .containers = &container};
    struct sl_pod *pod = sl_pod_new(&facts, NULL);
    assert_non_null(pod);
    app.queue.status = status;
    live.config.queue.gate = SL_QUEUE_GATE_POLICY;
    request.app = &app;
    request.live = &live;
    known = false;
    assert_null(sl_verb_held(&request, pod, &out, &ahead));
    known = true;
    assert_string_equal(sl_verb_held(&request, pod, &out, &ahead), "held: so");
    sl_pod_unref(pod);
}
