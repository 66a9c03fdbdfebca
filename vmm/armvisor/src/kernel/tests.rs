// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Kernels of every kind that people pass, built here byte by byte.

use std::io::Write;

use super::*;
use crate::layout::RAM_BASE;
use crate::size::MIB;

const TEXT_OFFSET: u64 = 0;
const IMAGE_SIZE: u64 = 3 * MIB;

fn memory(bytes: u64) -> GuestMemory {
    GuestMemory::from_ranges(&[(GuestAddress(RAM_BASE), bytes as usize)]).unwrap()
}

/// An arm64 Image of `len` bytes with a PE header that lists one section up to its end.
fn image(len: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..len).map(|at| (at / 7 % 251) as u8).collect();
    bytes[..64].fill(0);
    bytes[..2].copy_from_slice(b"MZ");
    bytes[8..16].copy_from_slice(&TEXT_OFFSET.to_le_bytes());
    bytes[16..24].copy_from_slice(&IMAGE_SIZE.to_le_bytes());
    bytes[24..32].copy_from_slice(&0b1010_u64.to_le_bytes());
    bytes[56..60].copy_from_slice(b"ARM\x64");
    bytes[60..64].copy_from_slice(&64_u32.to_le_bytes());
    bytes[64..128].fill(0);
    bytes[64..68].copy_from_slice(b"PE\0\0");
    bytes[68..70].copy_from_slice(&0xaa64_u16.to_le_bytes());
    bytes[70..72].copy_from_slice(&1_u16.to_le_bytes());
    let section = 64 + 24;
    bytes[section + 16..section + 20].copy_from_slice(&(len as u32 - 4096).to_le_bytes());
    bytes[section + 20..section + 24].copy_from_slice(&4096_u32.to_le_bytes());
    bytes
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

fn zboot(compression: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 512];
    bytes[..2].copy_from_slice(b"MZ");
    bytes[4..8].copy_from_slice(b"zimg");
    bytes[8..12].copy_from_slice(&512_u32.to_le_bytes());
    bytes[12..16].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    bytes[24..24 + compression.len()].copy_from_slice(compression.as_bytes());
    bytes[60..64].copy_from_slice(&64_u32.to_le_bytes());
    bytes[64..68].copy_from_slice(b"PE\0\0");
    bytes[68..70].copy_from_slice(&0xaa64_u16.to_le_bytes());
    bytes.extend(payload);
    bytes
}

fn load_bytes(bytes: &[u8], memory: &GuestMemory) -> Result<Loaded, Refusal> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    load(file.path(), memory)
}

/// The sentence with which a kernel is refused.
fn refusal(bytes: &[u8]) -> String {
    let refusal = load_bytes(bytes, &memory(32 * MIB)).unwrap_err();
    assert_eq!(refusal.code, crate::outcome::ExitCode::BadFile);
    refusal.to_string()
}

#[test]
fn every_form_loads_to_the_same_bytes() {
    let image = image(MIB as usize);
    let forms = [
        image.clone(),
        gzip(&image),
        zboot("gzip", &gzip(&image)),
        zboot("zstd22", &zstd(&image)),
        zboot("zstd", &zstd(&image)),
    ];
    for form in forms {
        let memory = memory(32 * MIB);
        let loaded = load_bytes(&form, &memory).unwrap();
        assert_eq!(loaded.entry, GuestAddress(RAM_BASE));
        assert_eq!(loaded.end, GuestAddress(RAM_BASE + IMAGE_SIZE));
        assert_eq!(loaded.header.page_size.kib(), Some(4));
        let mut read = vec![0; image.len()];
        memory.read_slice(&mut read, loaded.entry).unwrap();
        assert!(read == image);
    }
}

#[test]
fn an_old_kernel_without_a_size_goes_to_its_offset() {
    let mut old = image(MIB as usize);
    old[16..24].fill(0);
    let loaded = load_bytes(&old, &memory(32 * MIB)).unwrap();
    assert_eq!(loaded.entry, GuestAddress(RAM_BASE + 0x8_0000));
    assert_eq!(loaded.end, GuestAddress(RAM_BASE + 0x8_0000 + MIB));
}

#[test]
fn missing_empty_and_odd_files_are_refused() {
    let memory = memory(32 * MIB);
    let sentence = |path: &str| load(Path::new(path), &memory).unwrap_err().to_string();
    assert_eq!(
        sentence("/nonexistent/k"),
        "kernel /nonexistent/k: no such file"
    );
    assert!(sentence("/dev/null").contains("not a regular file"));
    assert!(sentence("/tmp").contains("not a regular file"));
    assert!(refusal(b"").ends_with("is empty"));
}

#[test]
fn truncated_kernels_are_refused() {
    let image = image(MIB as usize);
    for len in [1, 59, 63] {
        assert!(refusal(&image[..len]).contains("truncated"), "{len}");
    }
    assert!(refusal(&image[..image.len() - 1]).contains("1048575 bytes of 1048576"));
    for packed in [
        gzip(&image),
        zboot("gzip", &gzip(&image)),
        zboot("zstd", &zstd(&image)),
    ] {
        for len in [packed.len() - 1, packed.len() / 2, 20] {
            let sentence = refusal(&packed[..len]);
            assert!(
                sentence.contains("truncated") || sentence.contains("unpack"),
                "{sentence}"
            );
        }
    }
}

