// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The only unsafe code of the crate: system calls without a safe form in std. Each function is
//! safe to call with any arguments; a refusal of the kernel is returned as an error.
//!
//! Vectored calls pass guest memory to the kernel. The slices were checked when they were made and
//! borrow the mapping, so it cannot go away during the call. The guest may change the bytes at any
//! time, but only the kernel reads them.
#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use libc::{c_int, c_short, c_uint, c_ulong};
use vm_memory::VolatileSlice;
use vm_memory::volatile_memory::PtrGuardMut;
use vmm_sys_util::eventfd::EventFd;
use vmm_sys_util::ioctl::{ioctl_with_ref, ioctl_with_val};
use vmm_sys_util::ioctl_iow_nr;

/// The kernel's limit on the length of a vector (UIO_MAXIOV).
pub(crate) const MAX_VECTOR: usize = 1024;

/// Guest slices as the kernel wants them; the guards keep them accessible.
struct Vector<'a> {
    iovecs: Vec<libc::iovec>,
    _guards: Vec<PtrGuardMut>,
    _slices: &'a [VolatileSlice<'a>],
}

impl<'a> Vector<'a> {
    fn new(slices: &'a [VolatileSlice<'a>]) -> Self {
        let guards: Vec<_> = slices
            .iter()
            .take(MAX_VECTOR)
            .map(|s| s.ptr_guard_mut())
            .collect();
        let entry = |g: &PtrGuardMut| libc::iovec {
            iov_base: g.as_ptr().cast(),
            iov_len: g.len(),
        };
        Self {
            iovecs: guards.iter().map(entry).collect(),
            _guards: guards,
            _slices: slices,
        }
    }

    fn with_head(head: &'a [u8], slices: &'a [VolatileSlice<'a>]) -> Self {
        if head.is_empty() {
            return Self::new(slices);
        }
        let mut vector = Self::new(&slices[..slices.len().min(MAX_VECTOR - 1)]);
        // Only ever read from: `with_head` is for writing calls.
        let base = head.as_ptr().cast_mut().cast();
        vector.iovecs.insert(
            0,
            libc::iovec {
                iov_base: base,
                iov_len: head.len(),
            },
        );
        vector
    }

    fn len(&self) -> c_int {
        self.iovecs.len() as c_int
    }
}

fn check(result: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// Reads from `offset` of `file`; at most [`MAX_VECTOR`] slices at a time.
pub(crate) fn read_at(file: &File, slices: &[VolatileSlice], offset: u64) -> io::Result<usize> {
    let vector = Vector::new(slices);
    let offset = to_offset(offset)?;
    // SAFETY: the iovecs describe guest memory that `slices` keeps mapped.
    check(unsafe {
        libc::preadv(
            file.as_raw_fd(),
            vector.iovecs.as_ptr(),
            vector.len(),
            offset,
        )
    })
}

/// Writes at `offset` of `file`; at most [`MAX_VECTOR`] slices at a time.
pub(crate) fn write_at(file: &File, slices: &[VolatileSlice], offset: u64) -> io::Result<usize> {
    let vector = Vector::new(slices);
    let offset = to_offset(offset)?;
    // SAFETY: the iovecs describe guest memory that `slices` keeps mapped.
    check(unsafe {
        libc::pwritev(
            file.as_raw_fd(),
            vector.iovecs.as_ptr(),
            vector.len(),
            offset,
        )
    })
}

/// Whether `file` was opened for reading and writing.
pub(crate) fn is_read_write(file: &File) -> io::Result<bool> {
    // SAFETY: no memory is involved.
    let flags = check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) } as _)?;
    Ok(flags as c_int & libc::O_ACCMODE == libc::O_RDWR)
}

/// Writes `head`, then guest memory, in one call.
pub(crate) fn write_gather(
    fd: BorrowedFd<'_>,
    head: &[u8],
    slices: &[VolatileSlice],
) -> io::Result<usize> {
    let vector = Vector::with_head(head, slices);
    // SAFETY: the iovecs describe `head` and guest memory that `slices` keeps mapped.
    check(unsafe { libc::writev(fd.as_raw_fd(), vector.iovecs.as_ptr(), vector.len()) })
}

/// Sends `head`, then guest memory, to a socket, without the signal that a closed one raises.
pub(crate) fn send_gather(
    fd: BorrowedFd<'_>,
    head: &[u8],
    slices: &[VolatileSlice],
) -> io::Result<usize> {
    let mut vector = Vector::with_head(head, slices);
    // SAFETY: all zeroes is a valid msghdr.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = vector.iovecs.as_mut_ptr();
    message.msg_iovlen = vector.iovecs.len() as _;
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    // SAFETY: `message` points to iovecs of `head` and of guest memory that `slices` keeps mapped.
    check(unsafe { libc::sendmsg(fd.as_raw_fd(), &message, flags) })
}

