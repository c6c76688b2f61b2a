/* Command line of slicesim: one table of options. */
#include "sim/options.h"

#include <stddef.h>

#include "util/term/option.h"

enum {
    IN_RUN = 1 << SL_COMMAND_RUN,
    SEEDS_MAX = 1000000,
    THREADS_MAX = 256,
};

#define AT(member) .at = offsetof(struct sl_sim_options, member)

static const struct sl_option options[] = {
    {"--trace", "FORMAT:FILE",
     "jobs from a trace: csv, openb, philly, philly-log, vc, helios, pai, spot-gpu or adaptdl",
     AT(trace), .kind = SL_OPTION_ONCE, .commands = IN_RUN},
    {"--generate", "SPEC", "jobs from a generator: KEY=VALUE,... (below)", AT(generate),
     .kind = SL_OPTION_ONCE, .commands = IN_RUN},
    {"--live", "FILE",
     "a cluster with what waits there now: what \"kubectl get nodes,pods -A -o json\" prints (- "
     "for "
     "standard input); running pods end at their timeouts",
     AT(live), .kind = SL_OPTION_ONCE, .commands = IN_RUN},
    {"--at", "TIME", "with --live: when it was printed (now), as in 2026-11-21T12:00:00Z", AT(at),
     .kind = SL_OPTION_ONCE, .commands = IN_RUN},
    {"--for", "DURATION", "with --live: how long to play, as in 7d (until all have ended)",
     AT(horizon), .kind = SL_OPTION_ONCE, .commands = IN_RUN},
    {"--cluster", "FILE...",
     "nodes from manifests, as sliced takes them: the output of \"kubectl get nodes,pods -A -o "
     "yaml\"; pods bound there keep their devices",
     AT(cluster), .kind = SL_OPTION_OTHER, .commands = IN_RUN},
    {"--nodes", "FORMAT:FILE", "nodes from a list: openb or csv", AT(nodes), .kind = SL_OPTION_ONCE,
     .commands = IN_RUN},
    {"--gpus", "N|NODESxN[:MODEL]",
     "N whole GPUs, 8 to a node; or that many nodes of N; or of a MIG model cut as asked "
     "(2x2:A30:1g.6gb*4)",
     AT(gpus), .kind = SL_OPTION_ONCE, .commands = IN_RUN},
    {"--partitioning", "HOW",
     "how MIG GPUs are cut: none (as they are), static:CUT (all alike), best-static (the best of "
     "many, in hindsight), dynamic[,seconds=N] (by what waits)",
     AT(partitioning), .kind = SL_OPTION_ONCE, .commands = IN_RUN},
    {"--policy", "NAME,...",
     "which job goes first: fifo, sjf, p, hrrn, bounded, with parameters as in p:gamma=0.25; or "
     "config:FILE",
     AT(policy), .kind = SL_OPTION_ONCE, .commands = IN_RUN},
    {"--estimate", "exact|factor:LOW:HIGH",
     "timeouts of jobs, by their run times, instead of the trace's", AT(estimate),
     .kind = SL_OPTION_ONCE, .commands = IN_RUN},
    {"--runtime", "DISTRIBUTION", "run times, instead of the trace's", AT(runtime),
     .kind = SL_OPTION_ONCE, .commands = IN_RUN},
    {"--decisions", "FILE",
     "write which job started when, where, on which devices, and how it ended (CSV)", AT(decisions),
     .kind = SL_OPTION_ONCE, .commands = IN_RUN},
    {"--commands", "FILE",
     "write the engine's commands, as the daemon's log has them at level debug", AT(commands),
     .kind = SL_OPTION_ONCE, .commands = IN_RUN},
    {"--seeds", "N", "runs, each with the next seed", AT(seeds), .min = 1, .max = SEEDS_MAX,
     .kind = SL_OPTION_NUMBER, .commands = IN_RUN},
    {"--seed", "N", "the first seed (1)", AT(seed), .min = 0, .max = INT64_MAX,
     .kind = SL_OPTION_NUMBER, .commands = IN_RUN},
    {"--threads", "N", "how many run at once (one per processor); results do not depend on it",
     AT(threads), .min = 1, .max = THREADS_MAX, .kind = SL_OPTION_NUMBER, .commands = IN_RUN},
    {"--output", "table|csv|json", "form of the report (table)", AT(output_name),
     .kind = SL_OPTION_ONCE, .commands = IN_RUN, .letter = 'o'},
    {"--audit", NULL, "check after each step that the engine's parts agree: slow, for developers",
     AT(audit), .commands = IN_RUN},
    {"--quiet", NULL, "no progress and no notes on standard error", AT(quiet), .commands = IN_RUN},
    {"--version", NULL, "print the version and exit", AT(version)},
    {"--help", NULL, "print this and exit", AT(help), .letter = 'h'},
};

