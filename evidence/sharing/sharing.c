/* reproduce sharing: GPUs shared by asks, by CBP and PP, by peaks, and by an oracle. */
#include "evidence/experiments.h"
#include "evidence/shape/study.h"
#include "evidence/sharing/stage.h"

enum { GENERATED = SL_SHARING_PUBLISHED, RIG = GENERATED + 3, LOADS = RIG + 8 };

static const struct {
    const char *name;          /* in rows */
    const char *title;         /* of the table */
    struct sl_sharing_mix mix; /* of a load that is not published */
} loads[LOADS] = {
    {"published-1x",
     "Ferikoglou et al.: 30 jobs on a V100, which use 6994 MiB each and ask for as much",
     {.at_first = 1}},
    {"published-2x", "The same, asks of twice that", {.at_first = 1}},
    {"published-3x", "The same, asks of three times that", {.at_first = 1}},
    {"generated",
     "Generated: 500 jobs on eight T4, 70 % of them of ten workloads",
     {.repeated = 0.7, .at_first = 1}},
    {"repeated",
     "Generated: 500 jobs on eight T4, all of them of ten workloads",
     {.repeated = 1, .at_first = 1}},
    {"changing",
     "The same, but the first half of the jobs uses three tenths of that",
     {.repeated = 1, .at_first = 0.3}},
    {"engines-50",
     "25 inference engines on a GPU of 16 GiB, which ask for 50 % more than they use",
     {.over_percent = 50}},
    {"engines-100", "The same, 100 % more", {.over_percent = 100}},
    {"engines-150", "The same, 150 % more", {.over_percent = 150}},
    {"engines-250", "The same, 250 % more", {.over_percent = 250}},
    {"again-50",
     "The same engines once more after that, 50 % more",
     {.over_percent = 50, .repeated = 1}},
    {"again-100", "The same, 100 % more", {.over_percent = 100, .repeated = 1}},
    {"again-150", "The same, 150 % more", {.over_percent = 150, .repeated = 1}},
    {"again-250", "The same, 250 % more", {.over_percent = 250, .repeated = 1}},
};

static int scheme_play(void *context, size_t index, uint64_t seed, double *figure,
                       struct sl_error *err)
{
    const struct sl_sharing_published *published = context;
    size_t which = index / SL_SCHEMES;
    struct sl_sharing_load load = {.n = 0};
    if (published == NULL && which < GENERATED) {
        return 0;
    }
    int rc = which >= RIG ? sl_sharing_rig(seed, loads[which].mix, &load, err)
             : which >= GENERATED
                 ? sl_sharing_generate(seed, loads[which].mix, &load, err)
                 : sl_sharing_published_load(published, (unsigned)which, seed, &load, err);
    if (rc == 0) {
        rc = sl_sharing_play(&load, (enum sl_sharing_scheme)(index % SL_SCHEMES), figure, err);
    }
    sl_sharing_load_free(&load);
    return rc;
}

/* ---- the report ---- */

#define FIGURE(title, name, decimals, figure)                                                      \
    {                                                                                              \
        title, name, decimals, 6, SL_HOW_MEDIAN, figure, SL_OF_NONE                                \
    }
#define OF_ASKS(figure)                                                                            \
    {                                                                                              \
        "of asks", NULL, 2, 0, SL_HOW_MEDIAN, figure, SL_SCHEME_ASKS                               \
    }

enum {
    LOAD,
    SHARING,
    PENDING,
    PENDING_OF,
    MEMORY = 5,
    MEMORY_OF,
    BUSY,
    BUSY_OF,
    MAKESPAN = 10,
    ENERGY,
    ENERGY_OF,
    PUSHED,
};
static const struct sl_column columns[] = {
    [LOAD] = SL_COLUMN(NULL, "load", 0, 0),
    [SHARING] = SL_COLUMN("", "sharing", 0, 0),
    [PENDING] = FIGURE("pending, s", "pending", 0, SL_SHARING_PENDING),
    [PENDING_OF] = OF_ASKS(SL_SHARING_PENDING),
    FIGURE("p99", "pendingP99", 0, SL_SHARING_PENDING_P99),
    [MEMORY] = FIGURE("memory", "memory", 2, SL_SHARING_MEMORY),
    [MEMORY_OF] = OF_ASKS(SL_SHARING_MEMORY),
    [BUSY] = FIGURE("GPU busy", "busy", 2, SL_SHARING_BUSY),
    [BUSY_OF] = OF_ASKS(SL_SHARING_BUSY),
    FIGURE("p99 slowdown", "slowdownP99", 2, SL_SHARING_SLOWDOWN_P99),
    [MAKESPAN] = FIGURE("makespan, s", "makespan", 0, SL_SHARING_MAKESPAN),
    [ENERGY] = FIGURE("energy, kJ", "energy", 0, SL_SHARING_ENERGY),
    [ENERGY_OF] = OF_ASKS(SL_SHARING_ENERGY),
    [PUSHED] = FIGURE("pushed out", "pushed", 0, SL_SHARING_PUSHED),
    {"at most", "pushedMost", 0, 0, SL_HOW_MOST, SL_SHARING_PUSHED, SL_OF_NONE},
    FIGURE("beyond asks", "beyond", 0, SL_SHARING_BEYOND),
};

