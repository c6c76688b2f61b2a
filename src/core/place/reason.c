/* The table of reasons and the sentences made from it. They are made for each node of a request, so
 * by appends, without a formatting library. */
#include "sliced/reason.h"

#include "core/place/choose.h"
#include "core/request/text.h"

/* In a text: $r resource, $a asked, $f free, $c capacity, $l largest, $m the pod's own text, $o the
 * name under which the node would offer it, $n MiB of GPU memory that each unit needs, $u what is
 * not free of the capacity, $s how much memory the largest unit has. Of all nodes with the reason
 * also: $N "2 nodes", $H "2 nodes have", $D do or does, $p as $o, $S as $s, $e one or some, which
 * have to end, $w that none has as many free. */
static const struct row {
    const char *name;
    bool never;
    const char *help;
    const char *remedy; /* NULL: none is needed, or known */
    struct sl_str text; /* of one node */
    struct sl_str all;  /* of all nodes with that reason; empty: nothing is true of all */
} rows[SL_REASON_COUNT] = {
#define UNSAID                                                                                     \
    {                                                                                              \
        NULL, 0                                                                                    \
    }
#define NO_START ": it cannot start in this cluster as it is"
#define TEXT(literal)                                                                              \
    {                                                                                              \
        (literal), sizeof(literal) - 1                                                             \
    }
    [SL_REASON_FITS] = {"Fits", false, "Everything asked for is free on the node.", NULL,
                        TEXT("fits"), UNSAID},
    [SL_REASON_NO_ASK] = {"NoAsk", false,
                          "The pod asks for no GPU resource; any node will do for sliced.", NULL,
                          TEXT("asks for no GPU"), UNSAID},
    [SL_REASON_INSUFFICIENT] = {"Insufficient", false,
                                "Fewer units are free on the node than are asked for.",
                                "wait for pods there to end, or ask for fewer units",
                                TEXT("$r: $a asked, $f free of $c"),
                                TEXT("$u of $c $r are in use$w; waits for $e to end")},
    [SL_REASON_FRAGMENTED] =
        {"Fragmented", false, "The node has enough in sum, but no single GPU of it has.",
         "wait for pods there to end, or ask for no more units than one GPU has free",
         TEXT("$r: $a asked, $f free in sum but at most $l on one GPU"),
         TEXT("$a $r asked, $f are free in sum but at most $l on one GPU; waits for pods there to "
              "end")},
    [SL_REASON_DEVICES_SHARED] = {"DevicesShared", false,
                                  "A GPU is free to be given whole only while no part of it is in "
                                  "use, and too few are.",
                                  "wait for pods on those GPUs to end, or ask for fewer whole GPUs",
                                  TEXT("$r: $a asked, $f free of $c, parts of others are in use"),
                                  TEXT("$a $r asked, but parts of the GPUs are in use; waits for a "
                                       "whole one to become free")},
    [SL_REASON_UNHEALTHY] = {"Unhealthy", false,
                             "The node's free units are on GPUs that are marked unhealthy.",
                             "tell the operators of the cluster: these GPUs need them",
                             TEXT("$r: $a asked, $f free of $c on healthy GPUs"),
                             TEXT("what is left of $r is on GPUs that are marked unhealthy; waits "
                                  "for these to recover or for pods to end")},
    [SL_REASON_NOT_PARTITIONED] =
        {"NotPartitioned", false,
         "The node's GPUs are cut by demand and could offer the profile, but do not now.",
         "wait until a GPU is cut for it, or ask for a profile that is offered now",
         TEXT("$r: $a asked, this node's GPUs are not cut for it now$o"),
         TEXT("no GPU is cut for $r now; $N could be cut for it$p")},
    [SL_REASON_MEMORY_TAKEN] =
        {"MemoryTaken", false,
         "Enough units are free, but too few of them with the GPU memory that the pod needs of "
         "each (annotations sliced.dev/gpu-memory, sliced.dev/min-gpu-memory).",
         "wait for pods there to end, or state less GPU memory",
         TEXT("$r: $a asked with $n MiB of GPU memory each, $f can be had with that now"),
         TEXT("no node has $a $r with $n MiB of GPU memory each to give now; waits for pods there "
              "to end")},
    [SL_REASON_MEMORY_IN_USE] =
        {"MemoryInUse", false,
         "There would be room by what pods ask for, but they use more GPU memory than that, or did "
         "so until a moment ago.",
         "wait for pods there to end, or state in their sliced.dev/gpu-memory what they use",
         TEXT(
             "$r: $a asked, but pods use more GPU memory than they ask for: $u of $c MiB in use on "
             "the GPU with most left, $l asked there, $f left"),
         UNSAID},
    [SL_REASON_CUTTING] = {"Cutting", false,
                           "The node's GPUs are being cut; nothing is given there "
                           "until that is over.",
                           "wait until the cut is over",
                           TEXT("$r: $a asked, this node's GPUs are being cut"),
                           TEXT("the GPUs of $N are being cut; waits for that to end")},
    [SL_REASON_OUT_OF_SERVICE] =
        {"OutOfService", false,
         "The node has the units, but does not offer them now: its device plugin restarts or has "
         "yet to start, or GPUs are unhealthy (status.capacity above allocatable, or GPU labels "
         "without units).",
         "wait until they are back; if that lasts, tell the operators of the cluster",
         TEXT("$r: $a asked, this node offers $f now of the $c that it has"),
         TEXT("$H $r, but $D not offer enough now: the device plugin restarts or has yet to start, "
              "or GPUs are unhealthy; waits for that to end")},
    [SL_REASON_DEVICE_CLASS] =
        {"DeviceClass", false,
         "The node's device plugins do not offer the resource, but a DeviceClass does "
         "(spec.extendedResourceName): DRA gives its devices, which sliced does not schedule.",
         "leave the pod to a kube-scheduler that does not ask sliced, or ask for a resource that a "
         "device plugin offers",
         TEXT("$r: a DeviceClass offers it (DRA), whose devices sliced does not schedule"),
         TEXT("no node's device plugin offers $r, a DeviceClass does (DRA): sliced does not "
              "schedule its devices")},
    [SL_REASON_NOMINATED] =
        {"Nominated", false,
         "The room that is free is kept for pods of no lower priority that kube-scheduler has "
         "nominated to the node (status.nominatedNodeName), as after a preemption. filter and bind "
         "alone say so, while the queue is off.",
         "wait for these pods to start",
         TEXT("$r: $a asked, the room is kept for pods that are nominated to this node"), UNSAID},
    [SL_REASON_HOST_FULL] =
        {"HostFull", false,
         "The GPUs that are asked for are free, but too little CPU or memory is, or as many pods "
         "are there as may be. Explain alone says so: kube-scheduler judges it itself.",
         "wait for pods there to end, or request less CPU or memory",
         TEXT("too little CPU, memory or places for pods are free"),
         TEXT("$H the GPUs, but too little CPU, memory or places for pods; waits for pods there to "
              "end")},
    [SL_REASON_EXCLUDED] =
        {"Excluded", true,
         "The pod's node selector, affinity or tolerations exclude the node, or it is cordoned. "
         "Explain alone says so: kube-scheduler judges it itself.",
         "loosen its node selector or affinity, or tolerate the node's taints",
         TEXT("excluded by the pod's node selector, affinity or tolerations, or cordoned"), UNSAID},
    [SL_REASON_NOT_OFFERED] = {"NotOffered", true, "The node does not have the resource at all.",
                               "ask for a resource that some node offers",
                               TEXT("$r: not offered by this node"),
                               TEXT("no node offers $r" NO_START)},
    [SL_REASON_EXCEEDS_NODE] =
        {"ExceedsNode", true, "More is asked for than the node has, even when it is empty.",
         "ask for no more than one node has: several pods may share the work",
         TEXT("$r: $a asked, this node has $c in all"),
         TEXT("$a $r asked, the largest node has $c in all" NO_START)},
    [SL_REASON_EXCEEDS_DEVICE] =
        {"ExceedsDevice", true, "More is asked for than any one GPU of the node has.",
         "ask for no more than one GPU has: several pods may share the work",
         TEXT("$r: $a asked, one GPU of this node has at most $l"),
         TEXT("$a $r asked, one GPU has at most $l" NO_START)},
    [SL_REASON_LITTLE_MEMORY] =
        {"TooLittleMemory", true,
         "Too few of the node's units have the GPU memory that the pod needs of each (annotations "
         "sliced.dev/gpu-memory, sliced.dev/min-gpu-memory), even when it is empty.",
         "state less GPU memory, or ask for larger units",
         TEXT("$r: $a asked with $n MiB of GPU memory each, $f of this node's have that, $s"),
         TEXT("no node has $a $r with $n MiB of GPU memory each, $S" NO_START)},
    [SL_REASON_ONE_EACH] =
        {"OneReplicaEach", true,
         "The node's device plugin refuses a container more than one replica "
         "(failRequestsGreaterThanOne; under MPS unless it is set to false).",
         "ask for one replica in each container",
         TEXT("$r: $a asked, this node's device plugin gives a container one replica at most"),
         TEXT("$a $r asked, the nodes' device plugin gives a container one replica at "
              "most" NO_START)},
    [SL_REASON_EXCEEDS_TOGETHER] =
        {"ExceedsTogether", true,
         "Each GPU resource of the pod could be had alone, but not all of them at once, even when "
         "the node is empty.",
         "ask for less of one of the resources, or put them into two pods",
         TEXT("$r: $a asked, never to be had on this node beside the pod's other GPU requests"),
         UNSAID},
    [SL_REASON_MALFORMED_ASK] = {"MalformedAsk", true,
                                 "The pod's own request is wrong and has to be changed.",
                                 "correct the request", TEXT("malformed GPU request$m"),
                                 TEXT("its GPU request is wrong and has to be changed$m")},
    [SL_REASON_UNKNOWN_NODE] = {"UnknownNode", false, "The node has not been seen yet, or is gone.",
                                NULL, TEXT("node not known (yet)"), UNSAID},
    [SL_REASON_RESERVED_ELSEWHERE] =
        {"ReservedElsewhere", false,
         "The pod's devices are reserved on another node, as its binding there has not ended. "
         "filter alone says so.",
         NULL, TEXT("its devices are reserved on another node"), UNSAID},
#undef TEXT
#undef UNSAID
#undef NO_START
};

