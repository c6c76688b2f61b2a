/* Node objects, through manifests. */
#include "codec/object.h"
#include "unit/codec/describe.h"

#include "unit/test.h"

static const struct sl_text_limits limits = {
    .max_bytes = 1 << 20, .max_string = 1 << 16, .max_depth = 32};

/* The text decodes to (or fails with) those lines. */
static void assert_decodes(const char *text, const char *expected)
{
    struct sl_buf out;
    sl_buf_init(&out, 1 << 20);
    describe_manifest(&out, &limits, text, strlen(text));
    assert_string_equal(out.data, expected);
    sl_buf_free(&out);
}

#define NODE "{\"apiVersion\":\"v1\",\"kind\":\"Node\","

TEST_THAT(what_matters_of_a_node_is_kept)
{
    assert_decodes(
        NODE "\"metadata\":{\"name\":\"a30-00\",\"uid\":\"u-1\",\"resourceVersion\":\"77\","
             "\"creationTimestamp\":\"2026-11-21T12:38:09Z\",\"generateName\":7,"
             "\"labels\":{\"kubernetes.io/os\":\"linux\",\"nvidia.com/gpu.count\":\"2\"},"
             "\"annotations\":{\"nos.nebuly.com/status-gpu-0-1g.6gb-free\":\"4\",\"x\":\"y\"}},"
             "\"spec\":{\"unschedulable\":true,\"taints\":[{\"key\":\"gpu\"},"
             "{\"key\":\"a/b\",\"value\":\"c\",\"effect\":\"NoExecute\",\"timeAdded\":null}]},"
             "\"status\":{\"allocatable\":{\"cpu\":\"64\",\"nvidia.com/gpu\":2},"
             "\"capacity\":{\"cpu\":\"64\",\"nvidia.com/gpu\":\"2\"},\"conditions\":[{}],"
             "\"addresses\":[{\"type\":\"Hostname\",\"address\":\"a30-00\"},"
             "{\"type\":\"InternalIP\",\"address\":\"10.0.0.7\"}]}}",
        "Node name=a30-00 uid=u-1 rv=77 unschedulable\n"
        "  label kubernetes.io/os =linux\n"
        "  label nvidia.com/gpu.count =2\n"
        "  annotation nos.nebuly.com/status-gpu-0-1g.6gb-free =4\n"
        "  allocatable cpu =64\n"
        "  allocatable nvidia.com/gpu =2\n"
        "  capacity cpu =64\n"
        "  capacity nvidia.com/gpu =2\n"
        "  taint key=gpu\n"
        "  taint key=a/b value=c effect=NoExecute\n"
        "  address type=Hostname is=a30-00\n"
        "  address type=InternalIP is=10.0.0.7\n");
}

TEST_THAT(the_annotations_that_are_kept_are_those_of_gpus_and_ours)
{
    assert_decodes(NODE "\"metadata\":{\"name\":\"n\",\"annotations\":{"
                        "\"nvidia.com/mig.strategy\":\"1\",\"aliyun.com/x\":\"2\","
                        "\"sliced.dev/x\":\"3\",\"nos.nebuly.com/x\":\"4\","
                        "\"ALIYUN_COM_GPU_MEM_IDX\":\"5\",\"scheduling.k8s.io/x\":\"6\","
                        "\"feature.node.kubernetes.io/x\":\"7\",\"nvidia.org/x\":\"8\","
                        "\"nvidia.com\":\"9\",\"xnvidia.com/a\":\"10\"}}}",
                   "Node name=n\n"
                   "  annotation nvidia.com/mig.strategy =1\n"
                   "  annotation aliyun.com/x =2\n"
                   "  annotation sliced.dev/x =3\n"
                   "  annotation nos.nebuly.com/x =4\n"
                   "  annotation ALIYUN_COM_GPU_MEM_IDX =5\n");
}

TEST_THAT(a_deletion_time_marks_the_node)
{
    assert_decodes(NODE
                   "\"metadata\":{\"name\":\"n\",\"deletionTimestamp\":\"2026-11-21T12:38:09Z\"}}",
                   "Node name=n deleting\n");
    assert_decodes(NODE "\"metadata\":{\"name\":\"n\",\"deletionTimestamp\":null}}",
                   "Node name=n\n");
}

TEST_THAT(a_bare_node_is_a_node)
{
    assert_decodes(NODE "\"metadata\":{\"name\":\"n\"},\"spec\":null,\"status\":{}}",
                   "Node name=n\n");
}

TEST_THAT(faults_name_their_field)
{
    assert_decodes(NODE "\"metadata\":{\"labels\":{}}}",
                   "BadField metadata.name: is missing (1:1)\n");
    assert_decodes(NODE "\"metadata\":{\"name\":\"\"}}",
                   "BadField metadata.name: is missing (1:1)\n");
    assert_decodes(NODE "\"spec\":{\"unschedulable\":\"yes\"}}",
                   "WrongType spec.unschedulable: expected a boolean, found a string (1:58)\n");
    assert_decodes(NODE "\"status\":{\"allocatable\":{\"cpu\":[]}}}",
                   "WrongType status.allocatable[cpu]: expected a quantity (a string or a number), "
                   "found an array (1:65)\n");
    assert_decodes(NODE "\"status\":{\"allocatable\":{\"cpu\":1,\"cpu\":1}}}",
                   "BadField status.allocatable[cpu]: is given twice (1:67)\n");
    assert_decodes(NODE "\"metadata\":{\"creationTimestamp\":\"yesterday\"}}",
                   "BadField metadata.creationTimestamp: \"yesterday\" is not a time such as "
                   "2026-11-21T12:38:09Z (1:66)\n");
    assert_decodes(NODE "\"metadata\":{\"name\":\"n\"}",
                   "Syntax expected ',' or '}', found the end "
                   "of the text (1:57)\n");
}

TEST_THAT(devices_come_from_the_annotation)
{
    assert_decodes(NODE "\"metadata\":{\"name\":\"n\",\"annotations\":{\"sliced.dev/devices\":"
                        "\"[{\\\"index\\\":1,\\\"memory\\\":\\\"24Gi\\\"}]\"}}}",
                   "Node name=n\n"
                   "  annotation sliced.dev/devices =[{\"index\":1,\"memory\":\"24Gi\"}]\n"
                   "  device 1 memory=24576\n");
}

TEST_THAT(a_malformed_devices_annotation_is_a_problem_and_no_error)
{
    assert_decodes(NODE "\"metadata\":{\"name\":\"n\",\"annotations\":{\"sliced.dev/devices\":"
                        "\"[{\\\"index\\\":true}]\"}}}",
                   "Node name=n\n"
                   "  annotation sliced.dev/devices =[{\"index\":true}]\n"
                   "  problem annotation sliced.dev/devices: [0].index: expected an integer, found "
                   "a boolean (line 1, column 11)\n");
}
