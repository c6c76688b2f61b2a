/* Reads the labels by which clouds tell a node's GPUs, where GPU feature discovery does not. GKE's
 * own device plugin shares GPUs and cuts them without it. Sources: GKE's "About GPU sharing
 * strategies" and GoogleCloudPlatform/container-engine-accelerators (gpusharing); the well-known
 * labels of Karpenter for AWS and Azure, and of EKS Auto Mode; AKS' "Use labels". */
#include "core/node/draft.h"

static const struct names {
    const char *product;
    const char *count;
    const char *memory; /* MiB of one GPU; NULL: none */
    const char *maker;  /* NULL: the product begins with it */
} clouds[] = {
    {"cloud.google.com/gke-accelerator", "cloud.google.com/gke-accelerator-count", NULL, NULL},
    {"karpenter.k8s.aws/instance-gpu-name", "karpenter.k8s.aws/instance-gpu-count",
     "karpenter.k8s.aws/instance-gpu-memory", "karpenter.k8s.aws/instance-gpu-manufacturer"},
    {"eks.amazonaws.com/instance-gpu-name", "eks.amazonaws.com/instance-gpu-count",
     "eks.amazonaws.com/instance-gpu-memory", "eks.amazonaws.com/instance-gpu-manufacturer"},
    {"karpenter.azure.com/sku-gpu-name", "karpenter.azure.com/sku-gpu-count", NULL,
     "karpenter.azure.com/sku-gpu-manufacturer"},
    {"k8s.amazonaws.com/accelerator", NULL, NULL, NULL}, /* eksctl's and cluster-autoscaler's */
};

/* Boards whose memory their name does not tell to sl_mig_model_find(): MiB that a driver was seen
 * to tell, or for which they are sold. An A100 or V100 by its name alone has that memory on GKE. */
static const struct board {
    const char *name; /* behind "nvidia-", and "tesla-" unless GKE's */
    int64_t mib;
    bool gke;
    const char *product; /* by feature discovery, where its name leads to no model; else NULL */
} boards[] = {
    {"tesla-a100", 40960, true, NULL},
    {"tesla-v100", 16160, true, NULL},
    {"rtx-pro-6000", 97250, true, "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition"},
    {"k80", 11441, false, NULL},
    {"p4", 7611, false, NULL},
    {"p100", 16276, false, NULL},
    {"t4", 15360, false, NULL},
    {"T4", 15360, false, NULL}, /* Azure's */
    {"l4", 22731, false, NULL},
};

static struct sl_str label(const struct sl_draft *draft, const char *key)
{
    const struct sl_pair *pair =
        key == NULL ? NULL : sl_pair_find(draft->facts->labels, sl_str_of(key));
    return pair == NULL ? (struct sl_str){0} : pair->value;
}

static struct sl_str without(struct sl_str text, struct sl_str start)
{
    return sl_str_starts(text, start) ? (struct sl_str){text.s + start.len, text.len - start.len}
                                      : text;
}

static const struct board *board_find(struct sl_str product, bool gke)
{
    struct sl_str name = without(product, SL_STR("nvidia-"));
    for (size_t i = 0; i < sizeof(boards) / sizeof(boards[0]); i++) {
        const struct board *board = &boards[i];
        struct sl_str rest = board->gke ? name : without(name, SL_STR("tesla-"));
        if ((gke || !board->gke) && sl_str_eq(rest, sl_str_of(board->name))) {
            return board;
        }
    }
    return NULL;
}

/* Takes product, number and memory of the GPUs from the cloud that names them. */
static void read_gpus(struct sl_draft *draft)
{
    struct sl_draft_labels *labels = &draft->labels;
    for (size_t i = 0; i < sizeof(clouds) / sizeof(clouds[0]); i++) {
        const struct names *cloud = &clouds[i];
        struct sl_str product = label(draft, cloud->product);
        bool ours = cloud->maker == NULL ? sl_str_starts(product, SL_STR("nvidia-"))
                                         : sl_str_eq(label(draft, cloud->maker), SL_STR("nvidia"));
        if (product.len == 0 || !ours) {
            continue;
        }
        const struct board *board = board_find(product, i == 0);
        bool other = board != NULL && board->product != NULL;
        labels->product = other ? sl_str_of(board->product) : product;
        if (labels->count == 0 && cloud->count != NULL) {
            labels->count = sl_draft_number(draft->facts->labels, sl_str_of(cloud->count));
            labels->exact = labels->count > 0;
        }
        if (labels->memory_mib == 0 && cloud->memory != NULL) {
            labels->memory_mib = sl_draft_memory_label(draft, sl_str_of(cloud->memory));
        }
        if (board != NULL && (labels->memory_mib == 0 || labels->memory_mib > board->mib)) {
            labels->memory_mib = board->mib; /* AWS tells a T4's as it is sold: 16384 */
        }
        return;
    }
}

/* GKE's plugin gives a container one shared unit, under MPS several of the only GPU. */
static void read_gke_sharing(struct sl_draft *draft)
{
    struct sl_draft_labels *labels = &draft->labels;
    struct sl_str strategy = label(draft, "cloud.google.com/gke-gpu-sharing-strategy");
    int64_t clients = sl_draft_number(draft->facts->labels,
                                      SL_STR("cloud.google.com/gke-max-shared-clients-per-gpu"));
    if (labels->sharing || (clients <= 1 && strategy.len == 0)) {
        return;
    }
    labels->sharing = true;
    labels->replicas = clients;
    labels->mps = sl_str_eq(strategy, SL_STR("mps"));
    if (labels->one_each == 0) {
        labels->one_each = labels->mps && labels->count == 1 ? -1 : 1;
    }
}

/* Instances under the name nvidia.com/gpu, as under strategy single. */
static void read_gke_partition(struct sl_draft *draft)
{
    struct sl_draft_labels *labels = &draft->labels;
    struct sl_str size = label(draft, "cloud.google.com/gke-gpu-partition-size");
    struct sl_mig_shape shape;
    if (size.len == 0 || labels->mig_profile.len > 0) {
        return;
    }
    if (!sl_mig_shape_parse(size, &shape)) {
        sl_draft_problem(draft, "cloud.google.com/gke-gpu-partition-size: ");
        sl_text_quoted(&draft->problem, size);
        sl_text_puts(&draft->problem, " is no MIG profile, ignored");
        return;
    }
    labels->mig_profile = size;
    labels->count = 0; /* of GPUs, not of instances */
}

void sl_draft_cloud(struct sl_draft *draft)
{
    struct sl_draft_labels *labels = &draft->labels;
    if (labels->product.len == 0) {
        read_gpus(draft);
    }
    read_gke_sharing(draft);
    read_gke_partition(draft);
    const struct sl_str maker = label(draft, "kubernetes.azure.com/accelerator");
    labels->present = labels->present || sl_str_eq(maker, SL_STR("nvidia"));
}
