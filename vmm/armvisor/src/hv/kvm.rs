// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The hypervisor through KVM's API, on arm64.
//!
//! Nothing here depends on the implementation of KVM: features are tested with KVM_CHECK_EXTENSION,
//! and errors name a missing one. The order of creation is KVM's: VM, memory, vCPUs, interrupt
//! controller (which counts the vCPUs), then everything wired to it.

mod running;

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;

use kvm_bindings::*;
use kvm_ioctls::{Cap, DeviceFd, IoEventAddress, Kvm, VcpuFd, VmFd};
use vmm_sys_util::eventfd::EventFd;

use self::running::{ID_AA64MMFR0_EL1, MPIDR_EL1, Running, begin_at, get};
use crate::fdt::Gic;
use crate::layout;
use crate::memory::Memory;
use crate::open::{Problem, Wanted, open};
use crate::outcome::Refusal;
use crate::sys;
use crate::sys::kick::Kickable;
use crate::sys::kvm::{ImmediateExit, Slots};
use crate::sys::memory::Mapping;

/// What a VM of ours cannot do without, and how to say so.
const NEEDED: [(Cap, &str); 7] = [
    (Cap::UserMemory, "KVM_CAP_USER_MEMORY"),
    (Cap::OneReg, "KVM_CAP_ONE_REG"),
    (Cap::ArmPsci02, "KVM_CAP_ARM_PSCI_0_2"),
    (Cap::DeviceCtrl, "KVM_CAP_DEVICE_CTRL"),
    (Cap::Irqfd, "KVM_CAP_IRQFD"),
    (Cap::Ioeventfd, "KVM_CAP_IOEVENTFD"),
    (Cap::ImmediateExit, "KVM_CAP_IMMEDIATE_EXIT"),
];

/// MPIDR_EL1's affinity fields, which name a CPU.
const MPIDR_AFFINITY: u64 = 0xff_00ff_ffff;
/// AV_CAP_ACCOUNTING of armvisor's module (module/stats/stats.h).
const CAP_ACCOUNTING: u32 = 0x6176_0002;
/// KVM's default address space, where it does not say how large it may be.
const DEFAULT_IPA_BITS: u32 = 40;

/// KVM_VM_TYPE_ARM_PROTECTED.
const VM_TYPE_PROTECTED: u64 = 1 << 31;
const NO_PROTECTED_VMS: &str = "this host's KVM makes no protected VMs; run without it, or, on a CPU with \
     EL2, start a host kernel that has them with 'kvm-arm.mode=protected', or, without EL2, use armvisor's \
     module";

const KVM_DEVICE: Wanted = Wanted {
    accepts: |kind| kind.is_char_device(),
    name: "a KVM device",
};

fn cannot_open(problem: &Problem) -> String {
    let error = match problem {
        Problem::Io(error) => error,
        Problem::Kind(text) => return text.clone(),
    };
    match error.kind() {
        io::ErrorKind::NotFound => {
            "no such device: this machine's kernel offers no KVM here; if it started without EL2 ('HYP \
             mode not available' in its log), install armvisor's module with 'make install' and load it \
             with 'sudo modprobe armvisor'"
                .into()
        }
        io::ErrorKind::PermissionDenied => {
            "permission denied; add yourself to the group that owns it with 'sudo usermod -aG kvm $USER', \
             and log in again"
                .into()
        }
        _ => format!("cannot be opened: {error}"),
    }
}

/// The open KVM device.
pub struct Hypervisor {
    kvm: Kvm,
}

impl Hypervisor {
    /// Opens the KVM device at `path` and checks that it is one, and able enough.
    pub fn open(path: &Path) -> Result<Self, Refusal> {
        let refuse = |problem: String| Refusal::host(path.display(), problem);
        let opened = open(path, File::options().read(true).write(true), KVM_DEVICE);
        let (file, _) = opened.map_err(|problem| refuse(cannot_open(&problem)))?;
        match sys::host::kvm_api_version(&file) {
            Ok(version) if version == KVM_API_VERSION as i32 => {}
            Ok(version) => {
                return Err(refuse(format!(
                    "speaks version {version} of KVM's API, not 12"
                )));
            }
            Err(_) => {
                return Err(refuse(
                    "is not a KVM device; leave --device out to use /dev/kvm".into(),
                ));
            }
        }
        let kvm = sys::kvm::from_owned(OwnedFd::from(file));
        let missing: Vec<&str> = NEEDED
            .iter()
            .filter(|(cap, _)| !kvm.check_extension(*cap))
            .map(|(_, name)| *name)
            .collect();
        if !missing.is_empty() {
            return Err(refuse(format!(
                "lacks {}, which armvisor needs; run a newer kernel",
                missing.join(", ")
            )));
        }
        Ok(Hypervisor { kvm })
    }

