// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The main thread of a running VM: console, control socket, signals, and the end.
//!
//! Threads: this one; one per vCPU, named `vcpuN`; one for the devices. The first vCPU, signal or
//! user that ends the VM decides how it ends. Then all vCPUs are told to quit and kicked until
//! their threads are gone, and the devices stop.
//!
//! A VM that restarts at a reset is a series of machines, each with its own main loop. A guest may
//! reset again and again before its machine's loop has begun. So signals and requests are checked
//! once more when the machine has ended, and are always handled within a machine's life.
//!
//! This thread does not wait for the console's screen, which a vCPU may hold while a slow reader
//! catches up. It waits only for a limited time for the devices' thread, which may wait for the
//! host's storage. So a VM whose disk hangs can still be inspected, and ended.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use armvisor_devices::IoThread;
use armvisor_devices::balloon::BalloonControl;
use armvisor_devices::button::PowerButton;
use vmm_sys_util::epoll::{ControlOperation, Epoll, EpollEvent, EventSet};
use vmm_sys_util::eventfd::EventFd;

use crate::console::{Command, ESCAPE_HELP, Keyboard, Screen};
use crate::control::server::Server;
use crate::control::{Reply, Request, Stat, State};
use crate::outcome::End;
use crate::rtc::RealTimeClock;
use crate::size::{Size, Unit};
use crate::sys::kick::kick;
use crate::sys::signal::EndSignals;
use crate::uart::Uart;
use crate::vcpu::Gate;

/// How long vCPUs and devices may take to notice a pause, and the program waits for its threads at
/// the end.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// A vCPU has the UART, perhaps for a slow reader of the console: look again after this long.
const BUSY: Duration = Duration::from_millis(1);
/// How long it waits for an image whose tables are only in memory.
pub const IMAGE_PATIENCE: Duration = Duration::from_secs(60);
const KICK_AGAIN: Duration = Duration::from_millis(20);
/// A guest that has not taken its input yet is offered it again after this long.
const INPUT_RETRY: Duration = Duration::from_millis(10);
/// How often characters that KVM has collected are looked for when nothing else brings us there.
const COALESCED_LOOK: Duration = Duration::from_millis(200);

const BUSY_DEVICE: &str = "a device waits for the host, probably for a disk";

/// The VM's UART, shared by vCPUs and the main loop.
pub type ConsoleUart = Arc<Uart<Screen>>;

/// How a machine ends: what came first of all, and first from outside.
#[derive(Default)]
struct Ends {
    first: Option<End>,
    told: Option<End>,
}

/// What the threads of a VM share.
pub struct Shared {
    /// Where vCPUs stop for a pause and for the end.
    pub gate: Gate,
    ends: Mutex<Ends>,
    ended: EventFd,
}

impl Shared {
    /// Fails if the process has no file descriptor left.
    pub fn new() -> io::Result<Self> {
        let ended = EventFd::new(libc::EFD_NONBLOCK | libc::EFD_CLOEXEC)?;
        Ok(Shared {
            gate: Gate::default(),
            ends: Mutex::default(),
            ended,
        })
    }

    fn lock_ends(&self) -> MutexGuard<'_, Ends> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn first_end(&self) -> Option<End> {
        self.lock_ends().first.clone()
    }

    /// Ends the VM; the first reason stands.
    pub fn end(&self, end: End) {
        self.lock_ends().first.get_or_insert(end);
        self.wake();
    }

    /// Ends the VM because somebody outside says so. A VM that has just been reset then does not
    /// restart.
    fn stop(&self, end: End) {
        let mut ends = self.lock_ends();
        ends.told.get_or_insert_with(|| end.clone());
        ends.first.get_or_insert(end);
        drop(ends);
        self.wake();
    }

    fn wake(&self) {
        if let Err(error) = self.ended.write(1) {
            log::error!("main loop: cannot be woken: {error}");
        }
    }
}

/// Where an event comes from.
#[derive(Clone, Copy)]
#[repr(u64)]
enum Source {
    Ended,
    Signals,
    Control,
    Screen,
    Input,
    Clock,
}

const SOURCES: [Source; 6] = [
    Source::Ended,
    Source::Signals,
    Source::Control,
    Source::Screen,
    Source::Input,
    Source::Clock,
];

/// The ways in which others speak to a VM. They stay when it starts again.
pub struct Outside {
    /// SIGHUP, SIGINT and SIGTERM.
    pub signals: EndSignals,
    /// The control socket.
    pub server: Server,
}

