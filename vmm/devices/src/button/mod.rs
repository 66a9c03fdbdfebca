// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! A power button: a virtio-input device with the one key KEY_POWER.
//!
//! Chosen over a GPIO line with gpio-keys, as other machines without ACPI have it, because Debian's
//! cloud kernels have a driver for this and none for that. What the key does is up to the guest's user
//! space: systemd-logind and acpid power off.
//!
//! A press is four events, each in a buffer of its own: key down, end of report, key up, end of
//! report. Where the driver has no buffer left the rest waits for the next one. Presses while one is
//! under way are that one.
//!
//! The device tells what it is through a configuration space of queries: the driver writes which
//! piece it wants (`select`, `subsel`), and reads its size and bytes.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use virtio_bindings::virtio_ids::VIRTIO_ID_INPUT;
use virtio_bindings::virtio_input::{
    virtio_input_config_select_VIRTIO_INPUT_CFG_EV_BITS as CFG_EV_BITS,
    virtio_input_config_select_VIRTIO_INPUT_CFG_ID_DEVIDS as CFG_ID_DEVIDS,
    virtio_input_config_select_VIRTIO_INPUT_CFG_ID_NAME as CFG_ID_NAME,
};
use vmm_sys_util::eventfd::{EFD_NONBLOCK, EventFd};

use crate::GuestMemory;
use crate::sys;
use crate::virtio::chain::Chain;
use crate::virtio::ring::RingError;
use crate::virtio::watched::Watched;
use crate::virtio::{Context, Error, Event, Served, Sources, VirtioDevice, read_config_bytes};

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
}

/// The finger on the button.
#[derive(Clone)]
pub struct PowerButton(Arc<Shared>);

impl PowerButton {
    /// Whether the guest has a driver at work that would see a press.
    pub fn has_driver(&self) -> bool {
        self.0.driver.load(Ordering::Acquire)
    }

    /// Presses the button and lets it go.
    pub fn press(&self) -> io::Result<()> {
        self.0.event.write(1)
    }
}

/// The device.
pub struct Button {
    shared: Arc<Shared>,
    watched: Watched,
    select: u8,
    subsel: u8,
    /// Events that wait for a buffer.
    waiting: VecDeque<InputEvent>,
    presses: u64,
    events: u64,
}

impl Button {
    /// A button, and the finger for it.
    pub fn new() -> Result<(Self, PowerButton), Error> {
        let event = EventFd::new(EFD_NONBLOCK).map_err(|e| Error::host("no eventfd", e))?;
        let shared = Arc::new(Shared {
            driver: AtomicBool::new(false),
            event,
        });
        let button = Self {
            shared: Arc::clone(&shared),
            watched: Watched::default(),
            select: 0,
            subsel: 0,
            waiting: VecDeque::new(),
            presses: 0,
            events: 0,
        };
        Ok((button, PowerButton(shared)))
    }

    /// What the driver has asked for; nothing where there is no such thing.
    fn answer(&self) -> Vec<u8> {
        match (u32::from(self.select), u16::from(self.subsel)) {
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
        self.events += 1;
        Ok(Served::Used(EVENT_SIZE as u32))
    }

    fn press(&mut self, ctx: &mut Context<'_>) -> Result<(), RingError> {
        if self.shared.event.read().is_ok() && self.waiting.is_empty() {
            self.presses += 1;
            self.waiting.extend(PRESS);
        }
        self.deliver(ctx)
    }

    fn watch(&mut self, sources: &dyn Sources, want: bool) -> io::Result<()> {
        let event = sys::borrow(&self.shared.event);
        self.watched.set(want, sources, event, CONTROL)
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

    fn read_config(&self, offset: u64, data: &mut [u8]) {
        let answer = self.answer();
        let mut config = [0; CONFIG_SIZE];
        config[0] = self.select;
        config[1] = self.subsel;
        config[2] = answer.len() as u8;
        config[ANSWER..ANSWER + answer.len()].copy_from_slice(&answer);
        read_config_bytes(&config, offset, data);
    }

    fn write_config(&mut self, offset: u64, data: &[u8]) {
        match (offset, data) {
            (SELECT, [select]) => self.select = *select,
            (SUBSEL, [subsel]) => self.subsel = *subsel,
            _ => {}
        }
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
        (self.select, self.subsel) = (0, 0);
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("presses", self.presses), ("events", self.events)]
    }
}

#[cfg(test)]
#[path = "button_test.rs"]
mod tests;
