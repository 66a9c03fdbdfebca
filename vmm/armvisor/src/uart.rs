// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The 16550 on the MMIO bus, with few exits for output.
//!
//! An exit costs thousands of instructions, so exits per character determine the cost of the
//! console.
//! - Where it can, KVM records stores to the transmit register itself ("coalesced MMIO"), in a
//!   ring. Each access to the UART empties the ring first, so the order of a CPU's stores to it is
//!   kept. The console thread also empties it from time to time, for a guest that only stores
//!   characters.
//! - Before the guest uses interrupts, it reads the line status before each character. Until then
//!   the registers are memory that the guest can read and not write (a [`Window`]): reads cost
//!   nothing, and stores exit as usual. This is exact as long as reading a register changes
//!   nothing, which [`Uart::window_is_exact`] decides after each store; when it no longer is, the
//!   window closes for good.
//! - The device tree promises a long FIFO, so that Linux with interrupts asks once in 256
//!   characters.
//!
//! The transmitter is always empty: characters go to a [`Sink`] that takes all of them.
//!
//! Locks: `registers` is held during an access, never while anybody waits. `sink` may be held while
//! a slow reader catches up. Order: `sink`, then `registers`. A load takes only `registers`, so an
//! interrupt handler gets its answer whatever the reader does. A store that has characters to pass
//! on takes both, one after the other: a guest that is far ahead of its reader waits there, and
//! nowhere else. If much output waits already, loads leave KVM's ring as it is; it fills, and the
//! guest's next character exits.

use std::convert::Infallible;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

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
            log::error!("UART: cannot interrupt the guest: {error}");
        }
        Ok(())
    }
}

/// What the registers hold, by number.
pub type Values = [u8; REGISTERS];

/// Registers that the guest reads as memory.
pub trait Window: Send {
    /// From now on the guest reads these.
    fn show(&mut self, registers: Values);
    /// From now on reads exit.
    fn close(&mut self);
}

/// Where characters go.
pub trait Sink: Send {
    /// Takes characters, without waiting for who reads them.
    fn put(&mut self, bytes: &[u8]);
    /// Whether the reader is far behind.
    fn is_behind(&self) -> bool;
    /// Waits for a reader that is, for a while.
    fn catch_up(&mut self);
}

const REGISTERS: usize = 8;
/// With this much not passed on yet, loads take no more characters.
const ROOM: usize = 64 << 10;

// Registers and bits that matter here.
const IER: u8 = 1;
const LCR: u8 = 3;
const LCR_DLAB: u8 = 0x80;
const MCR: u8 = 4;
const LSR: u8 = 5;
const MCR_LOOP: u8 = 0x10;
const LSR_DATA_READY: u8 = 0x01;

/// The UART.
pub struct Uart<S> {
    registers: Mutex<Registers>,
    sink: Mutex<Outlet<S>>,
}

/// The sink, and characters on their way into it.
struct Outlet<S> {
    sink: S,
    bytes: Vec<u8>,
}

struct Registers {
    /// Its writer holds what the guest has sent and no store has passed on yet.
    serial: Serial<Line, NoEvents, Vec<u8>>,
    ring: Option<CoalescedRing>,
    window: Option<Box<dyn Window>>,
    /// LCR's bit that puts the divisor in the place of the first two registers.
    divisor_latch: bool,
    interrupts: u8,
}

impl Registers {
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

    /// Carries out the stores that KVM took down.
    fn drain(&mut self) {
        while let Some(store) = self.ring.as_mut().and_then(CoalescedRing::pop) {
            // The zone is the transmit register; ignore anything else that KVM may put here.
            if store.address == UART_BASE {
                self.store(0, store.data[0]);
            }
        }
    }

    /// The same, unless much waits to be passed on.
    fn drain_some(&mut self) {
        if self.sent().len() < ROOM {
            self.drain();
        }
    }

    fn store(&mut self, register: u8, value: u8) {
        // The writer and the line cannot fail.
        let _ = self.serial.write(register, value);
        match register {
            IER if !self.divisor_latch => self.interrupts = value,
            LCR => self.divisor_latch = value & LCR_DLAB != 0,
            _ => {}
        }
    }

