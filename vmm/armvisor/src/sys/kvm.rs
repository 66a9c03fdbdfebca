// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Parts of KVM that kvm-ioctls leaves to its user: fields of a vCPU's `kvm_run` page, and a VM's
//! memory.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU8;
use std::sync::{Arc, Mutex, PoisonError};

use kvm_bindings::{
    KVM_MEM_GUEST_MEMFD, kvm_create_guest_memfd, kvm_run, kvm_userspace_memory_region,
    kvm_userspace_memory_region2,
};
use kvm_ioctls::{Kvm, VcpuFd, VmFd};

use super::memory::Mapping;

/// The answer to the load that the vCPU's last exit was about.
pub fn set_mmio_data(run: &mut kvm_run, data: [u8; 8]) {
    // Writing a union's field is safe; KVM reads this one at the entry after an MMIO read only.
    run.__bindgen_anon_1.mmio.data = data;
}

/// What KVM_EXIT_INTERNAL_ERROR says: the kind of error and its data.
pub fn internal_error(run: &kvm_run) -> (u32, Vec<u64>) {
    // SAFETY: plain integers, so every bit pattern is valid; the exit reason says which member.
    let internal = unsafe { run.__bindgen_anon_1.internal };
    let count = (internal.ndata as usize).min(internal.data.len());
    (internal.suberror, internal.data[..count].to_vec())
}

/// What KVM_EXIT_ARM_NISV says: the syndrome without ISV, and the guest physical address.
pub fn no_syndrome(run: &kvm_run) -> (u64, u64) {
    // SAFETY: plain integers, so every bit pattern is valid; the exit reason says which member.
    let nisv = unsafe { run.__bindgen_anon_1.arm_nisv };
    (nisv.esr_iss, nisv.fault_ipa)
}

/// The `immediate_exit` byte of a vCPU, in a mapping of its own of the shared `kvm_run` page.
pub struct ImmediateExit {
    run: NonNull<kvm_run>,
    len: usize,
}

// SAFETY: the mapping belongs to this value alone and may be used from any thread; what is accessed
// through it is atomic.
unsafe impl Send for ImmediateExit {}

impl ImmediateExit {
    /// Maps the vCPU's `kvm_run` once more. Fails as mmap() does.
    pub fn map(vcpu: &VcpuFd) -> io::Result<Self> {
        let len = size_of::<kvm_run>();
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let (null, fd) = (ptr::null_mut(), vcpu.as_raw_fd());
        // SAFETY: a new mapping at an address of the kernel's choice disturbs no other.
        let mapped = unsafe { libc::mmap(null, len, protection, libc::MAP_SHARED, fd, 0) };
        match NonNull::new(mapped) {
            Some(mapped) if mapped.as_ptr() != libc::MAP_FAILED => Ok(ImmediateExit {
                run: mapped.cast(),
                len,
            }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// KVM reads it at each entry; the vCPU's thread and its signal handler write it.
    pub fn flag(&self) -> &AtomicU8 {
        // SAFETY: the mapping lives as long as self and holds a kvm_run.
        let flag = unsafe { &raw mut (*self.run.as_ptr()).immediate_exit };
        // SAFETY: a byte has no alignment or validity needs, and all of this program's accesses
        // through this mapping are atomic.
        unsafe { AtomicU8::from_ptr(flag) }
    }
}

impl Drop for ImmediateExit {
    fn drop(&mut self) {
        // SAFETY: this value's own mapping, which nothing borrows any more.
        unsafe { libc::munmap(self.run.as_ptr().cast(), self.len) };
    }
}

/// Takes over a descriptor that the caller has found to be a KVM device.
pub fn from_owned(fd: OwnedFd) -> Kvm {
    // SAFETY: the descriptor is owned and is given away here.
    unsafe { Kvm::from_raw_fd(fd.into_raw_fd()) }
}

/// GUEST_MEMFD_FLAG_MMAP and GUEST_MEMFD_FLAG_INIT_SHARED: the memory can be mapped, and holds what
/// is put there until the guest runs.
const GUEST_MEMFD_FLAGS: u64 = 0b11;

/// A file of KVM's own for `bytes` of a protected VM's memory.
pub fn guest_memfd(vm: &VmFd, bytes: u64) -> io::Result<File> {
    let fd = vm.create_guest_memfd(kvm_create_guest_memfd {
        size: bytes,
        flags: GUEST_MEMFD_FLAGS,
        ..Default::default()
    })?;
    // SAFETY: the call returned a new descriptor that nobody else owns.
    let file = unsafe { File::from_raw_fd(fd) };
    // SAFETY: F_SETFD takes an integer and touches no memory.
    super::check(unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) })?;
    Ok(file)
}

/// The memory of this process that a VM has. Kept by all who may run the VM: what KVM has an address of
/// must not become another mapping.
#[derive(Default)]
pub struct Slots(Mutex<Vec<Arc<Mapping>>>);

impl Slots {
    /// Gives the guest a mapping.
    pub fn set(
        &self,
        vm: &VmFd,
        slot: u32,
        guest: u64,
        mapping: &Arc<Mapping>,
        flags: u32,
    ) -> io::Result<()> {
        let memory = kvm_userspace_memory_region {
            slot,
            flags,
            guest_phys_addr: guest,
            memory_size: mapping.size() as u64,
            userspace_addr: mapping.as_ptr() as u64,
        };
        self.keep(mapping, || {
            // SAFETY: the mapping is kept as long as anybody may run the VM; the rest of the program
            // accesses it as memory that somebody else writes (vm-memory).
            unsafe { vm.set_user_memory_region(memory) }
        })
    }

    /// Gives the guest the memory of a guest_memfd, whose mapping this is from its start.
    pub fn set_file(
        &self,
        vm: &VmFd,
        slot: u32,
        guest: u64,
        mapping: &Arc<Mapping>,
        file: &File,
    ) -> io::Result<()> {
        let memory = kvm_userspace_memory_region2 {
            slot,
            flags: KVM_MEM_GUEST_MEMFD,
            guest_phys_addr: guest,
            memory_size: mapping.size() as u64,
            userspace_addr: mapping.as_ptr() as u64,
            guest_memfd: file.as_raw_fd() as u32,
            ..Default::default()
        };
        self.keep(mapping, || {
            // SAFETY: as above; the file is the mapping's, and KVM holds it.
            unsafe { vm.set_user_memory_region2(memory) }
        })
    }

    /// Keeps the mapping if KVM takes it.
    fn keep(
        &self,
        mapping: &Arc<Mapping>,
        give: impl FnOnce() -> Result<(), kvm_ioctls::Error>,
    ) -> io::Result<()> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        give()?;
        kept.push(Arc::clone(mapping));
        Ok(())
    }

    /// Takes a range of memory away from the guest. The mapping is kept all the same.
    pub fn remove(&self, vm: &VmFd, slot: u32, guest: u64) -> io::Result<()> {
        let memory = kvm_userspace_memory_region {
            slot,
            guest_phys_addr: guest,
            ..Default::default()
        };
        // SAFETY: a size of zero deletes the slot; no memory of this process is named.
        unsafe { vm.set_user_memory_region(memory) }.map_err(Into::into)
    }
}
