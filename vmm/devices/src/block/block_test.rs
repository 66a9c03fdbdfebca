// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
use std::io::{Read, Seek, SeekFrom, Write};

use super::*;
use crate::MmioDevice;
use crate::testing::{BASE, BUFFERS, Buf, END, REGION, Rig};

const SECTORS: u64 = 64;
const HEADER_AT: u64 = BUFFERS;
const DATA_AT: u64 = BUFFERS + 0x1000;
const STATUS_AT: u64 = BUFFERS + 0xf000;
const OK: u8 = VIRTIO_BLK_S_OK as u8;
const IOERR: u8 = VIRTIO_BLK_S_IOERR as u8;
const UNSUPP: u8 = VIRTIO_BLK_S_UNSUPP as u8;
const ALL: u64 = 1 << VIRTIO_BLK_F_FLUSH | 1 << VIRTIO_BLK_F_CONFIG_WCE;

struct Bench {
    rig: Rig,
    image: File,
}

/// A disk whose sector n is filled with the byte n + 1, plus `tail` bytes of 0xee.
fn image(tail: usize) -> File {
    let mut file = tempfile::tempfile().unwrap();
    for sector in 0..SECTORS {
        file.write_all(&[sector as u8 + 1; SECTOR as usize])
            .unwrap();
    }
    file.write_all(&vec![0xee; tail]).unwrap();
    file
}

impl Bench {
    fn new(read_only: bool) -> Self {
        let image = image(0);
        let config = BlockConfig {
            read_only,
            id: "a disk with a very long name".into(),
        };
        let block = Block::new(image.try_clone().unwrap(), config).unwrap();
        let mut rig = Rig::new(Box::new(block));
        rig.start(ALL);
        Self { rig, image }
    }

    fn header(&self, kind: u32, sector: u64) {
        let mut bytes = kind.to_le_bytes().to_vec();
        bytes.extend(0_u32.to_le_bytes());
        bytes.extend(sector.to_le_bytes());
        self.rig.put(HEADER_AT, &bytes);
        self.rig.put(STATUS_AT, &[0xff]);
    }

    /// One request with a whole header and a status byte; returns status and used length.
    fn run(&mut self, kind: u32, sector: u64, data: &[Buf]) -> (u8, u32) {
        self.header(kind, sector);
        let is_read = |b: &&Buf| matches!(b, Buf::Read(..));
        let mut bufs = vec![Buf::Read(HEADER_AT, 16)];
        bufs.extend(data.iter().filter(is_read));
        bufs.extend(data.iter().filter(|b| !is_read(b)));
        bufs.push(Buf::Write(STATUS_AT, 1));
        let head = self.rig.request(0, &bufs);
        let (used, len) = self.rig.used(0).expect("not answered");
        assert_eq!(used, head);
        (self.rig.take(STATUS_AT, 1)[0], len)
    }

    fn contents(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.image.seek(SeekFrom::Start(0)).unwrap();
        self.image.read_to_end(&mut bytes).unwrap();
        bytes
    }

    fn ranges(&self, ranges: &[(u64, u32, u32)]) -> Buf {
        let mut bytes = Vec::new();
        for (sector, sectors, flags) in ranges {
            bytes.extend(sector.to_le_bytes());
            bytes.extend(sectors.to_le_bytes());
            bytes.extend(flags.to_le_bytes());
        }
        self.rig.put(DATA_AT, &bytes);
        Buf::Read(DATA_AT, bytes.len() as u32)
    }
}

fn pristine() -> Vec<u8> {
    (0..SECTORS)
        .flat_map(|s| [s as u8 + 1; SECTOR as usize])
        .collect()
}

#[test]
fn reads_into_many_segments() {
    let mut bench = Bench::new(true);
    let data = [Buf::Write(DATA_AT, 1000), Buf::Write(DATA_AT + 5000, 24)];
    assert_eq!(bench.run(VIRTIO_BLK_T_IN, 3, &data), (OK, 1025));
    assert_eq!(bench.rig.take(DATA_AT, 512), [4; 512]);
    assert_eq!(bench.rig.take(DATA_AT + 512, 488), [5; 488]);
    assert_eq!(bench.rig.take(DATA_AT + 5000, 24), [5; 24]);
    assert_eq!(bench.rig.take(DATA_AT + 1000, 1), [0]);
    assert_eq!(bench.rig.counter("bytes_read"), 1024);
}

