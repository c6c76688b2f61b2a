/* Pod objects, through manifests. */
#include "codec/object.h"
#include "unit/codec/describe.h"

#include "unit/test.h"

static const struct sl_text_limits limits = {
    .max_bytes = 1 << 24, .max_string = 1 << 16, .max_depth = 32};

static void assert_decodes(const char *text, const char *expected)
{
    struct sl_buf out;
    sl_buf_init(&out, 1 << 20);
    describe_manifest(&out, &limits, text, strlen(text));
    assert_string_equal(out.data, expected);
    sl_buf_free(&out);
}

#define POD       "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\"}"
#define POD_SPEC  POD ",\"spec\":{"
#define CONTAINER POD_SPEC "\"containers\":[{"
#define OWNED_POD                                                                                  \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"ownerReferences\":["

TEST_THAT(what_matters_of_a_pod_is_kept)
{
    assert_decodes(
        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p-1\","
        "\"namespace\":\"team\",\"uid\":\"u-1\",\"resourceVersion\":\"9\","
        "\"creationTimestamp\":\"1970-01-01T00:00:02.5Z\","
        "\"deletionTimestamp\":\"2026-11-21T12:38:09Z\",\"ownerReferences\":[{\"name\":\"j\"}],"
        "\"labels\":{\"app\":\"x\",\"sliced.dev/team\":\"a\"},"
        "\"annotations\":{\"sliced.dev/timeout\":\"90s\",\"ALIYUN_COM_GPU_MEM_IDX\":\"1\","
        "\"kubectl.kubernetes.io/last-applied-configuration\":\"{}\"}},"
        "\"spec\":{\"nodeName\":\"n-1\",\"schedulerName\":\"s\",\"priority\":-10,"
        "\"activeDeadlineSeconds\":90,\"overhead\":{\"memory\":\"120Mi\"},"
        "\"restartPolicy\":\"Always\","
        "\"schedulingGates\":[{\"name\":\"sliced.dev/queue\"},{\"name\":\"other\"}],"
        "\"initContainers\":[{\"name\":\"i\",\"restartPolicy\":\"Always\"},{\"name\":\"j\","
        "\"restartPolicy\":\"OnFailure\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":1}}}],"
        "\"containers\":[{\"name\":\"a\",\"image\":\"x\",\"resources\":{\"limits\":"
        "{\"nvidia.com/mig-1g.6gb\":\"2\"},\"requests\":{\"cpu\":\"100m\","
        "\"nvidia.com/mig-1g.6gb\":\"2\"},\"nominations\":[]}},{\"name\":\"b\"}]},"
        "\"status\":{\"phase\":\"Running\",\"conditions\":[]}}",
        "Pod namespace=team name=p-1 uid=u-1 rv=9 node=n-1 scheduler=s phase=Running "
        "created=2500000 gone=1795264689000000 deadline=90 priority=-10 deleting\n"
        "  label app =x\n"
        "  label sliced.dev/team =a\n"
        "  annotation sliced.dev/timeout =90s\n"
        "  annotation ALIYUN_COM_GPU_MEM_IDX =1\n"
        "  overhead memory =120Mi\n"
        "  init name=i sidecar\n"
        "  init name=j\n"
        "    limit nvidia.com/gpu =1\n"
        "  container name=a\n"
        "    request cpu =100m\n"
        "    request nvidia.com/mig-1g.6gb =2\n"
        "    limit nvidia.com/mig-1g.6gb =2\n"
        "  container name=b\n"
        "  gate sliced.dev/queue\n"
        "  gate other\n");
}

/* A request of 0 stands beside a limit; of a GPU it asks for nothing. */
TEST_THAT(resources_of_the_pod_and_requests_of_none_are_kept)
{
    assert_decodes(POD_SPEC "\"resources\":{\"requests\":{\"cpu\":\"0\",\"ephemeral-storage\":1},"
                            "\"limits\":{\"memory\":\"1Gi\",\"x\":{}}},"
                            "\"containers\":[{\"name\":\"a\",\"resources\":{\"requests\":"
                            "{\"cpu\":\"0\",\"nvidia.com/gpu\":\"0\"}}}]}}",
                   "Pod name=p\n"
                   "  whole request cpu =0\n"
                   "  whole limit memory =1Gi\n"
                   "  container name=a\n"
                   "    request cpu =0\n");
}

