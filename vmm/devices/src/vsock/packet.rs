// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! `struct virtio_vsock_hdr`, copied to and from guest memory as a whole. (virtio-vsock's packet
//! type is not used: it re-reads fields from guest memory, takes chains of one or two descriptors
//! only, and wants the unchecked iterator.)

/// Bytes of a header; the data follows it.
pub(super) const HEADER: usize = 44;

/// VIRTIO_VSOCK_TYPE_STREAM, the only type without extra features.
pub(super) const TYPE_STREAM: u16 = 1;

pub(super) const OP_REQUEST: u16 = 1;
pub(super) const OP_RESPONSE: u16 = 2;
pub(super) const OP_RST: u16 = 3;
pub(super) const OP_SHUTDOWN: u16 = 4;
pub(super) const OP_RW: u16 = 5;
pub(super) const OP_CREDIT_UPDATE: u16 = 6;
pub(super) const OP_CREDIT_REQUEST: u16 = 7;

/// SHUTDOWN flags: the sender will not receive, will not send.
pub(super) const SHUTDOWN_RECEIVE: u32 = 1;
pub(super) const SHUTDOWN_SEND: u32 = 2;
pub(super) const SHUTDOWN_BOTH: u32 = SHUTDOWN_RECEIVE | SHUTDOWN_SEND;

/// The host's address.
pub(super) const HOST_CID: u64 = 2;

/// A packet's header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) src_cid: u64,
    pub(super) dst_cid: u64,
    pub(super) src_port: u32,
    pub(super) dst_port: u32,
    pub(super) len: u32,
    pub(super) kind: u16,
    pub(super) op: u16,
    pub(super) flags: u32,
    pub(super) buf_alloc: u32,
    pub(super) fwd_cnt: u32,
}

impl Header {
    pub(super) fn from_bytes(bytes: &[u8; HEADER]) -> Self {
        let u16_at = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let u32_at = |at: usize| u32::from(u16_at(at)) | u32::from(u16_at(at + 2)) << 16;
        let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
        Self {
            src_cid: u64_at(0),
            dst_cid: u64_at(8),
            src_port: u32_at(16),
            dst_port: u32_at(20),
            len: u32_at(24),
            kind: u16_at(28),
            op: u16_at(30),
            flags: u32_at(32),
            buf_alloc: u32_at(36),
            fwd_cnt: u32_at(40),
        }
    }

    pub(super) fn to_bytes(self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        let mut at = 0;
        let mut put = |field: &[u8]| {
            bytes[at..at + field.len()].copy_from_slice(field);
            at += field.len();
        };
        put(&self.src_cid.to_le_bytes());
        put(&self.dst_cid.to_le_bytes());
        put(&self.src_port.to_le_bytes());
        put(&self.dst_port.to_le_bytes());
        put(&self.len.to_le_bytes());
        put(&self.kind.to_le_bytes());
        put(&self.op.to_le_bytes());
        put(&self.flags.to_le_bytes());
        put(&self.buf_alloc.to_le_bytes());
        put(&self.fwd_cnt.to_le_bytes());
        bytes
    }

    /// The connection that a packet from the guest belongs to.
    pub(super) fn key(&self) -> Key {
        Key {
            host_port: self.dst_port,
            guest_port: self.src_port,
        }
    }

    /// The refusal of this packet.
    pub(super) fn refusal(&self) -> Self {
        Self {
            src_cid: self.dst_cid,
            dst_cid: self.src_cid,
            src_port: self.dst_port,
            dst_port: self.src_port,
            kind: self.kind,
            op: OP_RST,
            ..Self::default()
        }
    }
}

/// A connection's two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) host_port: u32,
    pub(super) guest_port: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_fields_agree() {
        let bytes: [u8; HEADER] = std::array::from_fn(|i| i as u8 + 1);
        let header = Header::from_bytes(&bytes);
        assert_eq!(header.src_cid, 0x0807_0605_0403_0201);
        assert_eq!(header.dst_port, 0x1817_1615);
        assert_eq!(header.kind, 0x1e1d);
        assert_eq!(header.op, 0x201f);
        assert_eq!(header.fwd_cnt, 0x2c2b_2a29);
        assert_eq!(header.to_bytes(), bytes);
    }
}
