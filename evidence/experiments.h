/* The experiments, each in a file of its own. */
#ifndef SLICED_EVIDENCE_EXPERIMENTS_H
#define SLICED_EVIDENCE_EXPERIMENTS_H

#include "evidence/shape/experiment.h"

extern const struct sl_reproduction sl_short_tasks;
extern const struct sl_reproduction sl_orders;
extern const struct sl_reproduction sl_mig;
extern const struct sl_reproduction sl_mig_acceptance;
extern const struct sl_reproduction sl_openb;
extern const struct sl_reproduction sl_repartition;
extern const struct sl_reproduction sl_miso;
extern const struct sl_reproduction sl_cbp_pp;
extern const struct sl_reproduction sl_sharing;
extern const struct sl_reproduction sl_tenants_philly;
extern const struct sl_reproduction sl_widths;

#endif