    /// Refuses more vCPUs than this KVM has; says so where they are more than it recommends.
    pub fn check_cpus(&self, cpus: u32) -> Result<(), Refusal> {
        let (well, most) = (self.kvm.get_nr_vcpus(), self.kvm.get_max_vcpus());
        if let Some(warning) = super::check_cpus(cpus, well, most)? {
            log::warn!("{warning}");
        }
        Ok(())
    }

    /// Makes a VM for `cpus` vCPUs and an address space that ends with `memory`; a protected one has its
    /// memory to itself.
    pub fn create_vm(&self, cpus: u32, memory: u64, protected: bool) -> Result<Vm, Refusal> {
        let needed = layout::ipa_bits(memory);
        let limit = u32::try_from(self.kvm.get_host_ipa_limit()).unwrap_or(0);
        let allowed = if limit == 0 { DEFAULT_IPA_BITS } else { limit };
        if needed > allowed {
            let problem = format!(
                "this much needs {needed} bits of guest address and this KVM has {allowed}; ask for less"
            );
            return Err(Refusal::host("--memory", problem));
        }
        // The smallest address space that holds the machine: the fewest levels of tables to walk.
        let bits = if limit == 0 { 0 } else { u64::from(needed) };
        let kind = if protected { VM_TYPE_PROTECTED } else { 0 };
        let vm = self.kvm.create_vm_with_type(bits | kind);
        let fd = vm.map_err(|error| match error.errno() {
            libc::EINVAL if protected => Refusal::host("--protected", NO_PROTECTED_VMS),
            _ => Refusal::host("KVM", format!("cannot make a VM: {error}")),
        })?;
        if !protected {
            offer_suspend(&fd);
        }
        Ok(Vm {
            fd,
            cpus,
            protected,
            slots: Arc::default(),
        })
    }
}

/// Has PSCI offer SYSTEM_SUSPEND, where this KVM can, and leave it to us.
fn offer_suspend(fd: &VmFd) {
    if fd.check_extension_raw(KVM_CAP_ARM_SYSTEM_SUSPEND.into()) <= 0 {
        return;
    }
    let cap = kvm_enable_cap {
        cap: KVM_CAP_ARM_SYSTEM_SUSPEND,
        ..Default::default()
    };
    if let Err(error) = fd.enable_cap(&cap) {
        log::info!("the guest cannot suspend to memory: {error}");
    }
}

/// A VM.
pub struct Vm {
    fd: VmFd,
    cpus: u32,
    protected: bool,
    slots: Arc<Slots>,
}

fn host(what: &'static str) -> impl Fn(kvm_ioctls::Error) -> Refusal {
    move |error| Refusal::host("KVM", format!("cannot {what}: {error}"))
}

impl Vm {
    /// The VM's file descriptor, for ioctls that have no method here.
    pub fn fd(&self) -> &VmFd {
        &self.fd
    }

    /// A file of KVM's for a protected VM's memory.
    pub fn memory_file(&self, bytes: u64) -> Result<File, Refusal> {
        sys::kvm::guest_memfd(&self.fd, bytes).map_err(|error| {
            Refusal::host("KVM", format!("cannot make the guest's memory: {error}"))
        })
    }

    /// False: this KVM has protected VMs on memory of its own files only.
    pub fn add_memory(&self, slot: u32, guest: u64, memory: &Memory) -> Result<bool, Refusal> {
        let mapping = memory.region();
        let own = memory.of_kvm();
        let added = match own {
            Some(file) => self.slots.set_file(&self.fd, slot, guest, mapping, file),
            None => self.slots.set(&self.fd, slot, guest, mapping, 0),
        };
        match added {
            Ok(()) => Ok(true),
            Err(error)
                if self.protected && own.is_none() && error.raw_os_error() == Some(libc::EPERM) =>
            {
                Ok(false)
            }
            Err(error) => Err(Refusal::host(
                "KVM",
                format!("cannot take the guest's memory: {error}"),
            )),
        }
    }

    /// Gives the guest `mapping` at `guest` to read; its stores there exit. False where this KVM cannot.
    pub fn add_readable(&self, slot: u32, guest: u64, mapping: &Arc<Mapping>) -> bool {
        if !self.fd.check_extension(Cap::ReadonlyMem) {
            return false;
        }
        match self
            .slots
            .set(&self.fd, slot, guest, mapping, KVM_MEM_READONLY)
        {
            Ok(()) => true,
            Err(error) => {
                log::info!("the UART's registers cannot be memory: {error}");
                false
            }
        }
    }