static void published_fill(const char *name, const struct sl_sharing_run *run,
                           const struct sl_sharing_run *asks, struct sl_rows *rows)
{
    const struct {
        unsigned column;
        double is;
        double of;
    } figures[] = {
        {PENDING, run->pending_s, asks->pending_s},
        {MEMORY, run->memory, asks->memory},
        {BUSY, run->busy, asks->busy},
        {ENERGY, run->energy_kj, asks->energy_kj},
    };
    sl_rows_add(rows, SL_ROW_IN_TABLE);
    sl_rows_text(rows, SHARING, "%s", name);
    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
        sl_rows_number(rows, figures[i].column, figures[i].is);
        sl_rows_number(rows, figures[i].column + 1, figures[i].is / figures[i].of);
    }
    sl_rows_number(rows, MAKESPAN, run->makespan_s);
    sl_rows_number(rows, PUSHED, run->restarts);
}

static void load_fill(struct sl_study *study, const struct sl_sharing_published *published,
                      size_t load, struct sl_rows *rows)
{
    static const char *const schemes[SL_SCHEMES] = {"asks", "cbp", "cbp-pp", "peaks", "oracle"};
    sl_buf_printf(&rows->heading, "%s\n", loads[load].title);
    for (size_t scheme = 0; scheme < SL_SCHEMES; scheme++) {
        sl_rows_add(rows, SL_ROW_EVERYWHERE);
        sl_rows_text(rows, LOAD, "%s", loads[load].name);
        sl_rows_text(rows, SHARING, "%s", schemes[scheme]);
        sl_study_fill(study, load * SL_SCHEMES + scheme, rows);
    }
    if (load < GENERATED) {
        const struct sl_sharing_run *asks = &published->asks[load];
        published_fill("published: asks", asks, asks, rows);
        published_fill("published: cbp-pp", &published->cbp_pp[load], asks, rows);
    }
}

static void fill(struct sl_study *study, const struct sl_sharing_published *published,
                 struct sl_rows *rows)
{
    for (size_t load = published == NULL ? GENERATED : 0; load < LOADS; load++) {
        load_fill(study, published, load, rows);
    }
    sl_buf_printf(
        &rows->closing,
        "\nmedians over %u seeds; ratios are taken seed by seed. Pending: until a GPU is "
        "given. Slowdown: from\nthen to the end, restarts included, over the time alone. "
        "Pushed out: containers that got no memory and\nbegan anew; at most: in one seed; "
        "beyond asks: because some pod used more than it asked for\n",
        study->seeds);
    if (published == NULL) {
        sl_buf_puts(&rows->closing, "The published jobs need --data FOLDER with ferikoglou/\n");
    }
}

static int play(const struct sl_reproduce_options *options, struct sl_rows *rows,
                struct sl_error *err)
{
    struct sl_sharing_published *published = NULL;
    struct sl_study study;
    int rc = sl_study_init(&study, (size_t)LOADS * SL_SCHEMES, SL_SCHEMES, SL_SHARING_FIGURES,
                           options, err);
    if (rc == 0 && options->data != NULL) {
        published = sl_sharing_published_read(options->data, err);
        rc = published == NULL ? -1 : 0;
    }
    rc = rc < 0 ? rc : sl_study_play(&study, options, "sharing", scheme_play, published, err);
    if (rc == 0) {
        fill(&study, published, rows);
    }
    sl_sharing_published_free(published);
    sl_study_free(&study);
    return rc;
}

const struct sl_reproduction sl_sharing = {
    .name = "sharing",
    .summary =
        "GPUs shared by asks, CBP, PP, peaks and an oracle: pending time, use, out of memory",
    .seeds = 10,
    SL_COLUMNS(columns),
    .run = play,
};
