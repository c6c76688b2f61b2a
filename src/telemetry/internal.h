/* Private to telemetry: its state, and what each file gives the ones above it. telemetry.c calls
 * exporters.c, which calls ask.c, which calls judge.c; report.c reads. */
#ifndef SLICED_TELEMETRY_INTERNAL_H
#define SLICED_TELEMETRY_INTERNAL_H

#include <pthread.h>

#include "kube/client/client.h"
#include "sliced/suffer.h"
#include "telemetry/accounts.h"
#include "telemetry/prometheus/hour.h"
#include "telemetry/prometheus/spent.h"
#include "telemetry/question.h"
#include "telemetry/telemetry.h"
#include "telemetry/units.h"

enum {
    SL_FUTURE_US = 5 * 1000000, /* by which clocks may differ */
    SL_ASK_SOON_US = 1000000,   /* before the first question, and again until pods are known */
    SL_EXPORTERS_AT_ONCE = 64,
    SL_TROUBLE_MAX = 256, /* of a text that says what failed, with its NUL */
};

struct sl_telemetry {
    const struct sl_config *config;
    struct sl_store *store;
    struct sl_arena arena; /* of access */
    struct sl_kube_access access;
    struct sl_client *client;
    struct sl_answer *answer;
    struct sl_hour *hour;     /* NULL: exporters are asked */
    struct sl_spents *spents; /* likewise */
    struct sl_past *peaks;    /* lives by workload */
    struct sl_suffer suffer;
    struct sl_pod_watch watch;                  /* all NULL: nobody wants to know */
    int32_t *used;                              /* telemetry.window figures, for a judgement */
    struct sl_usage_row row[SL_USAGE_ROWS_MAX]; /* of one node, likewise */

    struct sl_exporters *exporters; /* NULL: Prometheus is asked */

    const struct sl_snapshot *snapshot; /* as of the last judgement; NULL before the first */
    bool known;                         /* nodes and pods are */
    size_t answers, failures;           /* who answered his last question, and who did not */
    char trouble[SL_TROUBLE_MAX];       /* one of these failures */
    const char *node;                   /* whose exporter tells now; NULL: labels say it */
    struct sl_unit *unit;               /* of the series that is read */
    struct sl_figure_kind kind;
    uint64_t pod;      /* that it names, sl_usage_pod_key(); 0: none */
    int64_t latest_us; /* Unix: later samples are from the future */
    int64_t work_ns;   /* spent on this answer */

    struct sl_node_measured *given; /* of one judgement */
    struct sl_measured *measured;
    size_t n_given, cap_given;
    size_t n_measured, cap_measured;
    struct sl_usage_charge *charge; /* of one node's pods */
    size_t cap_charge;
    int64_t begun_us; /* Unix: energy counts from then on */
    int64_t ahead_us; /* by which the clock was ahead of the monotonic one when last looked at */

    pthread_mutex_t lock; /* guards what follows */
    bool apart;           /* of struct sl_usage_rule */
    struct sl_units units;
    struct sl_accounts pods;   /* energy by UID */
    struct sl_accounts spaces; /* by namespace */
    int64_t nobodys_mj;        /* energy of neither */
    struct sl_accounts held;   /* struct sl_used by name, as last judged */
    struct sl_telemetry_stats stats;
    bool said; /* the log has an outcome: */
    bool well; /* everybody answered */
    bool answered;
    char error[256];
};

/* Asks Prometheus, judges, and asks again after telemetry.interval. On the client's thread. */
void sl_telemetry_ask(void *context);

/* Seconds back for which samples are asked: since the last answer, and two intervals, in case a
 * scrape came late. */
int64_t sl_telemetry_range_s(const struct sl_telemetry *telemetry, int64_t now_us);

/* Has the exporters of all nodes that have GPUs asked, judges what they told until now, and comes
 * again after telemetry.interval. */
void sl_telemetry_ask_exporters(void *context);
/* -1 with *err: out of memory. */
int sl_telemetry_make_exporters(struct sl_telemetry *telemetry, struct sl_error *err);
void sl_telemetry_free_exporters(struct sl_telemetry *telemetry);

/* The steps that both ways of asking share: begin with a snapshot, or (false) soon again, until
 * nodes and pods are known, to which answers could belong; count each answer (err NULL) or
 * failure with its HTTP status, 0: none, and write what failed to trouble, empty where nothing did;
 * at the end log how it went, judge, and set the clock for the next time. */
bool sl_telemetry_begin(struct sl_telemetry *telemetry, void (*again)(void *context));
void sl_telemetry_count(struct sl_telemetry *telemetry, const char *node, int status,
                        const struct sl_error *err, char trouble[SL_TROUBLE_MAX]);
void sl_telemetry_end(struct sl_telemetry *telemetry, void (*again)(void *context));

/* How answers are read, and into what. */
struct sl_answer_options sl_telemetry_options(struct sl_telemetry *telemetry);

/* Unix microseconds. Where the clock was set since the last call, samples and what was remembered
 * begin anew: nothing that came while it was ahead may keep out what comes now, and what came late
 * because it was behind may not pass for new. The lock is held. */
int64_t sl_telemetry_now(struct sl_telemetry *telemetry);

struct sl_usage_rule sl_telemetry_rule(const struct sl_config *config, int64_t now_us);

/* Judges every GPU of which something is known, also when there was no answer: what is known grows
 * old. telemetry->snapshot is held. */
void sl_telemetry_judge(struct sl_telemetry *telemetry);

#endif
