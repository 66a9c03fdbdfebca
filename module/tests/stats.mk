# SPDX-License-Identifier: GPL-2.0
tests += test_account
test_account-src := test_account.c
tests += test_fast_time
test_fast_time-src := test_fast_time.c