#[test]
fn header_and_status_may_share_descriptors_with_data() {
    let mut bench = Bench::new(false);
    bench.header(VIRTIO_BLK_T_OUT, 9);
    bench.rig.put(HEADER_AT + 16, &[0xab; 512]);
    let bufs = [
        Buf::Read(HEADER_AT, 5),
        Buf::Read(HEADER_AT + 5, 523),
        Buf::Write(STATUS_AT, 1),
    ];
    bench.rig.request(0, &bufs);
    assert_eq!(bench.rig.used(0), Some((0, 1)));
    assert_eq!(bench.contents()[9 * 512..10 * 512], [0xab; 512]);

    bench.header(VIRTIO_BLK_T_IN, 9);
    bench
        .rig
        .request(0, &[Buf::Read(HEADER_AT, 16), Buf::Write(DATA_AT, 513)]);
    assert_eq!(bench.rig.used(0), Some((3, 513)));
    assert_eq!(bench.rig.take(DATA_AT, 512), [0xab; 512]);
    assert_eq!(bench.rig.take(DATA_AT + 512, 1), [OK]);
}

#[test]
fn a_buffer_may_lie_across_memory_regions_and_end_with_memory() {
    let mut bench = Bench::new(false);
    bench.rig.put(BASE + REGION - 100, &[0x5a; 512]);
    let data = [Buf::Read(BASE + REGION - 100, 512)];
    assert_eq!(bench.run(VIRTIO_BLK_T_OUT, 0, &data), (OK, 1));
    assert_eq!(bench.contents()[..512], [0x5a; 512]);
    assert_eq!(
        bench.run(VIRTIO_BLK_T_IN, 1, &[Buf::Write(END - 512, 512)]),
        (OK, 513)
    );
    assert_eq!(bench.rig.take(END - 1, 1), [2]);
}

#[test]
fn writes_land_where_they_belong_and_only_there() {
    let mut bench = Bench::new(false);
    bench.rig.put(DATA_AT, &[0x77; 1024]);
    assert_eq!(
        bench.run(VIRTIO_BLK_T_OUT, SECTORS - 2, &[Buf::Read(DATA_AT, 1024)]),
        (OK, 1)
    );
    let mut want = pristine();
    want[(SECTORS as usize - 2) * 512..].fill(0x77);
    assert_eq!(bench.contents(), want);
    assert_eq!(bench.run(VIRTIO_BLK_T_FLUSH, 0, &[]), (OK, 1));
    assert_eq!(bench.rig.counter("flushes"), 1);
}

#[test]
fn what_cannot_be_done_changes_nothing() {
    for read_only in [false, true] {
        let mut bench = Bench::new(read_only);
        let sector = Buf::Read(DATA_AT, 512);
        let room = Buf::Write(DATA_AT, 512);
        let cases: &[(u32, u64, &[Buf], u8)] = &[
            (VIRTIO_BLK_T_OUT, SECTORS, &[sector], IOERR),
            (
                VIRTIO_BLK_T_OUT,
                SECTORS - 1,
                &[Buf::Read(DATA_AT, 1024)],
                IOERR,
            ),
            (VIRTIO_BLK_T_OUT, u64::MAX, &[sector], IOERR),
            (VIRTIO_BLK_T_OUT, u64::MAX / 512, &[sector], IOERR),
            (VIRTIO_BLK_T_OUT, 0, &[Buf::Read(DATA_AT, 511)], IOERR),
            (VIRTIO_BLK_T_OUT, 0, &[sector, room], IOERR),
            (VIRTIO_BLK_T_IN, SECTORS, &[room], IOERR),
            (VIRTIO_BLK_T_IN, u64::MAX, &[room], IOERR),
            (VIRTIO_BLK_T_IN, 0, &[Buf::Write(DATA_AT, 513)], IOERR),
            (VIRTIO_BLK_T_IN, 0, &[sector, room], IOERR),
            (VIRTIO_BLK_T_FLUSH, 0, &[sector], IOERR),
            (VIRTIO_BLK_T_GET_ID, 0, &[sector], IOERR),
            (VIRTIO_BLK_T_SECURE_ERASE, 0, &[sector], UNSUPP),
            (VIRTIO_BLK_T_SCSI_CMD, 0, &[sector], UNSUPP),
            (u32::MAX, 0, &[sector], UNSUPP),
        ];
        for (i, &(kind, at, data, want)) in cases.iter().enumerate() {
            let (status, len) = bench.run(kind, at, data);
            assert_eq!(status, want, "case {i}");
            assert!(len <= 1, "case {i}: {len}");
        }
        assert_eq!(bench.contents(), pristine());
        assert_eq!(bench.rig.take(DATA_AT, 513), [0; 513]);
        assert!(!bench.rig.needs_reset());
        assert_eq!(
            bench.rig.counter("errors") + bench.rig.counter("unsupported"),
            15
        );
    }
}