/// Reads into guest memory.
pub(crate) fn read_scatter(fd: BorrowedFd<'_>, slices: &[VolatileSlice]) -> io::Result<usize> {
    let vector = Vector::new(slices);
    // SAFETY: the iovecs describe guest memory that `slices` keeps mapped.
    check(unsafe { libc::readv(fd.as_raw_fd(), vector.iovecs.as_ptr(), vector.len()) })
}

/// What to do with a range of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deallocate {
    /// Give the blocks back; the range reads as zeroes.
    Punch,
    /// Make the range read as zeroes, keeping its blocks.
    Zero,
}

/// `fallocate`; never changes the file's size.
pub(crate) fn deallocate(file: &File, how: Deallocate, offset: u64, len: u64) -> io::Result<()> {
    let mode = libc::FALLOC_FL_KEEP_SIZE
        | match how {
            Deallocate::Punch => libc::FALLOC_FL_PUNCH_HOLE,
            Deallocate::Zero => libc::FALLOC_FL_ZERO_RANGE,
        };
    let (offset, len) = (to_offset(offset)?, to_offset(len)?);
    // SAFETY: no memory is involved.
    match unsafe { libc::fallocate(file.as_raw_fd(), mode, offset, len) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Drops the pages of a private anonymous mapping; `slice` must be whole pages.
pub(crate) fn drop_pages(slice: &VolatileSlice) -> io::Result<()> {
    let guard = slice.ptr_guard_mut();
    // SAFETY: the range is guest memory that `slice` keeps mapped. Its contents become zeroes, which
    // is a write that nothing in this process relies on not happening.
    match unsafe { libc::madvise(guard.as_ptr().cast(), guard.len(), libc::MADV_DONTNEED) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Random bytes from the kernel. May return fewer than asked for, and EAGAIN before the pool is
/// seeded.
pub(crate) fn random(buf: &mut [u8]) -> io::Result<usize> {
    getrandom(buf, libc::GRND_NONBLOCK)
}

/// Random bytes that need not be secret: also before the pool is seeded, as on a machine at boot.
pub(crate) fn random_not_secret(buf: &mut [u8]) -> io::Result<usize> {
    const GRND_INSECURE: libc::c_uint = 4;
    getrandom(buf, GRND_INSECURE)
}

fn getrandom(buf: &mut [u8], flags: libc::c_uint) -> io::Result<usize> {
    // SAFETY: the pointer and length are those of `buf`.
    check(unsafe { libc::getrandom(buf.as_mut_ptr().cast(), buf.len(), flags) })
}

/// A descriptor that becomes readable after `delay`, once.
pub(crate) fn timer(delay: Duration) -> io::Result<OwnedFd> {
    let flags = libc::TFD_NONBLOCK | libc::TFD_CLOEXEC;
    // SAFETY: no memory is involved.
    let fd = check(unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) } as _)?;
    // SAFETY: the kernel just gave us this descriptor, and nobody else has it.
    let timer = unsafe { OwnedFd::from_raw_fd(fd as c_int) };
    // SAFETY: all zeroes is a valid itimerspec.
    let mut spec: libc::itimerspec = unsafe { std::mem::zeroed() };
    spec.it_value.tv_sec = delay.as_secs() as _;
    spec.it_value.tv_nsec = delay.subsec_nanos() as _;
    let (fd, null) = (timer.as_raw_fd(), std::ptr::null_mut());
    // SAFETY: `spec` lives through the call and no old value is asked for.
    status(unsafe { libc::timerfd_settime(fd, 0, &spec, null) }).map(|()| timer)
}

/// Connects to the Unix socket at `path` without ever waiting: a listener whose queue is full is
/// EAGAIN. The stream does not block either.
pub(crate) fn connect_unix(path: &Path) -> io::Result<UnixStream> {
    let bytes = path.as_os_str().as_bytes();
    // SAFETY: all zeroes is a valid sockaddr_un.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    if bytes.len() >= address.sun_path.len() {
        return Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG));
    }
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    for (to, &from) in address.sun_path.iter_mut().zip(bytes) {
        *to = from as libc::c_char;
    }
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no memory is involved.
    let fd = check(unsafe { libc::socket(libc::AF_UNIX, kind, 0) } as _)? as c_int;
    // SAFETY: the kernel just gave us this descriptor, and nobody else has it.
    let stream = unsafe { UnixStream::from_raw_fd(fd) };
    let (to, len) = (
        (&raw const address).cast(),
        size_of_val(&address) as libc::socklen_t,
    );
    // SAFETY: `address` is a sockaddr_un of that length, terminated.
    status(unsafe { libc::connect(fd, to, len) }).map(|()| stream)
}