TEST_THAT(where_a_pod_may_go_is_kept)
{
    assert_decodes(
        POD_SPEC
        "\"preemptionPolicy\":\"Never\",\"nodeSelector\":{\"a\":\"1\",\"b\":\"\"},"
        "\"affinity\":{\"podAffinity\":{\"x\":1},\"nodeAffinity\":{"
        "\"preferredDuringSchedulingIgnoredDuringExecution\":[{\"weight\":1}],"
        "\"requiredDuringSchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":["
        "{\"matchExpressions\":[{\"key\":\"zone\",\"operator\":\"In\",\"values\":[\"a\",\"b\"]},"
        "{\"key\":\"gpu\",\"operator\":\"Exists\"}],"
        "\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":[\"n\"]}]},{}]}"
        "}},"
        "\"tolerations\":[{\"operator\":\"Exists\"},{\"key\":\"k\",\"operator\":\"Equal\","
        "\"value\":\"v\",\"effect\":\"NoExecute\",\"tolerationSeconds\":300}]},"
        "\"status\":{\"nominatedNodeName\":\"n-2\",\"startTime\":\"1970-01-01T00:00:03Z\"}}",
        "Pod name=p nominated=n-2 preemption=Never started=3000000\n"
        "  selector a =1\n"
        "  selector b\n"
        "  affinity\n"
        "  term\n"
        "    expression key=zone operator=In value=b value=a\n"
        "    expression key=gpu operator=Exists\n"
        "    field key=metadata.name operator=In value=n\n"
        "  term\n"
        "  toleration operator=Exists\n"
        "  toleration key=k operator=Equal value=v effect=NoExecute\n");
}

TEST_THAT(affinity_that_is_only_preferred_is_none)
{
    assert_decodes(POD_SPEC "\"affinity\":{\"nodeAffinity\":{"
                            "\"requiredDuringSchedulingIgnoredDuringExecution\":null}},"
                            "\"tolerations\":null,\"nodeSelector\":null}}",
                   "Pod name=p\n");
    assert_decodes(POD_SPEC "\"affinity\":{\"nodeAffinity\":{"
                            "\"requiredDuringSchedulingIgnoredDuringExecution\":{}}}}}",
                   "Pod name=p\n  affinity\n");
}

TEST_THAT(who_kube_scheduler_could_not_place_is_known)
{
    static const struct {
        const char *conditions;
        bool tried;
    } cases[] = {
        {"{\"type\":\"PodScheduled\",\"status\":\"False\",\"reason\":\"Unschedulable\"}", true},
        {"{\"reason\":\"SchedulerError\",\"status\":\"False\",\"type\":\"PodScheduled\"}", true},
        {"{\"type\":\"PodScheduled\",\"status\":\"False\"},{\"type\":\"Ready\",\"status\":"
         "\"True\"}",
         true},
        {"{\"type\":\"PodScheduled\",\"status\":\"False\",\"reason\":\"SchedulingGated\"}", false},
        {"{\"type\":\"PodScheduled\",\"status\":\"True\"},{\"type\":\"Ready\",\"status\":"
         "\"False\"}",
         false},
        {"{\"type\":\"Ready\",\"status\":\"False\",\"reason\":\"Unschedulable\"}", false},
        {"", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[400];
        (void)snprintf(text, sizeof(text), POD ",\"status\":{\"conditions\":[%s]}}",
                       cases[i].conditions);
        assert_decodes(text, cases[i].tried ? "Pod name=p tried\n" : "Pod name=p\n");
    }
}

TEST_THAT(the_condition_that_says_it_is_queued_is_known)
{
    static const struct {
        const char *conditions;
        bool queued;
    } cases[] = {
        {"{\"type\":\"sliced.dev/Queued\",\"status\":\"True\",\"reason\":\"NoRoom\"}", true},
        {"{\"status\":\"True\",\"type\":\"sliced.dev/Queued\"},{\"type\":\"Ready\"}", true},
        {"{\"type\":\"sliced.dev/Queued\",\"status\":\"False\"},{\"type\":\"Ready\",\"status\":"
         "\"True\"}",
         false},
        {"{\"type\":\"sliced.dev/Queued\",\"status\":\"Unknown\"}", false},
        {"{\"type\":\"sliced.dev/Queued\"},{\"status\":\"True\"}", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[400];
        (void)snprintf(text, sizeof(text), POD ",\"status\":{\"conditions\":[%s]}}",
                       cases[i].conditions);
        assert_decodes(text, cases[i].queued ? "Pod name=p queued\n" : "Pod name=p\n");
    }
}

TEST_THAT(whom_a_daemon_set_owns_is_known)
{
#define DAEMON_SET "\"kind\":\"DaemonSet\""
#define CONTROLS   "\"controller\":true"
    static const char *const of_none[] = {
        "{" DAEMON_SET "}",
        "{" DAEMON_SET "," CONTROLS "}",
        "{\"apiVersion\":\"apps/v1\"," DAEMON_SET "}",
        "{\"apiVersion\":\"apps/v1\"," DAEMON_SET ",\"controller\":false}",
        "{\"apiVersion\":\"apps/v1\"," DAEMON_SET ",\"controller\":null}",
        "{\"apiVersion\":\"apps\"," DAEMON_SET "," CONTROLS "}",
        "{\"apiVersion\":\"v1\"," DAEMON_SET "," CONTROLS "}",
        "{\"apiVersion\":\"apps.example.com/v1\"," DAEMON_SET "," CONTROLS "}",
        "{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\"," CONTROLS "}",
        /* no two owners make one that is */
        "{\"apiVersion\":\"apps/v1\"," CONTROLS "},{" DAEMON_SET "}",
        "{" DAEMON_SET "},{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\"," CONTROLS "}",
    };
    assert_decodes(OWNED_POD "{\"kind\":\"Custom\"},{" CONTROLS "," DAEMON_SET
                             ",\"apiVersion\":\"apps/v1\"},{}]}}",
                   "Pod name=p of a DaemonSet\n");
    for (size_t i = 0; i < sizeof(of_none) / sizeof(of_none[0]); i++) {
        char text[512];
        (void)snprintf(text, sizeof(text), OWNED_POD "%s]}}", of_none[i]);
        assert_decodes(text, "Pod name=p\n");
    }
}

TEST_THAT(what_controls_it_is_known_by_kind_and_name)
{
    char text[1024];
    char longer[300];
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    assert_decodes(OWNED_POD "{\"kind\":\"Queue\",\"name\":\"q\"},{\"name\":\"train\"," CONTROLS
                             ",\"kind\":\"Job\"}]}}",
                   "Pod name=p owner=Job/train\n");
    assert_decodes(OWNED_POD "{\"kind\":\"Job\",\"name\":\"a\"," CONTROLS
                             "},{\"kind\":\"Job\",\"name\":\"b\"," CONTROLS "}]}}",
                   "Pod name=p owner=Job/a\n");
    assert_decodes(OWNED_POD "{\"kind\":\"Job\"," CONTROLS "},{\"name\":\"b\"," CONTROLS "}]}}",
                   "Pod name=p\n");
    (void)snprintf(text, sizeof(text),
                   OWNED_POD "{\"kind\":\"Job\",\"name\":\"%s\"," CONTROLS "}]}}", longer);
    assert_decodes(text, "Pod name=p\n");
    assert_decodes(OWNED_POD "{\"kind\":\"Job\",\"name\":\"a\\u0000b\"," CONTROLS "}]}}",
                   "Pod name=p\n");
}

TEST_THAT(a_bare_pod_is_a_pod)
{
    assert_decodes(POD "}", "Pod name=p\n");
    assert_decodes(POD_SPEC "\"containers\":null,\"initContainers\":[],\"priority\":null}}",
                   "Pod name=p\n");
}

TEST_THAT(faults_name_their_field)
{
    static const struct {
        const char *text;
        const char *error;
    } cases[] = {
        {"{\"apiVersion\":\"v1\",\"kind\":\"Pod\"}", "BadField metadata.name: is missing (1:1)\n"},
        {POD_SPEC "\"containers\":{}}}",
         "WrongType spec.containers: expected an array of objects, found an object (1:78)\n"},
        {POD_SPEC "\"containers\":[{},null]}}",
         "WrongType spec.containers[1]: expected an object, found null (1:82)\n"},
        {CONTAINER "\"resources\":{\"limits\":{\"nvidia.com/gpu\":{}}}}]}}",
         "WrongType spec.containers[0].resources.limits[nvidia.com/gpu]: expected a quantity (a "
         "string or a number), found an object (1:120)\n"},
        {CONTAINER "\"resources\":{\"limits\":{\"cpu\":1,\"cpu\":1}}}]}}",
         "BadField spec.containers[0].resources.limits[cpu]: is given twice (1:111)\n"},
        {CONTAINER "\"resources\":[]}]}}",
         "WrongType spec.containers[0].resources: expected an object, found an array (1:92)\n"},
        {CONTAINER "\"restartPolicy\":true}]}}",
         "WrongType spec.containers[0].restartPolicy: expected a string, found a boolean (1:96)\n"},
        {POD_SPEC "\"schedulingGates\":[{\"name\":\"a\"},{}]}}",
         "BadField spec.schedulingGates[1].name: is missing (1:98)\n"},
        {POD_SPEC "\"priority\":3000000000}}",
         "BadField spec.priority: 3000000000 is out of range (1:76)\n"},
        {POD_SPEC "\"priority\":\"high\"}}",
         "WrongType spec.priority: expected an integer, found a string (1:76)\n"},
        {POD_SPEC "\"nodeName\":\"a\",\"nodeName\":\"b\"}}",
         "BadField spec.nodeName: is given twice (1:80)\n"},
        {POD ",\"spec\":[]}", "WrongType spec: expected an object, found an array (1:64)\n"},
        {POD ",\"status\":{\"phase\":1}}",
         "WrongType status.phase: expected a string, found a number (1:75)\n"},
        {POD_SPEC "\"nodeSelector\":{\"a\":1}}}",
         "WrongType spec.nodeSelector[a]: expected a string, found a number (1:85)\n"},
        {POD_SPEC "\"affinity\":{\"nodeAffinity\":{"
                  "\"requiredDuringSchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":["
                  "{\"matchExpressions\":[{\"values\":[1]}]}]}}}}}",
         "WrongType spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
         "nodeSelectorTerms[0].matchExpressions[0].values[0]: expected a string, found a number "
         "(1:196)\n"},
        {POD_SPEC "\"tolerations\":[7]}}",
         "WrongType spec.tolerations[0]: expected an object, found a number (1:80)\n"},
        {POD ",\"status\":{\"startTime\":\"soon\"}}",
         "BadField status.startTime: \"soon\" is not a time such as 2026-11-21T12:38:09Z "
         "(1:79)\n"},
        {POD ",\"metadata\":{}}", "BadField metadata: is given twice (1:57)\n"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_decodes(cases[i].text, cases[i].error);
    }
}

TEST_THAT(what_is_kept_of_one_pod_is_bounded)
{
    struct sl_buf text;
    struct sl_buf out;
    struct sl_error err = {0};
    sl_buf_init(&text, 1 << 24);
    sl_buf_init(&out, 1 << 20);
    sl_buf_puts(&text, POD_SPEC "\"containers\":[{}");
    for (int i = 0; i < 500000; i++) {
        sl_buf_puts(&text, ",{}");
    }
    sl_buf_puts(&text, "]}}");
    assert_int_equal(sl_manifest_decode(text.data, text.len, &limits, describe_object, &out, &err),
                     -1);
    assert_int_equal(err.code, SL_ERR_LIMIT);
    assert_int_equal(strncmp(err.field, "spec.containers[", 16), 0);
    assert_int_equal(out.len, 0);
    sl_buf_free(&text);
    sl_buf_free(&out);
}
