/* Keeps sums by name: the energy that pods, or namespaces, have drawn. Not thread safe. */
#ifndef SLICED_TELEMETRY_ACCOUNTS_H
#define SLICED_TELEMETRY_ACCOUNTS_H

#include "util/data/map.h"

struct sl_account {
    int64_t sum;    /* of energy: millijoules */
    uint64_t round; /* of the last charge */
    size_t len;
    char name[];
};

/* Zeroed: nothing was charged. */
struct sl_accounts {
    struct sl_map map; /* struct sl_account */
    uint64_t round;
};

void sl_accounts_free(struct sl_accounts *accounts); /* the accounts, not the struct */

/* The account of the name, opened where there is none. NULL: out of memory. */
struct sl_account *sl_accounts_open(struct sl_accounts *accounts, struct sl_str name);

/* Charges the name. A charge of 0 opens no account, and says that the name is still there. False:
 * out of memory. */
bool sl_accounts_charge(struct sl_accounts *accounts, struct sl_str name, int64_t sum);

/* Returns the sum that it was charged with; -1: there is no account. */
int64_t sl_accounts_read(const struct sl_accounts *accounts, struct sl_str name);

/* Ends the round: while there are more than max accounts, those that were not charged in it are
 * closed. */
void sl_accounts_close(struct sl_accounts *accounts, size_t max);

#endif