#[test]
fn damaged_payloads_are_refused() {
    let mut packed = gzip(&image(MIB as usize));
    let middle = packed.len() / 2;
    packed[middle] ^= 0x55;
    assert!(refusal(&packed).contains("does not unpack"));
    assert!(
        refusal(&gzip(
            b"not a kernel at all, but long enough to have a header of 64 bytes....."
        ))
        .contains("its payload is not a kernel")
    );
    assert!(refusal(&zboot("gzip", b"")).contains("empty payload"));
    assert!(refusal(&zboot("gzip", &zstd(&image(8192)))).contains("does not unpack"));
}

#[test]
fn unsupported_compressions_are_named() {
    assert!(refusal(&zboot("lzma", b"x")).contains("compressed with lzma"));
    assert!(
        refusal(&zboot("\x1b[2J", b"x")).contains("\\u{1b}"),
        "no escape reaches a terminal"
    );
    assert!(refusal(b"\xfd7zXZ\0............").contains("compressed with xz"));
}

#[test]
fn other_machines_kernels_are_named() {
    let with = |at: usize, bytes: &[u8]| {
        let mut file = vec![0; 4096];
        file[at..at + bytes.len()].copy_from_slice(bytes);
        file
    };
    assert!(refusal(&with(0x202, b"HdrS")).contains("x86 bzImage"));
    assert!(refusal(&with(36, &0x016f_2818_u32.to_le_bytes())).contains("32-bit Arm zImage"));
    assert!(refusal(&with(0x38, b"RSC\x05")).contains("RISC-V"));
    assert!(
        refusal(&with(
            0,
            b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\xb7\0"
        ))
        .contains("ELF")
    );
    assert!(refusal(&[0; 4096]).contains("is not a kernel"));
    let mut efi = zboot("gzip", b"x");
    efi[68..70].copy_from_slice(&0x8664_u16.to_le_bytes());
    assert!(refusal(&efi).contains("x86-64"));
}

#[test]
fn big_endian_and_impossible_headers_are_refused() {
    let mut bytes = image(MIB as usize);
    bytes[24] |= 1;
    assert!(refusal(&bytes).contains("big-endian"));
    let mut bytes = image(MIB as usize);
    bytes[8..16].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(refusal(&bytes).contains("text offset"));
}

#[test]
fn over_large_kernels_are_refused() {
    let mut bytes = image(MIB as usize);
    for size in [33 * MIB, u64::MAX] {
        bytes[16..24].copy_from_slice(&size.to_le_bytes());
        assert!(refusal(&bytes).contains("--memory"), "{size:#x}");
        assert!(refusal(&gzip(&bytes)).contains("--memory"), "{size:#x}");
    }
}

#[test]
fn a_payload_larger_than_its_header_says_is_refused() {
    let mut bytes = image(4 * MIB as usize);
    bytes[16..24].copy_from_slice(&(2 * MIB).to_le_bytes());
    assert!(refusal(&gzip(&bytes)).contains("more than its header says"));
}

#[test]
fn initrds_go_behind_the_kernel() {
    let memory = memory(32 * MIB);
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&[7; 5000]).unwrap();
    let initrd = load_initrd(file.path(), &memory, GuestAddress(RAM_BASE + 4097)).unwrap();
    assert_eq!(initrd.start, GuestAddress(RAM_BASE + 8192));
    assert_eq!(initrd.end, GuestAddress(RAM_BASE + 8192 + 5000));
    let mut last = [0; 2];
    memory
        .read_slice(&mut last, GuestAddress(initrd.end.0 - 1))
        .unwrap();
    assert_eq!(last, [7, 0]);
}

#[test]
fn bad_initrds_are_refused() {
    let memory = memory(32 * MIB);
    let load = |path: &Path, at: u64| load_initrd(path, &memory, GuestAddress(at));
    let sentence = |path: &Path, at: u64| load(path, at).unwrap_err().to_string();
    assert!(sentence(Path::new("/nonexistent"), RAM_BASE).contains("no such file"));
    let mut file = tempfile::NamedTempFile::new().unwrap();
    assert!(sentence(file.path(), RAM_BASE).ends_with("is empty"));
    file.write_all(&[7; 5000]).unwrap();
    assert!(sentence(file.path(), RAM_BASE + 32 * MIB - 4096).contains("--memory"));
    assert!(sentence(file.path(), u64::MAX).contains("does not fit"));
    assert!(load(file.path(), RAM_BASE + 32 * MIB - 8192).is_ok());
}

#[test]
fn page_sizes_are_checked_against_the_cpu() {
    use image::PageSize;
    // 4 KiB only: TGran4 = 0, TGran16 = 0, TGran64 = 0xf.
    let only_4k = 0x0f << 24;
    assert!(PageSize::Kib4.on_cpu(only_4k) && PageSize::Unknown.on_cpu(only_4k));
    assert!(!PageSize::Kib16.on_cpu(only_4k) && !PageSize::Kib64.on_cpu(only_4k));
    assert!(PageSize::Kib16.on_cpu(1 << 20) && PageSize::Kib64.on_cpu(0));
    assert!(!PageSize::Kib4.on_cpu(0xf << 28));
}