static const char *const outputs[] = {
    [SL_OUTPUT_TABLE] = "table",
    [SL_OUTPUT_CSV] = "csv",
    [SL_OUTPUT_JSON] = "json",
};

static const char *const commands[] = {
    [SL_COMMAND_NONE] = "slicesim",
    [SL_COMMAND_RUN] = "slicesim run",
};

static struct sl_option_table table_of(enum sl_sim_command command)
{
    return (struct sl_option_table){.option = options,
                                    .n = sizeof(options) / sizeof(options[0]),
                                    .command = commands[command],
                                    .which = 1U << command};
}

/* ---- parsing ---- */

static int add_file(struct sl_sim_options *out, const char *file, struct sl_error *err)
{
    if (out->n_cluster == SL_SIM_FILES_MAX) {
        return sl_error_set(err, SL_ERR_LIMIT, "more than %d cluster files", SL_SIM_FILES_MAX);
    }
    out->cluster[out->n_cluster++] = file;
    return 0;
}

static int take_output(struct sl_sim_options *out, struct sl_error *err)
{
    if (out->output_name == NULL) {
        return 0;
    }
    for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++) {
        if (strcmp(outputs[i], out->output_name) == 0) {
            out->output = (enum sl_output)i;
            return 0;
        }
    }
    return sl_error_set(err, SL_ERR_FIELD, "--output \"%s\": expected table, csv or json",
                        out->output_name);
}

/* A word without dashes: a further file of --cluster. */
static int take_word(struct sl_sim_options *out, const char *word, bool files, struct sl_error *err)
{
    if (files) {
        return add_file(out, word, err);
    }
    return sl_error_set(err, SL_ERR_FIELD, "unexpected \"%s\"; %s --help shows how", word,
                        commands[out->command]);
}

static int take_command(struct sl_sim_options *out, const char *word, struct sl_error *err)
{
    if (strcmp(word, "run") == 0) {
        out->command = SL_COMMAND_RUN;
    } else if (strcmp(word, "help") == 0) {
        out->help = true;
    } else if (strcmp(word, "version") == 0) {
        out->version = true;
    } else {
        return sl_error_set(err, SL_ERR_FIELD,
                            "unknown command \"%s\"; expected run, help or version", word);
    }
    return 0;
}

int sl_sim_options_parse(int argc, char *const *argv, struct sl_sim_options *out,
                         struct sl_error *err)
{
    memset(out, 0, sizeof(*out));
    out->seed = 1;
    int first = 1;
    bool files = false;
    if (argc > 1 && argv[1][0] != '-') {
        if (take_command(out, argv[1], err) < 0) {
            return -1;
        }
        first = 2;
    }
    for (int i = first; i < argc; i++) {
        const char *word = argv[i];
        const char *value = NULL;
        if (word[0] != '-' || strcmp(word, "-") == 0) {
            if (take_word(out, word, files, err) < 0) {
                return -1;
            }
            continue;
        }
        const struct sl_option_table table = table_of(out->command);
        const struct sl_option *option = sl_option_take(&table, argc, argv, &i, out, &value, err);
        files = option != NULL && option->kind == SL_OPTION_OTHER;
        if (option == NULL || (files && add_file(out, value, err) < 0)) {
            return -1;
        }
    }
    return take_output(out, err);
}

/* ---- help ---- */

static void list_options(enum sl_sim_command command, struct sl_buf *out)
{
    const struct sl_option_table table = table_of(command);
    sl_buf_puts(out, "\nOptions:\n");
    sl_option_help(&table, 32, out);
}

static void help_none(struct sl_buf *out)
{
    sl_buf_printf(
        out,
        "slicesim %s: plays the policies of sliced in virtual time: which job starts when and "
        "where\n\n"
        "Usage: slicesim run --trace FORMAT:FILE|--generate SPEC\n"
        "                    --cluster FILE|--nodes FORMAT:FILE|--gpus N\n"
        "                    --policy NAME[,NAME...] [--seeds N] [-o table|csv|json]\n"
        "\nCommands:\n"
        "  run         simulate a workload on a cluster; slicesim run --help\n",
        SL_VERSION);
    list_options(SL_COMMAND_NONE, out);
    sl_buf_puts(out, "\nExit status: 0 done, 1 the system refused something, 2 wrong option, "
                     "trace, cluster or\nconfiguration.\n");
}