static const struct row *row_of(enum sl_reason reason)
{
    size_t i = (size_t)reason;
    return i < SL_REASON_COUNT ? &rows[i] : &rows[SL_REASON_UNKNOWN_NODE];
}

const char *sl_reason_name(enum sl_reason reason)
{
    return row_of(reason)->name;
}

bool sl_reason_is_never(enum sl_reason reason)
{
    return row_of(reason)->never;
}

const char *sl_reason_help(enum sl_reason reason)
{
    return row_of(reason)->help;
}

const char *sl_reason_remedy(enum sl_reason reason)
{
    return row_of(reason)->remedy;
}

void sl_verdict_by_dra(struct sl_verdict *verdict, const struct sl_ask *ask,
                       const struct sl_dra *dra)
{
    bool absent = verdict->reason == SL_REASON_NOT_OFFERED ||
                  (verdict->reason == SL_REASON_OUT_OF_SERVICE && verdict->free == 0);
    if (absent && verdict->item < ask->n && sl_dra_offers(dra, ask->item[verdict->item].key)) {
        verdict->reason = SL_REASON_DEVICE_CLASS;
    }
}

static int64_t memory_needed(const struct sl_ask *ask, const struct sl_verdict *verdict)
{
    if (ask == NULL || verdict->item >= ask->n) {
        return 0;
    }
    return sl_item_mib(&ask->item[verdict->item]);
}

