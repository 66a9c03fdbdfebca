// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! qcow2 images whose tables are made here, good ones and damaged ones.

use std::io::Write;

use super::image_test::*;
use super::*;
use crate::outcome::ExitCode;

#[test]
fn an_image_is_in_order_when_the_vm_is_killed_after_any_change() {
    const REGION: u64 = 512 * MIB;
    let folder = folder();
    let (path, left) = (folder.path().join("a"), folder.path().join("left"));
    make(&path, 8 * REGION, None);
    let image = open_now(&path);
    let changes: [&dyn Fn(u64); 4] = [
        &|at| fill(&*image, 7, at + 4096, 4096),
        &|at| image.write_zeroes(at, 65536, true).unwrap(),
        &|at| image.write_zeroes(at, 65536, false).unwrap(),
        &|at| image.discard(at, 65536).unwrap(),
    ];
    for (index, change) in (0..).zip(changes) {
        change(index * REGION);
        std::fs::write(&left, std::fs::read(&path).unwrap()).unwrap();
        drop(open_now(&left));
    }
    // Two new tables by one write.
    fill(&*image, 8, 6 * REGION - 4096, 8192);
    std::fs::write(&left, std::fs::read(&path).unwrap()).unwrap();
    let left = open_now(&left);
    assert_eq!((get(&*left, 4096), get(&*left, 6 * REGION)), (7, 8));
}

/// A qcow2 of one cluster, which is compressed.
fn compressed(data: &[u8]) -> Vec<u8> {
    const CLUSTER: usize = 65536;
    let mut packed = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(data).unwrap();
    let packed = packed.finish().unwrap();
    let sectors = packed.len().div_ceil(512) as u64;
    let mut file = vec![0; 6 * CLUSTER];
    let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, b"QFI\xfb\0\0\0\x03");
    put(20, &16_u32.to_be_bytes());
    put(24, &(CLUSTER as u64).to_be_bytes());
    put(36, &1_u32.to_be_bytes());
    put(40, &(3 * CLUSTER as u64).to_be_bytes());
    put(48, &(CLUSTER as u64).to_be_bytes());
    put(56, &1_u32.to_be_bytes());
    put(96, &4_u32.to_be_bytes());
    put(100, &104_u32.to_be_bytes());
    put(CLUSTER, &(2 * CLUSTER as u64).to_be_bytes());
    for cluster in 0..6 {
        put(2 * CLUSTER + 2 * cluster, &1_u16.to_be_bytes());
    }
    put(
        3 * CLUSTER,
        &((1 << 63) | (4 * CLUSTER as u64)).to_be_bytes(),
    );
    // 62 - (16 - 8) bits are the offset.
    let entry = (1 << 62) | ((sectors - 1) << 54) | (5 * CLUSTER as u64);
    put(4 * CLUSTER, &entry.to_be_bytes());
    put(5 * CLUSTER, &packed);
    file
}

#[test]
fn compressed_clusters_are_read_and_written_over() {
    let folder = folder();
    let path = folder.path().join("a.qcow2");
    let data: Vec<u8> = (0..65536_u32).map(|i| (i / 7) as u8).collect();
    std::fs::write(&path, compressed(&data)).unwrap();
    let image = open_now(&path);
    let mut found = vec![0; 65536];
    read_at(&*image, &mut found, 0).unwrap();
    assert!(found == data);
    fill(&*image, 3, 1000, 1000);
    drop(image);
    read_at(&*open_now(&path), &mut found, 0).unwrap();
    assert!(found[..1000] == data[..1000] && found[2000..] == data[2000..]);
    assert_eq!(found[1000..2000], [3; 1000]);
}

