// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The 16550 on the MMIO bus, and how few exits its output takes.
//!
//! An exit costs thousands of instructions, so what a character costs is what the console costs.
//! - KVM takes down stores to the transmit register by itself where it can ("coalesced MMIO"); they
//!   wait in a ring. Whoever touches the UART empties the ring first, so the order of a CPU's stores
//!   to it is kept. The console thread also empties it from time to time, for a guest that stores
//!   characters and never touches the UART otherwise.
//! - Before the guest uses interrupts, it asks for the line status before each character. Until then
//!   the registers are memory that the guest can read and not write (a [`Window`]): reads cost
//!   nothing, and stores exit as ever. This is exact as long as reading a register changes nothing,
//!   which [`Uart::window_is_exact`] decides after each store; when it no longer is, the window
//!   closes for good.
//! - The device tree promises a long FIFO, so that Linux with interrupts asks once in 256 characters.
//!
//! The transmitter is always empty: characters go to a writer that takes all of them.

use std::convert::Infallible;
use std::io::Write;

use armvisor_devices::MmioDevice;
use vm_superio::serial::NoEvents;
use vm_superio::{Serial, Trigger};

use crate::layout::UART_BASE;
use crate::sys::ring::CoalescedRing;

/// Registers are next to each other.
pub const REG_SHIFT: u32 = 0;
/// The UART's registers, and the rest of the largest page that a host can have.
pub const WINDOW: u64 = 0x1_0000;
/// What the divisor latch divides.
pub const CLOCK: u32 = 1_843_200;
/// What the device tree says of the transmit FIFO.
pub const FIFO: u32 = 256;

/// The UART's interrupt line.
pub struct Line(Box<dyn armvisor_devices::Interrupt>);

impl Trigger for Line {
    type E = Infallible;

    /// An interrupt that cannot be sent is the host's fault; the guest's console stalls, not the VM.
    fn trigger(&self) -> Result<(), Infallible> {
        if let Err(error) = self.0.trigger() {
            log::error!("cannot interrupt the guest for its UART: {error}");
        }
        Ok(())
    }
}

/// Registers that the guest reads as memory.
pub trait Window: Send {
    /// From now on the guest reads these.
    fn show(&mut self, registers: [u8; REGISTERS]);
    /// From now on reads exit.
    fn close(&mut self);
}

const REGISTERS: usize = 8;

// Registers and bits that matter here.
const IER: u8 = 1;
const LCR: u8 = 3;
const LCR_DLAB: u8 = 0x80;
const MCR: u8 = 4;
const LSR: u8 = 5;
const MCR_LOOP: u8 = 0x10;
const LSR_DATA_READY: u8 = 0x01;

/// The UART.
pub struct Uart<S: Write + Send> {
    serial: Serial<Line, NoEvents, S>,
    ring: Option<CoalescedRing>,
    window: Option<Box<dyn Window>>,
    /// LCR's bit that puts the divisor in the place of the first two registers.
    divisor_latch: bool,
    interrupts: u8,
}

impl<S: Write + Send> Uart<S> {
    pub fn new(interrupt: Box<dyn armvisor_devices::Interrupt>, sink: S) -> Self {
        Uart {
            serial: Serial::new(Line(interrupt), sink),
            ring: None,
            window: None,
            divisor_latch: false,
            interrupts: 0,
        }
    }

    /// From now on KVM puts stores to the transmit register into `ring`.
    pub fn coalesce(&mut self, ring: CoalescedRing) {
        self.ring = Some(ring);
    }

    /// Lets the guest read the registers as memory, for as long as that is exact.
    pub fn open_window(&mut self, window: Box<dyn Window>) {
        self.window = Some(window);
        self.update_window();
    }

    /// Whether reading a register has no effect and what it reads is known beforehand: no interrupt
    /// that reading acknowledges, no character to take, none that comes back by itself.
    fn window_is_exact(&mut self) -> bool {
        let status = self.serial.read(LSR);
        let control = self.serial.read(MCR);
        self.interrupts == 0 && status & LSR_DATA_READY == 0 && control & MCR_LOOP == 0
    }

    fn update_window(&mut self) {
        if self.window.is_none() {
            return;
        }
        if self.window_is_exact() {
            let mut registers = [0; REGISTERS];
            for (number, register) in registers.iter_mut().enumerate() {
                *register = self.serial.read(number as u8);
            }
            if let Some(window) = &mut self.window {
                window.show(registers);
            }
        } else if let Some(mut window) = self.window.take() {
            window.close();
        }
    }

    /// Carries out the stores that KVM took down; true if there were any.
    pub fn drain(&mut self) -> bool {
        let mut any = false;
        while let Some(store) = self.ring.as_mut().and_then(CoalescedRing::pop) {
            any = true;
            // The zone is the transmit register; what else KVM may ever put here is not ours.
            if store.address == UART_BASE {
                self.store(0, store.data[0]);
            }
        }
        any
    }

    fn store(&mut self, register: u8, value: u8) {
        // The sink and the line have no errors to tell.
        let _ = self.serial.write(register, value);
        match register {
            IER if !self.divisor_latch => self.interrupts = value,
            LCR => self.divisor_latch = value & LCR_DLAB != 0,
            _ => {}
        }
    }

    /// How many characters the guest's receive FIFO takes now.
    pub fn input_room(&self) -> usize {
        self.serial.fifo_capacity()
    }

    /// Types at the guest's console; returns how many characters it took.
    pub fn input(&mut self, bytes: &[u8]) -> usize {
        self.drain();
        // A full FIFO is the only error.
        let taken = self.serial.enqueue_raw_bytes(bytes).unwrap_or(0);
        self.update_window();
        taken
    }

    pub fn sink(&mut self) -> &mut S {
        self.serial.writer_mut()
    }
}

