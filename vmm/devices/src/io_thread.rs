// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The one thread that serves every device's queues, off the vCPU threads.
//!
//! It has its own epoll loop instead of event-manager's: there, the set of sources can only change
//! inside a callback, but a reset has to remove a device's sources from a vCPU thread.
//!
//! An event carries the device's number and a token: queues count from 0, a device's own sources
//! have `SOURCE` set. All sources are level-triggered, so a stale event (its source was removed
//! after epoll returned it) finds nothing to do. The thread parks while paused.
//!
//! The host's storage may block the thread for any time. Callers that wait for it pass a limit.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use log::error;
use vmm_sys_util::epoll::{ControlOperation, Epoll, EpollEvent, EventSet};
use vmm_sys_util::eventfd::{EFD_CLOEXEC, EFD_NONBLOCK, EventFd};

use crate::virtio::mmio::VirtioMmio;
use crate::virtio::{Error, Event, Sources, lock};

const SOURCE: u32 = 1 << 31;
const WAKE: u64 = u64::MAX;
const EVENTS: usize = 32;

/// The I/O thread. Dropping it stops the thread, however long its request takes, and takes every
/// device out of use.
pub struct IoThread {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    epoll: Epoll,
    wake: EventFd,
    gate: Mutex<Gate>,
    changed: Condvar,
    /// Never held while a device is called.
    devices: Mutex<Vec<Option<VirtioMmio>>>,
}

#[derive(Default)]
struct Gate {
    pause: bool,
    parked: bool,
    quit: bool,
    gone: bool,
}

impl IoThread {
    /// Starts the thread.
    pub fn spawn() -> Result<Self, Error> {
        let failed = |e| Error::host("cannot start the I/O thread", e);
        let shared = Arc::new(Shared {
            epoll: Epoll::new().map_err(failed)?,
            wake: EventFd::new(EFD_NONBLOCK | EFD_CLOEXEC).map_err(failed)?,
            gate: Mutex::default(),
            changed: Condvar::new(),
            devices: Mutex::default(),
        });
        let wake = EpollEvent::new(EventSet::IN, WAKE);
        shared
            .epoll
            .ctl(ControlOperation::Add, shared.wake.as_raw_fd(), wake)
            .map_err(failed)?;
        let worker = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("virtio-io".into())
            .spawn(move || {
                let _gone = Gone(&worker);
                worker.run();
            })
            .map_err(failed)?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// Stops serving; true once no device touches guest memory any more. Where a request takes longer
    /// than `limit` nothing is paused, and the answer is false.
    pub fn pause(&self, limit: Duration) -> bool {
        let mut gate = lock(&self.shared.gate);
        gate.pause = true;
        self.shared.wake();
        let (mut gate, in_time) = self
            .shared
            .wait_for(gate, limit, |gate| gate.parked || gate.gone);
        if !in_time {
            gate.pause = false;
        }
        in_time
    }

    /// Stops the thread and takes every device out of use. Where a request takes longer than `limit`
    /// the thread is left to the end of the process, and the answer is false.
    pub fn stop(mut self, limit: Duration) -> bool {
        let mut gate = lock(&self.shared.gate);
        gate.quit = true;
        self.shared.changed.notify_all();
        self.shared.wake();
        let (gate, in_time) = self.shared.wait_for(gate, limit, |gate| gate.gone);
        drop(gate);
        if !in_time {
            self.thread = None;
        }
        in_time
    }

    /// Serves again what `pause` stopped. What came in between is served now.
    pub fn resume(&self) {
        lock(&self.shared.gate).pause = false;
        self.shared.changed.notify_all();
    }

    pub(crate) fn reserve(&self) -> Slot {
        let mut devices = lock(&self.shared.devices);
        devices.push(None);
        Slot {
            shared: Arc::clone(&self.shared),
            device: devices.len() as u32 - 1,
        }
    }
}

impl Drop for IoThread {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else {
            return;
        };
        lock(&self.shared.gate).quit = true;
        self.shared.changed.notify_all();
        self.shared.wake();
        if thread.join().is_err() {
            error!("the I/O thread had panicked");
        }
        let devices = std::mem::take(&mut *lock(&self.shared.devices));
        devices
            .into_iter()
            .flatten()
            .for_each(|device| device.detach());
    }
}

/// A device's place in the loop.
pub(crate) struct Slot {
    shared: Arc<Shared>,
    device: u32,
}

