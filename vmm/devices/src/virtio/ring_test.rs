// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Rings and chains against virtio-queue's mock driver, which writes descriptors and the available
//! ring independently of us. Its used ring is not taken: the mock places it inside its own available
//! ring (it counts entries where it should count bytes), which is one of the layouts we refuse.

use std::sync::Arc;

use virtio_queue::desc::{RawDescriptor, split::Descriptor};
use virtio_queue::mock::MockSplitQueue;
use vm_memory::Bytes;

use super::*;
use crate::testing::{BASE, BUFFERS, END, INDIRECT, NEXT, REGION, WRITE, memory, write_desc};

const SIZE: u16 = 8;
const USED: u64 = BASE + 0x1000;

struct Bench {
    mem: Arc<GuestMemory>,
}

impl Bench {
    fn new() -> Self {
        Self { mem: memory() }
    }

    fn mock(&self) -> MockSplitQueue<'_, GuestMemory> {
        MockSplitQueue::create(&*self.mem, GuestAddress(BASE), SIZE)
    }

    fn ring(&self, mock: &MockSplitQueue<'_, GuestMemory>, event_idx: bool) -> Ring {
        let setup = RingSetup {
            size: u32::from(SIZE),
            desc: mock.desc_table_addr().0,
            avail: mock.avail_addr().0,
            used: USED,
        };
        Ring::new(&self.mem, &setup, 256, event_idx).unwrap()
    }

    /// Pops the chain at descriptor 0 of a table.
    fn load(&self, table: &[(u64, u32, u16, u16)]) -> Result<Chain, RingError> {
        self.load_head(table, 0)
    }

    fn load_head(&self, table: &[(u64, u32, u16, u16)], head: u16) -> Result<Chain, RingError> {
        let mock = self.mock();
        for (i, &(addr, len, flags, next)) in (0..).zip(table) {
            let desc = RawDescriptor::from(Descriptor::new(addr, len, flags, next));
            mock.desc_table().store(i, desc).unwrap();
        }
        mock.avail()
            .ring()
            .ref_at(0)
            .unwrap()
            .store(u16::to_le(head));
        mock.avail().idx().store(u16::to_le(1));
        let mut chain = Chain::default();
        let mut ring = self.ring(&mock, false);
        assert!(ring.pop(&self.mem, &mut chain)?);
        assert!(!ring.pop(&self.mem, &mut Chain::default())?);
        Ok(chain)
    }
}

fn seg(addr: u64, len: u32) -> super::super::chain::Segment {
    super::super::chain::Segment {
        addr: GuestAddress(addr),
        len,
    }
}

#[test]
fn a_good_chain_is_taken_whole() {
    let bench = Bench::new();
    let chain = bench
        .load(&[
            (BUFFERS, 16, NEXT, 3),
            (0, 0, 0, 0),
            (BUFFERS + 300, 1, WRITE, 9),
            (BUFFERS + 100, 50, NEXT | WRITE, 2),
        ])
        .unwrap();
    assert_eq!(chain.readable(), [seg(BUFFERS, 16)]);
    assert_eq!(
        chain.writable(),
        [seg(BUFFERS + 100, 50), seg(BUFFERS + 300, 1)]
    );
    assert_eq!(
        (chain.read_len(), chain.write_len(), chain.head()),
        (16, 51, 0)
    );
}

#[test]
fn an_indirect_table_is_followed() {
    let bench = Bench::new();
    let table = BUFFERS + 0x1008;
    write_desc(&bench.mem, table, BUFFERS, 10, NEXT, 1);
    write_desc(&bench.mem, table + 16, BUFFERS + 50, 20, WRITE, 0);
    let chain = bench.load(&[(table, 32, INDIRECT, 0)]).unwrap();
    assert_eq!((chain.read_len(), chain.write_len()), (10, 20));
    // Also behind direct descriptors.
    let chain = bench
        .load(&[(BUFFERS, 5, NEXT, 1), (table, 32, INDIRECT, 0)])
        .unwrap();
    assert_eq!((chain.read_len(), chain.write_len()), (15, 20));
}

#[test]
fn descriptors_in_one_piece_are_one_segment() {
    let bench = Bench::new();
    let chain = bench
        .load(&[
            (BUFFERS, 16, NEXT, 1),
            (BUFFERS + 16, 4, NEXT, 2),
            // Not one with what is read, and the one before lies behind it.
            (BUFFERS + 20, 10, NEXT | WRITE, 3),
            (BUFFERS + 30, 1, NEXT | WRITE, 4),
            (BUFFERS + 10, 10, NEXT | WRITE, 5),
            (BUFFERS + 20, 10, NEXT | WRITE, 6),
            (BUFFERS + 31, 1, WRITE, 0),
        ])
        .unwrap();
    assert_eq!(chain.readable(), [seg(BUFFERS, 20)]);
    let written = [(BUFFERS + 20, 11), (BUFFERS + 10, 20), (BUFFERS + 31, 1)];
    assert_eq!(chain.writable(), written.map(|(addr, len)| seg(addr, len)));
    assert_eq!((chain.read_len(), chain.write_len()), (20, 32));
}