/// The devices that requests go to.
pub struct Handles {
    /// None for a protected VM.
    pub balloon: Option<BalloonControl>,
    /// The power button, for `power_button` requests.
    pub button: PowerButton,
}

/// How a machine ended.
pub struct Ended {
    /// The first reason.
    pub end: End,
    /// The figures at the end.
    pub stat: Stat,
    /// Whether somebody was told that the VM is paused, which the next machine has to be then.
    pub paused: bool,
    told: Option<End>,
    /// Whether all its threads are gone.
    pub stopped: bool,
}

impl Ended {
    /// Whether a machine that restarts at a reset does now. If somebody outside has ended it
    /// meanwhile, that is its end.
    pub fn may_restart(&mut self) -> bool {
        if !self.end.is_reset() {
            return false;
        }
        if let Some(told) = self.told.take() {
            self.end = told;
            return false;
        }
        self.stopped
    }
}

/// A running VM, seen from its main thread.
pub struct MainLoop<'a> {
    /// State shared with the vCPU threads.
    pub shared: Arc<Shared>,
    /// A thread for each vCPU.
    pub vcpus: Vec<JoinHandle<()>>,
    /// The thread of all virtio devices.
    pub io: IoThread,
    /// How long the end waits for it.
    pub io_patience: Duration,
    /// The console.
    pub uart: ConsoleUart,
    /// The real-time clock, whose alarms the main loop delivers.
    pub clock: Arc<RealTimeClock>,
    /// Signals and requests.
    pub outside: &'a mut Outside,
    /// Whether KVM collects the UART's characters.
    pub coalesced: bool,
    /// The devices that take requests.
    pub handles: Handles,
    /// The guest's memory, as given.
    pub memory: Size,
    /// Makes the figures that `armvisor stat` shows.
    pub stat: Box<dyn Fn(State) -> Stat>,
    /// Turns KVM's accounting on or off.
    pub account: Account,
}

/// Turns KVM's accounting on or off. The error is a sentence for the user.
pub type Account = Box<dyn Fn(bool) -> Result<(), String>>;

/// Standard input on its way to the guest.
struct Input {
    file: File,
    keyboard: Keyboard,
    /// Whether a person types, who can tell armvisor to quit.
    commands: bool,
    /// False at the end of the input.
    open: bool,
    /// A regular file cannot be waited for; it is read when the guest has taken what came before.
    pollable: bool,
    /// Whether epoll watches it. A guest that does not read holds up whoever writes to it.
    watched: bool,
}