impl Slot {
    pub(crate) fn sources(&self) -> LoopSources {
        LoopSources {
            shared: Arc::clone(&self.shared),
            device: self.device,
        }
    }

    /// Lets the loop serve `virtio` from now on.
    pub(crate) fn attach(self, virtio: VirtioMmio) -> Result<(), Error> {
        lock(&self.shared.devices)[self.device as usize] = Some(virtio.clone());
        for (token, event) in (0..).zip(virtio.queue_events()) {
            self.sources()
                .control(
                    ControlOperation::Add,
                    event.as_raw_fd(),
                    token,
                    EventSet::IN,
                )
                .map_err(|e| Error::host("cannot watch a queue", e))?;
        }
        Ok(())
    }
}

/// One device's view of the loop.
pub(crate) struct LoopSources {
    shared: Arc<Shared>,
    device: u32,
}

impl LoopSources {
    fn control(
        &self,
        operation: ControlOperation,
        fd: i32,
        token: u32,
        events: EventSet,
    ) -> io::Result<()> {
        let data = u64::from(self.device) << 32 | u64::from(token);
        self.shared
            .epoll
            .ctl(operation, fd, EpollEvent::new(events, data))
    }
}

impl Sources for LoopSources {
    fn add(&self, fd: BorrowedFd<'_>, token: u32, events: EventSet) -> io::Result<()> {
        self.control(
            ControlOperation::Add,
            fd.as_raw_fd(),
            token | SOURCE,
            events,
        )
    }

    fn modify(&self, fd: BorrowedFd<'_>, token: u32, events: EventSet) -> io::Result<()> {
        self.control(
            ControlOperation::Modify,
            fd.as_raw_fd(),
            token | SOURCE,
            events,
        )
    }

    fn remove(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        self.control(
            ControlOperation::Delete,
            fd.as_fd().as_raw_fd(),
            0,
            EventSet::empty(),
        )
    }
}

/// However the thread ends, by a panic too: whoever waits for it to park must not wait for ever.
struct Gone<'a>(&'a Shared);

impl Drop for Gone<'_> {
    fn drop(&mut self) {
        lock(&self.0.gate).gone = true;
        self.0.changed.notify_all();
    }
}

impl Shared {
    fn run(&self) {
        let mut ready = vec![EpollEvent::default(); EVENTS];
        while self.may_go_on() {
            let count = match self.epoll.wait(-1, &mut ready) {
                Ok(count) => count,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => {
                    error!("I/O thread: epoll failed, devices stop: {e}");
                    break;
                }
            };
            for event in &ready[..count] {
                self.dispatch(event);
            }
        }
    }

    /// Parks while paused; false when the thread is to end.
    fn may_go_on(&self) -> bool {
        let mut gate = lock(&self.gate);
        while gate.pause && !gate.quit {
            gate.parked = true;
            self.changed.notify_all();
            gate = self.wait(gate);
        }
        gate.parked = false;
        !gate.quit
    }

    fn wait<'a>(&self, gate: MutexGuard<'a, Gate>) -> MutexGuard<'a, Gate> {
        self.changed
            .wait(gate)
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `done`; false where that takes longer than `limit`.
    fn wait_for<'a>(
        &self,
        gate: MutexGuard<'a, Gate>,
        limit: Duration,
        done: impl Fn(&Gate) -> bool,
    ) -> (MutexGuard<'a, Gate>, bool) {
        let (gate, timeout) = self
            .changed
            .wait_timeout_while(gate, limit, |gate| !done(gate))
            .unwrap_or_else(PoisonError::into_inner);
        (gate, !timeout.timed_out())
    }

    fn wake(&self) {
        // Fails only when the counter is full, and then the event is pending anyway.
        let _ = self.wake.write(1);
    }

    fn dispatch(&self, ready: &EpollEvent) {
        let data = ready.data();
        if data == WAKE {
            let _ = self.wake.read();
            return;
        }
        let device = lock(&self.devices)
            .get((data >> 32) as usize)
            .cloned()
            .flatten();
        let Some(device) = device else { return };
        let token = data as u32;
        device.handle(if token & SOURCE == 0 {
            Event::Queue(token as usize)
        } else {
            Event::Source(token & !SOURCE, ready.event_set())
        });
    }
}

#[cfg(test)]
#[path = "io_thread_test.rs"]
mod tests;
