// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The exit loop of a vCPU, and the gate that stops vCPUs.
//!
//! The gate holds requests to all vCPUs of a VM. A vCPU checks it before each entry. After changing
//! it, kick the vCPU threads (a signal whose handler sets `immediate_exit`), so that a vCPU inside
//! KVM returns and checks. Set first, kick second.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::bus::Bus;
use crate::exits::ExitCounters;
use crate::hv::{Vcpu, VmEntry, VmExit};
use crate::outcome::End;

const RUN: u8 = 0;
const PAUSE: u8 = 1;
const QUIT: u8 = 2;

#[derive(Default)]
struct Waiting {
    parked: usize,
    gone: usize,
}

/// What is wanted of the vCPUs of a VM: run, pause or quit.
#[derive(Default)]
pub struct Gate {
    wanted: AtomicU8,
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

impl Gate {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn want(&self, wanted: u8) {
        let guard = self.lock();
        // Quit is final.
        if self.wanted.load(Ordering::Relaxed) != QUIT {
            self.wanted.store(wanted, Ordering::Release);
        }
        drop(guard);
        self.changed.notify_all();
    }

    /// vCPUs park at the gate; kick them after this.
    pub fn pause(&self) {
        self.want(PAUSE);
    }

    /// Parked vCPUs go on.
    pub fn resume(&self) {
        self.want(RUN);
    }

    /// vCPU threads end; kick them after this. Later calls change nothing.
    pub fn quit(&self) {
        self.want(QUIT);
    }

    /// Whether a pause is wanted; vCPUs may not have parked yet.
    pub fn is_paused(&self) -> bool {
        self.wanted.load(Ordering::Acquire) == PAUSE
    }

    /// Waits until `count` vCPUs are parked or gone; false when that takes longer than `limit`.
    pub fn wait_parked(&self, count: usize, limit: Duration) -> bool {
        self.wait(limit, |waiting| waiting.parked + waiting.gone >= count)
    }

    /// Waits until `count` vCPUs are gone; false when that takes longer than `limit`.
    pub fn wait_gone(&self, count: usize, limit: Duration) -> bool {
        self.wait(limit, |waiting| waiting.gone >= count)
    }

