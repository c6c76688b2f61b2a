/* Whole commands against a server that answers well, badly and hostilely. What the program prints
 * is caught in files. */
#include "unit/cli/rig.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/commands.h"
#include "unit/kube/fake_api.h"

enum { WORDS_MAX = 16, TEXT_MAX = 1 << 20, HUGE_BYTES = 65 << 20 };

static struct {
    struct fake_api *api;
    char folder[64];
    char out[TEXT_MAX]; /* what the last command printed */
    char err[TEXT_MAX];
} g;

#define PATHS "/apis/visibility.sliced.dev/v1alpha1"

/* ---- running ---- */

static void read_file(const char *name, char *text)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", g.folder, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, TEXT_MAX - 1, file)] = '\0';
    (void)fclose(file);
}

/* Lets the file be the descriptor; returns a copy of what that was. */
static int divert(int fd, const char *name)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", g.folder, name);
    int before = dup(fd);
    int file = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    assert_true(before >= 0 && file >= 0 && dup2(file, fd) == fd);
    (void)close(file);
    return before;
}

static void restore(int fd, int before)
{
    assert_int_equal(dup2(before, fd), fd);
    (void)close(before);
}

/* Runs the program with the words of the line and --server; returns its exit status. */
static int run(const char *line)
{
    char text[512];
    char program[] = "kubectl-sliced";
    char *argv[WORDS_MAX] = {program};
    int argc = 1;
    (void)snprintf(text, sizeof(text), "%s --server %s", line, fake_api_url(g.api));
    struct sl_str rest = sl_str_of(text);
    while (rest.len > 0 && argc < WORDS_MAX) {
        struct sl_str word = sl_str_cut(&rest, ' ');
        argv[argc] = &text[word.s - text];
        argv[argc++][word.len] = '\0';
    }
    (void)fflush(stdout);
    int out = divert(STDOUT_FILENO, "out");
    int err = divert(STDERR_FILENO, "err");
    int status = sl_cli_main(argc, argv);
    (void)fflush(stdout);
    restore(STDOUT_FILENO, out);
    restore(STDERR_FILENO, err);
    read_file("out", g.out);
    read_file("err", g.err);
    rig_assert_tame(g.out);
    rig_assert_tame(g.err);
    return status;
}

static void put_answer(unsigned status, const char *path, const char *body)
{
    fake_api_add(g.api, (struct fake_answer){.path = path, .status = status, .body = body});
}

static void assert_says(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("\"%s\" is not in: %s", part, text);
    }
}

static int begin(void **state)
{
    (void)rig_begin(state);
    (void)snprintf(g.folder, sizeof(g.folder), "/tmp/sliced-cli-XXXXXX");
    assert_non_null(mkdtemp(g.folder));
    g.api = fake_api_start();
    return 0;
}

