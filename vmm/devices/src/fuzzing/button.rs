// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Power button: the driver gets whole presses, in order, one event per buffer, whatever it does
//! with its queues and with the queries of the configuration space.

use super::{Script, run, start};
use crate::MmioDevice;
use crate::button::Button;
use crate::testing::Rig;

const CONFIG: u64 = 0x100;

/// Runs one input.
#[allow(clippy::expect_used)]
pub fn button(data: &[u8]) {
    let mut script = Script(data);
    let (device, finger) = Button::new().expect("an eventfd");
    let mut rig = Rig::new(Box::new(device));
    start(&mut rig, &mut script);
    run(&mut rig, &mut script, |rig, step, script| {
        match step % 4 {
            0 => finger.press().expect("an eventfd"),
            1 => query(rig, script),
            _ => super::sources(rig),
        }
        let (presses, events) = (rig.counter("presses"), rig.counter("events"));
        assert!(
            events <= 4 * presses,
            "{events} events of {presses} presses"
        );
        assert_eq!(
            finger.has_driver(),
            rig.status() & 0x44 == 4,
            "{:#x}",
            rig.status()
        );
    });
}

/// Asks for a piece of the configuration; its size is within it, and what is behind it is zero.
fn query(rig: &mut Rig, script: &mut Script<'_>) {
    rig.virtio.write(CONFIG, &[script.u8() % 20]);
    rig.virtio.write(CONFIG + 1, &[script.u8() % 3]);
    let mut size = [0];
    rig.virtio.read(CONFIG + 2, &mut size);
    assert!(size[0] <= 128);
    for at in u64::from(size[0])..128 {
        let mut byte = [0xff];
        rig.virtio.read(CONFIG + 8 + at, &mut byte);
        assert_eq!(byte, [0], "at {at} of {}", size[0]);
    }
}