/// The host's page size.
pub(crate) fn page_size() -> u64 {
    // SAFETY: no memory is involved.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(size).unwrap_or(4096)
}

fn to_offset(value: u64) -> io::Result<libc::off_t> {
    value
        .try_into()
        .map_err(|_| io::Error::from_raw_os_error(libc::EFBIG))
}

/// A file without a name, for fuzzing.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn memfd() -> io::Result<File> {
    // SAFETY: the name is a terminated string.
    let fd = check(unsafe { libc::memfd_create(c"armvisor".as_ptr(), libc::MFD_CLOEXEC) } as _)?;
    // SAFETY: the kernel just gave us this descriptor, and nobody else has it.
    Ok(unsafe { File::from_raw_fd(fd as c_int) })
}

/// The descriptor of an eventfd, which vmm-sys-util gives out as a number only.
pub(crate) fn borrow(event: &EventFd) -> BorrowedFd<'_> {
    // SAFETY: `event` owns the descriptor and is borrowed as long as the result.
    unsafe { BorrowedFd::borrow_raw(event.as_raw_fd()) }
}

const TUN: c_uint = b'T' as c_uint;
ioctl_iow_nr!(TUNSETIFF, TUN, 202, c_int);
ioctl_iow_nr!(TUNSETOFFLOAD, TUN, 208, c_uint);
ioctl_iow_nr!(TUNSETVNETHDRSZ, TUN, 216, c_int);

/// `struct ifreq` as TUNSETIFF reads it.
#[repr(C)]
struct IfRequest {
    name: [u8; libc::IFNAMSIZ],
    flags: c_short,
    _rest: [u8; 22],
}

/// Whether the machine has a network interface of this name.
pub(crate) fn interface_exists(name: &std::ffi::CStr) -> bool {
    // SAFETY: `name` is a terminated string.
    unsafe { libc::if_nametoindex(name.as_ptr()) != 0 }
}

/// Attaches to the TAP `name`, nonblocking, with a virtio-net header of `header` bytes before each
/// frame. The kernel makes a TAP that does not exist, so look for it first.
pub(crate) fn open_tap(name: &std::ffi::CStr, header: usize) -> io::Result<File> {
    let bytes = name.to_bytes_with_nul();
    let mut request = IfRequest {
        name: [0; libc::IFNAMSIZ],
        flags: (libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as c_short,
        _rest: [0; 22],
    };
    request
        .name
        .get_mut(..bytes.len())
        .ok_or_else(|| io::Error::from_raw_os_error(libc::ENAMETOOLONG))?
        .copy_from_slice(bytes);
    let tap = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open("/dev/net/tun")?;
    // SAFETY: the kernel reads and writes one ifreq, and `IfRequest` is as large.
    status(unsafe { ioctl_with_ref(&tap, TUNSETIFF(), &request) })?;
    // SAFETY: the kernel reads one int.
    status(unsafe { ioctl_with_ref(&tap, TUNSETVNETHDRSZ(), &(header as c_int)) })?;
    Ok(tap)
}

/// Says which offloads (TUN_F_*) whoever reads frames from `tap` can take.
pub(crate) fn set_tap_offload(tap: &File, flags: c_uint) -> io::Result<()> {
    // SAFETY: the argument is a number.
    status(unsafe { ioctl_with_val(tap, TUNSETOFFLOAD(), c_ulong::from(flags)) })
}

fn status(result: c_int) -> io::Result<()> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// Reads from a borrowed descriptor into ordinary memory.
pub(crate) fn read(fd: impl AsFd, buf: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the pointer and length are those of `buf`.
    check(unsafe { libc::read(fd.as_fd().as_raw_fd(), buf.as_mut_ptr().cast(), buf.len()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ifreq_is_as_large_as_the_kernel_says() {
        assert_eq!(size_of::<IfRequest>(), size_of::<libc::ifreq>());
    }

    #[test]
    fn offsets_past_the_largest_are_refused() {
        assert_eq!(
            to_offset(1 << 63).unwrap_err().raw_os_error(),
            Some(libc::EFBIG)
        );
    }
}
