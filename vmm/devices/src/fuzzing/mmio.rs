// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The transport: registers written and read in any order and size, against a small device. What
//! identifies the device never changes, and DRIVER_OK is never seen without FEATURES_OK.

use super::{Script, run};
use crate::rng::Rng;
use crate::testing::Rig;

/// Runs one input. Nothing is negotiated beforehand.
pub fn mmio(data: &[u8]) {
    let mut script = Script(data);
    let mut rig = Rig::new(Box::<Rng>::default());
    run(&mut rig, &mut script, |rig, step, script| {
        // One-byte operands for the registers of a bring-up, which random words would never reach.
        match step % 4 {
            0 => rig.set(0x70, u32::from(script.u8())),
            1 => {
                let register = [0x20, 0x24, 0x30, 0x38, 0x44, 0x50, 0x64, 0x14];
                let register = register[usize::from(script.u8()) % register.len()];
                rig.set(register, u32::from(script.u8()));
            }
            2 => {
                let register = [0x80, 0x90, 0xa0][usize::from(script.u8()) % 3];
                let addr = script.addr();
                rig.set(register, addr as u32);
                rig.set(register + 4, (addr >> 32) as u32);
            }
            _ => super::sources(rig),
        }
        rig.serve(0);
        let status = rig.status();
        assert!(
            status & 4 == 0 || status & 8 != 0,
            "DRIVER_OK without FEATURES_OK: {status}"
        );
        assert_eq!((rig.get(0), rig.get(4), rig.get(8)), (0x7472_6976, 2, 4));
        assert_eq!(rig.get(0x60) & !3, 0);
    });
}
