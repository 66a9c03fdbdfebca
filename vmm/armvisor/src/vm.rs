// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Assembles a VM, and runs it.
//!
//! All refusals come before the first vCPU runs, in the order in which a person would look for
//! errors: host, memory, kernel, devices.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Instant;

use armvisor_devices::block::Image;
use armvisor_devices::net::{Stream, random_mac};
use armvisor_devices::{IoThread, VirtioMmio};
use kvm_ioctls::DeviceFd;
use vm_memory::{Address, Bytes, GuestAddress, GuestMemoryBackend};

use crate::bus::Bus;
use crate::cli::{OnReset, RunArgs, check_console, check_nets, check_protected};
use crate::cmdline::CommandLine;
use crate::console::{Choice, Screen};
use crate::control::server::Server;
use crate::control::{DeviceStat, Stat, State, VcpuStat};
use crate::exits::{self, ExitCounters, Histograms, kvm_class};
use crate::fdt::{self, Machine, Seeds};
use crate::hv::kvm::{Hypervisor, KvmVcpu, Vm};
use crate::image::Source;
use crate::irqfd::Irqfd;
use crate::kernel;
use crate::layout;
use crate::main_loop::{ConsoleUart, Ended, IMAGE_PATIENCE, MainLoop, Outside, PATIENCE, Shared};
use crate::memory::{Memory, check_against_host, check_lockable};
use crate::outcome::{End, ExitCode, Refusal};
use crate::report::{Phases, Report};
use crate::rtc::RealTimeClock;
use crate::rundir::RunDir;
use crate::size::Size;
use crate::sys::ring::CoalescedRing;
use crate::sys::signal::EndSignals;
use crate::sys::stats::{self, Stats};
use crate::system::{self, Kept, System};
use crate::terminal::Raw;
use crate::uart::{self, Uart};
use crate::window::RegisterPage;
use crate::{cmdline, passt, seed, sys, vcpu, virtio};

/// Runs the VM that the command line describes, until it ends.
pub fn run(args: &RunArgs) -> anyhow::Result<Report> {
    let mut args = args.clone();
    let mut standing = Standing::new(&args)?;
    // A machine has the same addresses after a reset.
    for net in &mut args.net {
        if net.mac.is_none() {
            let mac = random_mac();
            net.mac = Some(mac.map_err(|error| Refusal::host(net.to.subject(), error))?);
        }
    }
    let ended = loop {
        let mut ended = standing.run_machine(&args)?;
        if args.on_reset.unwrap_or_default() == OnReset::Exit || !ended.may_restart() {
            break ended;
        }
        standing.resets += 1;
        standing.paused = ended.paused;
        standing.phases.back_to(STEPS_OF_STANDING);
        let level = match ended.end {
            End::Panic => log::Level::Warn,
            _ => log::Level::Info,
        };
        log::log!(level, "{}; it starts again", ended.end);
    };
    let Standing {
        phases,
        start,
        lost,
        ..
    } = standing;
    let report = Report::new(
        ended.end,
        ended.stat,
        phases.into_steps(),
        start.elapsed().as_secs_f64(),
    );
    Ok(report.with_loss(lost))
}

/// How many steps of the start are not a machine's.
const STEPS_OF_STANDING: usize = 1;

/// What stays when a reset ends the machine: all that others know the VM by.
struct Standing {
    name: String,
    bootargs: CommandLine,
    hypervisor: Hypervisor,
    outside: Outside,
    /// The files of `--image`, which no one else changes between two machines.
    image: Option<Source>,
    seed: Option<File>,
    /// The connections to passt, for each `--net` that is one.
    streams: Vec<Option<Arc<Mutex<Stream>>>>,
    /// The console as it was opened for the first machine; a file must not be cut off again.
    console: Option<Option<OwnedFd>>,
    raw: Option<Raw>,
    phases: Phases,
    start: Instant,
    resets: u64,
    /// Whether the next machine begins paused.
    paused: bool,
    /// The code of changes that an image lost.
    lost: Option<ExitCode>,
}

impl Standing {
    /// Checks what needs no VM, and opens the VM's socket.
    fn new(args: &RunArgs) -> anyhow::Result<Self> {
        let start = Instant::now();
        let mut phases = Phases::start();
        let bootargs = cmdline::build(&args.append)?;
        check_nets(&args.net, &args.publish)?;
        check_protected(args)?;
        check_console(args)?;
        let signals = EndSignals::new()?;
        sys::kick::install()?;
        let hypervisor = Hypervisor::open(&args.device)?;
        hypervisor.check_cpus(args.cpus)?;
        check_against_host(args.memory, args.overcommit)?;
        let name = args
            .name
            .clone()
            .unwrap_or_else(|| format!("vm-{}", std::process::id()));
        let server = Server::new(RunDir::of_user().listen(&name)?)?;
        phases.done("checks");
        Ok(Standing {
            name,
            bootargs,
            hypervisor,
            outside: Outside { server, signals },
            image: system::open_image(args)?,
            seed: seed::disk(&args.seed, args.name.as_deref())?,
            streams: passt::start_all(args)?,
            console: None,
            raw: None,
            phases,
            start,
            resets: 0,
            paused: false,
            lost: None,
        })
    }

