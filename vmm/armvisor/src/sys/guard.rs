// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Guest memory that this program may not touch: a protected VM's, but for what its guest shares.
//!
//! The host's answer to a load or store there is SIGSEGV. A guest decides what addresses its devices are
//! given, so that must not end the program. The handler puts a page of zeroes of this program's own in
//! the place of the one that is not to be had, and the access is done again, on that: what is read is
//! zero, what is written is lost. The thread is told by [`Guard::met`], which puts guest memory back;
//! until then it must not believe what it read.
//!
//! A thread that meets more pages than it can note before it asks has all of guest memory replaced
//! instead, so that the number of mappings stays small whatever a guest thinks of. Other devices of the
//! VM read zeroes meanwhile; they cannot tell from a guest that wrote these, and it is this guest's doing.
//!
//! Rules of the handler: it calls mmap, sigaction and, at last, write and _exit; its state is atomics and
//! thread-local words without destructors. A fault elsewhere goes to who handled them before.

use std::cell::Cell;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::memory::{Advice, Mapping, advise};
use super::{check, page_size};
use crate::outcome::ExitCode;

/// Pages that a thread notes one by one.
const NOTED: usize = 64;

// The range that is guarded: length 0 for none. One VM of a process has one at a time.
static START: AtomicUsize = AtomicUsize::new(0);
static LEN: AtomicUsize = AtomicUsize::new(0);
static PAGE: AtomicUsize = AtomicUsize::new(0);
/// What handled SIGSEGV before.
static BEFORE: OnceLock<Before> = OnceLock::new();

struct Before(libc::sigaction);

thread_local! {
    /// How many pages this thread has met; more than [`NOTED`] of them are all.
    static COUNT: Cell<usize> = const { Cell::new(0) };
    static PAGES: [Cell<usize>; NOTED] = const { [const { Cell::new(0) }; NOTED] };
}

const LAST_WORDS: &[u8] =
    b"armvisor: the guest gave a device memory that it has not shared, and the host \
    has no mapping left to put in its place; the VM ends\n";

/// Guards a VM's memory as long as it lives.
pub struct Guard {
    mapping: Arc<Mapping>,
    /// The guest's address of its start.
    guest: u64,
}

impl Guard {
    /// Guards `mapping`, a file's from its start, which the guest has at address `guest`.
    pub fn new(mapping: Arc<Mapping>, guest: u64) -> io::Result<Self> {
        if mapping.file_offset().is_none_or(|file| file.start() != 0) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let claimed = LEN.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Acquire);
        if claimed.is_err() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let guard = Guard { mapping, guest };
        PAGE.store(page_size()?, Ordering::Relaxed);
        START.store(guard.mapping.as_ptr() as usize, Ordering::Relaxed);
        install()?;
        LEN.store(guard.mapping.size(), Ordering::Release);
        Ok(guard)
    }

    /// The first guest address, if any, where this thread met private memory since it last asked. Guest
    /// memory is in its place again.
    pub fn met(&self) -> Option<u64> {
        let count = COUNT.replace(0);
        if count == 0 {
            return None;
        }
        let start = self.mapping.as_ptr() as usize;
        let page = PAGE.load(Ordering::Relaxed);
        let first = PAGES.with(|pages| pages[0].get()) - start;
        let restored = if count > NOTED {
            self.restore(0, self.mapping.size())
        } else {
            let mut pages = (0..count).map(|at| PAGES.with(|pages| pages[at].get()) - start);
            pages.try_for_each(|offset| self.restore(offset, page))
        };
        if let Err(error) = restored {
            log::error!("cannot map guest memory again: {error}; devices may fail");
        }
        Some(self.guest + first as u64)
    }

    /// Maps the file's own pages at their place again.
    fn restore(&self, offset: usize, len: usize) -> io::Result<()> {
        use std::os::fd::AsRawFd;
        let Some(file) = self.mapping.file_offset() else {
            return Ok(());
        };
        let at = self.mapping.as_ptr().wrapping_add(offset);
        let flags = libc::MAP_SHARED | libc::MAP_FIXED;
        let (protection, fd) = (libc::PROT_READ | libc::PROT_WRITE, file.file().as_raw_fd());
        // SAFETY: the range is a part of the mapping, whose memory anybody may write at any time; what
        // is mapped there is what it was made of.
        let mapped = unsafe { libc::mmap(at.cast(), len, protection, flags, fd, offset as i64) };
        if mapped == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        for advice in [Advice::DontDump, Advice::DontFork] {
            advise(&self.mapping, offset, len, advice)?;
        }
        Ok(())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        LEN.store(0, Ordering::Release);
    }
}

