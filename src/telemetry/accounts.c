/* Accounts in a map. */
#include "telemetry/accounts.h"

#include <stdlib.h>

#include "util/data/sat.h"

void sl_accounts_close(struct sl_accounts *accounts, size_t max)
{
    size_t at = 0;
    for (struct sl_account *account = sl_map_next(&accounts->map, &at);
         account != NULL && accounts->map.len > max; account = sl_map_next(&accounts->map, &at)) {
        if (account->round < accounts->round) {
            (void)sl_map_remove(&accounts->map, account->name, account->len);
            free(account);
        }
    }
    accounts->round++;
}

void sl_accounts_free(struct sl_accounts *accounts)
{
    accounts->round = UINT64_MAX;
    sl_accounts_close(accounts, 0);
    sl_map_free(&accounts->map);
}

struct sl_account *sl_accounts_open(struct sl_accounts *accounts, struct sl_str name)
{
    struct sl_account *account = sl_map_get(&accounts->map, name.s, name.len);
    if (account == NULL) {
        account = SL_MAP_ADD(&accounts->map, struct sl_account, name, name);
        if (account != NULL) {
            account->len = name.len;
        }
    }
    return account;
}

bool sl_accounts_charge(struct sl_accounts *accounts, struct sl_str name, int64_t sum)
{
    struct sl_account *account =
        sum > 0 ? sl_accounts_open(accounts, name) : sl_map_get(&accounts->map, name.s, name.len);
    if (account == NULL) {
        return sum == 0;
    }
    account->sum = sl_sat_add(account->sum, sum);
    account->round = accounts->round;
    return true;
}

int64_t sl_accounts_read(const struct sl_accounts *accounts, struct sl_str name)
{
    const struct sl_account *account = sl_map_get(&accounts->map, name.s, name.len);
    return account == NULL ? -1 : account->sum;
}