fn register(offset: u64) -> Option<u8> {
    let number = offset >> REG_SHIFT;
    (number < 8 && number << REG_SHIFT == offset).then_some(number as u8)
}

impl<S: Write + Send> MmioDevice for Uart<S> {
    fn read(&mut self, offset: u64, data: &mut [u8]) {
        self.drain();
        data.fill(0);
        if let (Some(register), Some(byte)) = (register(offset), data.first_mut()) {
            *byte = self.serial.read(register);
        }
    }

    fn write(&mut self, offset: u64, data: &[u8]) {
        self.drain();
        // A wider store writes the register at its address: what a 16550 behind a wide bus does.
        if let (Some(register), Some(byte)) = (register(offset), data.first()) {
            self.store(register, *byte);
            // A character sent changes nothing that the guest can read.
            if register != 0 || self.divisor_latch {
                self.update_window();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Count(Arc<AtomicUsize>);

    impl armvisor_devices::Interrupt for Count {
        fn trigger(&self) -> io::Result<()> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
    }

    const IER: u64 = 1;
    const IIR: u64 = 2;
    const LCR: u64 = 3;
    const MCR: u64 = 4;
    const LSR: u64 = 5;
    const SCR: u64 = 7;

    fn uart() -> (Uart<Vec<u8>>, Count) {
        let count = Count::default();
        (Uart::new(Box::new(count.clone()), Vec::new()), count)
    }

    fn read(uart: &mut Uart<Vec<u8>>, register: u64) -> u8 {
        let mut byte = [0];
        uart.read(register << REG_SHIFT, &mut byte);
        byte[0]
    }

    #[test]
    fn characters_reach_the_sink_and_the_transmitter_is_always_empty() {
        let (mut uart, _) = uart();
        for byte in b"hi\n" {
            uart.write(0, &[*byte]);
            assert_eq!(read(&mut uart, LSR) & 0x60, 0x60);
        }
        assert_eq!(uart.sink(), b"hi\n");
    }

    #[test]
    fn input_interrupts_the_guest_and_stops_when_full() {
        let (mut uart, count) = uart();
        uart.write(IER << REG_SHIFT, &[1]);
        let room = uart.input_room();
        assert_eq!(uart.input(&b"x".repeat(room + 10)), room);
        assert_eq!((uart.input_room(), uart.input(b"y")), (0, 0));
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        assert_eq!(read(&mut uart, IIR) & 0xf, 4);
        assert_eq!(read(&mut uart, LSR) & 1, 1);
        assert_eq!([read(&mut uart, 0)], *b"x");
        assert_eq!(uart.input_room(), 1);
    }

    #[test]
    fn enabling_the_transmit_interrupt_raises_it() {
        let (mut uart, count) = uart();
        uart.write(IER << REG_SHIFT, &[2]);
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        assert_eq!(read(&mut uart, IIR) & 0xf, 2);
    }

    /// What the guest reads without an exit; None when the window is closed.
    #[derive(Clone, Default)]
    struct Memory(Arc<Mutex<Option<[u8; REGISTERS]>>>);

    impl Window for Memory {
        fn show(&mut self, registers: [u8; REGISTERS]) {
            *self.0.lock().unwrap() = Some(registers);
        }
        fn close(&mut self) {
            *self.0.lock().unwrap() = None;
        }
    }

    fn windowed() -> (Uart<Vec<u8>>, Memory) {
        let (mut uart, memory) = (uart().0, Memory::default());
        uart.open_window(Box::new(memory.clone()));
        (uart, memory)
    }

    #[test]
    fn the_window_shows_what_an_exit_would_read() {
        let (mut uart, memory) = windowed();
        let stores = [
            (0, b'a'),
            (LCR, 0x83),
            (0, 1),
            (IER, 2),
            (LCR, 3),
            (0, b'b'),
            (IER, 0),
            (SCR, 0x5a),
            (MCR, 0xb),
            (2, 7),
        ];
        for (register, value) in stores {
            uart.write(register, &[value]);
            let shown = memory.0.lock().unwrap().expect("open");
            for (number, byte) in shown.iter().enumerate() {
                assert_eq!(
                    *byte,
                    read(&mut uart, number as u64),
                    "{number} after {register}"
                );
            }
        }
        assert_eq!(uart.sink(), b"ab");
    }

    #[test]
    fn the_window_closes_for_good_when_reading_matters() {
        let enable_interrupts = |uart: &mut Uart<Vec<u8>>| uart.write(IER, &[1]);
        let loop_back = |uart: &mut Uart<Vec<u8>>| uart.write(MCR, &[0x10]);
        let type_a_key = |uart: &mut Uart<Vec<u8>>| assert_eq!(uart.input(b"k"), 1);
        let causes: [fn(&mut Uart<Vec<u8>>); 3] = [enable_interrupts, loop_back, type_a_key];
        for cause in causes {
            let (mut uart, memory) = windowed();
            cause(&mut uart);
            assert_eq!(*memory.0.lock().unwrap(), None);
            uart.write(IER, &[0]);
            uart.write(MCR, &[0]);
            assert_eq!(*memory.0.lock().unwrap(), None);
        }
    }

    #[test]
    fn odd_accesses_are_harmless() {
        let (mut uart, _) = uart();
        uart.write(0xffe, &[1, 2]);
        uart.write(0, &[]);
        uart.write(0, &u64::from(b'w').to_le_bytes());
        let mut wide = [0xee; 8];
        uart.read(LSR << REG_SHIFT, &mut wide);
        assert_eq!(wide[1..], [0; 7]);
        uart.read(0x800, &mut wide);
        assert_eq!(wide, [0; 8]);
        uart.read(0, &mut []);
        assert_eq!(uart.sink(), b"w");
    }
}
