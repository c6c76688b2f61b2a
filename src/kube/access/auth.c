/* Gets credentials, keeps them for as long as they hold, and gets new ones in time. */
#define _GNU_SOURCE 1 /* pipe2 */

#include "kube/access/auth.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "kube/access/file.h"
#include "kube/access/plugin.h"
#include "util/base64.h"
#include "util/buf.h"
#include "util/time.h"

enum { TOKEN_MAX = 64 << 10, ANSWER_MAX = 256 << 10, ARENA_MAX = 1 << 20 };

static const int64_t token_file_us = SL_MINUTE_US;
static const int64_t early_us = 30 * SL_SECOND_US;
static const int64_t pause_us =
    SL_SECOND_US; /* between a plugin's failure, or end, and its next run */
static const int64_t plugin_timeout_us = 30 * SL_SECOND_US;

/* One run of the plugin. It has a thread of its own: it may take seconds, in which a lease must be
 * renewed. Until it has set done under the lock, all of this is that thread's. */
struct run {
    pthread_t thread;
    pthread_mutex_t lock;
    bool active; /* there is a thread to join; only our thread looks */
    bool done;
    int stop[2]; /* a pipe: closing its writing end stops the plugin */
    int result;
    struct sl_plugin_answer answer;
    struct sl_error err;
    struct sl_arena arena;
};

struct sl_auth {
    const struct sl_kube_access *access;
    void (*wake)(void *context);
    void *context;
    struct sl_plugin plugin; /* in arena */
    struct sl_arena arena;
    struct run run;
    /* in force */
    char *header;
    char *cert;
    char *key;
    size_t cert_len;
    size_t key_len;
    uint64_t serial; /* 0: nothing is in force */
    bool refused;
    int64_t expires_us; /* of what a plugin gave */
    int64_t read_us;    /* when the token file was read, or the plugin ended last */
    bool failed;        /* the plugin's last run: err */
    struct sl_error err;
};

/* ---- what is in force ---- */

static void take_header(struct sl_auth *auth, char *header)
{
    free(auth->header);
    auth->header = header;
    auth->serial++;
    auth->refused = false;
}

/* Refuses text that would end the header's line, or add one. */
static int make_header(const char *scheme, struct sl_str text, char **out, struct sl_error *err)
{
    size_t scheme_len = strlen(scheme);
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.s[i] <= ' ' || text.s[i] == 0x7f) {
            return sl_error_set(err, SL_ERR_SYNTAX,
                                "there is a blank or control character in the "
                                "token");
        }
    }
    *out = malloc(scheme_len + text.len + 1);
    if (*out == NULL) {
        return sl_error_nomem(err);
    }
    memcpy(*out, scheme, scheme_len);
    memcpy(*out + scheme_len, text.s, text.len);
    (*out)[scheme_len + text.len] = '\0';
    return 0;
}

static struct sl_str trim_text(struct sl_str text)
{
    while (text.len > 0 && (unsigned char)text.s[0] <= ' ') {
        text.s++;
        text.len--;
    }
    while (text.len > 0 && (unsigned char)text.s[text.len - 1] <= ' ') {
        text.len--;
    }
    return text;
}

static int set_basic(struct sl_auth *auth, struct sl_error *err)
{
    const struct sl_kube_access *access = auth->access;
    struct sl_buf plain;
    struct sl_buf text;
    char *header = NULL;
    sl_buf_init(&plain, TOKEN_MAX);
    sl_buf_init(&text, (size_t)TOKEN_MAX * 2);
    sl_buf_puts(&plain, access->username);
    sl_buf_putc(&plain, ':');
    sl_buf_puts(&plain, access->password == NULL ? "" : access->password);
    sl_base64_encode((struct sl_str){plain.data, plain.len}, &text);
    int result = plain.failed != SL_BUF_OK || text.failed != SL_BUF_OK
                     ? sl_error_nomem(err)
                     : make_header("Basic ", (struct sl_str){text.data, text.len}, &header, err);
    if (result == 0) {
        take_header(auth, header);
    }
    sl_buf_free(&plain);
    sl_buf_free(&text);
    return result;
}

/* ---- a token file ---- */