    fn wait(&self, limit: Duration, done: impl Fn(&Waiting) -> bool) -> bool {
        let end = Instant::now() + limit;
        let mut guard = self.lock();
        while !done(&guard) {
            let Some(left) = end.checked_duration_since(Instant::now()) else {
                return false;
            };
            let waited = self.changed.wait_timeout(guard, left);
            guard = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Passes the gate, after waiting at it if a pause is wanted; false if the vCPU is to end.
    fn pass(&self) -> bool {
        match self.wanted.load(Ordering::Acquire) {
            RUN => true,
            QUIT => false,
            _ => self.park(),
        }
    }

    fn park(&self) -> bool {
        let mut guard = self.lock();
        guard.parked += 1;
        self.changed.notify_all();
        while self.wanted.load(Ordering::Relaxed) == PAUSE {
            guard = self
                .changed
                .wait(guard)
                .unwrap_or_else(PoisonError::into_inner);
        }
        guard.parked -= 1;
        self.wanted.load(Ordering::Relaxed) == RUN
    }

    /// A vCPU's thread says that it will not come to the gate again.
    pub fn leave(&self) {
        self.lock().gone += 1;
        self.changed.notify_all();
    }
}

/// Runs a vCPU until the VM ends. Returns why it ended, or None when this vCPU was told to quit.
pub fn run<V: Vcpu>(vcpu: &mut V, bus: &Bus, gate: &Gate, counters: &ExitCounters) -> Option<End> {
    let mut entry = VmEntry::Run;
    while gate.pass() {
        let exit = vcpu.run(entry);
        counters.bump(exit.class());
        entry = match exit {
            VmExit::MmioRead { address, len } => mmio_read(bus, address, len),
            VmExit::MmioWrite { address, data, len } => {
                mmio_write(bus, address, &data[..len.min(8)])
            }
            VmExit::Interrupted | VmExit::Slept => VmEntry::Run,
            VmExit::System(end) => return Some(end),
            VmExit::Stuck(sentence) => {
                return Some(End::Stuck {
                    detail: format!("{sentence}\n{}", vcpu.registers()),
                });
            }
        };
    }
    None
}

/// What is at no device reads as all ones, as on a bus where nobody answers; people see it with -v.
fn mmio_read(bus: &Bus, address: u64, len: usize) -> VmEntry {
    let mut data = [0; 8];
    let len = len.min(8);
    if !bus.read(address, &mut data[..len]) {
        log::debug!("the guest read {len} bytes at {address:#x}, where nothing is");
        data[..len].fill(0xff);
    }
    VmEntry::MmioRead(data)
}

fn mmio_write(bus: &Bus, address: u64, data: &[u8]) -> VmEntry {
    if !bus.write(address, data) {
        log::debug!(
            "the guest wrote {} bytes at {address:#x}, where nothing is",
            data.len()
        );
    }
    VmEntry::Run
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    use armvisor_devices::MmioDevice;

    use super::*;
    use crate::exits::Class;

    /// A vCPU that exits as it is told and remembers what it was entered with.
    struct Scripted {
        exits: VecDeque<VmExit>,
        entries: Vec<VmEntry>,
    }

    impl Scripted {
        fn new(exits: impl Into<VecDeque<VmExit>>) -> Self {
            Scripted {
                exits: exits.into(),
                entries: Vec::new(),
            }
        }
    }

    impl Vcpu for Scripted {
        fn run(&mut self, entry: VmEntry) -> VmExit {
            self.entries.push(entry);
            self.exits
                .pop_front()
                .unwrap_or(VmExit::System(End::PowerOff))
        }
        fn registers(&self) -> String {
            "pc=0x1234".into()
        }
    }

    struct Register(AtomicU64);

    impl MmioDevice for Register {
        fn read(&self, _offset: u64, data: &mut [u8]) {
            let value = self.0.load(Ordering::Relaxed);
            data.copy_from_slice(&value.to_le_bytes()[..data.len()]);
        }
        fn write(&self, _offset: u64, data: &[u8]) {
            let bytes = data.iter().rev();
            let value = bytes.fold(0, |value, byte| value << 8 | u64::from(*byte));
            self.0.store(value, Ordering::Relaxed);
        }
    }

    fn run_script(exits: Vec<VmExit>) -> (Option<End>, Vec<VmEntry>, ExitCounters) {
        let mut bus = Bus::default();
        bus.insert(0x1000, 8, Arc::new(Register(AtomicU64::new(0))))
            .unwrap();
        let mut vcpu = Scripted::new(exits);
        let counters = ExitCounters::default();
        let end = run(&mut vcpu, &bus, &Gate::default(), &counters);
        (end, vcpu.entries, counters)
    }

    fn write(address: u64, value: u64, len: usize) -> VmExit {
        VmExit::MmioWrite {
            address,
            data: value.to_le_bytes(),
            len,
        }
    }

    #[test]
    fn a_load_returns_what_was_stored() {
        let read = VmExit::MmioRead {
            address: 0x1000,
            len: 4,
        };
        let (end, entries, counters) = run_script(vec![write(0x1000, 0xabcd_1234_5678, 4), read]);
        assert_eq!(end, Some(End::PowerOff));
        let loaded = VmEntry::MmioRead([0x78, 0x56, 0x34, 0x12, 0, 0, 0, 0]);
        assert_eq!(entries, [VmEntry::Run, VmEntry::Run, loaded]);
        assert_eq!(counters.get(Class::MmioRead), 1);
        assert_eq!(counters.get(Class::MmioWrite), 1);
        assert_eq!(counters.get(Class::SystemEvent), 1);
    }

    #[test]
    fn nothing_reads_as_ones_and_swallows_writes() {
        let exits = vec![
            write(0x5000, 1, 8),
            VmExit::MmioRead {
                address: 0x5000,
                len: 2,
            },
        ];
        let (_, entries, _) = run_script(exits);
        assert_eq!(
            entries[2],
            VmEntry::MmioRead([0xff, 0xff, 0, 0, 0, 0, 0, 0])
        );
    }

    #[test]
    fn impossible_lengths_do_not_panic() {
        let exits = vec![
            write(0x1000, 1, 99),
            VmExit::MmioRead {
                address: 0x1000,
                len: 99,
            },
        ];
        assert_eq!(run_script(exits).0, Some(End::PowerOff));
    }

    #[test]
    fn being_stuck_ends_the_vm_with_the_registers() {
        let (end, _, counters) = run_script(vec![VmExit::Interrupted, VmExit::Stuck("why".into())]);
        assert_eq!(
            end,
            Some(End::Stuck {
                detail: "why\npc=0x1234".into()
            })
        );
        assert_eq!(counters.get(Class::Error), 1);
        assert_eq!(counters.get(Class::Signal), 1);
    }

    #[test]
    fn a_guest_that_sleeps_goes_on() {
        let (end, entries, counters) = run_script(vec![VmExit::Slept, VmExit::Slept]);
        assert_eq!(end, Some(End::PowerOff));
        assert_eq!(entries, [VmEntry::Run, VmEntry::Run, VmEntry::Run]);
        assert_eq!(counters.get(Class::SystemEvent), 3);
    }

    #[test]
    fn quitting_ends_the_loop_before_the_next_entry() {
        let gate = Gate::default();
        gate.quit();
        gate.resume();
        let mut vcpu = Scripted::new([]);
        assert_eq!(
            run(&mut vcpu, &Bus::default(), &gate, &ExitCounters::default()),
            None
        );
        assert!(vcpu.entries.is_empty());
    }

    #[test]
    fn a_pause_holds_the_vcpu_until_it_resumes() {
        let gate = Arc::new(Gate::default());
        gate.pause();
        assert!(!gate.wait_parked(1, Duration::from_millis(10)));
        let thread = std::thread::spawn({
            let gate = gate.clone();
            move || {
                let mut vcpu = Scripted::new([]);
                let end = run(&mut vcpu, &Bus::default(), &gate, &ExitCounters::default());
                gate.leave();
                end
            }
        });
        assert!(gate.wait_parked(1, Duration::from_secs(10)));
        assert!(gate.is_paused() && !thread.is_finished());
        gate.resume();
        assert_eq!(thread.join().unwrap(), Some(End::PowerOff));
        // A vCPU that is gone does not delay a pause.
        gate.pause();
        assert!(gate.wait_parked(1, Duration::from_secs(10)));
    }
}
