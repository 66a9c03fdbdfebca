// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! virtio-block on an image, served synchronously on the I/O thread.
//!
//! A request is a byte stream, however it is cut into descriptors: 16 bytes of header and the data
//! out, then the data in and one byte of status. One without a whole header or without a status byte
//! cannot be answered and breaks the ring; anything else that is wrong is answered with IOERR or
//! UNSUPP and changes nothing.
//!
//! Durability: with FLUSH negotiated the cache is write-back and FLUSH is `fdatasync`; without it, or
//! when the driver cleared the `writeback` field, each write is durable when it completes.

mod disk;
mod raw;

use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use log::warn;
use virtio_bindings::virtio_blk::*;
use virtio_bindings::virtio_ids::VIRTIO_ID_BLOCK;
use vm_memory::VolatileSlice;

use crate::GuestMemory;
use crate::limit::LogLimit;
use crate::virtio::chain::Chain;
use crate::virtio::ring::RingError;
use crate::virtio::{
    Context, Counter, Error, Event, Face, Served, Sources, VirtioDevice, read_config_bytes,
};
use disk::{Disk, Failure, SECTOR};
pub use raw::RawImage;

const QUEUE_SIZE: u16 = 256;
const HEADER: u32 = 16;
const ID_BYTES: usize = VIRTIO_BLK_ID_BYTES as usize;
/// Of one DISCARD or WRITE_ZEROES request.
const MAX_SEGMENTS: u32 = 32;
const SEGMENT_BYTES: u32 = 16;
const MAX_DISCARD_SECTORS: u32 = 1 << 22;
/// Small, because some files need the zeroes written one by one while other devices wait.
const MAX_ZEROES_SECTORS: u32 = 1 << 15;
const CONFIG_BYTES: usize = 60;
const WRITEBACK: u64 = 32;

/// What a block device is made with.
#[derive(Clone, Debug, Default)]
pub struct BlockConfig {
    /// Refuse every change. The file need not be open for writing.
    pub read_only: bool,
    /// What GET_ID answers, cut to 20 bytes.
    pub id: String,
}

/// The bytes of a disk, whatever keeps them. All calls are synchronous, may come from several threads,
/// and stay within [`Image::bytes`]. What is written is durable after [`Image::flush`]. A call that the
/// image cannot do fails with [`io::ErrorKind::Unsupported`] and changes nothing.
pub trait Image: Debug + Send + Sync {
    /// Its size, which does not change.
    fn bytes(&self) -> u64;
    /// The transfers that it likes best, a power of two.
    fn block_size(&self) -> u64;
    /// Whether [`Image::discard`] does anything.
    fn can_discard(&self) -> bool;
    /// Fills the slices, one after the other, from `offset` on.
    fn read(&self, into: Vec<VolatileSlice>, offset: u64) -> io::Result<()>;
    /// Writes the slices, one after the other, from `offset` on.
    fn write(&self, from: Vec<VolatileSlice>, offset: u64) -> io::Result<()>;
    /// Makes all completed writes durable.
    fn flush(&self) -> io::Result<()>;
    /// Gives the storage of these bytes back; what they read as is undefined.
    fn discard(&self, offset: u64, len: u64) -> io::Result<()>;
    /// Makes these bytes read as zeroes, and gives their storage back if `unmap` and it can.
    fn write_zeroes(&self, offset: u64, len: u64, unmap: bool) -> io::Result<()>;
    /// Writes what is only in memory. It is the last call.
    fn close(&self) -> io::Result<()> {
        Ok(())
    }
}

/// A block device (virtio 1.3, 5.2) with an image in sectors of 512 bytes.
#[derive(Debug)]
pub struct Block {
    shown: Arc<Shown>,
    id: [u8; ID_BYTES],
    flush_negotiated: bool,
    wce_negotiated: bool,
}

/// What vCPUs see of it while it works, and may do: a store to `writeback` syncs the disk on its own
/// vCPU's time.
#[derive(Debug)]
struct Shown {
    disk: Disk,
    writeback: AtomicBool,
    limit: LogLimit,
    counters: Counters,
}

#[derive(Debug, Default)]
struct Counters {
    reads: Counter,
    writes: Counter,
    flushes: Counter,
    discards: Counter,
    zeroes: Counter,
    bytes_read: Counter,
    bytes_written: Counter,
    errors: Counter,
    unsupported: Counter,
}

