/* An experiment: it plays, and fills rows whose columns it names. */
#ifndef SLICED_EVIDENCE_EXPERIMENT_H
#define SLICED_EVIDENCE_EXPERIMENT_H

#include "evidence/shape/rows.h"

struct sl_reproduce_options {
    uint64_t seed;    /* of the first run; the others follow it */
    uint32_t seeds;   /* runs; never 0 */
    unsigned threads; /* 0: one per processor */
    bool progress;
    const char *data; /* --data, else $SLICED_DATA: a folder with published traces; or NULL */
    const char *pods; /* --pods, --nodes, --policy; NULL where not given */
    const char *nodes;
    const char *policy;
    const char *days; /* --days: "long" or "short"; NULL: all */
};

struct sl_reproduction {
    const char *name;
    const char *summary;
    const char *data; /* the files it needs below the data folder, for --help; NULL: none */
    uint32_t seeds;   /* how many when --seeds does not say */
    const struct sl_column *column;
    size_t n_columns;
    /* Fills rows, whose columns are those above. A missing data folder or file is
     * SL_ERR_NOTFOUND. */
    int (*run)(const struct sl_reproduce_options *options, struct sl_rows *rows,
               struct sl_error *err);
};

#define SL_COLUMNS(columns) .column = (columns), .n_columns = sizeof(columns) / sizeof((columns)[0])

#endif