    /// Takes memory away from the guest again: accesses there exit.
    pub fn remove_memory(&self, slot: u32, guest: u64) -> io::Result<()> {
        self.slots.remove(&self.fd, slot, guest)
    }

    /// Makes vCPU `index`; all but the first wait for the guest to start them.
    pub fn create_vcpu(&self, index: u32, pmu: bool) -> Result<KvmVcpu, Refusal> {
        if pmu && !self.fd.check_extension(Cap::ArmPmuV3) {
            return Err(Refusal::host(
                "--pmu",
                "this KVM has no PMU for a guest, perhaps because the host has none; run without it",
            ));
        }
        let fd = self
            .fd
            .create_vcpu(u64::from(index))
            .map_err(host("make a vCPU"))?;
        let mut init = kvm_vcpu_init::default();
        self.fd
            .get_preferred_target(&mut init)
            .map_err(host("say what CPU to make"))?;
        init.features[0] |= 1 << KVM_ARM_VCPU_PSCI_0_2;
        if index > 0 {
            init.features[0] |= 1 << KVM_ARM_VCPU_POWER_OFF;
        }
        if pmu {
            init.features[0] |= 1 << KVM_ARM_VCPU_PMU_V3;
        }
        let pauth = [Cap::ArmPtrAuthAddress, Cap::ArmPtrAuthGeneric];
        if pauth.iter().all(|cap| self.fd.check_extension(*cap)) {
            init.features[0] |= 1 << KVM_ARM_VCPU_PTRAUTH_ADDRESS;
            init.features[0] |= 1 << KVM_ARM_VCPU_PTRAUTH_GENERIC;
        }
        fd.vcpu_init(&init).map_err(host("set up a vCPU"))?;
        let immediate = ImmediateExit::map(&fd).map_err(|error| {
            Refusal::host("KVM", format!("cannot share a vCPU's state: {error}"))
        })?;
        Ok(KvmVcpu {
            fd,
            protected: self.protected,
            immediate,
            init,
            _slots: Arc::clone(&self.slots),
        })
    }

    /// Makes the interrupt controller, the newest that KVM has, after all vCPUs.
    pub fn create_gic(&self) -> Result<(Gic, DeviceFd), Refusal> {
        let create = |kind| {
            self.fd.create_device(&mut kvm_create_device {
                type_: kind,
                fd: 0,
                flags: 0,
            })
        };
        let (gic, device) = match create(kvm_device_type_KVM_DEV_TYPE_ARM_VGIC_V3) {
            Ok(device) => (Gic::V3, device),
            Err(_) => {
                let device = create(kvm_device_type_KVM_DEV_TYPE_ARM_VGIC_V2)
                    .map_err(host("make an interrupt controller (GICv3 or GICv2)"))?;
                (Gic::V2, device)
            }
        };
        if gic == Gic::V2 && self.cpus > layout::GICV2_MAX_CPUS {
            let most = layout::GICV2_MAX_CPUS;
            let problem = format!(
                "this machine's interrupt controller (GICv2) serves at most {most}; give it {most} or fewer"
            );
            return Err(Refusal::host(format!("--cpus {}", self.cpus), problem));
        }
        let addresses = match gic {
            Gic::V3 => [
                (KVM_VGIC_V3_ADDR_TYPE_DIST, layout::GIC_DIST_BASE),
                (KVM_VGIC_V3_ADDR_TYPE_REDIST, layout::GIC_REDIST_BASE),
            ],
            Gic::V2 => [
                (KVM_VGIC_V2_ADDR_TYPE_DIST, layout::GIC_DIST_BASE),
                (KVM_VGIC_V2_ADDR_TYPE_CPU, layout::GICV2_CPU_BASE),
            ],
        };
        let interrupts: u32 = layout::SPI_BASE + layout::SPI_COUNT;
        let refuse = host("set up the interrupt controller");
        for (kind, address) in &addresses {
            set(
                &device,
                KVM_DEV_ARM_VGIC_GRP_ADDR,
                u64::from(*kind),
                address,
            )
            .map_err(&refuse)?;
        }
        set(&device, KVM_DEV_ARM_VGIC_GRP_NR_IRQS, 0, &interrupts).map_err(&refuse)?;
        let init = u64::from(KVM_DEV_ARM_VGIC_CTRL_INIT);
        set(&device, KVM_DEV_ARM_VGIC_GRP_CTRL, init, &0_u64).map_err(&refuse)?;
        Ok((gic, device))
    }

    /// An event that raises shared interrupt `spi` in the guest, once for each write.
    pub fn interrupt(&self, spi: u32) -> Result<EventFd, Refusal> {
        let event = eventfd()?;
        self.fd
            .register_irqfd(&event, spi)
            .map_err(host("wire an interrupt (irqfd)"))?;
        Ok(event)
    }