impl Block {
    /// Takes an open image; the caller locks it against other users. Fails for what is neither a file
    /// nor a block device, for less than one sector, and for a file that cannot be written unless the
    /// device is read-only.
    pub fn new(file: File, config: BlockConfig) -> Result<Self, Error> {
        let image = RawImage::new(file, config.read_only)?;
        Self::with_image(Arc::new(image), config)
    }

    /// Takes an image. Fails for less than one sector.
    pub fn with_image(image: Arc<dyn Image>, config: BlockConfig) -> Result<Self, Error> {
        let mut id = [0; ID_BYTES];
        let len = config.id.len().min(ID_BYTES);
        id[..len].copy_from_slice(&config.id.as_bytes()[..len]);
        Ok(Self::on(Disk::new(image, config.read_only)?, id))
    }

    fn on(disk: Disk, id: [u8; ID_BYTES]) -> Self {
        let shown = Shown {
            disk,
            writeback: AtomicBool::new(true),
            limit: LogLimit::new(),
            counters: Counters::default(),
        };
        Self {
            shown: Arc::new(shown),
            id,
            flush_negotiated: false,
            wce_negotiated: false,
        }
    }

    /// Whether a write must be durable when it completes.
    fn durable(&self) -> bool {
        if self.wce_negotiated {
            !self.shown.writeback.load(Ordering::SeqCst)
        } else {
            !self.flush_negotiated
        }
    }

    fn request(&mut self, mem: &GuestMemory, chain: &Chain) -> Result<Served, RingError> {
        let (Some(data_in), Some(data_out)) = (
            chain.write_len().checked_sub(1),
            chain.read_len().checked_sub(HEADER),
        ) else {
            return Err(RingError::Short);
        };
        let mut header = [0; HEADER as usize];
        chain.read(mem, 0, &mut header)?;
        let request = Request {
            mem,
            chain,
            sector: u64::from_le_bytes(take(&header, 8..16)),
            data_in,
            data_out,
        };
        let kind = u32::from_le_bytes(take(&header, 0..4));
        let (status, filled) = match self.execute(kind, &request) {
            Ok(filled) => (VIRTIO_BLK_S_OK, filled),
            Err(failure) => (self.shown.failed(kind, &failure), 0),
        };
        chain.write(mem, data_in, &[status as u8])?;
        // The length counts from the first byte on: the status only when all before it is written.
        Ok(Served::Used(if filled == data_in {
            filled + 1
        } else {
            filled
        }))
    }

    /// Does one request; returns how many bytes of data went to the guest.
    fn execute(&mut self, kind: u32, request: &Request) -> Result<u32, Failure> {
        match kind {
            VIRTIO_BLK_T_IN => self.read(request),
            VIRTIO_BLK_T_OUT => self.write(request),
            VIRTIO_BLK_T_FLUSH => {
                request.no_data()?;
                self.shown.counters.flushes.add(1);
                self.shown.disk.flush().map(|()| 0)
            }
            VIRTIO_BLK_T_GET_ID => request.give(&self.id),
            VIRTIO_BLK_T_DISCARD => {
                let segments = request.segments(MAX_DISCARD_SECTORS)?;
                // The only flag there is belongs to WRITE_ZEROES.
                if segments.iter().any(|s| s.flags != 0) {
                    return Err(Failure::Unsupported);
                }
                self.check_all(&segments)?;
                self.shown.counters.discards.add(1);
                segments
                    .iter()
                    .try_for_each(|s| self.shown.disk.discard(s.sector, s.sectors))?;
                Ok(0)
            }
            VIRTIO_BLK_T_WRITE_ZEROES => self.write_zeroes(request),
            _ => Err(Failure::Unsupported),
        }
    }

    fn read(&mut self, request: &Request) -> Result<u32, Failure> {
        if request.data_out != 0 {
            return Err(Failure::Refused("read with data to write"));
        }
        let len = request.data_in;
        let slices = request
            .chain
            .write_slices(request.mem, 0, len as usize)
            .map_err(lost)?;
        self.shown.disk.read(request.sector, slices)?;
        self.shown.counters.reads.add(1);
        self.shown.counters.bytes_read.add(u64::from(len));
        Ok(len)
    }

    fn write(&mut self, request: &Request) -> Result<u32, Failure> {
        if request.data_in != 0 {
            return Err(Failure::Refused("write with room for data"));
        }
        let len = request.data_out;
        let slices = request
            .chain
            .read_slices(request.mem, HEADER, len as usize)
            .map_err(lost)?;
        self.shown.disk.write(request.sector, slices)?;
        if self.durable() {
            self.shown.disk.flush()?;
        }
        self.shown.counters.writes.add(1);
        self.shown.counters.bytes_written.add(u64::from(len));
        Ok(0)
    }