static int end(void **state)
{
    static const char *const names[] = {"out", "err", "pod.yaml"};
    fake_api_stop(g.api);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[128];
        (void)snprintf(path, sizeof(path), "%s/%s", g.folder, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(g.folder);
    return rig_end(state);
}

/* ---- lists ---- */

#define TABLE(rows, more)                                                                          \
    "{\"kind\":\"Table\",\"metadata\":{\"resourceVersion\":\"7\"" more                             \
    "},\"columnDefinitions\":[{\"name\":\"Name\"},{\"name\":\"State\"}],\"rows\":[" rows "]}"
#define ROW(name, state) "{\"cells\":[\"" name "\",\"" state "\"]}"

TEST_FIXTURE(begin, end)

TEST_THAT(pages_become_one_table)
{
    put_answer(200, PATHS "/namespaces/default/queuedpods?continue=a&b",
               TABLE(ROW("second-pod", "Held"), ""));
    put_answer(200, PATHS "/namespaces/default/queuedpods",
               TABLE(ROW("first", "Nominated"), ",\"continue\":\"a&b\""));

    assert_int_equal(run("queue"), SL_CLI_DONE);

    assert_string_equal(g.out, "NAME         STATE\n"
                               "first        Nominated\n"
                               "second-pod   Held\n");
    assert_null(fake_api_request(g.api, 0)->authorization);
}

TEST_THAT(tenants_are_the_namespaces_own_or_all)
{
    put_answer(200, PATHS "/namespaces/default/tenantqueues", TABLE(ROW("own", "x"), ""));
    put_answer(200, PATHS "/clustertenantqueues", TABLE(ROW("all", "x"), ""));
    assert_int_equal(run("tenants"), SL_CLI_DONE);
    assert_string_equal(g.out, "NAME   STATE\nown    x\n");
    assert_int_equal(run("tenants -A"), SL_CLI_DONE);
    assert_string_equal(g.out, "NAME   STATE\nall    x\n");
}

TEST_THAT(usage_of_tenants_is_a_table_of_values)
{
    put_answer(200, PATHS "/clustertenantusages?fieldSelector=status.since=90d&continue=x",
               TABLE(ROW("b", "2.50"), ""));
    put_answer(200, PATHS "/clustertenantusages?fieldSelector=status.since=90d",
               TABLE(ROW("a,\\\"b", "1.00"), ",\"continue\":\"x\""));
    assert_int_equal(run("usage --since 90d -o csv"), SL_CLI_DONE);
    assert_string_equal(g.out, "NAME,STATE\n\"a,\"\"b\",1.00\nb,2.50\n");
}

TEST_THAT(names_cannot_leave_their_place_in_the_path)
{
    struct sl_buf path;
    sl_cli_path(&path, "../x", "queuedpods", "a?b/..");
    assert_string_equal(rig_text(&path), PATHS "/namespaces/..%2Fx/queuedpods/a%3Fb%2F..");
}

TEST_THAT(a_list_without_an_end_is_given_up)
{
    put_answer(200, PATHS "/slicenodes", TABLE("", ",\"continue\":\"x\""));
    assert_int_equal(run("nodes"), SL_CLI_REFUSED);
    assert_says(g.err, "more than 1000 pages");
}

/* ---- refusals ---- */

#define STATUS(reason, message)                                                                    \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"" reason "\",\"message\":\"" message \
    "\"}"

TEST_THAT(the_servers_word_is_told_and_what_to_do)
{
    put_answer(403, PATHS "/namespaces/theirs", STATUS("Forbidden", "alice may not\\u001b[2J"));
    assert_int_equal(run("queue -n theirs"), SL_CLI_REFUSED);
    assert_says(g.err, "Error from server (Forbidden): alice may not\\u001b[2J\n");
    assert_says(g.err, "sliced-visibility");
    assert_string_equal(g.out, "");
}

/* Of each: what the daemon, or the API server before it, answers, and what to do. */
static const struct {
    unsigned status;
    const char *body;
    const char *help;
} laters[] = {
    {503,
     STATUS("ServiceUnavailable",
            "no queue is kept here now: it is not the leader, sliced-1 leads"),
     "does not lead, or has not read the whole cluster yet: try again"},
    {503,
     STATUS("ServiceUnavailable",
            "no queue is kept here now: it has just begun to lead and looks at the cluster anew"),
     "does not lead, or has not read the whole cluster yet: try again"},
    {503, STATUS("ServiceUnavailable", "a copy of the process may take 72 MiB"), "operators"},
    {503, STATUS("ServiceUnavailable", "sliced is shutting down"), "another replica"},
    {503, "service unavailable\n", "kubectl get apiservice v1alpha1.visibility.sliced.dev"},
    {429, STATUS("TooManyRequests", "as many estimates as may be: 64 others wait, ask again"),
     "asked too much"},
};

TEST_THAT(who_cannot_answer_now_is_told_from_who_refuses)
{
    for (size_t i = 0; i < sizeof(laters) / sizeof(laters[0]); i++) {
        fake_api_clear(g.api);
        put_answer(laters[i].status, PATHS, laters[i].body);
        assert_int_equal(run("when --ask nvidia.com/gpu=1"), SL_CLI_LATER);
        assert_says(g.err, laters[i].help);
        assert_string_equal(g.out, "");
    }
    fake_api_clear(g.api);
    put_answer(404, PATHS "/namespaces", STATUS("NotFound", "there is no queue here"));
    put_answer(200, PATHS, "{\"resources\":[{\"name\":\"slicenodes\"}]}");
    assert_int_equal(run("when --ask nvidia.com/gpu=1"), SL_CLI_REFUSED);
    assert_says(g.err, "sliced has no startestimates here: it has them with queue.enabled");
}

TEST_THAT(what_is_missing_is_told_apart)
{
    put_answer(404, PATHS "/usages", STATUS("NotFound", "the server could not find it"));
    put_answer(200, PATHS, "{\"resources\":[{\"name\":\"queuedpods\"}]}");
    put_answer(404, PATHS "/namespaces", STATUS("NotFound", "\\\"gone\\\" not found"));
    assert_int_equal(run("top"), SL_CLI_REFUSED);
    assert_says(g.err, "telemetry.url");

    fake_api_clear(g.api); /* nothing at all is there: 404 page not found */
    assert_int_equal(run("top"), SL_CLI_REFUSED);
    assert_says(g.err, "is not served there");
    assert_int_equal(run("why train"), SL_CLI_REFUSED);
    assert_says(g.err, "is not served there");
    assert_null(strstr(g.err, "on no node"));
}

TEST_THAT(a_busy_server_is_asked_again)
{
    fake_api_add(g.api, (struct fake_answer){.path = PATHS, .status = 429, .times = 1});
    put_answer(200, PATHS, TABLE(ROW("n", "x"), ""));
    assert_int_equal(run("nodes"), SL_CLI_DONE);
    assert_int_equal(fake_api_requests(g.api), 2);
}

/* ---- answers that are none ---- */

TEST_THAT(what_is_no_json_is_said_to_be_none)
{
    static const char *const bodies[] = {
        "<html>\x1b[2J",     "{\"kind\":\"Table\"",
        "[[[[[[[[",          "\xff\xfe",
        "{\"a\":\"\\u12\"}", "{\"kind\":\"Table\",\"rows\":[],\"columnDefinitions\":[]}x"};
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        fake_api_clear(g.api);
        put_answer(200, PATHS, bodies[i]);
        assert_int_equal(run("nodes"), SL_CLI_REFUSED);
        assert_string_equal(g.out, "");
        assert_true(g.err[0] != '\0');
    }
}

