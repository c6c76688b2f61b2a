/* The rule by which nos' controller decides cuts, for comparison: greedy by node name, by counts
 * without placements. */
#ifndef SLICED_EVIDENCE_NOS_RULE_H
#define SLICED_EVIDENCE_NOS_RULE_H

#include "sliced/cut.h"

struct sl_nos_rule;
struct sl_nos_rule *sl_nos_rule_new(struct sl_error *err);
void sl_nos_rule_free(struct sl_nos_rule *rule);

/* For struct sl_sim_cutting; state is a struct sl_nos_rule. The output holds what the node's agent
 * makes of the plan, which may be less than was planned. A100 and A30 only, as nos. */
int sl_nos_rule_plan(void *state, const struct sl_cut_input *input, struct sl_cut_output *output,
                     struct sl_error *err);

#endif
