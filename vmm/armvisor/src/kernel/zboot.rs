// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The EFI "zboot" form of a kernel: a small EFI program with the compressed Image as its payload.
//!
//! Its header (drivers/firmware/efi/libstub/zboot-header.S): "MZ" at 0, "zimg" at 4, the payload's
//! offset at 8 and size at 12, and the name of its compression at 24.

use super::compressed::Compression;
use super::image;

/// The compressed Image in a zboot file: its place and its compression.
pub struct Payload {
    offset: u64,
    size: u64,
    compression: String,
}

impl Payload {
    /// The payload that the header describes; None where this is no zboot header.
    pub fn parse(head: &[u8]) -> Result<Option<Self>, String> {
        if !head.starts_with(b"MZ") || head.get(4..8) != Some(b"zimg") {
            return Ok(None);
        }
        let word = |at: usize| {
            let bytes = head.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
            bytes.map(|bytes| u64::from(u32::from_le_bytes(bytes)))
        };
        let (Some(offset), Some(size), Some(name)) = (word(8), word(12), head.get(24..56)) else {
            return Err("is truncated: it ends inside its header; copy it again".into());
        };
        if let Some(machine) = image::foreign_pe(head) {
            return Err(format!(
                "is an EFI (zboot) kernel for {machine}; armvisor runs arm64 ones"
            ));
        }
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        let compression = String::from_utf8_lossy(name).into_owned();
        Ok(Some(Payload {
            offset,
            size,
            compression,
        }))
    }

    /// Where the payload is in a file of `len` bytes, and how to unpack it.
    pub fn check(&self, len: u64) -> Result<((u64, u64), Compression), String> {
        let compression = match self.compression.as_str() {
            "gzip" => Compression::Gzip,
            "zstd" | "zstd22" => Compression::Zstd,
            other => {
                return Err(format!(
                    "is an EFI (zboot) kernel whose payload is compressed with {}; armvisor unpacks \
                     gzip and zstd, so build it with one of those or pass the Image",
                    other.escape_debug()
                ));
            }
        };
        let end = self.offset + self.size;
        if end > len {
            return Err(format!(
                "is truncated: {len} bytes of at least {end}; copy it again"
            ));
        }
        if self.size == 0 {
            return Err("has an empty payload".into());
        }
        Ok(((self.offset, self.size), compression))
    }
}