#[test]
fn a_chain_is_as_long_as_its_descriptors() {
    let bench = Bench::new();
    let table = BUFFERS + 0x1000;
    let load = |count: u16| {
        for i in 0..count {
            let flags = if i + 1 < count { NEXT } else { 0 };
            let at = BUFFERS + u64::from(i) * 4;
            write_desc(&bench.mem, table + 16 * u64::from(i), at, 4, flags, i + 1);
        }
        bench.load(&[(table, 16 * u32::from(count), INDIRECT, 0)])
    };
    let whole = load(SIZE).unwrap();
    assert_eq!(whole.readable(), [seg(BUFFERS, 4 * u32::from(SIZE))]);
    assert_eq!(load(SIZE + 1).unwrap_err(), RingError::TooLong);
}

type Row<'a> = (&'a str, &'a [(u64, u32, u16, u16)], RingError);

const GOOD: (u64, u32, u16, u16) = (BUFFERS, 16, 0, 0);
/// An indirect table whose two entries form a loop, and one that leads to another table.
const LOOP: u64 = BUFFERS + 0x1000;
const NESTED: u64 = BUFFERS + 0x2000;

const fn outside(addr: u64, len: u64) -> RingError {
    RingError::OutsideMemory(addr, len)
}

#[rustfmt::skip]
const MALFORMED: &[Row<'_>] = &[
    ("loop to itself", &[(BUFFERS, 16, NEXT, 0)], RingError::Cut),
    ("loop of two", &[(BUFFERS, 16, NEXT, 1), (BUFFERS, 16, NEXT, 0)], RingError::Cut),
    ("next beyond the table", &[(BUFFERS, 16, NEXT, SIZE), GOOD], RingError::Cut),
    ("next far beyond", &[(BUFFERS, 16, NEXT, u16::MAX), GOOD], RingError::Cut),
    ("empty", &[(BUFFERS, 0, 0, 0)], RingError::Empty),
    ("empty at the end", &[(BUFFERS, 1, NEXT, 1), (BUFFERS, 0, WRITE, 0)], RingError::Empty),
    ("below memory", &[(BASE - 1, 2, 0, 0)], outside(BASE - 1, 2)),
    ("address 0", &[(0, 16, 0, 0)], outside(0, 16)),
    ("above memory", &[(END, 1, 0, 0)], outside(END, 1)),
    ("over the end", &[(END - 15, 16, WRITE, 0)], outside(END - 15, 16)),
    ("huge", &[(BUFFERS, u32::MAX, 0, 0)], outside(BUFFERS, u32::MAX as u64)),
    ("wraps", &[(u64::MAX - 3, 8, 0, 0)], outside(u64::MAX - 3, 8)),
    ("ends at 2^64", &[(u64::MAX, 1, WRITE, 0)], outside(u64::MAX, 1)),
    ("order", &[(BUFFERS, 1, NEXT | WRITE, 1), (BUFFERS, 1, 0, 0)], RingError::Order),
    ("indirect of no length", &[(LOOP, 0, INDIRECT, 0)], RingError::Cut),
    ("indirect of odd length", &[(LOOP, 24, INDIRECT, 0)], RingError::Cut),
    ("indirect outside memory", &[(END, 16, INDIRECT, 0)], RingError::Cut),
    ("indirect loop", &[(LOOP, 32, INDIRECT, 0)], RingError::Cut),
    ("indirect cut short", &[(LOOP, 16, INDIRECT, 0)], RingError::Cut),
    ("indirect in indirect", &[(NESTED, 16, INDIRECT, 0)], RingError::Cut),
];

#[test]
fn malformed_chains_are_refused() {
    let bench = Bench::new();
    write_desc(&bench.mem, LOOP, BUFFERS, 10, NEXT, 1);
    write_desc(&bench.mem, LOOP + 16, BUFFERS, 10, NEXT, 0);
    write_desc(&bench.mem, NESTED, LOOP, 32, INDIRECT, 0);
    for (name, table, want) in MALFORMED {
        assert_eq!(bench.load(table).unwrap_err(), *want, "{name}");
    }
    for head in [SIZE, SIZE + 1, u16::MAX] {
        assert_eq!(
            bench.load_head(&[GOOD], head).unwrap_err(),
            RingError::Head(head)
        );
    }
}