    fn write_zeroes(&mut self, request: &Request) -> Result<u32, Failure> {
        let segments = request.segments(MAX_ZEROES_SECTORS)?;
        if segments
            .iter()
            .any(|s| s.flags & !VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP != 0)
        {
            return Err(Failure::Unsupported);
        }
        self.check_all(&segments)?;
        self.shown.counters.zeroes.add(1);
        for segment in &segments {
            let unmap = segment.flags & VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP != 0;
            self.shown
                .disk
                .write_zeroes(segment.sector, segment.sectors, unmap)?;
        }
        if self.durable() {
            self.shown.disk.flush()?;
        }
        Ok(0)
    }

    /// All segments before the first one is touched, so that a refused request changes nothing.
    fn check_all(&self, segments: &[Segment]) -> Result<(), Failure> {
        segments
            .iter()
            .try_for_each(|s| self.shown.disk.check_change(s.sector, s.sectors))
    }
}

impl Shown {
    fn config(&self) -> [u8; CONFIG_BYTES] {
        let mut config = [0; CONFIG_BYTES];
        let mut set = |at: usize, bytes: &[u8]| config[at..at + bytes.len()].copy_from_slice(bytes);
        let per_block = self.disk.block_size() / SECTOR;
        set(0, &self.disk.sectors().to_le_bytes());
        set(12, &u32::from(QUEUE_SIZE - 2).to_le_bytes());
        set(20, &(SECTOR as u32).to_le_bytes());
        set(24, &[per_block.trailing_zeros() as u8]);
        set(26, &(per_block as u16).to_le_bytes());
        set(
            WRITEBACK as usize,
            &[u8::from(self.writeback.load(Ordering::SeqCst))],
        );
        set(34, &1_u16.to_le_bytes());
        if !self.disk.read_only() {
            set(36, &MAX_DISCARD_SECTORS.to_le_bytes());
            set(40, &MAX_SEGMENTS.to_le_bytes());
            set(44, &(per_block as u32).to_le_bytes());
            set(48, &MAX_ZEROES_SECTORS.to_le_bytes());
            set(52, &MAX_SEGMENTS.to_le_bytes());
            set(56, &[u8::from(self.disk.can_punch())]);
        }
        config
    }

    fn failed(&self, kind: u32, failure: &Failure) -> u32 {
        let (status, why) = match failure {
            Failure::Unsupported => {
                self.counters.unsupported.add(1);
                return VIRTIO_BLK_S_UNSUPP;
            }
            Failure::Refused(why) => (VIRTIO_BLK_S_IOERR, (*why).to_string()),
            // All buffers were found in guest memory.
            Failure::Io(e) if e.raw_os_error() == Some(libc::EFAULT) => {
                let why = "its buffer is memory that the guest has not shared";
                (VIRTIO_BLK_S_IOERR, why.to_string())
            }
            Failure::Io(e) => (VIRTIO_BLK_S_IOERR, e.to_string()),
        };
        self.counters.errors.add(1);
        if self.limit.allow() {
            warn!("block: request of type {kind} failed: {why}");
        }
        status
    }
}

impl Face for Shown {
    fn read_config(&self, offset: u64, data: &mut [u8]) {
        read_config_bytes(&self.config(), offset, data);
    }

    fn write_config(&self, offset: u64, data: &[u8]) {
        if offset != WRITEBACK || data.len() != 1 {
            return;
        }
        let writeback = data[0] != 0;
        // First the mode, then the sync: a write that still took the old mode is in the file by then.
        if self.writeback.swap(writeback, Ordering::SeqCst) && !writeback {
            // Earlier writes must be as durable as later ones.
            if let Err(failure) = self.disk.flush() {
                self.failed(VIRTIO_BLK_T_FLUSH, &failure);
            }
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let c = &self.counters;
        vec![
            ("reads", c.reads.get()),
            ("writes", c.writes.get()),
            ("flushes", c.flushes.get()),
            ("syncs", self.disk.syncs()),
            ("discards", c.discards.get()),
            ("write_zeroes", c.zeroes.get()),
            ("bytes_read", c.bytes_read.get()),
            ("bytes_written", c.bytes_written.get()),
            ("errors", c.errors.get()),
            ("unsupported", c.unsupported.get()),
        ]
    }
}

impl VirtioDevice for Block {
    fn name(&self) -> &'static str {
        "block"
    }