impl MainLoop<'_> {
    /// Runs until the VM has ended, and returns how.
    pub fn run(mut self, with_input: bool) -> io::Result<Ended> {
        let mut input = if with_input {
            Some(Input::stdin()?)
        } else {
            None
        };
        let epoll = self.watch(input.as_mut())?;
        if self.coalesced || input.as_ref().is_some_and(|input| !input.pollable) {
            self.with_screen(|screen| screen.tick_in(INPUT_RETRY));
        }
        let end = loop {
            let end = self.shared.first_end();
            let limit = if end.is_some() { 0 } else { -1 };
            let mut events = [EpollEvent::default(); SOURCES.len()];
            let count = match epoll.wait(limit, &mut events) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            for event in &events[..count] {
                // Typed input may be a command; other input is for the next machine.
                let input = input.as_mut().filter(|it| end.is_none() || it.commands);
                self.handle(event.data(), &epoll, input)?;
            }
            if let Some(end) = end {
                break end;
            }
        };
        let told = self.shared.lock_ends().told.take();
        let paused = self.shared.gate.is_paused();
        let (stat, stopped) = self.finish();
        Ok(Ended {
            end,
            stat,
            paused,
            told,
            stopped,
        })
    }

    fn watch(&self, input: Option<&mut Input>) -> io::Result<Epoll> {
        let epoll = Epoll::new()?;
        let add = |fd: RawFd, source: Source| {
            let event = EpollEvent::new(EventSet::IN, source as u64);
            epoll.ctl(ControlOperation::Add, fd, event)
        };
        add(self.shared.ended.as_raw_fd(), Source::Ended)?;
        add(self.outside.signals.as_raw_fd(), Source::Signals)?;
        add(self.outside.server.as_raw_fd(), Source::Control)?;
        let timer = self.with_screen(|screen| screen.timer_fd());
        if let Some(timer) = timer {
            add(timer, Source::Screen)?;
        }
        add(self.clock.timer_fd(), Source::Clock)?;
        if let Some(input) = input {
            match add(input.file.as_raw_fd(), Source::Input) {
                Err(error) if error.raw_os_error() == Some(libc::EPERM) => input.pollable = false,
                other => {
                    other?;
                    input.watched = true;
                }
            }
        }
        Ok(epoll)
    }

    fn handle(&mut self, data: u64, epoll: &Epoll, input: Option<&mut Input>) -> io::Result<()> {
        match SOURCES.get(data as usize) {
            Some(Source::Ended) => drop(self.shared.ended.read()),
            Some(Source::Signals) => {
                while let Some(number) = self.outside.signals.take()? {
                    self.shared.stop(End::Signal { number });
                }
            }
            Some(Source::Control) => self.serve()?,
            Some(Source::Screen) => {
                let Some(input) = input else {
                    self.tick(None);
                    return Ok(());
                };
                self.tick(Some(input));
                input.watch_if_wanted(epoll)?;
            }
            Some(Source::Clock) => self.clock.alarm(),
            Some(Source::Input) => {
                let Some(input) = input else { return Ok(()) };
                self.read_input(input);
                input.watch_if_wanted(epoll)?;
            }
            None => {}
        }
        Ok(())
    }

    /// Runs `action` on the screen, unless a vCPU is busy with it.
    fn with_screen<T>(&self, action: impl FnOnce(&mut Screen) -> T) -> Option<T> {
        self.uart.with_sink(|screen, _| action(screen))
    }

    /// The console's timer: characters without an end of line, collected characters, input that the
    /// guest could not take before.
    fn tick(&mut self, input: Option<&mut Input>) {
        // The timer stays readable until its tick is taken.
        let ticked = self.uart.with_sink(|screen, active| {
            screen.tick();
            if self.coalesced {
                let next = if active { INPUT_RETRY } else { COALESCED_LOOK };
                screen.tick_in(next);
            }
        });
        if ticked.is_none() {
            return std::thread::sleep(BUSY);
        }
        if let Some(input) = input {
            if !input.pollable && input.open && input.keyboard.is_empty() {
                self.read_input(input);
            } else {
                self.feed(input);
            }
        }
    }

    fn read_input(&mut self, input: &mut Input) {
        let mut bytes = [0; 1024];
        match input.file.read(&mut bytes) {
            Ok(0) => input.open = false,
            Ok(got) => match input.keyboard.typed(&bytes[..got]) {
                Some(Command::Quit) => self.shared.stop(End::Stopped {
                    by: "the console's escape key",
                }),
                Some(Command::Help) => eprintln!("\r\narmvisor: {ESCAPE_HELP}\r"),
                None => {}
            },
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                log::info!("the console's input has ended: {error}");
                input.open = false;
            }
        }
        self.feed(input);
    }

    /// Types what is there; what the guest does not take now is tried again at the next tick.
    fn feed(&mut self, input: &mut Input) {
        input.keyboard.feed(|bytes| self.uart.input(bytes));
        if !input.keyboard.is_empty() || (!input.pollable && input.open) {
            self.with_screen(|screen| screen.tick_in(INPUT_RETRY));
        }
    }

    fn serve(&mut self) -> io::Result<()> {
        let MainLoop {
            outside,
            shared,
            vcpus,
            io,
            handles,
            memory,
            stat,
            account,
            ..
        } = self;
        outside.server.serve(|request| match request {
            Request::Stat => Reply::stat(stat(state_of(shared))),
            Request::Pause => pause(shared, vcpus, io),
            Request::Resume => {
                if shared.gate.is_paused() {
                    io.resume();
                    shared.gate.resume();
                }
                Reply::done()
            }
            Request::Balloon { bytes, unit } => {
                let unit = unit.unwrap_or(Unit::M);
                inflate(handles.balloon.as_ref(), *memory, Size { bytes, unit })
            }
            Request::Accounting { on } => account(on).map_or_else(Reply::error, |()| Reply::done()),
            Request::PowerButton => press(&handles.button, shared.gate.is_paused()),
            Request::Stop => {
                shared.stop(End::Stopped {
                    by: "armvisor stop --force",
                });
                Reply::done()
            }
        })
    }

    /// Stops the threads and returns the last figures, and whether all threads did stop.
    fn finish(self) -> (Stat, bool) {
        let MainLoop {
            shared,
            vcpus,
            io,
            io_patience,
            uart,
            stat,
            ..
        } = self;
        shared.gate.quit();
        let limit = Instant::now() + PATIENCE;
        // A kick is lost on a thread that waits outside of KVM_RUN: kick again.
        let gone = loop {
            vcpus.iter().for_each(kick);
            if shared.gate.wait_gone(vcpus.len(), KICK_AGAIN) {
                break true;
            }
            if Instant::now() > limit {
                break false;
            }
        };
        if !gone {
            log::error!("vCPU: its thread does not stop, and is left to the end of the process");
        } else if vcpus.into_iter().any(|thread| thread.join().is_err()) {
            log::error!("vCPU: its thread panicked");
        }
        let last = stat(state_of(&shared));
        if io_patience > PATIENCE && !io.pause(PATIENCE) {
            let limit = io_patience.as_secs();
            log::warn!(
                "devices: {BUSY_DEVICE}; the image would be damaged, so this waits {limit} s"
            );
        }
        let idle = io.stop(io_patience);
        if !idle {
            log::error!("devices: {BUSY_DEVICE}, and is left to the end of the process");
        }
        uart.finish(Screen::finish);
        (last, gone && idle)
    }
}

