// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The user's terminal in raw mode, and its restoration on every way out.
//!
//! The attributes to restore are in a static, so that a panic hook can use them too. The main loop
//! reads the signals that end the program, and leaves in order. Only SIGKILL leaves a terminal raw
//! (`reset` helps then).

use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError};

use crate::sys::tty::{Attributes, attributes, in_foreground, set_attributes};

static SAVED: Mutex<Option<Attributes>> = Mutex::new(None);

/// Raw mode while it lives.
pub struct Raw(());

impl Raw {
    /// Makes standard input raw if it is a terminal that this process may use now; None if not.
    pub fn enter() -> io::Result<Option<Self>> {
        let stdin = io::stdin();
        if !stdin.is_terminal() || !in_foreground(stdin.as_fd()) {
            return Ok(None);
        }
        let before = attributes(stdin.as_fd())?;
        *SAVED.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
        let raw = Raw(());
        set_attributes(stdin.as_fd(), &before.raw())?;
        let before_panic = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            restore();
            before_panic(info);
        }));
        Ok(Some(raw))
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        restore();
    }
}

/// Puts the terminal back as it was, once.
pub fn restore() {
    // try_lock: a panic while the lock is held must not wait for itself.
    let Ok(mut saved) = SAVED.try_lock() else {
        return;
    };
    if let Some(attributes) = saved.take() {
        // Nobody is left to report an error to.
        let _ = set_attributes(io::stdin().as_fd(), &attributes);
    }
}
