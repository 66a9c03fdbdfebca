// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! `struct virtio_net_hdr_v1` from the driver: copied once, and passed on to the TAP only with the
//! negotiated offloads. The host kernel checks the header's offsets within the frame, which it has
//! to do anyway.

use virtio_bindings::virtio_net::{
    VIRTIO_NET_F_CSUM, VIRTIO_NET_F_HOST_ECN, VIRTIO_NET_F_HOST_TSO4, VIRTIO_NET_F_HOST_TSO6,
    VIRTIO_NET_HDR_F_NEEDS_CSUM, VIRTIO_NET_HDR_GSO_ECN, VIRTIO_NET_HDR_GSO_NONE,
    VIRTIO_NET_HDR_GSO_TCPV4, VIRTIO_NET_HDR_GSO_TCPV6,
};

/// Bytes before each frame, with or without mergeable buffers.
pub(super) const HEADER: usize = 12;
const FLAGS: usize = 0;
const GSO_TYPE: usize = 1;
const NUM_BUFFERS: usize = 10;

/// What to hand to the TAP for a header from the driver; `None` if it asks for an offload that was
/// not negotiated.
pub(super) fn sanitize(mut header: [u8; HEADER], features: u64) -> Option<[u8; HEADER]> {
    let has = |bit: u32| features & (1 << bit) != 0;
    let needs_csum = header[FLAGS] & VIRTIO_NET_HDR_F_NEEDS_CSUM as u8 != 0;
    let gso = u32::from(header[GSO_TYPE]);
    let gso_allowed = match gso & !VIRTIO_NET_HDR_GSO_ECN {
        VIRTIO_NET_HDR_GSO_NONE => gso == VIRTIO_NET_HDR_GSO_NONE,
        VIRTIO_NET_HDR_GSO_TCPV4 => needs_csum && has(VIRTIO_NET_F_HOST_TSO4),
        VIRTIO_NET_HDR_GSO_TCPV6 => needs_csum && has(VIRTIO_NET_F_HOST_TSO6),
        _ => false,
    };
    let ecn_allowed = gso & VIRTIO_NET_HDR_GSO_ECN == 0 || has(VIRTIO_NET_F_HOST_ECN);
    if !gso_allowed || !ecn_allowed || needs_csum && !has(VIRTIO_NET_F_CSUM) {
        return None;
    }
    // The other flags belong to the receiving side, and so does the number of buffers.
    header[FLAGS] &= VIRTIO_NET_HDR_F_NEEDS_CSUM as u8;
    header[NUM_BUFFERS..].fill(0);
    Some(header)
}

/// Notes over how many chains a received frame is spread.
pub(super) fn set_num_buffers(frame: &mut [u8], count: u16) {
    if let Some(field) = frame.get_mut(NUM_BUFFERS..HEADER) {
        field.copy_from_slice(&count.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(flags: u8, gso: u8) -> [u8; HEADER] {
        let mut header = [0x11; HEADER];
        header[FLAGS] = flags;
        header[GSO_TYPE] = gso;
        header
    }

    #[test]
    fn only_negotiated_offloads_pass() {
        let csum = 1 << VIRTIO_NET_F_CSUM;
        let tso4 = csum | 1 << VIRTIO_NET_F_HOST_TSO4;
        let tso6 = csum | 1 << VIRTIO_NET_F_HOST_TSO6;
        let ecn = tso4 | 1 << VIRTIO_NET_F_HOST_ECN;
        let cases = [
            (0, 0, 0, true),
            (1, 0, 0, false),
            (1, 0, csum, true),
            (1, 1, csum, false),
            (1, 1, tso4, true),
            (0, 1, tso4, false),
            (1, 1, tso6, false),
            (1, 4, tso6, true),
            (1, 4, tso4, false),
            (1, 0x81, tso4, false),
            (1, 0x81, ecn, true),
            (0, 0x80, ecn, false),
            (1, 3, u64::MAX, false),
            (1, 5, u64::MAX, false),
            (1, 0x7f, u64::MAX, false),
        ];
        for (flags, gso, features, passes) in cases {
            let got = sanitize(header(flags, gso), features);
            assert_eq!(got.is_some(), passes, "{flags} {gso:#x} {features:#x}");
        }
    }

    #[test]
    fn receive_fields_are_cleared() {
        let clean = sanitize(header(0xfe, 0), 0).unwrap();
        assert_eq!(clean[FLAGS], 0);
        assert_eq!(clean[NUM_BUFFERS..], [0, 0]);
        assert_eq!(clean[2..NUM_BUFFERS], [0x11; 8]);
    }
}
