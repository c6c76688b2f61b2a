/* Access, client and help of a command. */
#include "daemon/command.h"

#include <stdio.h>

#include "kube/access/find.h"
#include "server/metrics/version.h"
#include "util/time.h"

enum {
    TRIES = 6,
    TEXT_BYTES_MAX = 64 << 10,
    ACCESS_MAX = 16 << 20,
    REPLY_MAX = 4 << 20,
    QUEUED_MAX = 1024,
};

static const int64_t call_us = 30 * SL_SECOND_US;
static const int64_t connect_timeout_us = 5 * SL_SECOND_US;

int sl_command_begin(struct sl_command *command, const char *kubeconfig, const char *context,
                     unsigned at_once, struct sl_error *err)
{
    struct sl_access_places places = {.kubeconfig = kubeconfig, .context = context};
    char from[SL_ACCESS_FROM_MAX];
    *command = (struct sl_command){
        .asker = {
            .arena = &command->arena, .tries = TRIES, .call_us = call_us, .repeatable = true}};
    sl_access_environment(&places);
    sl_arena_init(&command->arena, ACCESS_MAX);
    if (sl_access_find(&places, &command->arena, &command->access, from, err) < 0) {
        return -1;
    }
    const struct sl_client_options options = {.access = &command->access,
                                              .user_agent = "sliced/" SL_VERSION,
                                              .max_in_flight = 2 * at_once,
                                              .burst = 1,
                                              .max_queued = QUEUED_MAX,
                                              .connect_timeout_us = connect_timeout_us,
                                              .max_reply = REPLY_MAX};
    command->asker.client = sl_client_new(&options, err);
    return command->asker.client == NULL ? -1 : 0;
}

void sl_command_end(struct sl_command *command)
{
    sl_client_free(command->asker.client);
    sl_arena_free(&command->arena);
}

int sl_command_help(void (*help)(struct sl_buf *out))
{
    struct sl_buf text;
    sl_buf_init(&text, TEXT_BYTES_MAX);
    help(&text);
    bool written = text.failed == SL_BUF_OK && fwrite(text.data, 1, text.len, stdout) == text.len &&
                   fflush(stdout) == 0;
    sl_buf_free(&text);
    return written ? SL_COMMAND_DONE : SL_COMMAND_FAILED;
}
