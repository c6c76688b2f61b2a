/* A model-based fuzzer: plays the API server, its users, kube-scheduler and time to the daemon in
 * this process, and holds what the daemon does against an account of its own.
 *
 * A run is a seed: its world begins empty, goes N steps, ends empty. Each is a process of its own,
 * so that a failure can be played again with fewer kinds of moves. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "adversary/account.h"
#include "adversary/checks.h"
#include "adversary/cuts.h"
#include "adversary/fake_time.h"
#include "adversary/gauges.h"
#include "adversary/hooks.h"
#include "adversary/machines.h"
#include "adversary/moves.h"
#include "adversary/nominees.h"
#include "adversary/threads.h"
#include "adversary/usage.h"
#include "adversary/world.h"
#include "chaos/wrap.h"

enum { STEPS = 1500, MOVES_MAX = 64, COUNTS_MAX = 28 };
/* Of an empty cluster: Events that are remembered, hash tables that have grown, and buffers for the
 * pages of exporters. */
enum { KEPT_BYTES = 4 << 20, MEASURES_BYTES = 8 << 20 };

struct options {
    unsigned long seconds;
    uint64_t seed;
    unsigned long steps;
    unsigned long runs; /* 0: as many as the time allows */
    enum play play;
    bool no_shrink, threads;
    bool without[MOVES_MAX];
};

static const char help[] =
    "usage: adversary [OPTION...]\n"
    "  --seconds N       goes on with further seeds for so long (default: one run)\n"
    "  --runs N          that many runs\n"
    "  --seed N|clock    of the first run (default 1)\n"
    "  --steps N         of each run (default 1500)\n"
    "  --without A,B     leaves these kinds of moves out\n"
    "  --moves           lists them\n"
    "  --play all|cuts|usage  everything that users write, or GPUs that are cut, or that are\n"
    "                    shared and measured (default all)\n"
    "  --threads         many at once, and the daemon's own threads\n"
    "  --no-shrink       does not look which moves a failure needs\n"
    "  --help\n"
    "A failure says by which seed, steps and moves it is repeated.\n";

static bool is_played(const struct options *options, const struct move *move)
{
    return (move->plays & 1U << options->play) != 0;
}

/* ---- one run ---- */

/* What a run has counted, for its parent. */
struct sums {
    uint64_t count[COUNTS_MAX];
};

static const char *const count_names[] = {
    "steps",         "pods",          "nodes",           "filters",
    "nodes passed",  "binds",         "bindings posted", "bound",
    "refused",       "nominations",   "places",          "reloads",
    "relists",       "leaderships",   "checks",          "Events",
    "restarts",      "cuts ordered",  "cuts ended",      "entries too early",
    "pods rejected", "shares judged", "beyond asks",     "idlers ended",
    "idlers seen",   "estimates",     "watches",         "left to nominees"};

static void gather(struct sums *sums, uint64_t steps)
{
    const uint64_t all[COUNTS_MAX] = {steps,
                                      move_counts.pods,
                                      move_counts.nodes,
                                      move_counts.filters,
                                      move_counts.passed,
                                      move_counts.binds,
                                      account_counts.bindings,
                                      world_counts.bound,
                                      world_counts.refused_binds,
                                      account_counts.nominations,
                                      account_counts.checked_places,
                                      move_counts.reloads,
                                      move_counts.relists,
                                      move_counts.leaderships,
                                      move_counts.checks,
                                      world_counts.events,
                                      move_counts.restarts,
                                      cuts_counts.orders,
                                      cuts_counts.ends,
                                      machines_counts.early,
                                      machines_counts.rejected,
                                      usage_counts.judged,
                                      usage_counts.beyond,
                                      usage_counts.ended,
                                      usage_counts.idlers,
                                      move_counts.estimates,
                                      move_counts.watches,
                                      nominees_judged};
    for (unsigned i = 0; i < COUNTS_MAX; i++) {
        sums->count[i] = all[i];
    }
}

static const struct move *pick_move(struct rng *rng, const struct options *options)
{
    unsigned sum = 0;
    for (size_t i = 0; i < n_moves; i++) {
        sum += moves[i].weight;
    }
    for (;;) {
        unsigned at = rng_below(rng, sum);
        size_t i = 0;
        while (at >= moves[i].weight) {
            at -= moves[i++].weight;
        }
        if (!options->without[i]) {
            return &moves[i];
        }
    }
}

