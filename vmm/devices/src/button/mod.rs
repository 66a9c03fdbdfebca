// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! A power button: a virtio-input device with the one key KEY_POWER.
//!
//! Other machines without ACPI have a GPIO line with gpio-keys; Debian's cloud kernels have a
//! driver for virtio-input but none for that. The guest's user space decides on the effect of the
//! key: systemd-logind and acpid power off.
//!
//! A press is four events, each in its own buffer: key down, end of report, key up, end of report.
//! If the driver has no buffer left, the rest waits for the next one. Presses during a press are
//! part of it.
//!
//! The device describes itself through a configuration space of queries: the driver writes the item
//! it wants (`select`, `subsel`), and reads its size and bytes.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use virtio_bindings::virtio_ids::VIRTIO_ID_INPUT;
use virtio_bindings::virtio_input::{
    virtio_input_config_select_VIRTIO_INPUT_CFG_EV_BITS as CFG_EV_BITS,
    virtio_input_config_select_VIRTIO_INPUT_CFG_ID_DEVIDS as CFG_ID_DEVIDS,
    virtio_input_config_select_VIRTIO_INPUT_CFG_ID_NAME as CFG_ID_NAME,
};
use vmm_sys_util::eventfd::{EFD_CLOEXEC, EFD_NONBLOCK, EventFd};

use crate::GuestMemory;
use crate::sys;
use crate::virtio::chain::Chain;
use crate::virtio::ring::RingError;
use crate::virtio::watched::Watched;
use crate::virtio::{
    Context, Counter, Error, Event, Face, Served, Sources, VirtioDevice, read_config_bytes,
};

/// Events to the driver, and its own (LEDs and the like; there are none).
const EVENTS: usize = 0;
const STATUS: usize = 1;
const QUEUE_SIZES: [u16; 2] = [16, 16];
const CONTROL: u32 = 0;

// From <linux/input-event-codes.h> and <linux/input.h>.
const EV_SYN: u16 = 0;
const EV_KEY: u16 = 1;
const SYN_REPORT: u16 = 0;
const KEY_POWER: u16 = 116;
const BUS_VIRTUAL: u16 = 6;

const NAME: &[u8] = b"armvisor power button";
/// struct virtio_input_event: type, code, value.
const EVENT_SIZE: usize = 8;
/// The configuration space: select, subsel, size, 5 reserved bytes, then the bytes asked for.
const SELECT: u64 = 0;
const SUBSEL: u64 = 1;
const ANSWER: usize = 8;
const CONFIG_SIZE: usize = ANSWER + 128;

type InputEvent = (u16, u16, u32);

/// What one press is.
const PRESS: [InputEvent; 4] = [
    (EV_KEY, KEY_POWER, 1),
    (EV_SYN, SYN_REPORT, 0),
    (EV_KEY, KEY_POWER, 0),
    (EV_SYN, SYN_REPORT, 0),
];

struct Shared {
    driver: AtomicBool,
    event: EventFd,
    select: AtomicU8,
    subsel: AtomicU8,
    presses: Counter,
    events: Counter,
}

/// The finger on the button.
#[derive(Clone)]
pub struct PowerButton(Arc<Shared>);

impl PowerButton {
    /// Whether the guest has a driver at work that would see a press.
    pub fn has_driver(&self) -> bool {
        self.0.driver.load(Ordering::Acquire)
    }

    /// Presses the button and releases it; from any thread. A press that is under way takes in this one.
    pub fn press(&self) -> io::Result<()> {
        self.0.event.write(1)
    }
}

/// An input device (virtio 1.3, 5.8) with the one key KEY_POWER.
pub struct Button {
    shared: Arc<Shared>,
    watched: Watched,
    /// Events that wait for a buffer.
    waiting: VecDeque<InputEvent>,
}

impl Button {
    /// A button, and the handle that presses it. Fails if the process has no file descriptor left.
    pub fn new() -> Result<(Self, PowerButton), Error> {
        let event =
            EventFd::new(EFD_NONBLOCK | EFD_CLOEXEC).map_err(|e| Error::host("no eventfd", e))?;
        let shared = Arc::new(Shared {
            driver: AtomicBool::new(false),
            event,
            select: AtomicU8::new(0),
            subsel: AtomicU8::new(0),
            presses: Counter::default(),
            events: Counter::default(),
        });
        let button = Self {
            shared: Arc::clone(&shared),
            watched: Watched::default(),
            waiting: VecDeque::new(),
        };
        Ok((button, PowerButton(shared)))
    }