    /// Makes the machine, runs it to its end, and takes it apart. Nothing of it is left for the next.
    fn run_machine(&mut self, args: &RunArgs) -> anyhow::Result<Ended> {
        let (cpus, bytes) = (args.cpus, args.memory.bytes);
        let source = self.image.as_ref();
        let boot = source.map(|source| system::read_image(args, source));
        let boot = boot.transpose()?.flatten();
        let kept = Kept {
            image: source.map(Source::disk).transpose()?,
            seed: self.seed.as_ref().map(File::try_clone).transpose()?,
            streams: self.streams.clone(),
        };
        let image = kept.image.clone();
        let vm = Arc::new(self.hypervisor.create_vm(cpus, bytes, args.protected)?);
        let memory = make_memory(args, &vm)?;
        self.phases.done("memory");

        let system = System::load(args, boot, &memory)?;
        let bootargs = match &system.words {
            Some(words) => cmdline::build(format!("{words} {}", args.append).trim())?,
            None => self.bootargs.clone(),
        };
        self.phases.done("load");

        let built = Built::new(&vm, args, &memory, self.console(&args.console)?, kept)?;
        self.phases.done("devices");

        let fdt_at = write_fdt(args, &bootargs.text, &memory, &system, &built)?;
        built.vcpus[0].set_boot_state(system.loaded.entry.0, fdt_at.0)?;
        self.phases.done("boot state");

        if args.console == Choice::Stdio && self.raw.is_none() {
            self.raw = Raw::enter()?;
        }
        let main_loop = built.start(self, args, &vm)?;
        let mut ended = main_loop.run(args.console.has_input())?;
        self.close(image, ended.stopped);
        ended.end = ended.end.of_kernel(bootargs.panic_is_warm);
        self.phases.done("run");
        Ok(ended)
    }

    /// Closes the image's disk of a machine that has ended. What it loses is told now, and at the end.
    fn close(&mut self, disk: Option<Arc<dyn Image>>, idle: bool) {
        let (Some(source), Some(disk)) = (&self.image, disk) else {
            return;
        };
        if let Err(refusal) = source.close(&*disk, idle) {
            log::error!("{refusal}");
            self.lost = Some(refusal.code);
        }
    }

    fn console(&mut self, choice: &Choice) -> Result<Option<OwnedFd>, Refusal> {
        if self.console.is_none() {
            self.console = Some(choice.open()?);
        }
        match &self.console {
            Some(Some(console)) => console
                .try_clone()
                .map(Some)
                .map_err(|error| Refusal::host("console", error)),
            _ => Ok(None),
        }
    }
}

/// The guest's memory, which it has from here on; of a protected VM it is guarded, and of the
/// hypervisor's own where that takes no other.
fn make_memory(args: &RunArgs, vm: &Vm) -> Result<Memory, Refusal> {
    let mut memory = Memory::new(args.memory, args.huge_pages)?;
    if !vm.add_memory(0, layout::RAM_BASE, &memory)? {
        memory = Memory::new_of_kvm(args.memory, vm.memory_file(args.memory.bytes)?)?;
        vm.add_memory(0, layout::RAM_BASE, &memory)?;
    } else if args.protected {
        check_lockable(args.memory)?;
    }
    if args.protected {
        memory.guard()?;
    }
    Ok(memory)
}

/// A VM before its threads.
struct Built {
    vcpus: Vec<KvmVcpu>,
    mpidrs: Vec<u64>,
    gic: (fdt::Gic, DeviceFd),
    bus: Bus,
    io: IoThread,
    uart: ConsoleUart,
    clock: Arc<RealTimeClock>,
    coalesced: bool,
    virtio: virtio::Attached,
    vm_stats: Option<File>,
}

