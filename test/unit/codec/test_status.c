/* Errors in Kubernetes' Status form, read back with another JSON library. */
#include <string.h>

#include "unit/test.h"
#include <jansson.h>

#include "codec/status.h"

static json_t *written(unsigned code, const struct sl_error *err, bool verb)
{
    struct sl_buf out;
    sl_buf_init(&out, 8192);
    sl_status_write(&out, code, err, verb);
    assert_int_equal(out.failed, SL_BUF_OK);
    json_t *root = json_loadb(out.data, out.len, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    sl_buf_free(&out);
    return root;
}

static const char *text_at(json_t *root, const char *key)
{
    return json_string_value(json_object_get(root, key));
}

TEST_THAT(a_status_has_reason_code_message_and_the_cause_with_its_place)
{
    struct sl_error err = {.code = SL_ERR_TYPE,
                           .line = 3,
                           .column = 9,
                           .field = "Pod.spec.priority",
                           .message = "expected a number, found \"x\"\n"};

    json_t *root = written(400, &err, false);

    assert_string_equal(text_at(root, "kind"), "Status");
    assert_string_equal(text_at(root, "apiVersion"), "v1");
    assert_string_equal(text_at(root, "status"), "Failure");
    assert_string_equal(text_at(root, "reason"), "BadRequest");
    assert_int_equal(json_integer_value(json_object_get(root, "code")), 400);
    assert_string_equal(text_at(root, "message"),
                        "Pod.spec.priority: expected a number, found \"x\"\n (line 3, column 9)");
    assert_null(json_object_get(root, "Error"));
    json_t *causes = json_object_get(json_object_get(root, "details"), "causes");
    assert_int_equal(json_array_size(causes), 1);
    json_t *cause = json_array_get(causes, 0);
    assert_string_equal(text_at(cause, "reason"), sl_error_code_name(SL_ERR_TYPE));
    assert_string_equal(text_at(cause, "field"), "Pod.spec.priority");
    assert_string_equal(text_at(cause, "message"), err.message);
    assert_int_equal(json_integer_value(json_object_get(cause, "line")), 3);
    json_decref(root);
}

TEST_THAT(a_verbs_status_has_the_key_error_too)
{
    struct sl_error err = {.code = SL_ERR_LIMIT, .message = "too long"};

    json_t *root = written(413, &err, true);

    assert_string_equal(text_at(root, "Error"), "too long");
    assert_string_equal(text_at(root, "message"), "too long");
    assert_string_equal(text_at(root, "reason"), "RequestEntityTooLarge");
    json_decref(root);
}

TEST_THAT(every_error_has_a_status)
{
    for (int code = SL_ERR_NONE; code <= SL_ERR_INTERNAL; code++) {
        unsigned status = sl_status_code((enum sl_error_code)code);
        assert_true(status >= 400 && status < 600);
        assert_string_not_equal(sl_status_reason(status), "Unknown");
    }
    assert_int_equal(sl_status_code(SL_ERR_NOMEM), 503);
    assert_int_equal(sl_status_code(SL_ERR_SYNTAX), 400);
}
