// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Actions of vCPUs and the VMM while the disk's sync does not end. The test holds the sync until
//! it has seen the others make progress, so no clock decides.

use std::io;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use virtio_bindings::virtio_mmio::*;

use super::*;
use crate::testing::{BUFFERS, Buf, Live};
use crate::virtio::lock;
use crate::{MmioDevice, VirtioMmio};

/// Ends a test that hangs; on no machine does anything here take so long.
const LONG: Duration = Duration::from_secs(300);
const HEADER_AT: u64 = BUFFERS;
const STATUS_AT: u64 = BUFFERS + 0x1000;
const DATA_AT: u64 = BUFFERS + 0x2000;
const CONFIG: u64 = VIRTIO_MMIO_CONFIG as u64;
const DRIVER_OK: u32 = 15;

/// A sync that does not end before it is told to.
struct Held {
    /// Syncs that have begun, and whether they may end.
    state: Mutex<(u32, bool)>,
    changed: Condvar,
}

impl Held {
    const fn new() -> Self {
        Self {
            state: Mutex::new((0, false)),
            changed: Condvar::new(),
        }
    }

    fn sync(&self) {
        let mut state = lock(&self.state);
        state.0 += 1;
        self.changed.notify_all();
        drop(self.changed.wait_while(state, |state| !state.1));
    }

    /// Waits until `count` syncs have begun.
    fn wait_begun(&self, count: u32) {
        let state = lock(&self.state);
        let waited = self
            .changed
            .wait_timeout_while(state, LONG, |state| state.0 < count);
        assert!(!waited.unwrap().1.timed_out(), "no sync begins");
    }

    fn let_go(&self) {
        lock(&self.state).1 = true;
        self.changed.notify_all();
    }
}

