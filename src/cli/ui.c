/* The page shows all namespaces, so the daemon serves it on its pod's own loopback alone: whoever
 * may forward a port there may read it. kubectl forwards, with its user's rights and certificates;
 * only where to is found here. */
#include "cli/commands.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "kube/client/url.h"
#include "kube/lease/leader_label.h"

enum { PORT_OF_API = 8888, TEXT_MAX = 512, OPEN_TRIES = 100, OPEN_PAUSE_US = 100000 };

static struct sockaddr_in loopback(unsigned port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* A port of loopback that nobody listens at now; 0: there is none. */
static unsigned free_port(void)
{
    struct sockaddr_in address = loopback(0);
    socklen_t len = sizeof(address);
    unsigned port = 0;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, len) == 0 &&
        getsockname(fd, (struct sockaddr *)&address, &len) == 0) {
        port = ntohs(address.sin_port);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return port;
}

static bool is_listening(unsigned port)
{
    struct sockaddr_in address = loopback(port);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    bool ok = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
    if (fd >= 0) {
        (void)close(fd);
    }
    return ok;
}

/* ---- the browser ---- */

/* In a process of its own: once somebody listens at the port (0: at once). */
static void open_browser(const char *url, unsigned port)
{
    pid_t child = fork();
    if (child != 0) {
        return;
    }
    for (unsigned i = 0; port != 0 && i < OPEN_TRIES && !is_listening(port); i++) {
        const struct timespec pause = {.tv_nsec = OPEN_PAUSE_US * 1000L};
        (void)nanosleep(&pause, NULL);
    }
    (void)execlp("xdg-open", "xdg-open", url, (char *)NULL);
    _exit(SL_CLI_REFUSED);
}

static int tell_page(const struct sl_cli *cli, const char *url, unsigned port)
{
    int told = printf("%s\n", url);
    if (cli->options->open) {
        open_browser(url, port);
    }
    return told > 0 && fflush(stdout) == 0 ? SL_CLI_DONE : SL_CLI_REFUSED;
}

/* ---- the leader's pod ---- */

static int find_leader(struct sl_cli *cli, const char *namespace, struct sl_str *name)
{
    struct sl_cli_answer answer = {.status = 0};
    struct sl_cli_call call = {.method = "GET"};
    sl_buf_init(&call.path, SL_CLI_PATH_MAX);
    sl_buf_puts(&call.path, "/api/v1/namespaces/");
    sl_url_put(&call.path, sl_str_of(namespace));
    sl_buf_puts(&call.path, "/pods?limit=1&labelSelector=");
    sl_url_put(&call.path, SL_STR(SL_LEADER_LABEL "=true"));
    if (sl_cli_ask(cli, &call, &answer) < 0) {
        (void)sl_cli_fail(cli, &answer, NULL);
        if (answer.status == 403) {
            sl_cli_complain("ui takes rights in namespace %s: pods: get, list; pods/portforward: "
                            "create",
                            namespace);
        }
        return -1;
    }
    const struct sl_value *items = sl_value_at(answer.value, "items");
    *name = sl_value_text(items == NULL ? NULL : items->first, "metadata.name");
    if (name->len == 0) {
        sl_cli_complain("no pod in namespace %s leads sliced: say with -n where it is installed",
                        namespace);
        return -1;
    }
    return 0;
}

static int forward(struct sl_cli *cli)
{
    const char *namespace =
        cli->options->namespace == NULL ? "sliced-system" : cli->options->namespace;
    struct sl_str name;
    char pod[TEXT_MAX];
    char ports[TEXT_MAX];
    char url[TEXT_MAX];
    unsigned port = free_port();
    if (find_leader(cli, namespace, &name) < 0) {
        return SL_CLI_REFUSED;
    }
    (void)snprintf(pod, sizeof(pod), "pod/%.*s", (int)(name.len > 253 ? 253 : name.len), name.s);
    (void)snprintf(ports, sizeof(ports), "%u:%d", port, (int)PORT_OF_API);
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/ui/", port);
    sl_client_free(cli->client); /* before processes are made */
    cli->client = NULL;
    const char *argv[13] = {"kubectl",     "port-forward", "--address", "127.0.0.1",
                            "--namespace", namespace,      pod,         ports};
    if (tell_page(cli, url, port) == SL_CLI_DONE) {
        sl_cli_run_kubectl(cli, argv, 8);
    }
    return SL_CLI_REFUSED;
}

int sl_cli_ui(struct sl_cli *cli)
{
    char url[TEXT_MAX];
    if (cli->options->server == NULL) {
        return forward(cli);
    }
    (void)snprintf(url, sizeof(url), "%s/ui/", cli->access.server);
    return tell_page(cli, url, 0);
}