static const char run_help[] =
    "\nGenerator, KEY=VALUE separated by commas; keys that are left out are as in this line:\n"
    "  tasks=20,gap=exp:25,runtime=loguniform:1:3,ask=nvidia.com/gpu:1,estimate=exact,priority=0,\n"
    "  namespace=default\n"
    "  tasks      how many jobs\n"
    "  gap        seconds between two submissions, a distribution; the first job comes at 0\n"
    "  runtime    seconds, a distribution; rounded up to whole seconds, as Kubernetes' deadlines\n"
    "             are\n"
    "  ask        RESOURCE:COUNT, or several with their shares: nvidia.com/gpu:1@0.8+"
    "nvidia.com/gpu:4@0.2\n"
    "  estimate   the timeout: exact, or factor:LOW:HIGH (run time times a number drawn evenly)\n"
    "  priority, namespace   one value, or several with their shares: 0@0.9+100@0.1\n"
    "Distributions:\n"
    "  constant:X  uniform:LOW:HIGH  exp:MEAN  loguniform:A:B (10^A..10^B)\n"
    "  lognormal:MU:SIGMA (of the natural logarithm)\n"
    "\nPolicies:\n"
    "  fifo       by priority, then submission\n"
    "  sjf        by priority, then the shorter timeout\n"
    "  p          by P = alpha*priority - beta*timeout - gamma*submission; p:gamma=0.25\n"
    "  hrrn       by priority, then (wait + timeout)/timeout\n"
    "  bounded    as sjf, but no job waits longer than c times FIFO's longest wait; bounded:c=1.3\n"
    "  Every policy takes backfill=true|false, default-timeout=SECONDS and score=TERM*WEIGHT+...,\n"
    "  of the terms availability, packing, spreading, fragmentation, whole (score=packing).\n"
    "  config:FILE takes order, limits, headroom and weights from a configuration of sliced.\n"
    "\nPartitioning, of GPUs of known MIG models:\n"
    "  none            GPUs stay as --gpus or the manifests say\n"
    "  static:CUT      every GPU gets that cut: static:1g.5gb*3+2g.10gb*2\n"
    "  best-static     tries cuts alike on all GPUs, and mixes by demand; says which was best\n"
    "  dynamic         sliced cuts by what waits; a cut takes the GPUs of its node away for a "
    "time.\n"
    "    seconds=N     for which a cut takes them (mig-manager 60, nos 10)\n"
    "    actuator=A    mig-manager (only GPUs with nothing running) or nos (free instances)\n"
    "    nodes=N       cut at once (2)\n"
    "    window=N      seconds for which cuts wait for more pods at most (5)\n"
    "    drain=BOOL    keep GPUs free until a larger instance has room (true)\n"
    "\nExamples:\n"
    "  slicesim run --generate tasks=20 --gpus 2 --policy fifo,sjf,p --seeds 100\n"
    "  slicesim run --generate tasks=1000,estimate=factor:1:5 --gpus 9 --policy bounded,sjf "
    "-o json\n"
    "  slicesim run --trace csv:jobs.csv --cluster deploy/examples/a30-mixed.yaml --policy "
    "bounded\n"
    "  slicesim run --generate ask=nvidia.com/mig-1g.5gb:1+nvidia.com/mig-3g.20gb:1 --policy "
    "bounded \\\n"
    "    --gpus 2x4:A100-SXM4-40GB:7g.40gb --partitioning dynamic,seconds=30\n"
    "  kubectl get nodes,pods -A -o json | slicesim run --live - --policy bounded,fifo --for 7d\n"
    "\nTimes are in seconds in every report. docs/simulator.md says what each figure is.\n";

static void help_run(struct sl_buf *out)
{
    sl_buf_puts(out,
                "Usage: slicesim run --trace FORMAT:FILE|--generate SPEC\n"
                "                    --cluster FILE|--nodes FORMAT:FILE|--gpus N\n"
                "                    --policy NAME[,NAME...] [--partitioning HOW] [--seeds N]\n"
                "                    [-o table|csv|json]\n"
                "       slicesim run --live FILE --policy NAME[,NAME...] [--for DURATION]\n"
                "                    [--partitioning HOW] [-o table|csv|json]\n");
    list_options(SL_COMMAND_RUN, out);
    sl_buf_puts(out, run_help);
}

void sl_sim_options_help(enum sl_sim_command command, struct sl_buf *out)
{
    if (command == SL_COMMAND_RUN) {
        help_run(out);
    } else {
        help_none(out);
    }
}
