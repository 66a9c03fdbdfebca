// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The only unsafe code of the crate: system calls that std has no safe form of.
#![allow(unsafe_code)]