static int read_token(struct sl_auth *auth, char **header, struct sl_error *err)
{
    struct sl_arena arena;
    struct sl_str text = SL_STR("");
    sl_arena_init(&arena, ARENA_MAX);
    int result = sl_file_read(auth->access->token_file, TOKEN_MAX, &arena, &text, err);
    if (result == 0) {
        text = trim_text(text);
        result = text.len == 0 ? sl_error_set(err, SL_ERR_FIELD, "the file is empty")
                               : make_header("Bearer ", text, header, err);
        result = result < 0 ? sl_error_wrap(err, "%s", auth->access->token_file) : 0;
    }
    sl_arena_free(&arena);
    return result;
}

static int renew_token(struct sl_auth *auth, int64_t now_us, struct sl_error *err)
{
    char *header = NULL;
    struct sl_error why = {.code = SL_ERR_NONE};
    /* a clock that was set back must not keep an old token in force */
    bool fresh = now_us >= auth->read_us && now_us - auth->read_us < token_file_us;
    if (auth->serial != 0 && fresh && !auth->refused) {
        return 0;
    }
    int result = read_token(auth, &header, &why);
    auth->read_us = now_us;
    auth->refused = false;
    if (result < 0 && auth->serial == 0 && auth->access->token != NULL) {
        result = make_header("Bearer ", sl_str_of(auth->access->token), &header, &why);
    }
    if (result < 0 && auth->serial == 0) {
        return sl_error_set(err, why.code, "%s", why.message);
    }
    if (header != NULL && auth->header != NULL && strcmp(header, auth->header) == 0) {
        free(header);
    } else if (header != NULL) {
        take_header(auth, header);
    }
    return 0;
}

/* ---- a plugin ---- */

static void *run_plugin(void *context)
{
    struct sl_auth *auth = context;
    struct run *run = &auth->run;
    struct sl_buf out;
    sl_buf_init(&out, ANSWER_MAX);
    int result = sl_plugin_run(&auth->plugin, plugin_timeout_us, run->stop[0], &out, &run->err);
    if (result == 0) {
        result = sl_plugin_read((struct sl_str){out.data, out.len}, auth->access->exec.api_version,
                                &run->arena, &run->answer, &run->err);
    }
    if (result < 0) {
        (void)sl_error_wrap(&run->err, "credential plugin %s", auth->plugin.command);
    }
    sl_buf_free(&out);
    (void)pthread_mutex_lock(&run->lock);
    run->result = result;
    run->done = true;
    (void)pthread_mutex_unlock(&run->lock);
    auth->wake(auth->context);
    return NULL;
}

static int start_plugin(struct sl_auth *auth, struct sl_error *err)
{
    struct run *run = &auth->run;
    sl_arena_reset(&run->arena);
    if (pipe2(run->stop, O_CLOEXEC) < 0) {
        return sl_error_set(err, SL_ERR_SYSTEM, "cannot make a pipe for a credential plugin");
    }
    sigset_t all;
    sigset_t before;
    run->done = false;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&run->thread, NULL, run_plugin, auth);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code != 0) {
        (void)close(run->stop[0]);
        (void)close(run->stop[1]);
        return sl_error_set(err, SL_ERR_SYSTEM, "cannot start a thread: %s", strerror(code));
    }
    run->active = true;
    return 0;
}

static void join_plugin(struct sl_auth *auth, bool stop)
{
    struct run *run = &auth->run;
    if (stop) {
        (void)close(run->stop[1]);
    }
    (void)pthread_join(run->thread, NULL);
    if (!stop) {
        (void)close(run->stop[1]);
    }
    (void)close(run->stop[0]);
    run->active = false;
}

static int copy_text(struct sl_str text, char **out, size_t *len)
{
    char *data = NULL;
    if (text.len > 0) {
        data = malloc(text.len);
        if (data == NULL) {
            return -1;
        }
        memcpy(data, text.s, text.len);
    }
    free(*out);
    *out = data;
    *len = text.len;
    return 0;
}

static int take_answer(struct sl_auth *auth, struct sl_error *err)
{
    const struct sl_plugin_answer *answer = &auth->run.answer;
    char *header = NULL;
    if (answer->token.len > 0 && make_header("Bearer ", answer->token, &header, err) < 0) {
        return sl_error_wrap(err, "credential plugin %s", auth->plugin.command);
    }
    if (copy_text(answer->cert, &auth->cert, &auth->cert_len) < 0 ||
        copy_text(answer->key, &auth->key, &auth->key_len) < 0) {
        free(header);
        auth->cert_len = 0;
        auth->key_len = 0;
        return sl_error_nomem(err);
    }
    take_header(auth, header);
    auth->expires_us = answer->expires_us;
    return 0;
}

