/* Waits for the client's thread. */
#include "kube/client/ask.h"

#include <pthread.h>

struct answer {
    const struct sl_question *question;
    struct sl_arena *arena; /* the client's thread's until done */
    struct sl_str *body;
    struct sl_error *err;
    int status;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool done;
};

static void on_answer(void *context, const struct sl_reply *reply)
{
    struct answer *answer = context;
    answer->status = reply->status;
    if (reply->status < 200 || reply->status > 299) {
        *answer->err = reply->err;
    } else if (answer->body != NULL) {
        answer->body->len = reply->body.len;
        answer->body->s = sl_arena_strdup(answer->arena, reply->body.s, reply->body.len);
        if (answer->body->s == NULL) {
            (void)sl_error_nomem(answer->err);
            answer->status = 0;
        }
    }
    if (answer->question->take != NULL) {
        answer->question->take(answer->question->context, reply);
    }
    (void)pthread_mutex_lock(&answer->lock);
    answer->done = true;
    (void)pthread_cond_signal(&answer->changed);
    (void)pthread_mutex_unlock(&answer->lock);
}

static int on_data(void *context, const char *data, size_t len, struct sl_error *err)
{
    const struct sl_question *question = ((const struct answer *)context)->question;
    return question->data(question->context, data, len, err);
}

int sl_ask(const struct sl_asker *asker, const struct sl_question *question, struct sl_str *body,
           struct sl_error *err)
{
    const bool stream = question->data != NULL;
    struct answer answer = {.question = question,
                            .arena = asker->arena,
                            .body = body,
                            .err = err,
                            .lock = PTHREAD_MUTEX_INITIALIZER,
                            .changed = PTHREAD_COND_INITIALIZER};
    const struct sl_call_options call = {.method = question->method,
                                         .path = question->path,
                                         .content_type = question->content_type,
                                         .body = question->body,
                                         .form = question->form,
                                         .priority = stream ? SL_CALL_STREAM : SL_CALL_NORMAL,
                                         .repeatable = asker->repeatable,
                                         .max_tries = asker->tries,
                                         .timeout_us = asker->call_us,
                                         .silence_us = question->silence_us,
                                         .data = stream ? on_data : NULL,
                                         .done = on_answer,
                                         .context = &answer};
    if (sl_client_call(asker->client, &call, NULL, err) < 0) {
        return 0;
    }
    (void)pthread_mutex_lock(&answer.lock);
    while (!answer.done) {
        (void)pthread_cond_wait(&answer.changed, &answer.lock);
    }
    (void)pthread_mutex_unlock(&answer.lock);
    return answer.status;
}