    /// Has KVM write `event` when the guest stores the 32-bit `value` at `address`.
    pub fn notify(&self, event: &EventFd, address: u64, value: u32) -> Result<(), Refusal> {
        let address = IoEventAddress::Mmio(address);
        self.fd
            .register_ioevent(event, &address, value)
            .map_err(host("wire a queue (ioeventfd)"))
    }

    /// Has KVM keep histograms of exits, where it is one that can; or says why not.
    pub fn set_accounting(&self, on: bool) -> Result<(), String> {
        if self.fd.check_extension_raw(CAP_ACCOUNTING.into()) <= 0 {
            return Err(
                "its KVM has no accounting, only armvisor's module has; leave --accounting out to \
                 see what this one counts"
                    .into(),
            );
        }
        let cap = kvm_enable_cap {
            cap: CAP_ACCOUNTING,
            args: [on.into(), 0, 0, 0],
            ..Default::default()
        };
        self.fd
            .enable_cap(&cap)
            .map_err(|error| format!("its KVM cannot change its accounting: {error}"))
    }

    /// Has KVM collect byte stores to `address`. Returns at which page of a vCPU's file the ring is;
    /// None where this KVM cannot.
    pub fn coalesce(&self, address: u64) -> Option<u32> {
        let page = u32::try_from(self.fd.check_extension_int(Cap::CoalescedMmio)).ok()?;
        if page == 0 {
            return None;
        }
        let zone = IoEventAddress::Mmio(address);
        match self.fd.register_coalesced_mmio(zone, 1) {
            Ok(()) => Some(page),
            Err(error) => {
                log::info!("the UART costs an exit a character: {error}");
                None
            }
        }
    }
}

fn eventfd() -> Result<EventFd, Refusal> {
    EventFd::new(libc::EFD_NONBLOCK | libc::EFD_CLOEXEC)
        .map_err(|error| Refusal::host("host", format!("cannot make an eventfd: {error}")))
}

fn set<T>(device: &DeviceFd, group: u32, attr: u64, value: &T) -> Result<(), kvm_ioctls::Error> {
    let addr = (&raw const *value) as u64;
    device.set_device_attr(&kvm_device_attr {
        group,
        attr,
        addr,
        flags: 0,
    })
}

/// A vCPU, before its thread runs it.
pub struct KvmVcpu {
    fd: VcpuFd,
    protected: bool,
    immediate: ImmediateExit,
    init: kvm_vcpu_init,
    // After the descriptor: memory that the vCPU can reach stays until it is closed.
    _slots: Arc<Slots>,
}

impl KvmVcpu {
    /// The vCPU's file descriptor, for ioctls that have no method here.
    pub fn fd(&self) -> &VcpuFd {
        &self.fd
    }

    /// The affinity that names this CPU in the device tree.
    pub fn mpidr(&self) -> Result<u64, Refusal> {
        let mpidr = get(&self.fd, MPIDR_EL1).map_err(host("read a vCPU's MPIDR_EL1"))?;
        Ok(mpidr & MPIDR_AFFINITY)
    }

    /// ID_AA64MMFR0_EL1, which says what page sizes the CPU has; None where KVM does not tell.
    pub fn mmfr0(&self) -> Option<u64> {
        get(&self.fd, ID_AA64MMFR0_EL1).ok()
    }

    /// Sets the registers that the arm64 boot protocol defines.
    pub fn set_boot_state(&self, entry: u64, fdt: u64) -> Result<(), Refusal> {
        begin_at(&self.fd, entry, fdt).map_err(host("set a vCPU's registers"))
    }

    /// Sets the PMU up, once the interrupt controller is there.
    pub fn wire_pmu(&self) -> Result<(), Refusal> {
        let irq = layout::PPI_BASE + layout::PMU_PPI;
        let attributes = [
            (KVM_ARM_VCPU_PMU_V3_IRQ, (&raw const irq) as u64),
            (KVM_ARM_VCPU_PMU_V3_INIT, 0),
        ];
        for (attr, addr) in attributes {
            let set = self.fd.set_device_attr(&kvm_device_attr {
                group: KVM_ARM_VCPU_PMU_V3_CTRL,
                attr: u64::from(attr),
                addr,
                flags: 0,
            });
            set.map_err(host("set up a vCPU's PMU"))?;
        }
        Ok(())
    }

    /// The vCPU, made ready to be run and kicked on the calling thread.
    pub fn on_this_thread(&mut self) -> Running<'_> {
        Running {
            fd: &mut self.fd,
            protected: self.protected,
            init: self.init,
            wake_at: None,
            kickable: Kickable::new(self.immediate.flag()),
        }
    }
}
