# SPDX-License-Identifier: GPL-2.0
tests += test_account
test_account-src := test_account.c