impl Built {
    fn new(
        vm: &Arc<Vm>,
        args: &RunArgs,
        memory: &Memory,
        console: Option<OwnedFd>,
        kept: Kept,
    ) -> anyhow::Result<Self> {
        let vcpus: Result<Vec<_>, _> = (0..args.cpus)
            .map(|index| vm.create_vcpu(index, args.pmu))
            .collect();
        let vcpus = vcpus?;
        let mpidrs: Result<Vec<_>, _> = vcpus.iter().map(KvmVcpu::mpidr).collect();
        let gic = vm.create_gic()?;
        if args.pmu {
            vcpus.iter().try_for_each(KvmVcpu::wire_pmu)?;
        }
        let mut bus = Bus::default();

        let interrupt = Irqfd(vm.interrupt(layout::UART_SPI)?);
        let uart = Arc::new(Uart::new(
            Box::new(interrupt),
            Screen::new(console)?.keep(&args.console),
        ));
        let coalesced = coalesce(vm, &vcpus[0], &uart);
        if let Some(page) = RegisterPage::new(vm)? {
            uart.open_window(Box::new(page));
        }
        bus.insert(layout::UART_BASE, uart::WINDOW, uart.clone())?;
        let interrupt = Irqfd(vm.interrupt(layout::RTC_SPI)?);
        let clock = RealTimeClock::new(Box::new(interrupt));
        let clock = Arc::new(clock.map_err(|error| Refusal::host("host", error))?);
        bus.insert(layout::RTC_BASE, layout::RTC_SIZE, clock.clone())?;

        let io = IoThread::spawn().map_err(|error| Refusal::host("host", error))?;
        let virtio = virtio::attach(vm, &mut bus, &io, args, memory, kept)?;
        let vm_stats = stats_file(vm.fd());
        Ok(Built {
            vcpus,
            mpidrs: mpidrs?,
            gic,
            bus,
            io,
            uart,
            clock,
            coalesced,
            virtio,
            vm_stats,
        })
    }

    /// Starts the vCPUs' threads.
    fn start<'a>(
        self,
        standing: &'a mut Standing,
        args: &RunArgs,
        vm: &Arc<Vm>,
    ) -> anyhow::Result<MainLoop<'a>> {
        let vm = vm.clone();
        let memory = args.memory;
        let shared = Arc::new(Shared::new()?);
        if standing.paused {
            shared.gate.pause();
            self.io.pause(PATIENCE);
        }
        let bus = Arc::new(self.bus);
        let mut sources = StatSources {
            name: standing.name.clone(),
            memory,
            protected: args.protected,
            start: standing.start,
            resets: standing.resets,
            vcpus: Vec::new(),
            virtio: self.virtio.devices,
            vm: self.vm_stats,
            _gic: self.gic.1,
        };
        let mut threads = Vec::new();
        for (index, vcpu) in self.vcpus.into_iter().enumerate() {
            let counters = Arc::new(ExitCounters::default());
            sources
                .vcpus
                .push((counters.clone(), stats_file(vcpu.fd())));
            threads.push(spawn(index, vcpu, bus.clone(), shared.clone(), counters)?);
        }
        Ok(MainLoop {
            shared,
            vcpus: threads,
            io: self.io,
            io_patience: match &standing.image {
                Some(image) if image.needs_check() => IMAGE_PATIENCE,
                _ => PATIENCE,
            },
            uart: self.uart,
            clock: self.clock,
            outside: &mut standing.outside,
            coalesced: self.coalesced,
            handles: self.virtio.handles,
            memory,
            stat: Box::new(move |state| sources.stat(state)),
            account: Box::new(move |on| vm.set_accounting(on)),
        })
    }
}

/// The thread of a vCPU.
fn spawn(
    index: usize,
    mut vcpu: KvmVcpu,
    bus: Arc<Bus>,
    shared: Arc<Shared>,
    counters: Arc<ExitCounters>,
) -> io::Result<JoinHandle<()>> {
    let body = move || {
        let run = || {
            let mut running = vcpu.on_this_thread();
            vcpu::run(&mut running, &bus, &shared.gate, &counters)
        };
        let ended = std::panic::catch_unwind(AssertUnwindSafe(run));
        match ended {
            Ok(Some(end)) => shared.end(end),
            Ok(None) => {}
            Err(_) => shared.end(End::Internal {
                detail: format!("vcpu{index} panicked"),
            }),
        }
        shared.gate.leave();
    };
    std::thread::Builder::new()
        .name(format!("vcpu{index}"))
        .spawn(body)
}

/// Lets KVM collect characters, where it can.
fn coalesce(vm: &Vm, vcpu: &KvmVcpu, uart: &Uart<Screen>) -> bool {
    let Some(page) = vm.coalesce(layout::UART_BASE) else {
        return false;
    };
    match CoalescedRing::map(vcpu.fd(), page) {
        Ok(ring) => {
            uart.coalesce(ring);
            true
        }
        Err(error) => {
            // KVM would still collect stores that nobody reads, and exit when its ring is full.
            log::warn!("console: KVM's ring of stores cannot be read, so it may lag: {error}");
            false
        }
    }
}

