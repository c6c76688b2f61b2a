/* Reads who cuts a node's GPUs, and how far the agent is. Admins and agents write these labels and
 * annotations: a text that cannot be one of theirs counts as absent. */
#include "core/node/draft.h"

static struct sl_str value_of(const struct sl_pair *list, struct sl_str key)
{
    const struct sl_pair *pair = sl_pair_find(list, key);
    return pair == NULL ? (struct sl_str){0} : pair->value;
}

/* Returns the value; empty, with a problem added, when it is too long. */
static struct sl_str short_value(struct sl_draft *draft, const struct sl_pair *list,
                                 struct sl_str key)
{
    struct sl_str value = value_of(list, key);
    if (value.len <= SL_PARTITION_TEXT_MAX) {
        return value;
    }
    sl_draft_problem_count(draft, key, (int64_t)value.len, " bytes long, ignored");
    return (struct sl_str){0};
}

static enum sl_partition_state state_of(struct sl_str text)
{
    for (unsigned i = SL_PARTITION_PENDING; i <= SL_PARTITION_FAILED; i++) {
        if (sl_str_eq(text, sl_str_of(sl_partition_state_name((enum sl_partition_state)i)))) {
            return (enum sl_partition_state)i;
        }
    }
    return SL_PARTITION_NONE;
}

/* An order of ours that nos' MIG agent has not answered yet. It goes on with it, whoever selects
 * the node now. It may answer when it has only read it: sl_draft_follows() looks closer. */
static bool nos_owes(const struct sl_node_facts *facts, struct sl_str cut)
{
    const struct sl_str spec = SL_STR("nos.nebuly.com/spec-partitioning-plan");
    const struct sl_str status = SL_STR("nos.nebuly.com/status-partitioning-plan");
    return cut.len > 0 && sl_str_eq(value_of(facts->annotations, spec), cut) &&
           !sl_str_eq(value_of(facts->annotations, status), cut);
}

void sl_draft_follows(struct sl_draft *draft, bool follows)
{
    struct sl_str config =
        value_of(draft->facts->labels, SL_STR("nvidia.com/device-plugin.config"));
    const struct sl_str spec = SL_STR("nos.nebuly.com/spec-partitioning-plan");
    struct sl_str cut = draft->partition.cut;
    bool told =
        draft->facts->planned != NULL && sl_str_eq(value_of(draft->facts->annotations, spec), cut);
    draft->partition.known.planned = draft->facts->planned != NULL;
    draft->partition.known.follows = follows;
    if (cut.len > 0 && !follows && (told || sl_str_ends(config, cut))) {
        draft->partition.known.at_work = true;
    }
}

void sl_draft_partition(struct sl_draft *draft)
{
    const struct sl_node_facts *facts = draft->facts;
    const struct sl_draft_labels *labels = &draft->labels;
    bool counts_gpus = labels->mig_profile.len == 0 && labels->count <= SL_NODE_DEVICES_MAX;
    struct sl_draft_partition *out = &draft->partition;
    *out = (struct sl_draft_partition){
        .known = {.actuator = facts->actuator,
                  .state = state_of(value_of(facts->labels, SL_STR("nvidia.com/mig.config.state"))),
                  .single = labels->single,
                  .mig_mode = facts->mig_mode && facts->actuator == SL_ACTUATOR_MIG_MANAGER,
                  .n_gpus = (uint16_t)(counts_gpus ? labels->count : 0)},
        .cut = short_value(draft, facts->annotations, SL_STR("sliced.dev/cut")),
        .cut_text = short_value(draft, facts->annotations, SL_STR("sliced.dev/cut-text")),
    };
    out->known.at_work = out->known.state == SL_PARTITION_PENDING ||
                         out->known.state == SL_PARTITION_REBOOTING || nos_owes(facts, out->cut);
    if (facts->actuator == SL_ACTUATOR_NOS_MIG) {
        out->wanted =
            short_value(draft, facts->annotations, SL_STR("nos.nebuly.com/spec-partitioning-plan"));
        out->applied = short_value(draft, facts->annotations,
                                   SL_STR("nos.nebuly.com/status-partitioning-plan"));
    } else if (facts->actuator == SL_ACTUATOR_MIG_MANAGER) {
        out->wanted = short_value(draft, facts->labels, SL_STR("nvidia.com/mig.config"));
    } else if (facts->actuator == SL_ACTUATOR_NOS_MPS) {
        out->wanted = short_value(draft, facts->labels, SL_STR("nvidia.com/device-plugin.config"));
    }
}

bool sl_node_is_cut(const struct sl_node *node)
{
    const struct sl_partition *partition = &node->partition;
    return partition->cut != NULL &&
           (partition->actuator != SL_ACTUATOR_NONE || partition->at_work);
}

/* ---- the rule ---- */

static bool rule_selects(const struct sl_actuator_rule *rule, const struct sl_node_facts *facts)
{
    for (size_t i = 0; i < rule->n_selector; i++) {
        const struct sl_pair *pair = sl_pair_find(facts->labels, sl_str_of(rule->selector[i].key));
        if (pair == NULL || !sl_str_eq(pair->value, sl_str_of(rule->selector[i].value))) {
            return false;
        }
    }
    return true;
}

enum sl_actuator sl_actuator_of(const struct sl_actuator_rule *rule,
                                const struct sl_node_facts *facts)
{
    if (!rule->enabled || !rule_selects(rule, facts)) {
        return SL_ACTUATOR_NONE;
    }
    struct sl_str label = value_of(facts->labels, SL_STR("nos.nebuly.com/gpu-partitioning"));
    bool mps = sl_str_eq(label, SL_STR("mps"));
    bool nos = rule->choice == SL_CHOOSE_NOS ||
               (rule->choice == SL_CHOOSE_AUTO && (mps || sl_str_eq(label, SL_STR("mig"))));
    if (!nos) {
        return SL_ACTUATOR_MIG_MANAGER;
    }
    return mps ? SL_ACTUATOR_NOS_MPS : SL_ACTUATOR_NOS_MIG;
}

const char *sl_actuator_name(enum sl_actuator actuator)
{
    static const char *const names[] = {
        [SL_ACTUATOR_NONE] = "none",
        [SL_ACTUATOR_MIG_MANAGER] = "mig-manager",
        [SL_ACTUATOR_NOS_MIG] = "nos-mig",
        [SL_ACTUATOR_NOS_MPS] = "nos-mps",
    };
    return names[actuator];
}

const char *sl_partition_state_name(enum sl_partition_state state)
{
    static const char *const names[] = {
        [SL_PARTITION_NONE] = "none",           [SL_PARTITION_PENDING] = "pending",
        [SL_PARTITION_REBOOTING] = "rebooting", [SL_PARTITION_SUCCESS] = "success",
        [SL_PARTITION_FAILED] = "failed",
    };
    return names[state];
}
