// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Network: each outgoing packet has a header with negotiated offloads only, and is a frame.

use super::{Script, run, start};
use crate::net;
use crate::testing::Rig;

/// Runs one input.
#[allow(clippy::expect_used)]
pub fn net(data: &[u8]) {
    let mut script = Script(data);
    let (device, wire) = net::stand_in().expect("a socket pair");
    let mut rig = Rig::new(Box::new(device));
    start(&mut rig, &mut script);
    let mut frame = vec![0; 70_000];
    run(&mut rig, &mut script, |rig, step, script| {
        if step & 1 == 0 {
            // Something arrives: often a frame, sometimes less than its header.
            let len = script.len() as usize % frame.len();
            let _ = wire.send(&frame[..len]);
            super::sources(rig);
        } else if let Ok(len) = wire.recv(&mut frame) {
            assert!(len >= 12 + 14, "{len} bytes are no frame");
            assert_eq!(frame[0] & !1, 0, "flags that belong to the receiver");
            assert!(
                matches!(frame[1] & 0x7f, 0 | 1 | 4),
                "GSO type {}",
                frame[1]
            );
            assert!(frame[1] == 0 || frame[0] == 1, "GSO without a checksum");
            assert_eq!(frame[10..12], [0, 0]);
            frame.fill(0);
        }
    });
}