static void play(const struct options *options, uint64_t seed, struct sums *sums)
{
    static struct rig rig; /* large */
    char text[300];
    struct rng rng = {seed};
    hooks_begin(rng_next(&rng), options->threads);
    rig_play(options->play);
    fake_time_begin();
    account_begin(!options->threads);
    world_begin();
    cuts_begin();
    gauges_begin();
    rig_begin(&rig, rng_next(&rng), options->threads);
    (void)rig_settle(&rig);
    size_t empty = chaos_live_bytes();
    if (options->threads) {
        threads_play(&rig, rng_next(&rng), options->steps, options->without);
        check_context("rest");
        moves_settle(&rig);
    }
    for (unsigned long step = 0; !options->threads && step < options->steps; step++) {
        const struct move *move = pick_move(&rng, options);
        (void)snprintf(text, sizeof(text), "seed %llu, step %lu (%s)", (unsigned long long)seed,
                       step, move->name);
        check_context(text);
        move->make(&rig);
        moves_after(&rig);
    }
    (void)snprintf(text, sizeof(text), "seed %llu, the end", (unsigned long long)seed);
    check_context(text);
    moves_end_all(&rig);
    size_t left = chaos_live_bytes();
    gather(sums, options->steps);
    rig_end(&rig);
    account_end();
    cuts_end();
    world_end();
    size_t kept = KEPT_BYTES + (options->play == PLAY_USAGE ? MEASURES_BYTES : 0);
    if (!options->threads && left > empty + kept) {
        check_failed("%zu bytes are kept of a cluster that is empty; %zu were there at first", left,
                     empty);
    }
    if (chaos_live_bytes() > 0) {
        check_failed("%zu blocks of memory are left after all", chaos_live());
    }
}

/* In a process of its own. 0: clean; else a number for what went wrong. */
static uint64_t run(const struct options *options, uint64_t seed, struct sums *sums, bool quiet)
{
    int ends[2];
    int status = 0;
    struct sums one = {{0}};
    if (pipe(ends) < 0) {
        abort();
    }
    (void)fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        check_tell(ends[1]);
        if (quiet) {
            (void)!freopen("/dev/null", "w", stderr);
        }
        play(options, seed, &one);
        (void)!write(ends[1], &one, sizeof(one));
        (void)fflush(stdout);
        exit(0); /* with LeakSanitizer's look */
    }
    (void)close(ends[1]);
    ssize_t told = read(ends[0], &one, sizeof(one));
    (void)close(ends[0]);
    (void)waitpid(child, &status, 0);
    for (unsigned i = 0; i < COUNTS_MAX && told == (ssize_t)sizeof(one); i++) {
        sums->count[i] += one.count[i];
    }
    return told == (ssize_t)sizeof(one.count[0]) ? one.count[0] : (uint64_t)status;
}

/* ---- after a failure ---- */

/* Leaves out every kind of move that the failure does not need, and halves the steps. */
static void shrink(struct options *options, uint64_t seed, uint64_t what)
{
    struct sums sums = {{0}};
    for (size_t i = 0; i < n_moves; i++) {
        options->without[i] = true;
        if (run(options, seed, &sums, true) != what) {
            options->without[i] = false;
        }
    }
    while (options->steps > 1) {
        options->steps = options->steps * 3 / 4;
        if (run(options, seed, &sums, true) != what) {
            options->steps = options->steps * 4 / 3 + 2;
            break;
        }
    }
    (void)printf("adversary: repeat it by --play %s --seed %llu --steps %lu --without ",
                 play_names[options->play], (unsigned long long)seed, options->steps);
    bool first = true;
    for (size_t i = 0; i < n_moves; i++) {
        if (options->without[i] && is_played(options, &moves[i])) {
            (void)printf("%s%s", first ? "" : ",", moves[i].name);
            first = false;
        }
    }
    (void)printf("\n");
}

/* ---- options ---- */