fn write_fdt(
    args: &RunArgs,
    bootargs: &str,
    memory: &Memory,
    system: &System,
    built: &Built,
) -> anyhow::Result<GuestAddress> {
    let (loaded, initrd) = (&system.loaded, system.initrd);
    let kib = loaded.header.page_size.kib();
    if let (Some(kib), Some(mmfr0)) = (kib, built.vcpus[0].mmfr0()) {
        if !loaded.header.page_size.on_cpu(mmfr0) {
            let problem = format!("is built for {kib} KiB pages, which this CPU does not have");
            return Err(Refusal::file("kernel", &system.kernel, problem).into());
        }
    }
    let seeds = (!args.no_randomness).then(seeds).transpose()?;
    let tree = fdt::build(&Machine {
        mpidrs: &built.mpidrs,
        memory: args.memory.bytes,
        gic: built.gic.0,
        pmu: args.pmu,
        bootargs,
        initrd,
        virtio: built.virtio.devices.len() as u32,
        seeds: seeds.as_ref(),
    })
    .map_err(|error| Refusal::usage("--append", error))?;
    let after = initrd.map_or(loaded.end, |initrd| initrd.end);
    let at = kernel::align_up(after, 4096);
    let room = at
        .and_then(|at| memory.guest.last_addr().checked_offset_from(at))
        .unwrap_or(0);
    match at {
        Some(at) if room >= tree.len() as u64 => {
            memory.guest.write_slice(&tree, at)?;
            Ok(at)
        }
        _ => {
            let problem =
                "the kernel and initrd leave nothing for the guest to run in; give it more";
            Err(Refusal::usage(format!("--memory {}", args.memory), problem).into())
        }
    }
}

/// Seeds for the guest's random generators and for its kernel's place.
fn seeds() -> io::Result<Seeds> {
    let mut seeds = Seeds {
        kaslr: 0,
        rng: [0; 64],
    };
    let mut kaslr = [0; 8];
    sys::random(&mut kaslr)?;
    sys::random(&mut seeds.rng)?;
    seeds.kaslr = u64::from_ne_bytes(kaslr);
    Ok(seeds)
}

/// What the figures of a VM are made of.
struct StatSources {
    name: String,
    memory: Size,
    protected: bool,
    start: Instant,
    resets: u64,
    vcpus: Vec<(Arc<ExitCounters>, Option<File>)>,
    virtio: Vec<VirtioMmio>,
    vm: Option<File>,
    // Keep it open: nobody can access the interrupt controller once it is closed.
    _gic: DeviceFd,
}

impl StatSources {
    fn stat(&self, state: State) -> Stat {
        let mut histograms = Histograms::new();
        let start = self.start.elapsed();
        let vcpus: Vec<_> = self
            .vcpus
            .iter()
            .enumerate()
            .map(|(index, (counters, stats))| {
                let (kvm, of_vcpu) = kvm_stats(stats.as_ref());
                exits::add_histograms(&mut histograms, of_vcpu);
                VcpuStat {
                    index,
                    exits: counters.by_name(),
                    kvm,
                }
            })
            .collect();
        // Readers compare two samples, so the clock must match the vCPUs' times.
        let uptime = (start + self.start.elapsed()) / 2;
        let devices = self
            .virtio
            .iter()
            .enumerate()
            .map(|(index, device)| DeviceStat {
                name: format!("virtio{index}-{}", device.name()),
                counters: device
                    .counters()
                    .into_iter()
                    .map(|(name, count)| (name.into(), count))
                    .collect(),
            });
        Stat {
            name: self.name.clone(),
            user: None,
            pid: std::process::id(),
            state,
            resets: self.resets,
            uptime_seconds: uptime.as_secs_f64(),
            memory: self.memory.to_string(),
            memory_bytes: self.memory.bytes,
            protected: self.protected,
            vcpus,
            devices: devices.collect(),
            kvm: kvm_stats(self.vm.as_ref()).0,
            histograms,
        }
    }
}

/// The file with KVM's statistics; None where this KVM has none.
fn stats_file(fd: &impl AsRawFd) -> Option<File> {
    stats::open(fd)
        .inspect_err(|error| log::debug!("KVM has no statistics: {error}"))
        .ok()
}

/// KVM's statistics by class name: single numbers, and histograms.
fn kvm_stats(file: Option<&File>) -> (BTreeMap<String, u64>, Histograms) {
    let read = |file: &File| -> io::Result<_> {
        let stats = Stats::parse(file.try_clone()?)?;
        let values = stats.read()?;
        let numbers = values
            .numbers()
            .map(|(name, value)| (kvm_class(name), value));
        let histograms = values
            .histograms()
            .map(|(name, value)| (kvm_class(name), value));
        Ok((numbers.collect(), histograms.collect()))
    };
    file.and_then(|file| read(file).ok()).unwrap_or_default()
}