    fn device_type(&self) -> u32 {
        VIRTIO_ID_BLOCK
    }

    fn features(&self) -> u64 {
        let mut features = 1 << VIRTIO_BLK_F_SEG_MAX
            | 1 << VIRTIO_BLK_F_BLK_SIZE
            | 1 << VIRTIO_BLK_F_TOPOLOGY
            | 1 << VIRTIO_BLK_F_FLUSH
            | 1 << VIRTIO_BLK_F_CONFIG_WCE;
        if self.shown.disk.read_only() {
            features |= 1 << VIRTIO_BLK_F_RO;
        } else {
            features |= 1 << VIRTIO_BLK_F_WRITE_ZEROES;
            if self.shown.disk.can_punch() {
                features |= 1 << VIRTIO_BLK_F_DISCARD;
            }
        }
        features
    }

    fn queue_sizes(&self) -> &[u16] {
        &[QUEUE_SIZE]
    }

    fn face(&self) -> Arc<dyn Face> {
        Arc::clone(&self.shown) as _
    }

    fn activate(&mut self, ctx: &mut Context<'_>) -> Result<(), Error> {
        self.flush_negotiated = ctx.has(VIRTIO_BLK_F_FLUSH);
        self.wce_negotiated = ctx.has(VIRTIO_BLK_F_CONFIG_WCE);
        Ok(())
    }

    fn handle(&mut self, event: Event, ctx: &mut Context<'_>) -> Result<(), RingError> {
        match event {
            Event::Queue(index) => ctx.serve(index, |mem, chain| self.request(mem, chain)),
            Event::Source(..) => Ok(()),
        }
    }

    fn reset(&mut self, _sources: &dyn Sources) {
        self.shown.writeback.store(true, Ordering::SeqCst);
        self.flush_negotiated = false;
        self.wce_negotiated = false;
    }
}

/// A request whose header was read.
struct Request<'a> {
    mem: &'a GuestMemory,
    chain: &'a Chain,
    sector: u64,
    data_in: u32,
    data_out: u32,
}

/// One range of a DISCARD or WRITE_ZEROES.
struct Segment {
    sector: u64,
    sectors: u64,
    flags: u32,
}

impl Request<'_> {
    fn no_data(&self) -> Result<(), Failure> {
        if self.data_in == 0 && self.data_out == 0 {
            Ok(())
        } else {
            Err(Failure::Refused("data in a request that has none"))
        }
    }

    fn give(&self, bytes: &[u8]) -> Result<u32, Failure> {
        if self.data_out != 0 {
            return Err(Failure::Refused("data in a request that has none"));
        }
        let len = bytes.len().min(self.data_in as usize);
        self.chain.write(self.mem, 0, &bytes[..len]).map_err(lost)?;
        Ok(len as u32)
    }

    fn segments(&self, max_sectors: u32) -> Result<Vec<Segment>, Failure> {
        let count = self.data_out / SEGMENT_BYTES;
        if self.data_in != 0
            || !self.data_out.is_multiple_of(SEGMENT_BYTES)
            || !(1..=MAX_SEGMENTS).contains(&count)
        {
            return Err(Failure::Refused("bad number of ranges"));
        }
        let mut bytes = vec![0; self.data_out as usize];
        self.chain
            .read(self.mem, HEADER, &mut bytes)
            .map_err(lost)?;
        let parse = |b: &[u8]| Segment {
            sector: u64::from_le_bytes(take(b, 0..8)),
            sectors: u64::from(u32::from_le_bytes(take(b, 8..12))),
            flags: u32::from_le_bytes(take(b, 12..16)),
        };
        let segments: Vec<_> = bytes
            .chunks_exact(SEGMENT_BYTES as usize)
            .map(parse)
            .collect();
        if segments.iter().any(|s| s.sectors > u64::from(max_sectors)) {
            return Err(Failure::Refused("range larger than announced"));
        }
        Ok(segments)
    }
}

/// The bytes of a fixed-size field; the caller knows that they are there.
fn take<const N: usize>(bytes: &[u8], range: Range<usize>) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[range]);
    out
}

/// Chains were checked when they were popped, so this is only for a range we computed wrongly.
fn lost(_: RingError) -> Failure {
    Failure::Refused("buffer shorter than the request")
}

#[cfg(test)]
#[path = "block_test.rs"]
mod tests;

#[cfg(test)]
#[path = "stall_test.rs"]
mod stall;