    fn sent(&mut self) -> &mut Vec<u8> {
        self.serial.writer_mut()
    }
}

impl<S: Sink> Uart<S> {
    /// The UART after a reset; `interrupt` is its line, and `sink` gets the bytes that the guest sends.
    pub fn new(interrupt: Box<dyn armvisor_devices::Interrupt>, sink: S) -> Self {
        let bytes = Vec::new();
        Uart {
            registers: Mutex::new(Registers {
                serial: Serial::new(Line(interrupt), Vec::new()),
                ring: None,
                window: None,
                divisor_latch: false,
                interrupts: 0,
            }),
            sink: Mutex::new(Outlet { sink, bytes }),
        }
    }

    /// A device whose thread panicked is still the guest's: the VM is about to end, and the other
    /// vCPUs should get there without a second panic.
    fn registers(&self) -> MutexGuard<'_, Registers> {
        self.registers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on KVM puts stores to the transmit register into `ring`.
    pub fn coalesce(&self, ring: CoalescedRing) {
        self.registers().ring = Some(ring);
    }

    /// Lets the guest read the registers as memory, for as long as that is exact.
    pub fn open_window(&self, window: Box<dyn Window>) {
        let mut registers = self.registers();
        registers.window = Some(window);
        registers.update_window();
    }

    /// Gives the sink what the guest has sent; true if there was any.
    fn pass_on(&self, outlet: &mut Outlet<S>) -> bool {
        std::mem::swap(self.registers().sent(), &mut outlet.bytes);
        let any = !outlet.bytes.is_empty();
        if any {
            outlet.sink.put(&outlet.bytes);
            outlet.bytes.clear();
        }
        any
    }

    /// Carries out the stores that KVM took down, gives the sink what the guest has sent as long as
    /// its reader keeps up, and runs `action` on it, which is told whether there was any. None while a
    /// vCPU waits for the reader.
    pub fn with_sink<T>(&self, action: impl FnOnce(&mut S, bool) -> T) -> Option<T> {
        self.registers().drain_some();
        let mut outlet = self.try_outlet()?;
        let any = !outlet.sink.is_behind() && self.pass_on(&mut outlet);
        Some(action(&mut outlet.sink, any))
    }

    /// At the VM's end: gives the sink all that the guest has sent, even if its reader is behind, and
    /// runs `action` on it. None while a vCPU waits for the reader.
    pub fn finish<T>(&self, action: impl FnOnce(&mut S) -> T) -> Option<T> {
        self.registers().drain();
        let mut outlet = self.try_outlet()?;
        self.pass_on(&mut outlet);
        Some(action(&mut outlet.sink))
    }