fn state_of(shared: &Shared) -> State {
    if shared.gate.is_paused() {
        State::Paused
    } else {
        State::Running
    }
}

/// Presses the power button of a guest that would see it.
fn press(button: &PowerButton, paused: bool) -> Reply {
    if paused {
        return Reply::error("is paused; let it go on with 'armvisor resume', or add --force");
    }
    if !button.has_driver() {
        return Reply::unheard(
            "its guest has no driver for the power button at work; load one in the guest with 'modprobe \
             virtio_input', or add --force to end the VM at once",
        );
    }
    match button.press() {
        Ok(()) => Reply::done(),
        Err(error) => Reply::error(format!("the power button cannot be pressed: {error}")),
    }
}

/// Asks the guest to do without `asked` of its `memory`.
fn inflate(balloon: Option<&BalloonControl>, memory: Size, asked: Size) -> Reply {
    let Some(balloon) = balloon else {
        return Reply::error("is a protected VM, whose memory stays its own until it ends");
    };
    if asked.bytes > memory.bytes {
        return Reply::error(format!(
            "a balloon of {asked} is larger than the guest's memory, {}; ask for less",
            asked.beside(memory.bytes)
        ));
    }
    if !balloon.has_driver() {
        return Reply::unheard(
            "its guest has no balloon driver at work, so its memory stays as it is; load one in the \
             guest with 'modprobe virtio_balloon', or ask again once the guest has started",
        );
    }
    match balloon.set_target(asked.bytes) {
        Ok(()) => Reply::done(),
        Err(error) => Reply::error(error.to_string()),
    }
}

fn pause(shared: &Shared, vcpus: &[JoinHandle<()>], io: &IoThread) -> Reply {
    if shared.gate.is_paused() {
        return Reply::done();
    }
    shared.gate.pause();
    for thread in vcpus {
        kick(thread);
    }
    if !shared.gate.wait_parked(vcpus.len(), PATIENCE) {
        shared.gate.resume();
        return Reply::error("a vCPU does not stop, so the VM goes on; try again");
    }
    // The vCPUs first: then no new work comes to the devices while they finish theirs.
    if !io.pause(PATIENCE) {
        shared.gate.resume();
        return Reply::error(format!("{BUSY_DEVICE}, so the VM goes on; try again"));
    }
    Reply::done()
}

impl Input {
    /// Watches for input while there is room for it.
    fn watch_if_wanted(&mut self, epoll: &Epoll) -> io::Result<()> {
        let wanted = self.pollable && self.open && !self.keyboard.is_full();
        if wanted == self.watched {
            return Ok(());
        }
        let (operation, events) = if wanted {
            (ControlOperation::Add, EventSet::IN)
        } else {
            (ControlOperation::Delete, EventSet::empty())
        };
        let event = EpollEvent::new(events, Source::Input as u64);
        epoll.ctl(operation, self.file.as_raw_fd(), event)?;
        self.watched = wanted;
        Ok(())
    }

    fn stdin() -> io::Result<Self> {
        let stdin = io::stdin();
        let escapes = stdin.is_terminal();
        let file = File::from(stdin.as_fd().try_clone_to_owned()?);
        let keyboard = Keyboard::new(escapes);
        Ok(Input {
            file,
            keyboard,
            commands: escapes,
            open: true,
            pollable: true,
            watched: false,
        })
    }
}

#[cfg(test)]
#[path = "main_loop_test.rs"]
mod tests;
