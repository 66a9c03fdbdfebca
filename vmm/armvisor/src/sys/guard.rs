// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Guest memory that this program may not access: a protected VM's, except for pages that its guest
//! shares.
//!
//! On a load or store there, the host sends SIGSEGV (pKVM) or SIGBUS (a file of the hypervisor's,
//! guest_memfd). The guest chooses the addresses for its devices, so that must not end the program.
//! The handler replaces the inaccessible page by a page of zeroes of this program, and the access
//! is repeated there: reads return zero, writes are lost. [`Guard::met`] tells the thread, and puts
//! guest memory back. Until then its device works on zeroes, as for a guest that wrote zeroes, and
//! so do other devices that use the same page meanwhile. The guest causes this, and only the guest
//! is affected.
//!
//! A thread that meets more pages than it can record puts the first one back, so the number of
//! mappings stays small whatever a guest does. No other page is ever replaced: KVM would give the
//! page of zeroes to a guest that touches its page for the first time.
//!
//! Rules of the handler: it calls mmap, madvise, sigaction, raise and, at last, write and _exit;
//! its state is atomics and thread-local words without destructors. A fault elsewhere goes to the
//! previous handler, and a SIGSEGV that somebody sent ends the process.

use std::cell::Cell;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::memory::Mapping;
use super::{check, page_size};
use crate::outcome::ExitCode;

/// Pages that a thread has replaced at a time: more than any instruction touches, or it would not end.
const NOTED: usize = 64;

// The range that is guarded: length 0 for none. One VM of a process has one at a time.
static START: AtomicUsize = AtomicUsize::new(0);
static LEN: AtomicUsize = AtomicUsize::new(0);
static PAGE: AtomicUsize = AtomicUsize::new(0);
/// What is mapped there, from its start, and whether as huge pages.
static FILE: AtomicI32 = AtomicI32::new(-1);
static HUGE: AtomicBool = AtomicBool::new(false);
/// The signals, and what handled them before.
const SIGNALS: [libc::c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];
static BEFORE: OnceLock<Before> = OnceLock::new();

struct Before([libc::sigaction; SIGNALS.len()]);

/// BUS_ADRERR. Of the other codes of SIGBUS none is about memory that is somebody's.
const NO_PAGE: libc::c_int = 2;

thread_local! {
    /// How many pages this thread has met, the first of them, and the last [`NOTED`], each at its
    /// number modulo that.
    static COUNT: Cell<usize> = const { Cell::new(0) };
    static FIRST: Cell<usize> = const { Cell::new(0) };
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
    /// Guards `mapping`, a file's from its start, which the guest has at address `guest`; `huge` if the
    /// host was asked for huge pages there.
    pub fn new(mapping: Arc<Mapping>, guest: u64, huge: bool) -> io::Result<Self> {
        let file = match mapping.file_offset() {
            Some(file) if file.start() == 0 => file.file().as_raw_fd(),
            _ => return Err(io::ErrorKind::InvalidInput.into()),
        };
        let claimed = LEN.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Acquire);
        if claimed.is_err() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let guard = Guard { mapping, guest };
        PAGE.store(page_size()?, Ordering::Relaxed);
        START.store(guard.mapping.as_ptr() as usize, Ordering::Relaxed);
        FILE.store(file, Ordering::Relaxed);
        HUGE.store(huge, Ordering::Relaxed);
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
        let mut noted = (0..count.min(NOTED)).map(|slot| PAGES.with(|pages| pages[slot].get()));
        if !noted.all(put_back) {
            let error = io::Error::last_os_error();
            log::error!("guest memory: cannot be mapped again, so devices may fail: {error}");
        }
        let offset = FIRST.get() - self.mapping.as_ptr() as usize;
        Some(self.guest + offset as u64)
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
    let before = [action_of(SIGNALS[0])?, action_of(SIGNALS[1])?];
    BEFORE.get_or_init(|| Before(before));
    let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = on_fault;
    // SAFETY: all zeroes is a valid sigaction.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as usize;
    // On the stack for signals, where the thread has one: a fault may be its own stack's end.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    for signal in SIGNALS {
        // SAFETY: the handler keeps to what handlers may do (see the top).
        check(unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) })?;
    }
    Ok(())
}