TEST_THAT(an_answer_that_breaks_off_is_none)
{
    static const char body[] = TABLE(ROW("train", "Held"), "");
    fake_api_add(g.api, (struct fake_answer){
                            .path = PATHS, .body = body, .cut = true, .cut_at = sizeof(body) - 10});
    assert_int_equal(run("nodes"), SL_CLI_REFUSED);
    assert_string_equal(g.out, "");
}

TEST_THAT(an_answer_without_an_end_is_given_up)
{
    char *body = malloc(HUGE_BYTES);
    assert_non_null(body);
    memset(body, ' ', HUGE_BYTES);
    fake_api_add(g.api, (struct fake_answer){.path = PATHS, .body = body, .body_len = HUGE_BYTES});
    assert_int_equal(run("nodes"), SL_CLI_REFUSED);
    assert_says(g.err, "longer than");
    fake_api_clear(g.api);
    free(body);
}

TEST_THAT(other_things_than_tables_are_refused)
{
    put_answer(200, PATHS, "{\"kind\":\"QueuedPodList\",\"items\":[]}");
    assert_int_equal(run("nodes"), SL_CLI_REFUSED);
    assert_says(g.err, "no table");
    assert_int_equal(run("why train"), SL_CLI_REFUSED);
    assert_says(g.err, "no table");
    assert_int_equal(run("nodes -o yaml"), SL_CLI_DONE); /* shown as it is */
    assert_string_equal(g.out, "kind: QueuedPodList\nitems: []\n");
}

/* ---- watches ---- */

#define EVENT(type, row) "{\"type\":\"" type "\",\"object\":" TABLE(row, "") "}\n"

TEST_THAT(a_watch_tells_what_changes_and_lists_anew_what_it_lost)
{
    put_answer(200, PATHS "/slicenodes?watch=true&resourceVersion=7",
               EVENT("MODIFIED", ROW("one", "b")) "\n" EVENT("BOOKMARK", "{\"cells\":[]}")
                   EVENT("DELETED",
                         ROW("one", "Gone")) "{\"type\":\"ERROR\",\"object\":{\"code\":410}}\n");
    put_answer(200, PATHS "/slicenodes?watch=true",
               EVENT("ADDED", ROW("two", "\\u001b")) "{\"type\":\"ERROR\",\"object\":{\"code\":500,"
                                                     "\"message\":\"enough\\u0007\"}}\n");
    put_answer(200, PATHS "/slicenodes", TABLE(ROW("one", "a"), ""));

    assert_int_equal(run("nodes -w"), SL_CLI_REFUSED);

    assert_string_equal(g.out, "NAME   STATE\n"
                               "one    a\n"
                               "one    b\n"
                               "one    Gone\n"
                               "two    \\u001b\n");
    assert_says(g.err, "enough\\u0007");
}

TEST_THAT(a_watch_prints_objects_one_by_one)
{
    fake_api_add(g.api,
                 (struct fake_answer){.path = PATHS "/namespaces/default/queuedpods?fieldSelector="
                                                    "metadata.name=train&watch=true",
                                      .piece = 3,
                                      .body = "{\"type\":\"ADDED\",\"object\":{\"a\":1}}\n"
                                              "{\"type\":\"ADDED\",\"object\":{\"a\":2}}\n"
                                              "{\"type\":\"ERROR\",\"object\":{\"code\":500}}\n"});
    assert_int_equal(run("queue train -w -o yaml"), SL_CLI_REFUSED);
    assert_string_equal(g.out, "---\na: 1\n---\na: 2\n");
}

/* ---- when ---- */

