/* The inspection that gpushare's tools read: its JSON, to the letter. */
#include "unit/server/rig.h"

#include "server/api/handlers.h"
#include "server/app/app.h"

#define NODES                                                                                      \
    "apiVersion: v1\nkind: Node\nmetadata:\n  name: a\n  annotations:\n    sliced.dev/devices: "   \
    "'[{\"index\":0,\"memory\":\"16Gi\"},{\"index\":2,\"memory\":\"24Gi\"}]'\n"                    \
    "status: {allocatable: {aliyun.com/gpu-mem: \"40\", aliyun.com/gpu-count: \"2\"}}\n"           \
    "---\napiVersion: v1\nkind: Node\nmetadata: {name: b}\n"                                       \
    "status: {allocatable: {nvidia.com/gpu: \"4\"}}\n"                                             \
    "---\napiVersion: v1\nkind: Node\nmetadata:\n  name: c\n  annotations:\n    "                  \
    "sliced.dev/devices: '[{\"index\":0,\"memory\":\"16Gi\"}]'\n"                                  \
    "status: {allocatable: {aliyun.com/gpu-mem: \"32\", aliyun.com/gpu-count: \"2\"}}\n"
#define BOUND(name, node, index, units)                                                            \
    "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " name ", uid: " name                        \
    ", annotations: {ALIYUN_COM_GPU_MEM_IDX: \"" index "\"}}\nspec: {nodeName: " node              \
    ", containers: [{name: c, resources: {limits: {aliyun.com/gpu-mem: \"" units "\"}}}]}\n"

#define NODE_A                                                                                     \
    "{\"name\":\"a\",\"totalGPU\":40,\"usedGPU\":11,\"devs\":["                                    \
    "{\"id\":0,\"totalGPU\":16,\"usedGPU\":0,\"pods\":[]},"                                        \
    "{\"id\":2,\"totalGPU\":24,\"usedGPU\":11,\"pods\":["                                          \
    "{\"name\":\"p\",\"namespace\":\"default\",\"usedGPU\":8},"                                    \
    "{\"name\":\"q\",\"namespace\":\"default\",\"usedGPU\":3}]}]}"
#define NODE_C                                                                                     \
    "{\"name\":\"c\",\"totalGPU\":32,\"usedGPU\":4,\"devs\":["                                     \
    "{\"id\":-1,\"totalGPU\":32,\"usedGPU\":4,\"pods\":["                                          \
    "{\"name\":\"r\",\"namespace\":\"default\",\"usedGPU\":4}]}]}"

static void answers(void (*handler)(struct sl_request *request), const char *node,
                    const char *expected)
{
    static struct sl_config config;
    struct sl_error err = {.code = SL_ERR_NONE};
    sl_config_defaults(&config);
    struct sl_store *store = rig_store(NODES BOUND("p", "a", "2", "8") BOUND("q", "a", "2", "3")
                                           BOUND("r", "c", "1", "4"));
    const struct sl_app_options options = {.config = &config, .store = store};
    struct sl_app *app = sl_app_new(&options, &err);
    assert_non_null(app);
    struct sl_request request = {.app = app, .param = {sl_str_of(node)}};
    sl_buf_init(&request.reply, 1 << 14);

    handler(&request);

    assert_string_equal(rig_text(&request.reply), expected);
    assert_int_equal(request.code, 0);
    sl_store_release(store, request.snapshot);
    sl_buf_free(&request.reply);
    sl_app_free(app);
    sl_store_free(store);
}

TEST_THAT(it_lists_the_nodes_that_share_memory_with_their_gpus_and_pods)
{
    answers(sl_gpushare_inspect, "", "{\"nodes\":[" NODE_A "," NODE_C "]}\n");
}

TEST_THAT(it_shows_one_node_in_the_same_list)
{
    answers(sl_gpushare_inspect_node, "a", "{\"nodes\":[" NODE_A "]}\n");
}

TEST_THAT(a_node_without_it_is_an_error_in_words_and_no_crash)
{
    answers(sl_gpushare_inspect_node, "b",
            "{\"nodes\":[],\"error\":\"node b does not offer aliyun.com/gpu-mem\"}\n");
    answers(sl_gpushare_inspect_node, "x", "{\"nodes\":[],\"error\":\"node x is not known\"}\n");
}
