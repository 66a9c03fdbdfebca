// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! A small virtual machine monitor for KVM on arm64.