    fn deliver(&mut self, ctx: &mut Context<'_>) -> Result<(), RingError> {
        if self.waiting.is_empty() {
            // The driver's buffers stay where they are until there is something for them.
            return Ok(());
        }
        ctx.serve(EVENTS, |mem, chain| self.fill(mem, chain))
    }

    fn fill(&mut self, mem: &GuestMemory, chain: &Chain) -> Result<Served, RingError> {
        let Some((kind, code, value)) = self.waiting.front().copied() else {
            return Ok(Served::Later);
        };
        if chain.read_len() != 0 || (chain.write_len() as usize) < EVENT_SIZE {
            return Err(RingError::Direction);
        }
        let mut bytes = [0; EVENT_SIZE];
        bytes[..2].copy_from_slice(&kind.to_le_bytes());
        bytes[2..4].copy_from_slice(&code.to_le_bytes());
        bytes[4..].copy_from_slice(&value.to_le_bytes());
        chain.write(mem, 0, &bytes)?;
        self.waiting.pop_front();
        self.shared.events.add(1);
        Ok(Served::Used(EVENT_SIZE as u32))
    }

    fn press(&mut self, ctx: &mut Context<'_>) -> Result<(), RingError> {
        if self.shared.event.read().is_ok() && self.waiting.is_empty() {
            self.shared.presses.add(1);
            self.waiting.extend(PRESS);
        }
        self.deliver(ctx)
    }

    fn watch(&mut self, sources: &dyn Sources, want: bool) -> io::Result<()> {
        let event = sys::borrow(&self.shared.event);
        self.watched.set(want, sources, event, CONTROL)
    }
}

/// What a driver gets that asks for this; nothing where there is no such thing.
fn answer(select: u8, subsel: u8) -> Vec<u8> {
    match (u32::from(select), u16::from(subsel)) {
        (CFG_ID_NAME, 0) => NAME.to_vec(),
        // Bus, vendor, product, version.
        (CFG_ID_DEVIDS, 0) => [BUS_VIRTUAL, 0, 0, 1].map(u16::to_le_bytes).concat(),
        // The keys that there are, a bit each.
        (CFG_EV_BITS, EV_KEY) => {
            let mut bits = vec![0; usize::from(KEY_POWER / 8) + 1];
            bits[usize::from(KEY_POWER / 8)] = 1 << (KEY_POWER % 8);
            bits
        }
        _ => Vec::new(),
    }
}

impl Face for Shared {
    fn read_config(&self, offset: u64, data: &mut [u8]) {
        let mut config = [0; CONFIG_SIZE];
        config[0] = self.select.load(Ordering::Relaxed);
        config[1] = self.subsel.load(Ordering::Relaxed);
        let answer = answer(config[0], config[1]);
        config[2] = answer.len() as u8;
        config[ANSWER..ANSWER + answer.len()].copy_from_slice(&answer);
        read_config_bytes(&config, offset, data);
    }

    fn write_config(&self, offset: u64, data: &[u8]) {
        match (offset, data) {
            (SELECT, [select]) => self.select.store(*select, Ordering::Relaxed),
            (SUBSEL, [subsel]) => self.subsel.store(*subsel, Ordering::Relaxed),
            _ => {}
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("presses", self.presses.get()),
            ("events", self.events.get()),
        ]
    }
}

impl VirtioDevice for Button {
    fn name(&self) -> &'static str {
        "button"
    }

    fn device_type(&self) -> u32 {
        VIRTIO_ID_INPUT
    }

    fn features(&self) -> u64 {
        0
    }

    fn queue_sizes(&self) -> &[u16] {
        &QUEUE_SIZES
    }

    fn face(&self) -> Arc<dyn Face> {
        Arc::clone(&self.shared) as _
    }

    fn activate(&mut self, ctx: &mut Context<'_>) -> Result<(), Error> {
        // A press from before the driver came is not one.
        let _ = self.shared.event.read();
        self.watch(ctx.sources, true)
            .map_err(|e| Error::host("cannot watch the power button", e))?;
        self.shared.driver.store(true, Ordering::Release);
        Ok(())
    }

    fn handle(&mut self, event: Event, ctx: &mut Context<'_>) -> Result<(), RingError> {
        match event {
            Event::Queue(STATUS) => ctx.serve(STATUS, |_, _| Ok(Served::Used(0))),
            Event::Queue(_) => self.deliver(ctx),
            Event::Source(..) => self.press(ctx),
        }
    }

    fn reset(&mut self, sources: &dyn Sources) {
        let _ = self.watch(sources, false);
        self.shared.driver.store(false, Ordering::Release);
        self.waiting.clear();
        self.shared.select.store(0, Ordering::Relaxed);
        self.shared.subsel.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[path = "button_test.rs"]
mod tests;