#[test]
fn a_read_only_disk_never_changes() {
    let mut bench = Bench::new(true);
    assert_ne!(bench.rig.offered() & 1 << VIRTIO_BLK_F_RO, 0);
    let one = bench.ranges(&[(1, 1, 0)]);
    for kind in [
        VIRTIO_BLK_T_OUT,
        VIRTIO_BLK_T_DISCARD,
        VIRTIO_BLK_T_WRITE_ZEROES,
    ] {
        let data = if kind == VIRTIO_BLK_T_OUT {
            Buf::Read(DATA_AT, 512)
        } else {
            one
        };
        assert_eq!(bench.run(kind, 0, &[data]).0, IOERR, "type {kind}");
    }
    assert_eq!(bench.contents(), pristine());
    assert_eq!(bench.run(VIRTIO_BLK_T_FLUSH, 0, &[]), (OK, 1));
}

#[test]
fn discard_and_zeroes_reach_their_ranges_only() {
    let mut bench = Bench::new(false);
    let offered = bench.rig.offered();
    assert_ne!(
        offered & 1 << VIRTIO_BLK_F_DISCARD,
        0,
        "tempfile cannot punch holes?"
    );
    let data = bench.ranges(&[(8, 8, 0), (24, 8, 0)]);
    assert_eq!(bench.run(VIRTIO_BLK_T_DISCARD, 0, &[data]), (OK, 1));
    let mut want = pristine();
    want[8 * 512..16 * 512].fill(0);
    want[24 * 512..32 * 512].fill(0);
    assert_eq!(bench.contents(), want);
    for (sector, flags) in [(3, 0), (41, VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP)] {
        let data = bench.ranges(&[(sector, 3, flags)]);
        assert_eq!(bench.run(VIRTIO_BLK_T_WRITE_ZEROES, 0, &[data]), (OK, 1));
        let at = sector as usize * 512;
        want[at..at + 3 * 512].fill(0);
        assert_eq!(bench.contents(), want);
    }
}