impl armvisor_devices::PrivateMemory for Guard {
    fn met(&self) -> Option<u64> {
        Guard::met(self)
    }
}

/// Installs the handler, once.
fn install() -> io::Result<()> {
    if BEFORE.get().is_some() {
        return Ok(());
    }
    let mut before = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: nothing is set; the old action is written to memory of its size.
    check(unsafe { libc::sigaction(libc::SIGSEGV, ptr::null(), before.as_mut_ptr()) })?;
    // SAFETY: the call has written it.
    BEFORE.get_or_init(|| Before(unsafe { before.assume_init() }));
    let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = on_fault;
    // SAFETY: all zeroes is a valid sigaction.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as usize;
    // On the stack for signals, where the thread has one: a fault may be its own stack's end.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: the handler keeps to what handlers may do (see the top).
    check(unsafe { libc::sigaction(libc::SIGSEGV, &raw const action, ptr::null_mut()) }).map(drop)
}

extern "C" fn on_fault(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel gives the handler a siginfo.
    let info = unsafe { &*info };
    // SAFETY: SIGSEGV's has an address.
    let address = unsafe { info.si_addr() } as usize;
    let (start, len) = (START.load(Ordering::Relaxed), LEN.load(Ordering::Acquire));
    if len > 1 && address >= start && address - start < len {
        return replace(address, start, len);
    }
    if let Some(Before(action)) = BEFORE.get() {
        // The access is done again, and what is then to be done is not ours.
        // SAFETY: it is the action that the kernel gave out.
        unsafe { libc::sigaction(libc::SIGSEGV, action, ptr::null_mut()) };
    }
}

/// Puts zeroes in the place of the page at `address`, or of everything.
fn replace(address: usize, start: usize, len: usize) {
    let page = PAGE.load(Ordering::Relaxed);
    let at = address & !(page - 1);
    let count = COUNT.get();
    if count < NOTED {
        PAGES.with(|pages| pages[count].set(at));
        COUNT.set(count + 1);
        put_zeroes(at, page);
    } else {
        COUNT.set(NOTED + 1);
        put_zeroes(start, len);
    }
}

