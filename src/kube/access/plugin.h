/* Exec credential plugins: makes their environment, runs one, and reads its answer. Private to
 * auth.c. */
#ifndef SLICED_KUBE_PLUGIN_H
#define SLICED_KUBE_PLUGIN_H

#include "kube/access/kubeconfig.h"
#include "util/buf.h"

/* A plugin's answer (an ExecCredential's status). */
struct sl_plugin_answer {
    struct sl_str token; /* empty: none */
    struct sl_str cert;  /* PEM, with key or not at all */
    struct sl_str key;
    int64_t expires_us; /* Unix microseconds; INT64_MAX: not said */
};

struct sl_plugin {
    const char *command;
    const char **argv; /* with the command first, NULL-terminated */
    const char **envp; /* ours, the plugin's own, KUBERNETES_EXEC_INFO */
};

/* Puts argv and envp together in the arena. */
int sl_plugin_init(struct sl_plugin *plugin, const struct sl_kube_access *access,
                   struct sl_arena *arena, struct sl_error *err);

/* Runs the plugin and waits, with nothing on its standard input. It is killed, with what it
 * started, after timeout_us or when stop_fd becomes readable. Its standard output goes to out (no
 * more than out->max bytes), the end of its standard error into *err when it fails. */
int sl_plugin_run(const struct sl_plugin *plugin, int64_t timeout_us, int stop_fd,
                  struct sl_buf *out, struct sl_error *err);

/* Reads an ExecCredential of that apiVersion; text is copied into the arena. */
int sl_plugin_read(struct sl_str json, const char *api_version, struct sl_arena *arena,
                   struct sl_plugin_answer *out, struct sl_error *err);

#endif
