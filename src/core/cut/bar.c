/* The table of what keeps a node's GPUs from being cut. */
#include "sliced/cut.h"

static const struct {
    const char *name;
    const char *text;
    const char *remedy; /* NULL: nothing is needed */
} rows[SL_CUT_BARS] = {
    [SL_CUT_BAR_NONE] = {"None", "some of its GPUs may be cut", NULL},
    [SL_CUT_BAR_NOT_SELECTED] =
        {"NotSelected", "nothing cuts its GPUs: partitioning.nodeSelector does not select it",
         "label the node as partitioning.nodeSelector says"},
    [SL_CUT_BAR_CUTTING] = {"Cutting", "its GPUs are being cut", NULL},
    [SL_CUT_BAR_LEFT_OUT] = {"LeftOut",
                             "its last cut did not come to its end, and it is left out for a while",
                             "look up the failure in docs/partitioning.md"},
    [SL_CUT_BAR_FAILED_BEFORE] =
        {"FailedBefore", "a cut of it failed there, and the same one is not tried again yet",
         "look up the failure in docs/partitioning.md"},
    [SL_CUT_BAR_MAX_NODES] = {"MaxNodes",
                              "as many nodes are being cut as partitioning.maxNodes allows", NULL},
    [SL_CUT_BAR_AT_WORK] =
        {"AtWork",
         "its mig-manager is at work for somebody else (label nvidia.com/mig.config.state)",
         "look whether the mig-manager runs there: a state that it left behind stays until it "
         "ends a run"},
    [SL_CUT_BAR_HIDDEN_USE] = {"HiddenUse",
                               "pods on it hold GPU resources that it does not show now",
                               "look whether its device plugin runs"},
    [SL_CUT_BAR_STARTING] = {"Starting", "pods on it have not started yet",
                             "look at pods there that stay Pending, if that lasts"},
    [SL_CUT_BAR_UNKNOWN] =
        {"Unknown", "nobody tells what its GPUs hold",
         "look whether GPU feature discovery runs there, and labels GPUs that can be cut"},
    [SL_CUT_BAR_NO_MODEL] = {"NoModel", "its GPUs are of no model whose MIG profiles are known",
                             "take the node out of partitioning.nodeSelector, or see "
                             "docs/devices.md for the models"},
    [SL_CUT_BAR_MIG_OFF] = {"MigOff",
                            "MIG mode is off, and may not be switched on (partitioning.migMode)",
                            "switch MIG mode on, by nvidia.com/mig.config=all-balanced for one"},
    [SL_CUT_BAR_MIXED] = {"Mixed", "its GPUs are of several models, and can only be cut together",
                          "have each GPU told by an annotation: then they are cut one by one"},
    [SL_CUT_BAR_TOGETHER] = {"Together",
                             "its GPUs can only be cut together, and not all of them are free",
                             "wait for pods there to end, or have each GPU told by an annotation"},
    [SL_CUT_BAR_NOT_REPORTED] =
        {"NotReported", "nos' agent does not report its GPUs",
         "look whether nos' agent runs there, and whether the strategy is mixed"},
    [SL_CUT_BAR_DIFFERS] = {"ReportDiffers", "nos' agent reports others than are allocatable",
                            "look at nos' agent and at the device plugin, if that lasts"},
    [SL_CUT_BAR_SHARED] =
        {"Shared", "its GPUs are shared in other ways than by slices, too",
         "take the other way of sharing out of the device plugin's configuration"},
    [SL_CUT_BAR_UNHEALTHY] = {"Unhealthy", "GPUs of it are marked unhealthy", "mend these GPUs"},
    [SL_CUT_BAR_IN_USE] = {"InUse", "every GPU of it is in use or may not be cut",
                           "wait for pods there to end"},
};

const char *sl_cut_bar_name(enum sl_cut_bar bar)
{
    return rows[bar].name;
}

const char *sl_cut_bar_text(enum sl_cut_bar bar)
{
    return rows[bar].text;
}

const char *sl_cut_bar_remedy(enum sl_cut_bar bar)
{
    return rows[bar].remedy;
}