    /// None while a vCPU waits for the reader.
    fn try_outlet(&self) -> Option<MutexGuard<'_, Outlet<S>>> {
        match self.sink.try_lock() {
            Ok(outlet) => Some(outlet),
            Err(TryLockError::Poisoned(outlet)) => Some(outlet.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// How many characters the guest's receive FIFO takes now.
    pub fn input_room(&self) -> usize {
        self.registers().serial.fifo_capacity()
    }

    /// Types at the guest's console; returns how many characters it took.
    pub fn input(&self, bytes: &[u8]) -> usize {
        let mut registers = self.registers();
        registers.drain_some();
        // A full FIFO is the only error.
        let taken = registers.serial.enqueue_raw_bytes(bytes).unwrap_or(0);
        registers.update_window();
        taken
    }
}

fn register(offset: u64) -> Option<u8> {
    let number = offset >> REG_SHIFT;
    (number < 8 && number << REG_SHIFT == offset).then_some(number as u8)
}

impl<S: Sink> MmioDevice for Uart<S> {
    fn read(&self, offset: u64, data: &mut [u8]) {
        data.fill(0);
        let mut registers = self.registers();
        registers.drain_some();
        if let (Some(register), Some(byte)) = (register(offset), data.first_mut()) {
            *byte = registers.serial.read(register);
        }
    }

    fn write(&self, offset: u64, data: &[u8]) {
        let mut registers = self.registers();
        registers.drain();
        // A wider store writes the register at its address: what a 16550 behind a wide bus does.
        if let (Some(register), Some(byte)) = (register(offset), data.first()) {
            registers.store(register, *byte);
            // A character sent changes nothing that the guest can read.
            if register != 0 || registers.divisor_latch {
                registers.update_window();
            }
        }
        let any = !registers.sent().is_empty();
        drop(registers);
        if any {
            let mut outlet = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
            self.pass_on(&mut outlet);
            outlet.sink.catch_up();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::{Receiver, Sender, channel};
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

    impl Sink for Vec<u8> {
        fn put(&mut self, bytes: &[u8]) {
            self.extend_from_slice(bytes);
        }
        fn is_behind(&self) -> bool {
            false
        }
        fn catch_up(&mut self) {}
    }

    fn uart() -> (Uart<Vec<u8>>, Count) {
        let count = Count::default();
        (Uart::new(Box::new(count.clone()), Vec::new()), count)
    }

    fn shown(uart: &Uart<Vec<u8>>) -> Vec<u8> {
        uart.with_sink(|sink, _| sink.clone()).unwrap()
    }

    fn read<S: Sink>(uart: &Uart<S>, register: u64) -> u8 {
        let mut byte = [0];
        uart.read(register << REG_SHIFT, &mut byte);
        byte[0]
    }

    #[test]
    fn characters_reach_the_sink_and_the_transmitter_is_always_empty() {
        let (uart, _) = uart();
        for byte in b"hi\n" {
            uart.write(0, &[*byte]);
            assert_eq!(read(&uart, LSR) & 0x60, 0x60);
        }
        assert_eq!(shown(&uart), b"hi\n");
    }

    #[test]
    fn input_interrupts_the_guest_and_stops_when_full() {
        let (uart, count) = uart();
        uart.write(IER << REG_SHIFT, &[1]);
        let room = uart.input_room();
        assert_eq!(uart.input(&b"x".repeat(room + 10)), room);
        assert_eq!((uart.input_room(), uart.input(b"y")), (0, 0));
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        assert_eq!(read(&uart, IIR) & 0xf, 4);
        assert_eq!(read(&uart, LSR) & 1, 1);
        assert_eq!([read(&uart, 0)], *b"x");
        assert_eq!(uart.input_room(), 1);
    }

    #[test]
    fn enabling_the_transmit_interrupt_raises_it() {
        let (uart, count) = uart();
        uart.write(IER << REG_SHIFT, &[2]);
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        assert_eq!(read(&uart, IIR) & 0xf, 2);
    }

    /// What the guest reads without an exit; None when the window is closed.
    #[derive(Clone, Default)]
    struct Memory(Arc<Mutex<Option<Values>>>);

    impl Window for Memory {
        fn show(&mut self, registers: Values) {
            *self.0.lock().unwrap() = Some(registers);
        }
        fn close(&mut self) {
            *self.0.lock().unwrap() = None;
        }
    }

    fn windowed() -> (Uart<Vec<u8>>, Memory) {
        let (uart, memory) = (uart().0, Memory::default());
        uart.open_window(Box::new(memory.clone()));
        (uart, memory)
    }

    #[test]
    fn the_window_shows_what_an_exit_would_read() {
        let (uart, memory) = windowed();
        let stores = [
            (0, b"a"[0]),
            (LCR, 0x83),
            (0, 1),
            (IER, 2),
            (LCR, 3),
            (0, b"b"[0]),
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
                    read(&uart, number as u64),
                    "{number} after {register}"
                );
            }
        }
        assert_eq!(shown(&uart), b"ab");
    }

    #[test]
    fn the_window_closes_for_good_when_reading_matters() {
        let enable_interrupts = |uart: &Uart<Vec<u8>>| uart.write(IER, &[1]);
        let loop_back = |uart: &Uart<Vec<u8>>| uart.write(MCR, &[0x10]);
        let type_a_key = |uart: &Uart<Vec<u8>>| assert_eq!(uart.input(b"k"), 1);
        let causes: [fn(&Uart<Vec<u8>>); 3] = [enable_interrupts, loop_back, type_a_key];
        for cause in causes {
            let (uart, memory) = windowed();
            cause(&uart);
            assert_eq!(*memory.0.lock().unwrap(), None);
            uart.write(IER, &[0]);
            uart.write(MCR, &[0]);
            assert_eq!(*memory.0.lock().unwrap(), None);
        }
    }

    #[test]
    fn odd_accesses_are_harmless() {
        let (uart, _) = uart();
        uart.write(0xffe, &[1, 2]);
        uart.write(0, &[]);
        uart.write(0, &u64::from(b"w"[0]).to_le_bytes());
        let mut wide = [0xee; 8];
        uart.read(LSR << REG_SHIFT, &mut wide);
        assert_eq!(wide[1..], [0; 7]);
        uart.read(0x800, &mut wide);
        assert_eq!(wide, [0; 8]);
        uart.read(0, &mut []);
        assert_eq!(shown(&uart), b"w");
    }

    /// A reader that is behind until the test says that it is not.
    struct Stuck {
        bytes: Vec<u8>,
        waits: Sender<()>,
        reads: Receiver<()>,
        behind: bool,
    }

    impl Sink for Stuck {
        fn put(&mut self, bytes: &[u8]) {
            self.bytes.extend_from_slice(bytes);
        }
        fn is_behind(&self) -> bool {
            self.behind
        }
        fn catch_up(&mut self) {
            if self.behind {
                self.waits.send(()).unwrap();
                self.reads.recv().unwrap();
                self.behind = false;
            }
        }
    }

    /// A UART whose reader is behind: it says when a vCPU waits, and is told when to read on.
    fn behind() -> (Uart<Stuck>, Count, (Receiver<()>, Sender<()>)) {
        let ((waits, waiting), (read_on, reads)) = (channel(), channel());
        let stuck = Stuck {
            bytes: Vec::new(),
            waits,
            reads,
            behind: true,
        };
        let count = Count::default();
        let uart = Uart::new(Box::new(count.clone()), stuck);
        (uart, count, (waiting, read_on))
    }

    #[test]
    fn only_who_sends_waits_for_a_slow_reader() {
        let (uart, count, (waiting, read_on)) = behind();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                uart.write(IER, &[1]);
                uart.write(0, b"a");
                uart.write(0, b"b");
            });
            waiting.recv().unwrap();
            // The first vCPU waits. On the second a key's interrupt comes and is served.
            assert_eq!(uart.input(b"k"), 1);
            assert_eq!(count.0.load(Ordering::Relaxed), 1);
            assert_eq!(read(&uart, IIR) & 0xf, 4);
            assert_eq!(read(&uart, LSR) & 0x61, 0x61);
            assert_eq!([read(&uart, 0)], *b"k");
            uart.write(IER, &[0]);
            // The main thread finds the screen taken, and is not held up either.
            assert!(uart.with_sink(|_, _| ()).is_none());
            read_on.send(()).unwrap();
        });
        assert_eq!(uart.with_sink(|sink, _| sink.bytes.clone()).unwrap(), b"ab");
    }

    #[test]
    fn a_reader_that_is_behind_is_given_no_more_by_the_main_thread() {
        let (uart, _count, _reader) = behind();
        uart.registers().store(0, b"a"[0]);
        let look = |sink: &mut Stuck, any| (sink.bytes.len(), any);
        assert_eq!(uart.with_sink(look), Some((0, false)));
        uart.with_sink(|sink, _| sink.behind = false);
        assert_eq!(uart.with_sink(look), Some((1, true)));
    }

    #[test]
    fn the_last_characters_reach_a_reader_that_is_behind() {
        let (uart, _count, _reader) = behind();
        for byte in b"panic" {
            uart.registers().store(0, *byte);
        }
        assert_eq!(uart.with_sink(|sink, _| sink.bytes.len()), Some(0));
        assert_eq!(
            uart.finish(|sink| sink.bytes.clone()),
            Some(b"panic".to_vec())
        );
    }
}
