// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The hypervisor behind one trait, so that the exit loop can be tested with a scripted vCPU.
//!
//! An exit is a value that [`Vcpu::run`] returns; the response is a value that goes into the next
//! call. There are no callbacks.

#[cfg(target_arch = "aarch64")]
pub mod kvm;

use crate::exits::Class;
use crate::outcome::{End, Refusal};

/// What the vCPU goes on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VmEntry {
    /// Nothing owed to it.
    Run,
    /// The bytes that its load was waiting for, in memory order.
    MmioRead([u8; 8]),
}

/// Why the vCPU came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VmExit {
    /// A load that no device of KVM has: KVM_EXIT_MMIO.
    MmioRead {
        /// Guest physical address.
        address: u64,
        /// 1, 2, 4 or 8 bytes.
        len: usize,
    },
    /// A store that no device of KVM takes: KVM_EXIT_MMIO.
    MmioWrite {
        /// Guest physical address.
        address: u64,
        /// The bytes in memory order; those from `len` on are 0.
        data: [u8; 8],
        /// 1, 2, 4 or 8 bytes.
        len: usize,
    },
    /// The guest has gone to sleep, or has been woken: go on.
    Slept,
    /// A signal, or `immediate_exit`: look at what is wanted of this vCPU, then go on.
    Interrupted,
    /// Power-off, reset or crash, as the guest asked.
    System(End),
    /// KVM does not know how to go on; the sentence says why.
    Stuck(String),
}

impl VmExit {
    /// The class that the exit counts in.
    pub fn class(&self) -> Class {
        match self {
            VmExit::MmioRead { .. } => Class::MmioRead,
            VmExit::MmioWrite { .. } => Class::MmioWrite,
            VmExit::Interrupted => Class::Signal,
            VmExit::System(_) | VmExit::Slept => Class::SystemEvent,
            VmExit::Stuck(_) => Class::Error,
        }
    }
}

/// One virtual CPU. Used by one thread.
pub trait Vcpu {
    /// Runs the guest until something happens that this program must deal with.
    fn run(&mut self, entry: VmEntry) -> VmExit;

    /// The registers, in a few lines for a person; what can be read of them.
    fn registers(&self) -> String;
}

/// Compares `cpus` with what KVM says that it runs well (KVM_CAP_NR_VCPUS, on arm64 the host's CPUs) and
/// at all (KVM_CAP_MAX_VCPUS). Returns what to warn of.
pub fn check_cpus(cpus: u32, well: usize, most: usize) -> Result<Option<String>, Refusal> {
    let asked = cpus as usize;
    if asked > most {
        let problem =
            format!("this KVM runs at most {most} in a VM; give it --cpus {most} or fewer");
        return Err(Refusal::host(format!("--cpus {cpus}"), problem));
    }
    Ok((asked > well).then(|| {
        format!("--cpus {cpus}: the host has {well}, and CPUs of the VM will wait for each other")
    }))
}

/// What an errno of KVM_RUN says of the guest.
pub fn run_error(errno: i32, protected: bool) -> String {
    match errno {
        libc::ENOSYS => "the guest accesses a device with an instruction that the CPU does not \
             describe, such as a pair or vector load, or runs code where no memory is"
            .into(),
        libc::EFAULT if protected => "the guest uses memory that the host has taken from it: some \
             program read or wrote the VM's private memory through the host's kernel, which \
             gives it back as zeroes and ends the VM"
            .into(),
        libc::EFAULT => "the guest uses memory that the host cannot provide".into(),
        libc::ENOMEM if protected => {
            "the host cannot lock more memory for the guest; raise the limit \
             of locked memory (memlock) or free some"
                .into()
        }
        libc::ENOMEM => "the host is out of memory".into(),
        errno => format!(
            "KVM_RUN fails: {}",
            std::io::Error::from_raw_os_error(errno)
        ),
    }
}

/// A hypervisor may say why in words: text, padded with zeros, behind a first word of its own.
pub fn reason_in_words(data: &[u64]) -> Option<String> {
    let bytes: Vec<u8> = data
        .iter()
        .skip(1)
        .flat_map(|word| word.to_le_bytes())
        .collect();
    let text = std::str::from_utf8(&bytes).ok()?.trim_end_matches('\0');
    let readable = text.len() > 16 && text.chars().all(|c| c == ' ' || c.is_ascii_graphic());
    readable.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{check_cpus, reason_in_words, run_error};
    use crate::outcome::ExitCode;

    fn data(text: &[u8]) -> Vec<u64> {
        let mut bytes = [0; 15 * 8];
        bytes[..text.len()].copy_from_slice(text);
        let words = bytes
            .chunks(8)
            .map(|word| u64::from_le_bytes(word.try_into().unwrap()));
        [7].into_iter().chain(words).collect()
    }

    #[test]
    fn cpus_are_bounded_by_what_kvm_says() {
        assert_eq!(check_cpus(2, 2, 8).unwrap(), None);
        let warning = check_cpus(8, 2, 8).unwrap().unwrap();
        assert!(warning.contains("--cpus 8: the host has 2"), "{warning}");
        let refusal = check_cpus(9, 2, 8).unwrap_err();
        assert_eq!(refusal.code, ExitCode::Host);
        let sentence = "--cpus 9: this KVM runs at most 8 in a VM; give it --cpus 8 or fewer";
        assert_eq!(refusal.to_string(), sentence);
    }

    #[test]
    fn every_errno_is_a_sentence() {
        assert!(run_error(libc::EFAULT, true).contains("private memory"));
        assert!(run_error(libc::EFAULT, false).contains("cannot provide"));
        assert!(run_error(libc::ENOMEM, true).contains("lock more memory"));
        assert!(run_error(libc::EIO, true).contains("KVM_RUN fails: Input/output"));
    }

    #[test]
    fn text_in_an_internal_error_is_told_as_it_is() {
        let text = "the guest switched to big-endian";
        assert_eq!(reason_in_words(&data(text.as_bytes())), Some(text.into()));
    }

    #[test]
    fn what_is_no_text_is_not() {
        assert_eq!(reason_in_words(&[]), None);
        assert_eq!(reason_in_words(&[1, 2, 3]), None);
        assert_eq!(reason_in_words(&data(b"")), None);
        assert_eq!(reason_in_words(&data(b"a sentence \xff with junk")), None);
        assert_eq!(reason_in_words(&data(b"a sentence\0 with a hole")), None);
    }
}
