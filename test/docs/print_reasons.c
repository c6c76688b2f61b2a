/* Prints docs/reasons.md from the tables of reasons. */
#include <stdio.h>
#include <stdlib.h>

#include "sliced/cut.h"
#include "sliced/plan.h"
#include "sliced/reason.h"

/* Numbers that make sense of a reason; the others' rows are zero: usual stands for them. */
static const struct sl_verdict usual = {.asked = 3, .free = 2, .capacity = 8};
static const struct sl_verdict example[SL_REASON_COUNT] = {
    [SL_REASON_FRAGMENTED] = {.asked = 2, .free = 3, .capacity = 8, .largest = 1},
    [SL_REASON_OUT_OF_SERVICE] = {.asked = 3, .free = 0, .capacity = 8},
    [SL_REASON_EXCEEDS_NODE] = {.asked = 9, .capacity = 8},
    [SL_REASON_LITTLE_MEMORY] = {.asked = 3, .free = 2, .capacity = 8, .largest = 5952},
    [SL_REASON_EXCEEDS_DEVICE] = {.asked = 5, .capacity = 8, .largest = 4},
};

/* Advice to the cluster's operators; NULL: none is needed. */
static const char *const remedy_of_cut[SL_CUT_BARS] = {
    [SL_CUT_BAR_NOT_SELECTED] = "label the node as partitioning.nodeSelector says",
    [SL_CUT_BAR_LEFT_OUT] = "look up the failure in docs/partitioning.md",
    [SL_CUT_BAR_FAILED_BEFORE] = "look up the failure in docs/partitioning.md",
    [SL_CUT_BAR_AT_WORK] =
        "look whether the mig-manager runs there: the state that it left stays until its next run",
    [SL_CUT_BAR_HIDDEN_USE] = "look whether its device plugin runs",
    [SL_CUT_BAR_STARTING] = "look at pods there that stay Pending, if that lasts",
    [SL_CUT_BAR_UNKNOWN] =
        "look whether GPU feature discovery runs there, and labels GPUs that can be cut",
    [SL_CUT_BAR_NO_MODEL] =
        "take the node out of partitioning.nodeSelector, or see docs/devices.md for the models",
    [SL_CUT_BAR_MIG_OFF] = "switch MIG mode on, by nvidia.com/mig.config=all-balanced for one",
    [SL_CUT_BAR_MIXED] = "have each GPU told by an annotation: then they are cut one by one",
    [SL_CUT_BAR_TOGETHER] = "wait for pods there to end, or have each GPU told by an annotation",
    [SL_CUT_BAR_NOT_REPORTED] =
        "look whether nos' agent runs there, and whether the strategy is mixed",
    [SL_CUT_BAR_DIFFERS] = "look at nos' agent and at the device plugin, if that lasts",
    [SL_CUT_BAR_SHARED] = "take the other way of sharing out of the device plugin's configuration",
    [SL_CUT_BAR_UNHEALTHY] = "mend these GPUs",
    [SL_CUT_BAR_IN_USE] = "wait for pods there to end",
};

static const char *or_blank(const char *text)
{
    return text == NULL ? "" : text;
}

static void print_of_nodes(void)
{
    static const struct sl_ask ask = {.n = 1, .item = {{.resource = "nvidia.com/mig-1g.6gb"}}};
    puts("<!-- Made from src/core by test/docs/print_reasons; scripts/docs writes it. -->\n"
         "# Reasons\n\n"
         "Why a pod does not go to a node, why one waits in the [queue](queue.md), and why a "
         "node's\n"
         "GPUs are not [cut](partitioning.md).\n\n"
         "## Of a node\n\n"
         "Why a pod may not go to a node, as filter, explain and the metrics say it. *Not now*:\n"
         "something that ends may help, kube-scheduler finds the node under `FailedNodes`. "
         "*Never*:\n"
         "nothing that ends on that node helps, it stands under `FailedAndUnresolvableNodes`.\n\n"
         "| reason | when | meaning | text, by example | what helps |\n"
         "|---|---|---|---|---|");
    for (int i = 0; i < SL_REASON_COUNT; i++) {
        enum sl_reason reason = (enum sl_reason)i;
        struct sl_verdict verdict = example[i].asked > 0 ? example[i] : usual;
        verdict.reason = reason;
        const char *malformed = reason == SL_REASON_MALFORMED_ASK
                                    ? "nvidia.com/mig-1g.6gb: \"x\" is no quantity"
                                    : NULL;
        char text[256];
        (void)sl_verdict_text(&verdict, &ask, malformed, text, sizeof text);
        bool fits = reason == SL_REASON_FITS || reason == SL_REASON_NO_ASK;
        const char *when = sl_reason_is_never(reason) ? "never" : "not now";
        printf("| `%s` | %s | %s | %s | %s |\n", sl_reason_name(reason), fits ? "fits" : when,
               sl_reason_help(reason), text, or_blank(sl_reason_remedy(reason)));
    }
}

static void print_of_the_queue(void)
{
    puts("\n## Of the queue\n\n"
         "Why a pod waits there: `reason` in `/api/v1/queue`, the label of `sliced_queue_pods`.\n\n"
         "| reason | meaning | what helps |\n"
         "|---|---|---|");
    for (int i = 0; i < SL_HOLD_REASONS; i++) {
        enum sl_hold_reason reason = (enum sl_hold_reason)i;
        printf("| `%s` | %s | %s |\n", sl_hold_reason_name(reason), sl_hold_reason_help(reason),
               or_blank(sl_hold_reason_remedy(reason)));
    }
}

static void print_of_cuts(void)
{
    puts("\n## Of a cut\n\n"
         "Why no GPU of a node may be [cut](partitioning.md) now: `why` in `/api/v1/partitions`\n"
         "while nothing is under way there, and the label of `sliced_partition_nodes`.\n\n"
         "| why | text | what the operators can do |\n"
         "|---|---|---|");
    for (int i = 0; i < SL_CUT_BARS; i++) {
        enum sl_cut_bar bar = (enum sl_cut_bar)i;
        printf("| `%s` | %s | %s |\n", sl_cut_bar_name(bar), sl_cut_bar_text(bar),
               or_blank(remedy_of_cut[bar]));
    }
}

int main(void)
{
    print_of_nodes();
    print_of_the_queue();
    print_of_cuts();
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