#[test]
fn one_bad_range_refuses_them_all() {
    let mut bench = Bench::new(false);
    type Ranges<'a> = &'a [(u64, u32, u32)];
    let cases: &[(Ranges<'_>, u8)] = &[
        (&[(0, 1, 0), (SECTORS, 1, 0)], IOERR),
        (&[(0, 1, 0), (u64::MAX, 2, 0)], IOERR),
        (&[(0, 1, 0), (0, u32::MAX, 0)], IOERR),
        (&[(0, 1, 0), (0, 1, 0x8000_0000)], UNSUPP),
        (&[(0, 1, 0); 33], IOERR),
    ];
    for (i, (ranges, want)) in cases.iter().enumerate() {
        for kind in [VIRTIO_BLK_T_DISCARD, VIRTIO_BLK_T_WRITE_ZEROES] {
            let data = bench.ranges(ranges);
            assert_eq!(bench.run(kind, 0, &[data]).0, *want, "case {i} type {kind}");
        }
    }
    let unmap = bench.ranges(&[(0, 1, VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP)]);
    assert_eq!(bench.run(VIRTIO_BLK_T_DISCARD, 0, &[unmap]).0, UNSUPP);
    for len in [0, 15, 17] {
        let data: &[Buf] = if len == 0 {
            &[]
        } else {
            &[Buf::Read(DATA_AT, len)]
        };
        assert_eq!(bench.run(VIRTIO_BLK_T_DISCARD, 0, data).0, IOERR);
    }
    assert_eq!(bench.contents(), pristine());
}

#[test]
fn zeroes_are_written_where_the_file_cannot_make_them() {
    let file = image(0);
    let disk = RawImage::new(file.try_clone().unwrap(), false).unwrap();
    disk.write_zero_bytes(512, 1024).unwrap();
    let mut bench = Bench {
        rig: Bench::new(true).rig,
        image: file,
    };
    let mut want = pristine();
    want[512..1536].fill(0);
    assert_eq!(bench.contents(), want);
}

#[test]
fn the_id_is_cut_to_twenty_bytes() {
    let mut bench = Bench::new(false);
    assert_eq!(
        bench.run(VIRTIO_BLK_T_GET_ID, 0, &[Buf::Write(DATA_AT, 20)]),
        (OK, 21)
    );
    assert_eq!(bench.rig.take(DATA_AT, 21), b"a disk with a very l\0");
    assert_eq!(
        bench.run(VIRTIO_BLK_T_GET_ID, 0, &[Buf::Write(DATA_AT, 5)]),
        (OK, 6)
    );
    assert_eq!(
        bench.run(VIRTIO_BLK_T_GET_ID, 0, &[Buf::Write(DATA_AT, 30)]),
        (OK, 20)
    );
}

#[test]
fn requests_without_header_or_status_break_the_ring() {
    let cases: &[&[Buf]] = &[
        &[Buf::Read(HEADER_AT, 16)],
        &[Buf::Write(STATUS_AT, 1)],
        &[Buf::Read(HEADER_AT, 15), Buf::Write(STATUS_AT, 1)],
        &[Buf::Read(HEADER_AT, 15), Buf::Write(STATUS_AT, 600)],
        &[Buf::Read(HEADER_AT, 16), Buf::Write(STATUS_AT, 0)],
        &[Buf::Read(HEADER_AT, 16), Buf::Write(END - 1, 2)],
        &[Buf::Read(HEADER_AT, 16), Buf::Write(u64::MAX, 1)],
        &[Buf::Read(BASE - 8, 16), Buf::Write(STATUS_AT, 1)],
        &[Buf::Write(STATUS_AT, 1), Buf::Read(HEADER_AT, 16)],
    ];
    for (i, bufs) in cases.iter().enumerate() {
        let mut bench = Bench::new(false);
        bench.header(VIRTIO_BLK_T_OUT, 0);
        bench.rig.request(0, bufs);
        assert!(bench.rig.needs_reset(), "case {i}");
        assert_eq!(bench.rig.used(0), None, "case {i}");
        assert_eq!(bench.rig.counter("malformed_rings"), 1, "case {i}");
        assert_eq!(bench.contents(), pristine(), "case {i}");
        // It stays quiet until it is reset, and works again after that.
        bench.header(VIRTIO_BLK_T_IN, 0);
        bench
            .rig
            .request(0, &[Buf::Read(HEADER_AT, 16), Buf::Write(DATA_AT, 513)]);
        assert_eq!(bench.rig.used(0), None, "case {i}");
        bench.rig.start(ALL);
        assert_eq!(
            bench.run(VIRTIO_BLK_T_IN, 5, &[Buf::Write(DATA_AT, 512)]),
            (OK, 513)
        );
    }
}

#[test]
fn overlapping_buffers_cannot_change_a_request_that_was_accepted() {
    // The data of a read lands on the header: the header in force is the one that was read first.
    let mut bench = Bench::new(false);
    assert_eq!(
        bench.run(VIRTIO_BLK_T_IN, 6, &[Buf::Write(HEADER_AT, 512)]),
        (OK, 513)
    );
    assert_eq!(bench.rig.take(HEADER_AT, 512), [7; 512]);
    // And on its own status byte, which is written last.
    let status_inside = [Buf::Write(STATUS_AT - 511, 512)];
    assert_eq!(bench.run(VIRTIO_BLK_T_IN, 6, &status_inside), (OK, 513));
    assert_eq!(bench.contents(), pristine());
}

#[test]
fn the_cache_mode_follows_features_and_the_config_field() {
    let device = || Block::new(image(0), BlockConfig::default()).unwrap();
    let mut block = device();
    assert!(block.durable(), "nothing negotiated: writes are durable");
    block.flush_negotiated = true;
    assert!(!block.durable());
    block.wce_negotiated = true;
    assert!(!block.durable());
    let face = block.face();
    face.write_config(WRITEBACK, &[0]);
    assert!(block.durable());
    face.write_config(WRITEBACK, &[1, 0]);
    face.write_config(0, &[9]);
    assert!(block.durable(), "other widths and fields are read-only");
    face.write_config(WRITEBACK, &[1]);
    assert!(!block.durable());

    let mut bench = Bench::new(false);
    let write = |bench: &mut Bench| {
        let data = [Buf::Read(DATA_AT, 512)];
        assert_eq!(bench.run(VIRTIO_BLK_T_OUT, 7, &data), (OK, 1));
        bench.rig.counter("syncs")
    };
    assert_eq!(write(&mut bench), 0, "write-back waits for a flush");
    bench.run(VIRTIO_BLK_T_FLUSH, 0, &[]);
    assert_eq!(bench.rig.counter("syncs"), 1);
    bench.rig.virtio.write(0x100 + WRITEBACK, &[0]);
    assert_eq!(
        bench.rig.counter("syncs"),
        2,
        "what was written before is flushed"
    );
    let mut data = [9];
    bench.rig.virtio.read(0x100 + WRITEBACK, &mut data);
    assert_eq!(data, [0]);
    assert_eq!(write(&mut bench), 3, "write-through");
    let zeroes = bench.ranges(&[(1, 1, 0)]);
    bench.run(VIRTIO_BLK_T_WRITE_ZEROES, 0, &[zeroes]);
    assert_eq!(bench.rig.counter("syncs"), 4);
    bench.rig.start(0);
    assert_eq!(write(&mut bench), 5, "a driver without FLUSH");
}

#[test]
fn the_size_is_in_whole_sectors() {
    let block = Block::new(image(511), BlockConfig::default()).unwrap();
    let mut capacity = [0; 8];
    let face = block.face();
    face.read_config(0, &mut capacity);
    assert_eq!(u64::from_le_bytes(capacity), SECTORS);
    let mut beyond = [0xaa; 4];
    face.read_config(u64::MAX, &mut beyond);
    face.read_config(60, &mut beyond);
    assert_eq!(beyond, [0xaa; 4]);
}

#[test]
fn unusable_images_are_refused_with_a_sentence() {
    let say = |file: File, read_only| {
        Block::new(
            file,
            BlockConfig {
                read_only,
                ..BlockConfig::default()
            },
        )
        .unwrap_err()
        .to_string()
    };
    let mut small = tempfile::tempfile().unwrap();
    assert!(say(small.try_clone().unwrap(), true).contains("0 bytes long"));
    small.write_all(&[0; 511]).unwrap();
    assert!(say(small, false).contains("less than one sector"));
    assert!(say(File::open("/dev/null").unwrap(), true).contains("neither a file nor"));
    assert!(say(File::open("/tmp").unwrap(), true).contains("neither a file nor"));
    let named = tempfile::NamedTempFile::new().unwrap();
    named.as_file().set_len(4096).unwrap();
    assert!(say(File::open(named.path()).unwrap(), false).contains("not open for writing"));
}

#[test]
fn a_disk_that_shrinks_fails_reads_and_keeps_writes_inside() {
    let mut bench = Bench::new(false);
    bench.image.set_len(10 * 512).unwrap();
    assert_eq!(
        bench
            .run(VIRTIO_BLK_T_IN, 9, &[Buf::Write(DATA_AT, 1024)])
            .0,
        IOERR
    );
    assert_eq!(
        bench.run(VIRTIO_BLK_T_IN, 9, &[Buf::Write(DATA_AT, 512)]).0,
        OK
    );
    bench.rig.put(DATA_AT, &[3; 512]);
    assert_eq!(
        bench
            .run(VIRTIO_BLK_T_OUT, SECTORS - 1, &[Buf::Read(DATA_AT, 512)])
            .0,
        OK
    );
    assert_eq!(bench.contents().len() as u64, SECTORS * SECTOR);
}

#[test]
fn counters_are_all_there() {
    let bench = Bench::new(false);
    for name in [
        "reads",
        "write_zeroes",
        "notifications",
        "interrupts",
        "malformed_rings",
    ] {
        bench.rig.counter(name);
    }
}