fn put_zeroes(at: usize, len: usize) {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let flags = kind | libc::MAP_FIXED | libc::MAP_NORESERVE;
    let at = ptr::without_provenance_mut(at);
    // SAFETY: errno's place is this thread's own.
    let errno_at = unsafe { libc::__errno_location() };
    // SAFETY: it is there as long as the thread.
    let errno = unsafe { *errno_at };
    // SAFETY: the range is guest memory's, which anybody may write at any time: that it turns to zeroes
    // is nothing that this program could not see otherwise.
    let mapped = unsafe { libc::mmap(at, len, protection, flags, -1, 0) };
    if mapped == libc::MAP_FAILED {
        // SAFETY: the bytes are a constant.
        unsafe { libc::write(2, LAST_WORDS.as_ptr().cast(), LAST_WORDS.len()) };
        // SAFETY: ends the process without running anything of it.
        unsafe { libc::_exit(ExitCode::GuestStuck as i32) };
    }
    // SAFETY: as above.
    unsafe { *errno_at = errno };
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::super::memory::{map_aligned, memfd};
    use super::*;
    use vm_memory::{Bytes, VolatileMemory};

    /// There is one guard at a time.
    static ALONE: Mutex<()> = Mutex::new(());

    const PAGES_OF_MEMORY: usize = 3 * NOTED;

    fn memory() -> Arc<Mapping> {
        let len = PAGES_OF_MEMORY * page_size().unwrap();
        let file = memfd(c"guarded", false).unwrap();
        file.set_len(len as u64).unwrap();
        Arc::new(map_aligned(file, len, 4096).unwrap())
    }

    /// Makes pages answer an access as a protected VM's private ones do.
    fn forbid(mapping: &Mapping, first: usize, count: usize) {
        let page = page_size().unwrap();
        let at = mapping.as_ptr().wrapping_add(first * page);
        // SAFETY: a part of the mapping, which tests touch as memory that may not be there.
        check(unsafe { libc::mprotect(at.cast(), count * page, libc::PROT_NONE) }).unwrap();
    }

    fn get(mapping: &Mapping, page: usize) -> u64 {
        let offset = page * page_size().unwrap();
        mapping.as_volatile_slice().read_obj(offset + 8).unwrap()
    }

    fn set(mapping: &Mapping, page: usize, value: u64) {
        let offset = page * page_size().unwrap();
        mapping
            .as_volatile_slice()
            .write_obj(value, offset + 8)
            .unwrap();
    }

    #[test]
    fn private_pages_read_as_zeroes_and_are_told_once() {
        let _alone = ALONE.lock().unwrap();
        let mapping = memory();
        let guard = Guard::new(mapping.clone(), 0x4000_0000).unwrap();
        assert!(Guard::new(mapping.clone(), 0).is_err(), "one at a time");
        (0..8).for_each(|page| set(&mapping, page, page as u64 + 1));
        assert_eq!(guard.met(), None);
        forbid(&mapping, 3, 2);
        assert_eq!(
            (get(&mapping, 2), get(&mapping, 4), get(&mapping, 3)),
            (3, 0, 0)
        );
        set(&mapping, 3, 99);
        let page = page_size().unwrap() as u64;
        assert_eq!(guard.met(), Some(0x4000_0000 + 4 * page));
        assert_eq!(guard.met(), None);
        // What was there is there, and what was written is not.
        assert_eq!((get(&mapping, 3), get(&mapping, 4)), (4, 5));
    }

    #[test]
    fn more_pages_than_can_be_noted_are_all_replaced() {
        let _alone = ALONE.lock().unwrap();
        let mapping = memory();
        let guard = Guard::new(mapping.clone(), 0).unwrap();
        (0..PAGES_OF_MEMORY).for_each(|page| set(&mapping, page, 7));
        forbid(&mapping, 0, PAGES_OF_MEMORY - 1);
        for page in 0..PAGES_OF_MEMORY - 1 {
            assert_eq!(get(&mapping, page), 0);
        }
        assert_eq!(
            get(&mapping, PAGES_OF_MEMORY - 1),
            0,
            "replaced with the rest"
        );
        assert_eq!(guard.met(), Some(0));
        assert!((0..PAGES_OF_MEMORY).all(|page| get(&mapping, page) == 7));
    }

    #[test]
    fn each_thread_is_told_of_its_own() {
        let _alone = ALONE.lock().unwrap();
        let mapping = memory();
        let guard = Guard::new(mapping.clone(), 0).unwrap();
        forbid(&mapping, 1, 1);
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                get(&mapping, 1);
                guard.met()
            });
            assert_eq!(thread.join().unwrap(), Some(page_size().unwrap() as u64));
        });
        assert_eq!(guard.met(), None);
    }

    #[test]
    fn a_fault_elsewhere_is_as_deadly_as_ever() {
        let _alone = ALONE.lock().unwrap();
        let mapping = memory();
        let _guard = Guard::new(memory(), 0).unwrap();
        forbid(&mapping, 0, 1);
        // SAFETY: the child only loads and exits.
        let child = unsafe { libc::fork() };
        if child == 0 {
            get(&mapping, 0);
            // SAFETY: ends the child.
            unsafe { libc::_exit(0) };
        }
        let mut status = 0;
        // SAFETY: `status` is an int.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert!(libc::WIFSIGNALED(status), "{status:#x}");
        assert_eq!(libc::WTERMSIG(status), libc::SIGSEGV);
    }
}