/* One of them, or all that have the same to say. */
struct saying {
    const struct sl_verdict *verdict;
    const struct sl_ask *ask;
    const char *malformed;
    size_t nodes;
};

static void add_resource(struct sl_text *text, const struct saying *say)
{
    bool named = say->ask != NULL && say->verdict->item < say->ask->n;
    sl_text_puts(text, named ? say->ask->item[say->verdict->item].resource : "GPU");
}

static void add_nodes(struct sl_text *text, size_t nodes)
{
    sl_text_i64(text, (int64_t)nodes);
    sl_text_puts(text, nodes == 1 ? " node" : " nodes");
}

/* How much memory the largest unit has; unknown is said where that is 0. */
static void add_largest(struct sl_text *text, int64_t mib, const char *unknown)
{
    if (mib > 0) {
        sl_text_puts(text, "the largest has ");
        sl_text_i64(text, mib);
        sl_text_puts(text, " MiB");
    } else {
        sl_text_puts(text, unknown);
    }
}

/* Nothing where a node has none of what is asked for: then it is clear that none has enough. */
static void add_most_free(struct sl_text *text, const struct sl_verdict *verdict)
{
    if (verdict->free > 0) {
        sl_text_puts(text, " and no node has ");
        sl_text_i64(text, verdict->asked);
        sl_text_puts(text, " free");
    }
}

