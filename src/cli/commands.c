/* The table of commands. A further one is a row here, with its bit in options.c where it has
 * options of its own. */
#include "cli/commands.h"

static const struct sl_cli_command rows[] = {
    {SL_CLI_QUEUE, "queue", "POD", SL_CLI_OPTIONAL, "pods that wait, in their order, and why",
     "Lists the pods that wait, in the order in which they are to go.\n\n"
     "  POSITION   place among all pods that wait, whoever's they are\n"
     "  AHEAD      of those before it, how many want the same\n"
     "  START-IN   when it should start, by the timeouts of those that run\n\n"
     "-o wide adds how sure that is, and the sentence; kubectl sliced why POD tells all of one.",
     sl_cli_list, "queuedpods", true, NULL},
    {SL_CLI_WHY, "why", "POD", SL_CLI_REQUIRED, "what keeps a pod, and what would help",
     "Tells a pod's story: its place, when it should start, what the nodes have against it (told\n"
     "once for all nodes with the same reason, with what the nearest of them says), and what "
     "would\n"
     "help. Of a pod that runs: where, on which devices, and when its timeout ends.",
     sl_cli_why, NULL, true, NULL},
    {SL_CLI_WHEN, "when", NULL, SL_CLI_NONE, "when a pod would start that is not there yet",
     "Asks the daemon to plan with one pod more, on a copy: nothing is changed. It tells when the\n"
     "pod would start, and how many pods that wait would start later.\n\n"
     "  kubectl sliced when -f pod.yaml\n"
     "  kubectl sliced when --ask nvidia.com/mig-1g.6gb=2 --timeout 30m\n\n"
     "Exit status 3: no start can be told; the sentence says why.",
     sl_cli_when, NULL, true, NULL},
    {SL_CLI_TENANTS, "tenants", NULL, SL_CLI_NONE, "a tenant's share: held, borrowed and lent",
     "Lists, for each resource, what the tenant whose your namespace is has of the cluster, or "
     "with\n"
     "-A what each tenant has (it takes the ClusterRole sliced-visibility-cluster):\n\n"
     "  SHARE      units that are its own, whoever else comes\n"
     "  BORROWED   what it holds beyond them; LENT: what others hold of them\n"
     "  DUE        pods that would have started by now, had it those units to itself\n"
     "  LATE       for how long the first of them has been due\n\n"
     "-o wide adds pods that run, guarantees and caps.",
     sl_cli_list, "tenantqueues", true, "clustertenantqueues"},
    {SL_CLI_USAGE, "usage", NULL, SL_CLI_NONE,
     "what tenants held, borrowed and lent over some days",
     "Lists, for each tenant and resource, hours of a unit (of a GPU, of an instance) over the "
     "last\n"
     "days, as Prometheus has scraped them from sliced: those of its share, those that its pods\n"
     "held, of these the borrowed ones, those that others borrowed of its share, and those that\n"
     "waiting pods asked for. It takes the ClusterRole sliced-visibility-cluster, tenants and\n"
     "telemetry.url.\n\n"
     "  kubectl sliced usage --since 30d -o csv > usage.csv",
     sl_cli_list, "clustertenantusages", false, NULL},
    {SL_CLI_NODES, "nodes", "NODE", SL_CLI_OPTIONAL, "nodes: what is used, set aside and free",
     "Lists nodes with GPUs: units that pods use, units set aside for pods which still wait, and\n"
     "units that can be given. It takes the ClusterRole sliced-visibility-cluster.",
     sl_cli_list, "slicenodes", false, NULL},
    {SL_CLI_PARTITIONS, "partitions", "NODE", SL_CLI_OPTIONAL,
     "how GPUs are cut, and what is being cut",
     "Lists the nodes whose GPUs sliced may cut: their instances, and the cut under way. It takes\n"
     "the ClusterRole sliced-visibility-cluster, and partitioning.enabled.",
     sl_cli_list, "partitions", false, NULL},
    {SL_CLI_TOP, "top", "GPU", SL_CLI_OPTIONAL, "what each GPU was measured to do",
     "Lists GPUs and instances with what was measured of them: memory in use, how busy they are,\n"
     "and for how long nothing ran. It takes the ClusterRole sliced-visibility-cluster, and\n"
     "telemetry.url or telemetry.exporters.",
     sl_cli_list, "usages", false, NULL},
    {SL_CLI_SIMULATE, "simulate", NULL, SL_CLI_NONE, "what other orders would do to what waits now",
     "Plays the cluster and the pods that wait in virtual time, in each order, and compares how "
     "long\n"
     "they would wait: nothing is changed. kubectl reads all nodes and pods with your rights, and\n"
     "slicesim plays them; both have to be in $PATH.\n\n"
     "  kubectl sliced simulate --order bounded,fifo --for 7d",
     sl_cli_simulate, NULL, false, NULL},
    {SL_CLI_UI, "ui", NULL, SL_CLI_NONE, "the page, in a browser",
     "Forwards a port of this machine to the daemon that leads, by kubectl port-forward and with\n"
     "your right to do so in the namespace of sliced (-n, else sliced-system), and tells the\n"
     "address of the page. Ctrl-C ends it.",
     sl_cli_ui, NULL, false, NULL},
    {SL_CLI_RELEASE, "release", "POD", SL_CLI_REQUIRED, "open the gate of a pod by hand",
     "Opens the scheduling gate sliced.dev/queue of a pod, so that kube-scheduler takes it "
     "without\n"
     "a plan: for when sliced is to be removed. As long as it runs, its filter holds the pod "
     "until\n"
     "its turn all the same. It takes the right to patch pods and, past the guard, the "
     "ClusterRole\n"
     "sliced-manager. sliced release --all opens all gates.",
     sl_cli_release, NULL, true, NULL},
    {SL_CLI_COMPLETION, "completion", "SHELL", SL_CLI_REQUIRED,
     "a script that completes words, for bash or zsh",
     "Prints a script by which the shell completes commands, options and names:\n\n"
     "  source <(kubectl-sliced completion bash)\n\n"
     "kubectl itself asks the program kubectl_complete-sliced, which lies beside this one.",
     sl_cli_completion, NULL, false, NULL},
};

const struct sl_cli_commands sl_cli_commands = {.row = rows, .n = sizeof(rows) / sizeof(rows[0])};
