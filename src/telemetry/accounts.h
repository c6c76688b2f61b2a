/* What pods, or namespaces, have drawn, by name. Not thread safe. */
#ifndef SLICED_TELEMETRY_ACCOUNTS_H
#define SLICED_TELEMETRY_ACCOUNTS_H

#include "util/data/map.h"

struct sl_account {
    int64_t mj;     /* millijoules */
    uint64_t round; /* of the last charge */
    size_t len;
    char name[];
};

/* Zeroed but for max: nothing was charged. */
struct sl_accounts {
    struct sl_map map; /* struct sl_account */
    size_t max;
    uint64_t round;
    uint64_t over; /* charges that were refused because all accounts are in use */
};

void sl_accounts_free(struct sl_accounts *accounts); /* the accounts, not the struct */

/* Charges the name. A charge of 0 opens no account, and says that the name is still there. When
 * there are max accounts, those are closed that were not charged in this round or the one before.
 * False: there is none such, or out of memory. */
bool sl_accounts_charge(struct sl_accounts *accounts, struct sl_str name, int64_t mj);

/* Millijoules; -1: there is no account. */
int64_t sl_accounts_read(const struct sl_accounts *accounts, struct sl_str name);

/* Closes accounts that were not charged in this round. */
void sl_accounts_close(struct sl_accounts *accounts);

#endif