static void leave_out(struct options *options, const char *list)
{
    for (size_t i = 0; i < n_moves; i++) {
        const char *at = strstr(list, moves[i].name);
        size_t len = strlen(moves[i].name);
        while (at != NULL &&
               ((at > list && at[-1] != ',') || (at[len] != ',' && at[len] != '\0'))) {
            at = strstr(at + 1, moves[i].name);
        }
        options->without[i] = options->without[i] || at != NULL;
    }
}

static bool take_play(const char *text, enum play *out)
{
    for (unsigned i = 0; i < PLAYS; i++) {
        if (strcmp(text, play_names[i]) == 0) {
            *out = (enum play)i;
            return true;
        }
    }
    return false;
}

static bool take_number(const char *text, unsigned long *out)
{
    char *end = NULL;
    *out = strtoul(text, &end, 10);
    return end != text && *end == '\0';
}

/* The exit status, or -1 to go on. */
static int read_options(int argc, char **argv, struct options *options)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        unsigned long number = 0;
        bool good = true;
        if (strcmp(argv[i], "--help") == 0) {
            (void)fputs(help, stdout);
            return 0;
        }
        if (strcmp(argv[i], "--moves") == 0) {
            for (size_t m = 0; m < n_moves; m++) {
                (void)printf("%s\n", moves[m].name);
            }
            return 0;
        }
        if (strcmp(argv[i], "--no-shrink") == 0 || strcmp(argv[i], "--threads") == 0) {
            bool threads = strcmp(argv[i], "--threads") == 0;
            options->no_shrink = true; /* with threads no two runs are the same */
            options->threads = options->threads || threads;
            continue;
        }
        i++;
        if (strcmp(argv[i - 1], "--seconds") == 0) {
            good = take_number(value, &options->seconds);
        } else if (strcmp(argv[i - 1], "--runs") == 0) {
            good = take_number(value, &options->runs);
        } else if (strcmp(argv[i - 1], "--steps") == 0) {
            good = take_number(value, &options->steps);
        } else if (strcmp(argv[i - 1], "--play") == 0) {
            good = take_play(value, &options->play);
        } else if (strcmp(argv[i - 1], "--without") == 0) {
            leave_out(options, value);
        } else if (strcmp(argv[i - 1], "--seed") == 0 && strcmp(value, "clock") == 0) {
            options->seed = (uint64_t)time(NULL);
        } else if (strcmp(argv[i - 1], "--seed") == 0) {
            good = take_number(value, &number);
            options->seed = number;
        } else {
            good = false;
        }
        if (!good) {
            (void)fprintf(stderr, "adversary: what is \"%s %s\"?\n%s", argv[i - 1], value, help);
            return 2;
        }
    }
    return -1;
}

int main(int argc, char **argv)
{
    struct options options = {.seed = 1, .steps = STEPS};
    struct sums sums = {{0}};
    int status = read_options(argc, argv, &options);
    if (status >= 0) {
        return status;
    }
    for (size_t i = 0; i < n_moves; i++) {
        options.without[i] = options.without[i] || !is_played(&options, &moves[i]);
    }
    if (options.seconds == 0 && options.runs == 0) {
        options.runs = 1;
    }
    time_t begin = time(NULL);
    time_t told = begin;
    unsigned long n = 0;
    for (uint64_t seed = options.seed;
         options.runs > 0 ? n < options.runs
                          : (unsigned long)(time(NULL) - begin) < options.seconds;
         seed++) {
        uint64_t what = run(&options, seed, &sums, false);
        if (what != 0) {
            (void)printf("adversary: seed %llu FAILED\n", (unsigned long long)seed);
            (void)fflush(stdout);
            if (!options.no_shrink) {
                shrink(&options, seed, what);
            }
            return 1;
        }
        n++;
        if (time(NULL) - told >= 10) {
            told = time(NULL);
            (void)printf("adversary: %lu runs clean, next seed %llu\n", n,
                         (unsigned long long)seed + 1);
            (void)fflush(stdout);
        }
    }
    (void)printf("adversary: clean: %lu runs from seed %llu in %ld s:", n,
                 (unsigned long long)options.seed, (long)(time(NULL) - begin));
    for (unsigned i = 0; i < COUNTS_MAX; i++) {
        (void)printf("%s %llu %s", i > 0 ? "," : "", (unsigned long long)sums.count[i],
                     count_names[i]);
    }
    (void)printf("\n");
    return 0;
}
