// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! One request's descriptors, read once and checked whole before a device sees any of them.
//!
//! virtio-queue's iterator is memory-safe but lenient: it ends silently at a loop, at an index out
//! of range, at a bad indirect table and at 2^32 bytes, and it neither looks at buffer addresses nor
//! at the order of directions. A device would then act on half a request. So the chain is collected
//! here and refused unless
//! * its last descriptor says that it is the last (this is what tells an end from a cut),
//! * it has no more descriptors than the queue has entries, indirect ones included,
//! * no descriptor is empty, and each lies in guest memory from its first byte to its last,
//! * readable descriptors come before writable ones.
//!
//! Descriptors of one chain may overlap each other or the rings: the specification does not forbid
//! it, and a device copies what it decides on before it writes anything, so that a guest only
//! overwrites memory of its own.

use std::ops::Deref;

use virtio_queue::DescriptorChain;
use vm_memory::{Address, GuestAddress, GuestMemory as _, Permissions, VolatileSlice};

use super::ring::RingError;
use crate::GuestMemory;

/// A buffer in guest memory that was checked to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Where it starts.
    pub addr: GuestAddress,
    /// Its length, never 0.
    pub len: u32,
}

/// A request: readable segments, then writable ones. Descriptors whose memory is in one piece are one
/// segment: bounce buffers often are, and a system call takes each piece by itself.
#[derive(Debug, Default)]
pub struct Chain {
    head: u16,
    segments: Vec<Segment>,
    readable: usize,
    read_len: u32,
    write_len: u32,
}

impl Chain {
    /// The index that goes on the used ring.
    pub fn head(&self) -> u16 {
        self.head
    }

    /// What the device may read, in order.
    pub fn readable(&self) -> &[Segment] {
        &self.segments[..self.readable]
    }

    /// What the device may write, in order.
    pub fn writable(&self) -> &[Segment] {
        &self.segments[self.readable..]
    }

    /// Bytes in `readable`.
    pub fn read_len(&self) -> u32 {
        self.read_len
    }

    /// Bytes in `writable`.
    pub fn write_len(&self) -> u32 {
        self.write_len
    }

    /// Copies out of the readable part, from byte `offset` on; fails if it is shorter than that.
    pub fn read(&self, mem: &GuestMemory, offset: u32, buf: &mut [u8]) -> Result<(), RingError> {
        let mut done = 0;
        for slice in slices(mem, self.readable(), offset, buf.len())? {
            done += slice.copy_to(&mut buf[done..]);
        }
        Ok(())
    }

    /// Copies into the writable part, from byte `offset` on; fails if it is shorter than that.
    pub fn write(&self, mem: &GuestMemory, offset: u32, buf: &[u8]) -> Result<(), RingError> {
        let mut done = 0;
        for slice in slices(mem, self.writable(), offset, buf.len())? {
            slice.copy_from(&buf[done..done + slice.len()]);
            done += slice.len();
        }
        Ok(())
    }

    /// `len` bytes of the readable part, from byte `offset` on, for a vectored system call.
    pub fn read_slices<'m>(
        &self,
        mem: &'m GuestMemory,
        offset: u32,
        len: usize,
    ) -> Result<Vec<VolatileSlice<'m>>, RingError> {
        slices(mem, self.readable(), offset, len)
    }

    /// `len` bytes of the writable part, from byte `offset` on, for a vectored system call.
    pub fn write_slices<'m>(
        &self,
        mem: &'m GuestMemory,
        offset: u32,
        len: usize,
    ) -> Result<Vec<VolatileSlice<'m>>, RingError> {
        slices(mem, self.writable(), offset, len)
    }

    /// Fills this chain from the ring's descriptors, or says what is wrong with them.
    pub(super) fn load<M>(
        &mut self,
        descriptors: DescriptorChain<M>,
        queue_size: u16,
    ) -> Result<(), RingError>
    where
        M: Deref<Target = GuestMemory> + Clone,
    {
        *self = Self {
            head: descriptors.head_index(),
            segments: std::mem::take(&mut self.segments),
            ..Self::default()
        };
        self.segments.clear();
        if self.head >= queue_size {
            return Err(RingError::Head(self.head));
        }
        let mut cut = true;
        for (count, descriptor) in descriptors.clone().enumerate() {
            if count == usize::from(queue_size) {
                return Err(RingError::TooLong);
            }
            cut = descriptor.has_next();
            self.append(
                descriptors.memory(),
                Segment {
                    addr: descriptor.addr(),
                    len: descriptor.len(),
                },
                descriptor.is_write_only(),
            )?;
        }
        if cut { Err(RingError::Cut) } else { Ok(()) }
    }

    fn append(&mut self, mem: &GuestMemory, seg: Segment, write: bool) -> Result<(), RingError> {
        if seg.len == 0 {
            return Err(RingError::Empty);
        }
        let access = if write {
            Permissions::Write
        } else {
            Permissions::Read
        };
        let ends = seg.addr.checked_add(u64::from(seg.len) - 1).is_some();
        if !ends || !mem.check_range(seg.addr, seg.len as usize, access) {
            return Err(RingError::OutsideMemory(seg.addr.0, u64::from(seg.len)));
        }
        let total = if write {
            &mut self.write_len
        } else if self.segments.len() == self.readable {
            &mut self.read_len
        } else {
            return Err(RingError::Order);
        };
        *total = total.checked_add(seg.len).ok_or(RingError::TooLong)?;
        let first = if write { self.readable } else { 0 };
        match self.segments[first..].last_mut() {
            // Its length is part of the total's, which has not overflowed.
            Some(last) if last.addr.0 + u64::from(last.len) == seg.addr.0 => last.len += seg.len,
            _ => {
                self.segments.push(seg);
                self.readable += usize::from(!write);
            }
        }
        Ok(())
    }
}

/// The host's view of bytes `skip..skip + len` of `segments`.
fn slices<'m>(
    mem: &'m GuestMemory,
    segments: &[Segment],
    skip: u32,
    len: usize,
) -> Result<Vec<VolatileSlice<'m>>, RingError> {
    let mut out = Vec::with_capacity(segments.len());
    let mut skip = u64::from(skip);
    let mut left = len;
    for seg in segments {
        if left == 0 {
            break;
        }
        let seg_len = u64::from(seg.len);
        if skip >= seg_len {
            skip -= seg_len;
            continue;
        }
        let take = left.min((seg_len - skip) as usize);
        let start = GuestAddress(seg.addr.0 + skip);
        let lost = |_| RingError::OutsideMemory(start.0, take as u64);
        for slice in mem
            .get_slices(start, take, Permissions::ReadWrite)
            .map_err(lost)?
        {
            out.push(slice.map_err(lost)?);
        }
        skip = 0;
        left -= take;
    }
    if left == 0 {
        Ok(out)
    } else {
        Err(RingError::Short)
    }
}