static void put_pod(const char *text)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/pod.yaml", g.folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs(text, file);
    (void)fclose(file);
}

static int run_when(const char *text)
{
    char line[128];
    put_pod(text);
    (void)snprintf(line, sizeof(line), "when -f %s/pod.yaml", g.folder);
    return run(line);
}

#define STARTED "{\"status\":{\"startsInSeconds\":60,\"estimateKind\":\"estimate\"}}"

TEST_THAT(a_pod_of_options_is_asked_about)
{
    put_answer(201, PATHS "/namespaces/ours/startestimates", STARTED);
    assert_int_equal(run("when -n ours --ask nvidia.com/mig-1g.6gb=2 --timeout 30m"), SL_CLI_DONE);
    const struct sl_value *sent = rig_value(fake_api_request(g.api, 0)->body);
    assert_string_equal(fake_api_request(g.api, 0)->method, "POST");
    assert_true(sl_str_eq(sl_value_text(sent, "kind"), SL_STR("StartEstimate")));
    assert_true(
        sl_str_eq(sl_value_text(sent, "apiVersion"), SL_STR("visibility.sliced.dev/v1alpha1")));
    assert_true(sl_str_eq(sl_value_text(sent, "spec.pod.kind"), SL_STR("Pod")));
    assert_non_null(strstr(fake_api_request(g.api, 0)->body, "\"nvidia.com/mig-1g.6gb\":\"2\""));
    assert_non_null(strstr(fake_api_request(g.api, 0)->body, "\"sliced.dev/timeout\":\"30m\""));
    assert_says(g.out, "Start-In:   1m");
}

TEST_THAT(a_pod_of_a_file_is_asked_about_in_its_namespace)
{
    put_answer(201, PATHS "/namespaces/team-a/startestimates", STARTED);
    assert_int_equal(run_when("apiVersion: v1\nkind: Pod\nmetadata: {name: x, namespace: team-a}\n"
                              "spec:\n  containers:\n  - name: main\n    resources: {limits: "
                              "{nvidia.com/gpu: 1}}\n"),
                     SL_CLI_DONE);
    const struct sl_value *sent = rig_value(fake_api_request(g.api, 0)->body);
    assert_true(sl_str_eq(sl_value_text(sent, "spec.pod.metadata.name"), SL_STR("x")));
}

TEST_THAT(files_that_are_no_pod_are_named)
{
    assert_int_equal(run_when("kind: Job\n"), SL_CLI_WRONG);
    assert_says(g.err, "kind is \"Job\", expected Pod");
    assert_int_equal(run_when("a: [\n"), SL_CLI_WRONG);
    assert_says(g.err, "pod.yaml:");
    assert_int_equal(run_when("kind: Pod\n---\nkind: Pod\n"), SL_CLI_WRONG);
    assert_says(g.err, "second document");
    assert_int_equal(run_when(""), SL_CLI_WRONG);
    assert_int_equal(run("when -f /nowhere/pod.yaml"), SL_CLI_WRONG);
    assert_int_equal(run("when"), SL_CLI_WRONG);
    assert_says(g.err, "either -f FILE or --ask");
    assert_int_equal(run("when --ask a/b=1 --timeout soon"), SL_CLI_WRONG);
    assert_says(g.err, "--timeout takes a duration");
    assert_int_equal(fake_api_requests(g.api), 0);
}

TEST_THAT(no_start_has_a_status_of_its_own)
{
    put_answer(201, PATHS, "{\"status\":{\"startsInSeconds\":null,\"message\":\"never\"}}");
    assert_int_equal(run("when --ask a/b=1"), SL_CLI_NEVER);
    assert_says(g.out, "Start-In:   unknown");
    assert_int_equal(run("when --ask a/b=1 -o json"), SL_CLI_NEVER);
    assert_says(g.out, "\"message\": \"never\"");
}

/* ---- completion ---- */

TEST_THAT(names_of_the_server_complete_words)
{
    char text[256];
    char *words[] = {(char[]){"why"}, (char[]){"--server"}, text, (char[]){"tr"}};
    struct sl_buf out;
    put_answer(200, PATHS "/namespaces/default/queuedpods",
               TABLE(ROW("train-1", "") "," ROW("other", "") "," ROW("tr$(rm)\\n", ""), ""));
    put_answer(200, PATHS "/namespaces/default/runningpods", TABLE(ROW("train-2", ""), ""));
    (void)snprintf(text, sizeof(text), "%s", fake_api_url(g.api));
    sl_buf_init(&out, 1 << 16);
    sl_cli_complete(&sl_cli_commands, 4, words, &out);
    assert_string_equal(rig_text(&out), "train-1\t\ntrain-2\t\n:4\n");
}
