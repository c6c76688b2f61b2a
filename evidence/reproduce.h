/* reproduce: published experiments, run again. Each is one row of the table. */
#ifndef SLICED_EVIDENCE_REPRODUCE_H
#define SLICED_EVIDENCE_REPRODUCE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/output/output.h"
#include "util/buf.h"
#include "util/error.h"

struct sl_reproduce_options {
    uint64_t seed;    /* of the first run; the others follow it */
    uint32_t seeds;   /* runs; never 0 */
    unsigned threads; /* 0: one per processor */
    const char *data; /* --data, else $SLICED_DATA: a folder with published traces; or NULL */
    const char *pods; /* --pods, --nodes, --policy; NULL where not given */
    const char *nodes;
    const char *policy;
    const char *days; /* --days: "long" or "short"; NULL: all */
    enum sl_output output;
    bool progress;
};

struct sl_reproduction {
    const char *name;
    const char *summary;
    const char *data; /* the files it needs below the data folder, for --help; NULL: none */
    uint32_t seeds;   /* how many when --seeds does not say */
    bool svg;         /* has a plot for -o svg */
    /* Appends its report to out. A missing data folder or file is SL_ERR_NOTFOUND. */
    int (*run)(const struct sl_reproduce_options *options, struct sl_buf *out,
               struct sl_error *err);
};

/* Returns the exit status: 0 done, 1 the system refused something, 2 wrong option or input. */
int sl_reproduce_main(int argc, char **argv);

/* ---- the experiments, each in a file of its own ---- */

int sl_reproduce_short_tasks(const struct sl_reproduce_options *options, struct sl_buf *out,
                             struct sl_error *err);
int sl_reproduce_orders(const struct sl_reproduce_options *options, struct sl_buf *out,
                        struct sl_error *err);
int sl_reproduce_mig(const struct sl_reproduce_options *options, struct sl_buf *out,
                     struct sl_error *err);
int sl_reproduce_openb(const struct sl_reproduce_options *options, struct sl_buf *out,
                       struct sl_error *err);
int sl_reproduce_mig_acceptance(const struct sl_reproduce_options *options, struct sl_buf *out,
                                struct sl_error *err);
int sl_reproduce_repartition(const struct sl_reproduce_options *options, struct sl_buf *out,
                             struct sl_error *err);
int sl_reproduce_miso(const struct sl_reproduce_options *options, struct sl_buf *out,
                      struct sl_error *err);
int sl_reproduce_cbp_pp(const struct sl_reproduce_options *options, struct sl_buf *out,
                        struct sl_error *err);
int sl_reproduce_sharing(const struct sl_reproduce_options *options, struct sl_buf *out,
                         struct sl_error *err);

#endif