#[test]
fn what_cannot_be_read_is_named_with_the_way_out() {
    let folder = folder();
    let path = folder.path().join("a");
    let data = compressed(&[1; 65536]);
    let said_after = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut data = data.clone();
        change(&mut data);
        std::fs::write(&path, data).unwrap();
        let refusal = open(&options(&path)).unwrap_err();
        assert_eq!(refusal.code, ExitCode::BadFile);
        refusal.to_string()
    };
    for (bit, text) in [
        (
            1,
            "was not closed by its last user; repair it with 'qemu-img check -r all",
        ),
        (2, "is marked as damaged; repair"),
        (
            8,
            "zstd, which armvisor does not read in a qcow2; unpack it with 'qemu-img convert",
        ),
        (16, "extended L2 entries"),
        (32, "cannot be used"),
    ] {
        let said = said_after(&|data| data[79] = bit);
        assert!(said.contains(text), "{said}");
    }
    let said = said_after(&|data| data[2 * 65536..2 * 65536 + 2].fill(0));
    assert!(said.contains("does not count all that is in use"), "{said}");
    assert!(said_after(&|data| data[35] = 1).contains("is encrypted"));
    assert!(said_after(&|data| data.truncate(70)).contains("is truncated"));
    assert!(said_after(&|data| data[..8].copy_from_slice(b"vhdxfile")).contains("VHDX format"));
    let said = said_after(&|data| data[..4].copy_from_slice(b"KDMV"));
    assert!(
        said.contains("is a VMDK, which armvisor only reads"),
        "{said}"
    );
}

/// What is said of a qcow2 of four clusters, of which `entries` are the first of the L2 table.
fn said_of_entries(entries: &[u64], count: u16) -> Option<String> {
    const CLUSTER: usize = 65536;
    let folder = folder();
    let path = folder.path().join("a");
    let mut data = compressed(&[1; CLUSTER]);
    data[24..32].copy_from_slice(&(4 * CLUSTER as u64).to_be_bytes());
    data[2 * CLUSTER + 10..2 * CLUSTER + 12].copy_from_slice(&count.to_be_bytes());
    for (index, entry) in entries.iter().enumerate() {
        let at = 4 * CLUSTER + 8 * index;
        data[at..at + 8].copy_from_slice(&entry.to_be_bytes());
    }
    std::fs::write(&path, data).unwrap();
    open(&options(&path)).err().map(|error| error.to_string())
}

#[test]
fn a_cluster_is_used_as_often_as_it_is_counted() {
    const AT: u64 = 5 * 65536;
    const COPIED: u64 = 1 << 63;
    for (entries, count, problem) in [
        (&[AT | COPIED][..], 1, None),
        (&[AT, AT], 2, None),
        (&[AT], 2, None),
        (&[AT | COPIED, AT | COPIED], 1, Some("does not count all")),
        (&[AT, AT, AT], 2, Some("does not count all")),
        (&[AT | COPIED], 2, Some("used once is used more")),
        (&[AT | COPIED, AT], 2, Some("used once is used more")),
        (&[AT, AT | COPIED], 2, Some("used once is used more")),
    ] {
        let said = said_of_entries(entries, count);
        match (&said, problem) {
            (None, None) => {}
            (Some(said), Some(problem)) => assert!(said.contains(problem), "{said}"),
            _ => panic!("{entries:x?}, {count}: {said:?}"),
        }
    }
}

/// Repeats by its seed.
fn random(seed: &mut u64) -> usize {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    (*seed >> 11) as usize
}

#[test]
fn damaged_images_end_in_a_sentence_or_an_error() {
    let folder = folder();
    let path = folder.path().join("a.qcow2");
    let good = compressed(&[1; 65536]);
    // The header, each table, and the compressed data, by their beginnings.
    let places = [0, 1, 2, 3, 4, 5].map(|cluster| cluster * 65536);
    let mut seed = 0x9e37_79b9_7f4a_7c15;
    for _ in 0..300 {
        let mut data = good.clone();
        for _ in 0..1 + random(&mut seed) % 4 {
            let at = places[random(&mut seed) % places.len()] + random(&mut seed) % 112;
            data[at] ^= 1 << (random(&mut seed) % 8);
        }
        if random(&mut seed).is_multiple_of(8) {
            data.truncate(random(&mut seed) % good.len());
        }
        std::fs::write(&path, data).unwrap();
        let Ok(image) = open(&options(&path)) else {
            continue;
        };
        let mut found = vec![0; 65536];
        let _ = read_at(&*image, &mut found, 0);
        let mut bytes = [2; 4096];
        let _ = image.write(vec![VolatileSlice::from(&mut bytes[..])], 4096);
        let _ = image.discard(0, 65536.min(image.bytes()));
        let _ = image.flush();
    }
}
