/* What pods and namespaces drew: kept by name, and bounded. */
#include <stdio.h>

#include "telemetry/accounts.h"
#include "unit/lack.h"
#include "unit/test.h"

static bool charge(struct sl_accounts *accounts, const char *name, int64_t mj)
{
    return sl_accounts_charge(accounts, sl_str_of(name), mj);
}

static int64_t of(const struct sl_accounts *accounts, const char *name)
{
    return sl_accounts_read(accounts, sl_str_of(name));
}

TEST_THAT(charges_add_up)
{
    struct sl_accounts accounts = {.round = 1};
    assert_int_equal(of(&accounts, "a"), -1);
    assert_true(charge(&accounts, "a", 5));
    assert_true(charge(&accounts, "ab", 7));
    assert_true(charge(&accounts, "a", 6));
    assert_int_equal(of(&accounts, "a"), 11);
    assert_int_equal(of(&accounts, "ab"), 7);
    assert_true(charge(&accounts, "a", INT64_MAX));
    assert_int_equal(of(&accounts, "a"), INT64_MAX);
    sl_accounts_free(&accounts);
}

TEST_THAT(a_charge_of_nothing_opens_no_account_but_keeps_one)
{
    struct sl_accounts accounts = {.round = 1};
    assert_true(charge(&accounts, "idle", 0));
    assert_int_equal(of(&accounts, "idle"), -1);
    assert_true(charge(&accounts, "a", 5));
    assert_true(charge(&accounts, "b", 5));
    sl_accounts_close(&accounts, 0);
    assert_true(charge(&accounts, "a", 0));
    sl_accounts_close(&accounts, 0);
    assert_int_equal(of(&accounts, "a"), 5);
    assert_int_equal(of(&accounts, "b"), -1);
    assert_int_equal(accounts.map.len, 1);
    sl_accounts_free(&accounts);
}

/* Whoever may create namespaces cannot push out those who have pods. */
TEST_THAT(only_who_is_gone_makes_room_when_it_is_needed)
{
    struct sl_accounts accounts = {.round = 1};
    assert_true(charge(&accounts, "gone", 1));
    assert_true(charge(&accounts, "here", 1));
    sl_accounts_close(&accounts, 2);
    assert_true(charge(&accounts, "here", 1));
    sl_accounts_close(&accounts, 2);
    assert_int_equal(of(&accounts, "gone"), 1); /* what it drew is told as long as there is room */
    assert_true(charge(&accounts, "here", 1));
    assert_true(charge(&accounts, "new", 1));
    sl_accounts_close(&accounts, 2);
    assert_int_equal(of(&accounts, "gone"), -1);
    assert_int_equal(of(&accounts, "here"), 3);
    assert_true(charge(&accounts, "here", 1));
    assert_true(charge(&accounts, "new", 1));
    sl_accounts_close(&accounts, 1);
    assert_int_equal(accounts.map.len, 2);
    sl_accounts_free(&accounts);
}

TEST_THAT(without_memory_nothing_is_charged)
{
    struct sl_accounts accounts = {.round = 1};
    for (size_t i = 1; i <= 2; i++) {
        lack_arm(i, false);
        assert_false(charge(&accounts, "a", 1));
        assert_true(lack_disarm());
    }
    assert_int_equal(of(&accounts, "a"), -1);
    assert_true(charge(&accounts, "a", 1));
    sl_accounts_free(&accounts);
}
