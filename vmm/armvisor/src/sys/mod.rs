// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! All of the crate's `unsafe`: system calls and mappings that no crate wraps safely.
//!
//! Each function here is safe to call, or is not exported. Each block says why it is sound.

pub mod guard;
pub mod host;
pub mod kick;
#[cfg(target_arch = "aarch64")]
pub mod kvm;
pub mod memory;
pub mod ring;
pub mod signal;
pub mod splice;
pub mod stats;
pub mod tty;

use std::io;
use std::os::fd::AsRawFd;

/// The result of a system call that returns -1 and sets errno on failure.
fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// Fills `buffer` from the kernel's random generator. Never waits: a kernel that has no entropy yet
/// (a machine at boot) gives what its pool has, which is what the guest would do itself.
pub fn random(buffer: &mut [u8]) -> io::Result<()> {
    const GRND_INSECURE: libc::c_uint = 4;
    let mut done = 0;
    while done < buffer.len() {
        let rest = &mut buffer[done..];
        // SAFETY: the pointer and the length are those of a writable slice.
        let got = unsafe { libc::getrandom(rest.as_mut_ptr().cast(), rest.len(), GRND_INSECURE) };
        match usize::try_from(got) {
            Ok(got) => done += got,
            Err(_) => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
    Ok(())
}

/// Writes what the CPU's cache holds of `region`'s first line through to memory, for a guest that
/// reads it as a device, past the caches, on a machine whose caches do not see that.
pub fn clean_first_line(region: &vm_memory::MmapRegion) {
    #[cfg(target_arch = "aarch64")]
    // SAFETY: cleaning a line of a live mapping changes nothing that a program can see.
    unsafe {
        std::arch::asm!("dc cvac, {0}", "dsb sy", in(reg) region.as_ptr(), options(nostack));
    }
    #[cfg(not(target_arch = "aarch64"))]
    let _ = region;
}

/// The size of the host's pages.
pub fn page_size() -> io::Result<usize> {
    // SAFETY: sysconf has no memory effects.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).map_err(io::Error::other)
}

/// How much memory this process may lock: its hard limit, which becomes its soft one. None for all.
pub fn lockable() -> io::Result<Option<u64>> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is a live rlimit.
    check(unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &raw mut limit) })?;
    if limit.rlim_max == libc::RLIM_INFINITY || has_capability(CAP_IPC_LOCK)? {
        return Ok(None);
    }
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: the call reads a live rlimit.
    check(unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &raw const limit) })?;
    Ok(Some(limit.rlim_max))
}

const CAP_IPC_LOCK: u32 = 14;

fn has_capability(number: u32) -> io::Result<bool> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let effective = status
        .lines()
        .find_map(|line| u64::from_str_radix(line.strip_prefix("CapEff:")?.trim(), 16).ok());
    Ok(effective.is_some_and(|set| set & 1 << number != 0))
}

/// The effective user of this process.
pub fn euid() -> u32 {
    // SAFETY: geteuid has no arguments and cannot fail.
    unsafe { libc::geteuid() }
}

/// The user at the other end of a Unix socket.
pub fn peer_uid(socket: &impl AsRawFd) -> io::Result<u32> {
    let mut cred = libc::ucred {
        pid: 0,
        uid: u32::MAX,
        gid: u32::MAX,
    };
    let mut len = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: `cred` and `len` are live and `len` is the size of `cred`.
    check(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut cred).cast(),
            &raw mut len,
        )
    })?;
    Ok(cred.uid)
}

/// Closes what this process inherited, but for the standard files and `keep`. To be called before it
/// opens a file.
pub fn close_inherited(keep: &[i32]) -> io::Result<()> {
    let entries = std::fs::read_dir("/proc/self/fd")?;
    let numbers: Vec<i32> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    for number in numbers {
        if number > 2 && !keep.contains(&number) {
            // SAFETY: the call touches no memory. No value in this process owns the descriptor, as none
            // was opened here but the folder's, which is closed already.
            unsafe { libc::close(number) };
        }
    }
    Ok(())
}

/// Takes an open-file-description lock on the whole of `file`: exclusive, or shared. Err(WouldBlock)
/// if another open file has a lock that conflicts.
pub fn lock_file(file: &std::fs::File, exclusive: bool) -> io::Result<()> {
    set_lock(
        file,
        if exclusive {
            libc::F_WRLCK
        } else {
            libc::F_RDLCK
        },
    )
}

/// Releases the lock of [`lock_file`], also for all duplicates of the descriptor.
pub fn unlock_file(file: &std::fs::File) -> io::Result<()> {
    set_lock(file, libc::F_UNLCK)
}

fn set_lock(file: &std::fs::File, kind: libc::c_int) -> io::Result<()> {
    // SAFETY: flock is plain data, for which all zeroes is a valid value.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    // SAFETY: F_OFD_SETLK reads a flock, which `lock` is.
    match check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) }) {
        Ok(_) => Ok(()),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => {
            Err(io::ErrorKind::WouldBlock.into())
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_fills_all_of_it() {
        let mut bytes = [0; 64];
        random(&mut bytes).unwrap();
        // All zeroes by chance once in 2^512 runs.
        assert_ne!(bytes, [0; 64]);
    }

    #[test]
    fn root_may_lock_all_and_others_what_they_may() {
        match lockable().unwrap() {
            None => {}
            Some(_) => assert!(!has_capability(CAP_IPC_LOCK).unwrap()),
        }
        assert!(!has_capability(63).unwrap(), "no such capability");
    }

    #[test]
    fn the_other_end_of_my_socket_is_me() {
        let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        assert_eq!(peer_uid(&one).unwrap(), euid());
    }

    #[test]
    fn locks_conflict_between_open_files() {
        let path = tempfile::NamedTempFile::new().unwrap();
        let open = || {
            std::fs::File::options()
                .read(true)
                .write(true)
                .open(path.path())
                .unwrap()
        };
        let (one, two, three) = (open(), open(), open());
        lock_file(&one, false).unwrap();
        lock_file(&two, false).unwrap();
        assert_eq!(
            lock_file(&three, true).unwrap_err().kind(),
            io::ErrorKind::WouldBlock
        );
        drop((one, two));
        lock_file(&three, true).unwrap();
        let same = three.try_clone().unwrap();
        assert!(lock_file(&open(), false).is_err());
        unlock_file(&same).unwrap();
        lock_file(&open(), true).unwrap();
    }
}
