/* The table of what keeps a node's GPUs from being cut. */
#include "sliced/cut.h"

static const struct {
    const char *name;
    const char *text;
} rows[SL_CUT_BARS] = {
    [SL_CUT_BAR_NONE] = {"None", "some of its GPUs may be cut"},
    [SL_CUT_BAR_NOT_SELECTED] =
        {"NotSelected", "nothing cuts its GPUs: partitioning.nodeSelector does not select it"},
    [SL_CUT_BAR_CUTTING] = {"Cutting", "its GPUs are being cut"},
    [SL_CUT_BAR_LEFT_OUT] =
        {"LeftOut", "its last cut did not come to its end, and it is left out for a while"},
    [SL_CUT_BAR_FAILED_BEFORE] =
        {"FailedBefore", "a cut of it failed there, and the same one is not tried again yet"},
    [SL_CUT_BAR_MAX_NODES] = {"MaxNodes",
                              "as many nodes are being cut as partitioning.maxNodes allows"},
    [SL_CUT_BAR_AT_WORK] =
        {"AtWork",
         "its mig-manager is at work for somebody else (label nvidia.com/mig.config.state)"},
    [SL_CUT_BAR_HIDDEN_USE] = {"HiddenUse",
                               "pods on it hold GPU resources that it does not show now"},
    [SL_CUT_BAR_STARTING] = {"Starting", "pods on it have not started yet"},
    [SL_CUT_BAR_UNKNOWN] = {"Unknown", "nobody tells what its GPUs hold"},
    [SL_CUT_BAR_NO_MODEL] = {"NoModel", "its GPUs are of no model whose MIG profiles are known"},
    [SL_CUT_BAR_MIG_OFF] = {"MigOff",
                            "MIG mode is off, and may not be switched on (partitioning.migMode)"},
    [SL_CUT_BAR_MIXED] = {"Mixed", "its GPUs are of several models, and can only be cut together"},
    [SL_CUT_BAR_TOGETHER] = {"Together",
                             "its GPUs can only be cut together, and not all of them are free"},
    [SL_CUT_BAR_NOT_REPORTED] = {"NotReported", "nos' agent does not report its GPUs"},
    [SL_CUT_BAR_DIFFERS] = {"ReportDiffers", "nos' agent reports others than are allocatable"},
    [SL_CUT_BAR_SHARED] = {"Shared", "its GPUs are shared in other ways than by slices, too"},
    [SL_CUT_BAR_UNHEALTHY] = {"Unhealthy", "GPUs of it are marked unhealthy"},
    [SL_CUT_BAR_IN_USE] = {"InUse", "every GPU of it is in use or may not be cut"},
};

const char *sl_cut_bar_name(enum sl_cut_bar bar)
{
    return rows[bar].name;
}

const char *sl_cut_bar_text(enum sl_cut_bar bar)
{
    return rows[bar].text;
}