#[test]
fn a_chain_has_at_most_as_many_descriptors_as_the_queue() {
    let bench = Bench::new();
    let table = BUFFERS + 0x1000;
    let fill = |count: u16| {
        for i in 0..count {
            let flags = if i + 1 < count { NEXT } else { 0 };
            let at = table + 16 * u64::from(i);
            write_desc(&bench.mem, at, BUFFERS, 1, flags, i + 1);
        }
    };
    fill(SIZE);
    let indirect = |count: u16| [(table, 16 * u32::from(count), INDIRECT, 0)];
    assert_eq!(
        bench.load(&indirect(SIZE)).unwrap().read_len(),
        u32::from(SIZE)
    );
    fill(SIZE + 1);
    assert_eq!(
        bench.load(&indirect(SIZE + 1)).unwrap_err(),
        RingError::TooLong
    );
    fill(SIZE);
    let direct_first = [(BUFFERS, 1, NEXT, 1), indirect(SIZE)[0]];
    assert_eq!(bench.load(&direct_first).unwrap_err(), RingError::TooLong);
    // The maximum number of direct descriptors is no loop.
    let all: Vec<_> = (0..SIZE)
        .map(|i| (BUFFERS, 1, if i + 1 < SIZE { NEXT } else { 0 }, i + 1))
        .collect();
    assert_eq!(bench.load(&all).unwrap().read_len(), u32::from(SIZE));
}

#[test]
fn copies_cross_segments_and_regions_and_stop_at_the_end() {
    let bench = Bench::new();
    let edge = BASE + REGION;
    let chain = bench
        .load(&[
            (edge - 3, 5, NEXT, 1),
            (BUFFERS, 4, NEXT, 2),
            (edge - 2, 4, NEXT | WRITE, 3),
            (BUFFERS, 4, WRITE, 0),
        ])
        .unwrap();
    bench
        .mem
        .write_slice(b"abcde", GuestAddress(edge - 3))
        .unwrap();
    bench
        .mem
        .write_slice(b"fghi", GuestAddress(BUFFERS))
        .unwrap();
    let mut bytes = [0; 6];
    chain.read(&bench.mem, 2, &mut bytes).unwrap();
    assert_eq!(&bytes, b"cdefgh");
    assert_eq!(
        chain.read(&bench.mem, 4, &mut bytes).unwrap_err(),
        RingError::Short
    );
    assert_eq!(
        chain.read(&bench.mem, u32::MAX, &mut bytes).unwrap_err(),
        RingError::Short
    );
    chain.write(&bench.mem, 1, b"12345").unwrap();
    let mut after = [0; 5];
    bench
        .mem
        .read_slice(&mut after, GuestAddress(edge - 3))
        .unwrap();
    assert_eq!(&after, b"ab123");
    bench
        .mem
        .read_slice(&mut after[..4], GuestAddress(BUFFERS))
        .unwrap();
    assert_eq!(&after[..4], b"45hi");
    assert_eq!(
        chain.write(&bench.mem, 4, b"12345").unwrap_err(),
        RingError::Short
    );
    assert_eq!(chain.write_slices(&bench.mem, 0, 8).unwrap().len(), 3);
    assert!(chain.write_slices(&bench.mem, 0, 9).is_err());
}

/// A ring of 8 whose areas are at these offsets from `BASE`.
fn areas(desc: u64, avail: u64, used: u64) -> RingSetup {
    let at = |offset: u64| BASE.wrapping_add(offset);
    RingSetup {
        size: 8,
        desc: at(desc),
        avail: at(avail),
        used: at(used),
    }
}

#[test]
fn ring_sizes_and_areas_are_checked() {
    const LEN: u64 = END - BASE;
    let mem = memory();
    let make = |setup: &RingSetup| Ring::new(&mem, setup, 8, true).map(drop);
    let good = areas(0, 0x1000, 0x2000);
    assert_eq!(make(&good), Ok(()));
    for size in [0, 7, 16, 0x1_0008, u32::MAX] {
        assert_eq!(
            make(&RingSetup { size, ..good }),
            Err(RingError::Size(size))
        );
    }
    let zero = BASE.wrapping_neg();
    let bad = [
        areas(zero, 0x1000, 0x2000),
        areas(8, 0x1000, 0x2000),
        areas(LEN - 112, 0x1000, 0x2000),
        areas(zero - 16, 0x1000, 0x2000),
        areas(0, 0x1001, 0x2000),
        areas(0, LEN - 20, 0x2000),
        areas(0, zero - 2, 0x2000),
        areas(0, 0x1000, 0x2002),
        areas(0, 0x1000, LEN - 68),
        areas(0, 0x1000, zero - 4),
    ];
    for setup in bad {
        let refused = make(&setup);
        assert!(
            matches!(refused, Err(RingError::Area(..))),
            "{setup:x?}: {refused:?}"
        );
    }
    for setup in [
        areas(0, 0, 0x2000),
        areas(0, 0x1000, 124),
        areas(0, 0x1000, 0x1014),
    ] {
        assert_eq!(make(&setup), Err(RingError::Overlap), "{setup:x?}");
    }
    assert_eq!(make(&areas(0, 0x1000, LEN - 72)), Ok(()));
    // Areas may touch, and without EVENT_IDX the available ring is two bytes shorter.
    assert_eq!(make(&areas(0, 128, 152)), Ok(()));
    assert_eq!(make(&areas(0, 128, 148)), Err(RingError::Overlap));
    assert!(Ring::new(&mem, &areas(0, 128, 148), 8, false).is_ok());
}