/// What handles a signal now.
fn action_of(signal: libc::c_int) -> io::Result<libc::sigaction> {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: nothing is set; the action is written to memory of its size.
    check(unsafe { libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) })?;
    // SAFETY: the call has written it.
    Ok(unsafe { action.assume_init() })
}

extern "C" fn on_fault(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel gives the handler a siginfo.
    let info = unsafe { &*info };
    if info.si_code <= 0 {
        return end_by_signal(signal);
    }
    let private = signal == libc::SIGSEGV || info.si_code == NO_PAGE;
    // SAFETY: those of both signals have an address.
    let address = unsafe { info.si_addr() } as usize;
    // The length first: what was stored before it belongs to it.
    let len = LEN.load(Ordering::Acquire);
    let start = START.load(Ordering::Relaxed);
    if private && len > 1 && address >= start && address - start < len {
        return replace(address);
    }
    if let Some(Before(actions)) = BEFORE.get() {
        let action = &actions[usize::from(signal == SIGNALS[1])];
        // The access is repeated, and the previous action handles it.
        // SAFETY: it is the action that the kernel gave out.
        unsafe { libc::sigaction(signal, action, ptr::null_mut()) };
    }
}

/// Somebody sent the signal: nothing is done again that would raise it once more.
fn end_by_signal(signal: libc::c_int) {
    // SAFETY: all zeroes is a valid sigaction, the default.
    let default: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: the action is a live one.
    unsafe { libc::sigaction(signal, &raw const default, ptr::null_mut()) };
    // SAFETY: the signal waits until the handler is left, and then ends the process.
    unsafe { libc::raise(signal) };
}

/// Puts zeroes in the place of the page at `address`, and notes it.
fn replace(address: usize) {
    // SAFETY: errno's place is this thread's own.
    let errno_at = unsafe { libc::__errno_location() };
    // SAFETY: it is there as long as the thread.
    let errno = unsafe { *errno_at };
    let at = address & !(PAGE.load(Ordering::Relaxed) - 1);
    let count = COUNT.get();
    let slot = count % NOTED;
    let oldest = PAGES.with(|pages| pages[slot].replace(at));
    if count == 0 {
        FIRST.set(at);
    }
    COUNT.set(count + 1);
    let there = count < NOTED || put_back(oldest);
    if !there || !put_zeroes(at) {
        // SAFETY: the bytes are a constant.
        unsafe { libc::write(2, LAST_WORDS.as_ptr().cast(), LAST_WORDS.len()) };
        // SAFETY: ends the process without running anything of it.
        unsafe { libc::_exit(ExitCode::GuestStuck as i32) };
    }
    // SAFETY: as above.
    unsafe { *errno_at = errno };
}

fn put_zeroes(at: usize) -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    map_page(at, flags, -1, 0)
}

/// Maps the file's own page at its place again, as it was, so that it is of one mapping with its
/// neighbours.
fn put_back(at: usize) -> bool {
    let offset = at - START.load(Ordering::Relaxed);
    let file = FILE.load(Ordering::Relaxed);
    let mapped = map_page(at, libc::MAP_SHARED, file, offset as libc::off_t);
    let advise = |advice| {
        let at = ptr::without_provenance_mut(at);
        // SAFETY: the page was just mapped, and none of the advices below changes what it holds.
        unsafe { libc::madvise(at, PAGE.load(Ordering::Relaxed), advice) == 0 }
    };
    if HUGE.load(Ordering::Relaxed) {
        // A host without huge pages has reported that already.
        advise(libc::MADV_HUGEPAGE);
    }
    mapped && advise(libc::MADV_DONTDUMP) && advise(libc::MADV_DONTFORK)
}

