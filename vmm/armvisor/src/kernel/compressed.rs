// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Decompresses a kernel into guest memory, with a bound on the output.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom, Take};

use armvisor_devices::GuestMemory;
use flate2::read::GzDecoder;
use ruzstd::decoding::StreamingDecoder;
use vm_memory::{Address, Bytes, GuestAddress};

/// How a kernel's payload is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// RFC 1952.
    Gzip,
    /// RFC 8878.
    Zstd,
}

/// Unpacked bytes are copied to the guest in pieces of this size.
const PIECE: usize = 256 << 10;

/// Whether a file with this head is gzip's, by its magic number and method (RFC 1952, 2.3.1).
pub fn is_gzip(head: &[u8]) -> bool {
    head.starts_with(b"\x1f\x8b\x08")
}

/// Formats that people pack kernels with and that are not unpacked here, for the refusal.
pub fn other_format(head: &[u8]) -> Option<&'static str> {
    const MAGICS: [(&[u8], &str); 6] = [
        (b"\x28\xb5\x2f\xfd", "zstd"),
        (b"\xfd7zXZ\0", "xz"),
        (b"\x5d\0\0", "lzma"),
        (b"BZh", "bzip2"),
        (b"\x89LZO", "lzo"),
        (b"\x02\x21\x4c\x18", "lz4"),
    ];
    MAGICS
        .iter()
        .find(|(magic, _)| head.starts_with(magic))
        .map(|(_, name)| *name)
}

type Source = BufReader<Take<File>>;

enum Decoder {
    Gzip(Box<GzDecoder<Source>>),
    Zstd(Box<StreamingDecoder<Source, ruzstd::decoding::FrameDecoder>>),
}

/// A range of a file as it unpacks.
pub struct Stream(Decoder);

impl Stream {
    /// Unpacks `len` bytes of `file` from `offset`. The error is the end of a sentence about the file.
    pub fn new(
        file: &File,
        (offset, len): (u64, u64),
        compression: Compression,
    ) -> Result<Self, String> {
        let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
        let mut file = file.try_clone().map_err(unreadable)?;
        file.seek(SeekFrom::Start(offset)).map_err(unreadable)?;
        let source = BufReader::with_capacity(PIECE, file.take(len));
        Ok(Stream(match compression {
            Compression::Gzip => Decoder::Gzip(Box::new(GzDecoder::new(source))),
            Compression::Zstd => Decoder::Zstd(Box::new(
                StreamingDecoder::new(source)
                    .map_err(|error| format!("does not unpack: {error}"))?,
            )),
        }))
    }

    /// Fills `buffer` as far as the stream goes.
    pub fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, String> {
        let mut done = 0;
        while done < buffer.len() {
            let got = match &mut self.0 {
                Decoder::Gzip(decoder) => decoder.read(&mut buffer[done..]),
                Decoder::Zstd(decoder) => decoder.read(&mut buffer[done..]),
            };
            match got.map_err(|error| format!("does not unpack, it may be truncated: {error}"))? {
                0 => break,
                got => done += got,
            }
        }
        Ok(done)
    }

    /// Copies `head` and then the rest of the stream to `start`; at most `limit` bytes in all.
    pub fn copy_to(
        &mut self,
        memory: &GuestMemory,
        start: GuestAddress,
        head: Vec<u8>,
        limit: u64,
    ) -> Result<u64, String> {
        let mut piece = head;
        let mut done = 0_u64;
        while !piece.is_empty() {
            if piece.len() as u64 > limit - done {
                return Err("unpacks to more than its header says".into());
            }
            memory
                .write_slice(&piece, start.unchecked_add(done))
                .map_err(|error| format!("does not fit the guest's memory: {error}"))?;
            done += piece.len() as u64;
            piece.resize(PIECE, 0);
            let got = self.fill(&mut piece)?;
            piece.truncate(got);
        }
        Ok(done)
    }
}