static void add_more(struct sl_text *text, const char *start, const char *more)
{
    if (more != NULL) {
        sl_text_puts(text, start);
        sl_text_puts(text, more);
    }
}

/* What is said of several nodes. */
static void add_sum(struct sl_text *text, char which, const struct saying *say)
{
    const struct sl_verdict *verdict = say->verdict;
    bool one = say->nodes == 1;
    switch (which) {
    case 'N':
        add_nodes(text, say->nodes);
        break;
    case 'H':
        add_nodes(text, say->nodes);
        sl_text_puts(text, one ? " has" : " have");
        break;
    case 'D':
        sl_text_puts(text, one ? "does" : "do");
        break;
    case 'e':
        sl_text_puts(text, verdict->free == 0 && verdict->asked == 1 ? "one" : "some");
        break;
    case 'w':
        add_most_free(text, verdict);
        break;
    case 'S':
        add_largest(text, verdict->largest, "how much there is is unknown");
        break;
    default:
        add_more(text, ", where the profile is offered as ",
                 verdict->alias == NULL ? NULL : verdict->alias->resource);
        break;
    }
}

static void add_value(struct sl_text *text, char which, const struct saying *say)
{
    const struct sl_verdict *verdict = say->verdict;
    switch (which) {
    case 'r':
        add_resource(text, say);
        break;
    case 'a':
        sl_text_i64(text, verdict->asked);
        break;
    case 'f':
        sl_text_i64(text, verdict->free);
        break;
    case 'c':
        sl_text_i64(text, verdict->capacity);
        break;
    case 'u':
        sl_text_i64(text, verdict->capacity - verdict->free);
        break;
    case 'l':
        sl_text_i64(text, verdict->largest);
        break;
    case 's':
        add_largest(text, verdict->largest, "how much they have is unknown");
        break;
    case 'n':
        sl_text_i64(text, memory_needed(say->ask, verdict));
        break;
    case 'o':
        add_more(text, "; it offers that profile as ",
                 verdict->alias == NULL ? NULL : verdict->alias->resource);
        break;
    case 'm':
        add_more(text, ": ", say->malformed);
        break;
    default:
        add_sum(text, which, say);
        break;
    }
}

static size_t write_text(struct sl_str rest, const struct saying *say, char *out, size_t size)
{
    struct sl_text text;
    sl_text_init(&text, out, size);
    while (rest.len > 0) {
        const char *mark = memchr(rest.s, '$', rest.len);
        size_t plain = mark == NULL ? rest.len : (size_t)(mark - rest.s);
        sl_text_add(&text, (struct sl_str){rest.s, plain});
        if (mark == NULL) {
            break;
        }
        add_value(&text, mark[1], say);
        rest.s += plain + 2;
        rest.len -= plain + 2;
    }
    return text.len;
}

size_t sl_verdict_text(const struct sl_verdict *verdict, const struct sl_ask *ask,
                       const char *malformed, char *out, size_t size)
{
    const struct saying say = {verdict, ask, malformed, 1};
    return write_text(row_of(verdict->reason)->text, &say, out, size);
}

size_t sl_verdicts_text(const struct sl_verdict *sum, size_t nodes, const struct sl_ask *ask,
                        const char *malformed, char *out, size_t size)
{
    const struct saying say = {sum, ask, malformed, nodes};
    struct sl_str all = row_of(sum->reason)->all;
    return write_text(all.len > 0 ? all : SL_STR("no node is known that could take it"), &say, out,
                      size);
}