/// Maps a page in the place of one of guest memory.
fn map_page(at: usize, flags: libc::c_int, file: libc::c_int, offset: libc::off_t) -> bool {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let (at, page) = (
        ptr::without_provenance_mut(at),
        PAGE.load(Ordering::Relaxed),
    );
    // SAFETY: the page is guest memory, which anybody may write at any time: any new contents are
    // possible without this call, too.
    let mapped = unsafe { libc::mmap(at, page, protection, flags | libc::MAP_FIXED, file, offset) };
    mapped != libc::MAP_FAILED
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::super::memory::{Advice, advise, map_aligned, memfd};
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
        let guard = Guard::new(mapping.clone(), 0x4000_0000, false).unwrap();
        assert!(
            Guard::new(mapping.clone(), 0, false).is_err(),
            "one at a time"
        );
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
        // The old contents are there, and the written value is not.
        assert_eq!((get(&mapping, 3), get(&mapping, 4)), (4, 5));
    }

    /// How many mappings guest memory is made of.
    fn mappings(mapping: &Mapping) -> usize {
        let start = mapping.as_ptr() as usize;
        let inside = start..start + mapping.size();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let starts = maps.lines().filter_map(|line| line.split('-').next());
        let starts = starts.filter_map(|start| usize::from_str_radix(start, 16).ok());
        starts.filter(|start| inside.contains(start)).count()
    }

    fn guarded(huge: bool) -> (Arc<Mapping>, Guard) {
        let mapping = memory();
        let advices = [Advice::DontDump, Advice::DontFork, Advice::HugePage];
        for advice in &advices[..if huge { 3 } else { 2 }] {
            // On a host without huge pages this fails.
            let _ = advise(&mapping, 0, mapping.size(), *advice);
        }
        let guard = Guard::new(mapping.clone(), 0, huge).unwrap();
        (mapping, guard)
    }

    #[test]
    fn more_pages_than_can_be_noted_leave_others_alone() {
        let _alone = ALONE.lock().unwrap();
        for huge in [false, true] {
            let (mapping, guard) = guarded(huge);
            (0..PAGES_OF_MEMORY).for_each(|page| set(&mapping, page, 7));
            // Every second one, or they would be one mapping.
            let private = || (0..PAGES_OF_MEMORY).step_by(2);
            private().for_each(|page| forbid(&mapping, page, 1));
            for page in 0..PAGES_OF_MEMORY {
                assert_eq!(get(&mapping, page), if page % 2 == 0 { 0 } else { 7 });
            }
            assert!(mappings(&mapping) <= 2 * NOTED + 1);
            assert_eq!(guard.met(), Some(0));
            assert!((0..PAGES_OF_MEMORY).all(|page| get(&mapping, page) == 7));
            assert_eq!(mappings(&mapping), 1, "huge pages: {huge}");
        }
    }

    #[test]
    fn pages_that_answer_with_the_other_signal_are_private_as_well() {
        let _alone = ALONE.lock().unwrap();
        let mapping = memory();
        let guard = Guard::new(mapping.clone(), 0, false).unwrap();
        let page = page_size().unwrap();
        (0..4).for_each(|page| set(&mapping, page, 7));
        let file = mapping.file_offset().unwrap().file();
        // Behind the end of a file there is SIGBUS.
        file.set_len(2 * page as u64).unwrap();
        assert_eq!([0, 1, 2, 3].map(|page| get(&mapping, page)), [7, 7, 0, 0]);
        file.set_len((PAGES_OF_MEMORY * page) as u64).unwrap();
        assert_eq!(guard.met(), Some(2 * page as u64));
        set(&mapping, 2, 8);
        assert_eq!(get(&mapping, 2), 8);
        assert_eq!(guard.met(), None);
    }

    #[test]
    fn a_signal_that_was_sent_is_as_deadly_as_ever() {
        let _alone = ALONE.lock().unwrap();
        let _guard = Guard::new(memory(), 0, false).unwrap();
        for signal in SIGNALS {
            let raise = || {
                // SAFETY: ends the child.
                unsafe { libc::raise(signal) };
            };
            assert_eq!(signal_that_ends(raise), Some(signal));
        }
    }

    #[test]
    fn each_thread_is_told_of_its_own() {
        let _alone = ALONE.lock().unwrap();
        let mapping = memory();
        let guard = Guard::new(mapping.clone(), 0, false).unwrap();
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
        let _guard = Guard::new(memory(), 0, false).unwrap();
        forbid(&mapping, 0, 1);
        let load = || {
            get(&mapping, 0);
        };
        assert_eq!(signal_that_ends(load), Some(libc::SIGSEGV));
    }

    /// What ends a child that does this; None if it goes on.
    fn signal_that_ends(child_does: impl Fn()) -> Option<i32> {
        // SAFETY: the child only does that, which allocates nothing, and exits.
        let child = unsafe { libc::fork() };
        if child == 0 {
            child_does();
            // SAFETY: ends the child.
            unsafe { libc::_exit(0) };
        }
        let mut status = 0;
        // SAFETY: `status` is an int.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status))
    }
}
