// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Getting a vCPU thread out of the guest.
//!
//! The kick is a signal. Its handler runs in the vCPU's own thread and sets `immediate_exit` of that
//! thread's `kvm_run`, so that a kick which comes just before KVM_RUN is not lost: KVM_RUN then
//! returns EINTR at once. The loop clears the flag after EINTR and before it looks at its gate.

use std::cell::Cell;
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicU8, Ordering};

use vmm_sys_util::signal::{Killable, SIGRTMIN, register_signal_handler};

thread_local! {
    // Const and without a destructor: a plain thread-local word that a signal handler may read.
    static FLAG: Cell<*const AtomicU8> = const { Cell::new(ptr::null()) };
}

/// The signal in use, with no offset: the first real-time signal that libc leaves to programs.
fn signal() -> libc::c_int {
    SIGRTMIN()
}

extern "C" fn on_kick(_: libc::c_int, _: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let flag = FLAG.get();
    // SAFETY: null, or points to the flag that this thread's `Kickable` guards: it is reset before
    // the flag goes away. An atomic store is all that happens, which a handler may do.
    if let Some(flag) = unsafe { flag.as_ref() } {
        flag.store(1, Ordering::Relaxed);
    }
}

/// Installs the handler, once for the process, before the first vCPU runs.
pub fn install() -> io::Result<()> {
    register_signal_handler(signal(), on_kick).map_err(Into::into)
}

/// While it lives, a kick of this thread sets the flag that it was made with.
pub struct Kickable<'a> {
    flag: &'a AtomicU8,
    // Tied to the thread that made it.
    _not_send: std::marker::PhantomData<*const ()>,
}

impl<'a> Kickable<'a> {
    /// Kicks of this thread set `flag` from now on.
    pub fn new(flag: &'a AtomicU8) -> Self {
        FLAG.set(flag);
        Kickable {
            flag,
            _not_send: std::marker::PhantomData,
        }
    }

    /// Takes the kick back, after KVM_RUN returned EINTR.
    pub fn clear(&self) {
        self.flag.store(0, Ordering::Relaxed);
    }
}

impl Drop for Kickable<'_> {
    fn drop(&mut self) {
        FLAG.set(ptr::null());
    }
}

/// Kicks a thread. One that has ended already cannot be kicked, which is as good.
pub fn kick<T>(thread: &std::thread::JoinHandle<T>) {
    if thread.is_finished() {
        return;
    }
    if let Err(error) = thread.kill(signal()) {
        log::debug!("kicking a vCPU: {error}");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_kick_sets_the_flag_of_its_thread_only() {
        install().unwrap();
        let flags: [Arc<AtomicU8>; 2] = Default::default();
        let quit = Arc::new(AtomicU8::new(0));
        let threads = flags.clone().map(|flag| {
            let quit = quit.clone();
            std::thread::spawn(move || {
                let kickable = Kickable::new(&flag);
                while quit.load(Ordering::Relaxed) == 0 {
                    std::thread::sleep(Duration::from_millis(1));
                }
                let kicked = flag.load(Ordering::Relaxed);
                kickable.clear();
                (kicked, flag.load(Ordering::Relaxed))
            })
        });
        // The thread may not have registered its flag yet: kick until it has.
        while flags[0].load(Ordering::Relaxed) == 0 {
            kick(&threads[0]);
            std::thread::sleep(Duration::from_millis(1));
        }
        quit.store(1, Ordering::Relaxed);
        let results = threads.map(|thread| thread.join().unwrap());
        assert_eq!(results, [(1, 0), (0, 0)]);
    }
}