/// Lets the syncs of a test go also when it fails: its threads are joined.
struct LetGo(&'static Held);

impl Drop for LetGo {
    fn drop(&mut self) {
        self.0.let_go();
    }
}

/// One for each test.
static HELD: [Held; 4] = [const { Held::new() }; 4];

fn held_sync<const TEST: usize>(_: &File) -> io::Result<()> {
    HELD[TEST].sync();
    Ok(())
}

/// A device at work on the I/O thread.
fn start<const TEST: usize>() -> (Live, LetGo) {
    let file = tempfile::tempfile().unwrap();
    file.set_len(1 << 20).unwrap();
    let image = RawImage::new(file, false).unwrap();
    let disk = Disk::new(Arc::new(image.with_sync(held_sync::<TEST>)), false).unwrap();
    let block = Block::on(disk, *b"a disk that stalls  ");
    let features = 1 << VIRTIO_BLK_F_FLUSH | 1 << VIRTIO_BLK_F_CONFIG_WCE;
    (Live::start(Box::new(block), features), LetGo(&HELD[TEST]))
}

fn request(live: &mut Live, kind: u32, data: &[Buf]) -> u16 {
    live.put(
        HEADER_AT,
        &[kind.to_le_bytes().to_vec(), vec![0; 12]].concat(),
    );
    let mut bufs = vec![Buf::Read(HEADER_AT, HEADER)];
    bufs.extend(data);
    bufs.push(Buf::Write(STATUS_AT, 1));
    live.request(0, &bufs)
}

/// A device whose I/O thread is inside a sync.
fn stalled<const TEST: usize>() -> (Live, LetGo) {
    let (mut live, held) = start::<TEST>();
    request(&mut live, VIRTIO_BLK_T_FLUSH, &[]);
    held.0.wait_begun(1);
    (live, held)
}

/// What a vCPU does; the message comes when it is done.
fn vcpu(
    virtio: &VirtioMmio,
    run: impl FnOnce(&VirtioMmio) + Send + 'static,
) -> (Receiver<()>, JoinHandle<()>) {
    let virtio = virtio.clone();
    let (done, wait) = channel();
    let thread = std::thread::spawn(move || {
        run(&virtio);
        let _ = done.send(());
    });
    (wait, thread)
}

fn get(virtio: &VirtioMmio, register: u32) -> u32 {
    let mut data = [0; 4];
    virtio.read(register.into(), &mut data);
    u32::from_le_bytes(data)
}

fn set(virtio: &VirtioMmio, register: u32, value: u32) {
    virtio.write(register.into(), &value.to_le_bytes());
}

/// An interrupt handler's accesses, and a notification.
fn interrupt_handler(virtio: &VirtioMmio) {
    let status = get(virtio, VIRTIO_MMIO_INTERRUPT_STATUS);
    set(virtio, VIRTIO_MMIO_INTERRUPT_ACK, status);
    set(virtio, VIRTIO_MMIO_QUEUE_NOTIFY, 0);
}

#[test]
fn no_load_and_no_interrupt_handler_waits_for_the_disk() {
    let (mut live, held) = stalled::<0>();
    let vcpus = [
        vcpu(&live.virtio, |virtio| {
            for offset in (0..crate::MMIO_SIZE as u32).step_by(4) {
                get(virtio, offset);
            }
            set(virtio, VIRTIO_MMIO_QUEUE_SEL, 0);
            assert_eq!(get(virtio, VIRTIO_MMIO_QUEUE_READY), 1);
            assert_eq!(get(virtio, VIRTIO_MMIO_STATUS), DRIVER_OK);
            let mut sectors = [0; 4];
            virtio.read(CONFIG, &mut sectors);
            assert_eq!(u32::from_le_bytes(sectors), 2048);
        }),
        vcpu(&live.virtio, interrupt_handler),
    ];
    for (done, thread) in vcpus {
        done.recv_timeout(LONG).expect("a vCPU waits for the disk");
        thread.join().unwrap();
    }
    let counters = live.virtio.counters();
    assert!(counters.contains(&("flushes", 1)), "{counters:?}");
    assert!(counters.contains(&("syncs", 0)), "{counters:?}");
    assert_eq!(live.used(0), None, "the sync has ended meanwhile");
    drop(held);
    assert_eq!(live.wait_used(0).1, 1);
}

#[test]
fn a_reset_waits_for_the_disk_alone_and_shows_when_it_is_done() {
    let (mut live, held) = stalled::<1>();
    let (reset, resetting) = vcpu(&live.virtio, |virtio| set(virtio, VIRTIO_MMIO_STATUS, 0));
    let (done, handler) = vcpu(&live.virtio, |virtio| {
        for _ in 0..1000 {
            interrupt_handler(virtio);
            assert_eq!(get(virtio, VIRTIO_MMIO_STATUS), DRIVER_OK);
        }
    });
    done.recv_timeout(LONG)
        .expect("a vCPU waits for another's reset");
    handler.join().unwrap();
    assert!(reset.try_recv().is_err(), "reset while it was at work");
    drop(held);
    reset.recv_timeout(LONG).unwrap();
    resetting.join().unwrap();
    assert_eq!(live.status(), 0);
    assert_eq!(live.get(VIRTIO_MMIO_INTERRUPT_STATUS), 0);
}

#[test]
fn a_store_to_writeback_syncs_on_its_own_vcpus_time() {
    let (mut live, held) = start::<2>();
    let (stored, storing) = vcpu(&live.virtio, |virtio| {
        virtio.write(CONFIG + WRITEBACK, &[0])
    });
    held.0.wait_begun(1);
    let (done, other) = vcpu(&live.virtio, |virtio| {
        let mut writeback = [1];
        virtio.read(CONFIG + WRITEBACK, &mut writeback);
        assert_eq!(writeback, [0]);
        interrupt_handler(virtio);
    });
    done.recv_timeout(LONG)
        .expect("a vCPU waits for another's sync");
    other.join().unwrap();
    request(&mut live, VIRTIO_BLK_T_IN, &[Buf::Write(DATA_AT, 512)]);
    assert_eq!(live.wait_used(0).1, 513, "requests wait for a vCPU's sync");
    assert!(stored.try_recv().is_err());
    drop(held);
    stored.recv_timeout(LONG).unwrap();
    storing.join().unwrap();
}

#[test]
fn who_pauses_or_stops_the_thread_is_told_that_it_is_busy() {
    let (mut live, held) = stalled::<3>();
    let moment = Duration::from_millis(1);
    assert!(!live.io().pause(moment));
    assert!(!live.stop(moment));
    drop(held);
    // The pause was taken back, and what has begun is finished.
    assert_eq!(live.wait_used(0).1, 1);
}