/* Takes the result of a run that is over, if there is one. */
static void finish_plugin(struct sl_auth *auth, int64_t now_us)
{
    struct run *run = &auth->run;
    (void)pthread_mutex_lock(&run->lock);
    bool done = run->active && run->done;
    (void)pthread_mutex_unlock(&run->lock);
    if (!done) {
        return;
    }
    join_plugin(auth, false);
    auth->read_us = now_us;
    auth->err = run->err;
    auth->failed = run->result < 0 || take_answer(auth, &auth->err) < 0;
}

static int renew_plugin(struct sl_auth *auth, int64_t now_us, struct sl_error *err)
{
    finish_plugin(auth, now_us);
    bool lasting = auth->serial != 0 && !auth->refused && auth->expires_us - now_us > early_us;
    bool paused = now_us >= auth->read_us && now_us - auth->read_us < pause_us;
    bool in_force = auth->serial != 0 && !auth->refused && auth->expires_us > now_us;
    if (!lasting && !paused && !auth->run.active && start_plugin(auth, &auth->err) < 0) {
        auth->failed = true;
        auth->read_us = now_us;
    }
    if (in_force) {
        return SL_AUTH_READY;
    }
    if (auth->run.active) {
        return SL_AUTH_WAIT;
    }
    if (auth->failed) {
        return sl_error_set(err, auth->err.code, "%s", auth->err.message);
    }
    /* they were refused, or expired, as soon as they were given: another run would not help */
    return SL_AUTH_READY;
}

/* ---- all of it ---- */

struct sl_auth *sl_auth_new(const struct sl_kube_access *access, void (*wake)(void *context),
                            void *context, struct sl_error *err)
{
    struct sl_auth *auth = calloc(1, sizeof(*auth));
    if (auth == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    auth->access = access;
    auth->wake = wake;
    auth->context = context;
    auth->read_us = INT64_MIN / 2;
    sl_arena_init(&auth->arena, ARENA_MAX);
    sl_arena_init(&auth->run.arena, ARENA_MAX);
    (void)pthread_mutex_init(&auth->run.lock, NULL);
    if (access->exec.api_version != NULL &&
        sl_plugin_init(&auth->plugin, access, &auth->arena, err) < 0) {
        sl_auth_free(auth);
        return NULL;
    }
    return auth;
}

void sl_auth_free(struct sl_auth *auth)
{
    if (auth == NULL) {
        return;
    }
    if (auth->run.active) {
        join_plugin(auth, true);
    }
    (void)pthread_mutex_destroy(&auth->run.lock);
    sl_arena_free(&auth->run.arena);
    sl_arena_free(&auth->arena);
    free(auth->header);
    free(auth->cert);
    free(auth->key);
    free(auth);
}

/* As in client-go, a token or password in the file goes before a plugin. */
static int renew_credentials(struct sl_auth *auth, int64_t now_us, struct sl_error *err)
{
    const struct sl_kube_access *access = auth->access;
    char *header = NULL;
    if (access->token_file != NULL) {
        return renew_token(auth, now_us, err);
    }
    if (access->exec.api_version != NULL && access->token == NULL && access->username == NULL) {
        return renew_plugin(auth, now_us, err);
    }
    if (auth->serial != 0) {
        return SL_AUTH_READY;
    }
    if (access->token != NULL) {
        if (make_header("Bearer ", sl_str_of(access->token), &header, err) < 0) {
            return -1;
        }
    } else if (access->username != NULL) {
        return set_basic(auth, err);
    }
    take_header(auth, header);
    return SL_AUTH_READY;
}

int sl_auth_get(struct sl_auth *auth, int64_t now_us, struct sl_credentials *out,
                struct sl_error *err)
{
    int result = renew_credentials(auth, now_us, err);
    if (result == SL_AUTH_READY) {
        *out = (struct sl_credentials){.authorization = auth->header,
                                       .cert = {auth->cert, auth->cert_len},
                                       .key = {auth->key, auth->key_len},
                                       .serial = auth->serial};
    }
    return result;
}

void sl_auth_refused(struct sl_auth *auth, uint64_t serial)
{
    auth->refused = auth->refused || serial == auth->serial;
}