#[test]
fn an_available_index_that_runs_ahead_is_refused() {
    let bench = Bench::new();
    for (ahead, ok) in [(SIZE, true), (SIZE + 1, false), (u16::MAX, false)] {
        let mock = bench.mock();
        let desc = RawDescriptor::from(Descriptor::new(BUFFERS, 1, 0, 0));
        mock.desc_table().store(0, desc).unwrap();
        mock.avail().idx().store(u16::to_le(ahead));
        let popped = bench
            .ring(&mock, false)
            .pop(&bench.mem, &mut Chain::default());
        assert_eq!(popped.is_ok(), ok, "{ahead}");
    }
}

#[test]
fn interrupts_are_sent_as_the_driver_wants_them() {
    let bench = Bench::new();
    let mock = bench.mock();
    let mut ring = bench.ring(&mock, false);
    assert!(!ring.needs_signal(&bench.mem).unwrap(), "nothing was used");
    ring.push_used(&bench.mem, 1, 0).unwrap();
    assert!(ring.needs_signal(&bench.mem).unwrap());
    assert!(!ring.needs_signal(&bench.mem).unwrap(), "once is enough");
    bench
        .mem
        .write_obj(1_u16.to_le(), mock.avail_addr())
        .unwrap();
    ring.push_used(&bench.mem, 1, 0).unwrap();
    assert!(!ring.needs_signal(&bench.mem).unwrap(), "NO_INTERRUPT");

    let mut ring = bench.ring(&mock, true);
    let used_event = GuestAddress(mock.avail_addr().0 + 4 + 2 * u64::from(SIZE));
    bench.mem.write_obj(2_u16.to_le(), used_event).unwrap();
    let wants: Vec<bool> = (0..5)
        .map(|_| {
            ring.push_used(&bench.mem, 1, 0).unwrap();
            ring.needs_signal(&bench.mem).unwrap()
        })
        .collect();
    assert_eq!(
        wants,
        [false, false, true, false, false],
        "EVENT_IDX asks for the third"
    );
}

#[test]
fn notifications_are_asked_for_as_chains_come() {
    let bench = Bench::new();
    let mock = bench.mock();
    let mut ring = bench.ring(&mock, false);
    let flags = || -> u16 { bench.mem.read_obj(GuestAddress(USED)).unwrap() };
    ring.suppress(&bench.mem).unwrap();
    assert_eq!(flags(), 1);
    assert!(!ring.rearm(&bench.mem).unwrap());
    assert_eq!(flags(), 0);
    mock.avail().idx().store(u16::to_le(3));
    assert!(ring.rearm(&bench.mem).unwrap(), "three came in between");
    assert!(
        !ring.rearm_for_more(&bench.mem).unwrap(),
        "but no more than those"
    );
    let mut ring = bench.ring(&mock, true);
    let event = GuestAddress(USED + 4 + 8 * u64::from(SIZE));
    assert!(!ring.rearm_for_more(&bench.mem).unwrap());
    assert_eq!(bench.mem.read_obj::<u16>(event).unwrap(), 3);
    assert_eq!(
        ring.queue.next_avail(),
        0,
        "the chains are still to be taken"
    );
    assert!(ring.rearm(&bench.mem).unwrap());
    assert_eq!(bench.mem.read_obj::<u16>(event).unwrap(), 0);
}

#[test]
fn a_ring_that_is_not_enabled_has_nothing() {
    let mem = memory();
    let mut ring = Ring::idle();
    assert!(!ring.ready());
    assert!(!ring.pop(&mem, &mut Chain::default()).unwrap());
    assert!(!ring.needs_signal(&mem).unwrap());
    assert!(ring.push_used(&mem, 0, 0).is_err());
}
