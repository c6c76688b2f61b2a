/* AdmissionReview: golden files in the shape that an API server sends, and what is wrong. */
#include "codec/extender.h"
#include "unit/codec/describe.h"

#include "unit/test.h"

static const struct sl_text_limits limits = {
    .max_bytes = 1 << 20, .max_string = 1 << 12, .max_depth = 32};

/* The result of a body, until the next call. */
static const char *decode(const char *text, size_t len, size_t chunk)
{
    static char result[8192];
    struct sl_arena arena;
    struct sl_buf out;
    sl_arena_init(&arena, 1 << 18);
    sl_buf_init(&out, sizeof(result) - 1);
    struct sl_body *body = sl_body_new(&limits, &arena);
    assert_non_null(body);
    (void)describe_body(&out, body, SL_BODY_REVIEW, text, len, chunk);
    assert_int_equal(out.failed, SL_BUF_OK);
    memcpy(result, out.data, out.len);
    result[out.len] = '\0';
    sl_body_free(body);
    sl_arena_free(&arena);
    sl_buf_free(&out);
    return result;
}

static const char *decode_file(const char *name, size_t chunk)
{
    char path[1024];
    char *text = malloc(1 << 16);
    (void)snprintf(path, sizeof(path), SL_SOURCE_DIR "/test/data/admission/%s.json", name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_non_null(text);
    size_t len = fread(text, 1, 1 << 16, file);
    (void)fclose(file);
    const char *result = decode(text, len, chunk);
    free(text);
    return result;
}

#define POD_OF(node, gates) POD_WITH(node, " owner=Job/detect-day", gates)
#define POD_WITH(node, owner, gates)                                                               \
    "Pod" node " scheduler=sliced-scheduler preemption=PreemptLowerPriority" owner "\n"            \
    "  label app.kubernetes.io/name =detect-day\n"                                                 \
    "  label batch.kubernetes.io/job-name =detect-day\n"                                           \
    "  annotation sliced.dev/timeout =15m\n"                                                       \
    "  container name=work\n"                                                                      \
    "    request cpu =500m\n"                                                                      \
    "    request nvidia.com/mig-1g.6gb =1\n"                                                       \
    "    limit cpu =2\n"                                                                           \
    "    limit nvidia.com/mig-1g.6gb =1\n" gates                                                   \
    "  toleration key=node.kubernetes.io/not-ready operator=Exists effect=NoExecute\n"
#define REVIEW(uid, operation) "review uid=" uid " operation=" operation " version=v1 kind=Pod"

TEST_THAT(golden_reviews_decode_in_pieces_of_any_size)
{
    static const struct {
        const char *file;
        const char *result;
    } goldens[] = {
        {"job", REVIEW("705ab4f5-6393-11e8-b7cc-42010a800001", "CREATE") "\n" POD_OF("", "")},
        {"gated", REVIEW("705ab4f5-6393-11e8-b7cc-42010a800003", "CREATE") "\n" POD_OF(
                      "", "  gate example.com/quota\n  gate sliced.dev/queue\n")},
        {"daemonset", REVIEW("705ab4f5-6393-11e8-b7cc-42010a800004", "CREATE") "\n" POD_WITH(
                          "", " of a DaemonSet owner=DaemonSet/detect-day", "")},
        {"bound",
         REVIEW("705ab4f5-6393-11e8-b7cc-42010a800005", "CREATE") "\n" POD_OF(" node=a30-00", "")},
        {"deleted", REVIEW("d8a0e4c2-6393-11e8-b7cc-42010a800002", "DELETE") "\n"},
        {"binding", "review uid=705ab4f5-6393-11e8-b7cc-42010a800009 operation=CREATE "
                    "subresource=binding version=v1 kind=Binding\n"
                    "Pod namespace=vision name=detect-day-7xk2p\n"},
    };
    static const size_t chunks[] = {0, 1, 2, 7, 1000};
    for (size_t i = 0; i < sizeof(goldens) / sizeof(goldens[0]); i++) {
        for (size_t c = 0; c < sizeof(chunks) / sizeof(chunks[0]); c++) {
            assert_string_equal(decode_file(goldens[i].file, chunks[c]), goldens[i].result);
        }
    }
}

#define HEAD "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\""

TEST_THAT(faults_name_their_field)
{
    static const struct {
        const char *text;
        const char *result;
    } cases[] = {
        {"", "Syntax expected a value, found the end of the text (1:1)\n"},
        {"[]", "WrongType expected an object, found an array (1:1)\n"},
        {"{}", "BadField apiVersion: is not admission.k8s.io/v1 (0:0)\n"},
        {"{\"apiVersion\":\"admission.k8s.io/v1beta1\"}",
         "BadField apiVersion: is not admission.k8s.io/v1 (0:0)\n"},
        {"{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"Review\"}",
         "BadField kind: is not AdmissionReview (0:0)\n"},
        {HEAD "}", "BadField request.uid: is missing or empty (0:0)\n"},
        {HEAD ",\"request\":{\"uid\":\"\"}}", "BadField request.uid: is missing or empty (0:0)\n"},
        {HEAD ",\"request\":{\"uid\":7}}",
         "WrongType request.uid: expected a string, found a number (1:79)\n"},
        {HEAD ",\"request\":{\"object\":{\"spec\":{\"containers\":5}}}}",
         "WrongType request.object.spec.containers: expected an array of objects, found a number "
         "(1:104)\n"},
        {HEAD ",\"request\":{\"uid\":\"u\"}}", "review uid=u\n"},
        {HEAD ",\"request\":{\"uid\":\"u\",\"object\":null}}", "review uid=u\n"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_string_equal(decode(cases[i].text, strlen(cases[i].text), 0), cases[i].result);
    }
}

TEST_THAT(any_owner_may_be_the_daemon_set)
{
    static const char text[] =
        HEAD ",\"request\":{\"uid\":\"u\",\"object\":{\"metadata\":{\"name\":\"p\","
             "\"ownerReferences\":[{\"kind\":\"Custom\"},{\"apiVersion\":\"apps/v1\","
             "\"kind\":\"DaemonSet\",\"controller\":true},{}]}}}}";
    assert_string_equal(decode(text, strlen(text), 0), "review uid=u\nPod name=p of a DaemonSet\n");
}
