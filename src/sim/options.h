/* Command line of slicesim. */
#ifndef SLICED_SIM_OPTIONS_H
#define SLICED_SIM_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/output/output.h"
#include "util/buf.h"
#include "util/error.h"

enum sl_sim_command { SL_COMMAND_NONE, SL_COMMAND_RUN };

enum { SL_SIM_FILES_MAX = 64 };

/* Texts are borrowed from the arguments; NULL where not given. */
struct sl_sim_options {
    enum sl_sim_command command;
    const char *trace;
    const char *generate;
    const char *live;
    const char *at;
    const char *horizon;
    const char *cluster[SL_SIM_FILES_MAX];
    const char *nodes;
    const char *gpus;
    const char *policy;
    const char *partitioning;
    const char *estimate;
    const char *runtime;
    const char *decisions;
    const char *commands;
    const char *output_name;
    uint64_t seed;
    uint64_t seeds; /* 0: not given */
    uint64_t threads;
    uint64_t n_cluster;
    enum sl_output output;
    bool help;
    bool version;
    bool quiet;
    bool audit;
};

/* -1: *err says what is wrong and, if it can, suggests the right option. */
int sl_sim_options_parse(int argc, char *const *argv, struct sl_sim_options *out,
                         struct sl_error *err);

/* The help of slicesim, or of one of its commands. */
void sl_sim_options_help(enum sl_sim_command command, struct sl_buf *out);

#endif
