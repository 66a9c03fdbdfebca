// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
use super::*;

const OFFERED: u64 = 1 << VIRTIO_F_VERSION_1 | 0b101;

fn regs() -> Regs {
    Regs::new(2, OFFERED, &[256, 64])
}

/// Registers after FEATURES_OK.
fn negotiated() -> Regs {
    let regs = regs();
    assert_eq!(regs.write(VIRTIO_MMIO_STATUS, 1), Action::None);
    assert_eq!(regs.write(VIRTIO_MMIO_STATUS, 3), Action::None);
    regs.write(VIRTIO_MMIO_DRIVER_FEATURES_SEL, 1);
    assert_eq!(regs.write(VIRTIO_MMIO_DRIVER_FEATURES, 1), Action::None);
    assert_eq!(regs.write(VIRTIO_MMIO_STATUS, 11), Action::None);
    assert_eq!(regs.read(VIRTIO_MMIO_STATUS), Some(11));
    regs
}

/// A reset shows when it is done, not before.
fn resets(regs: &Regs) {
    let before = regs.read(VIRTIO_MMIO_STATUS);
    assert_eq!(regs.write(VIRTIO_MMIO_STATUS, 0), Action::Reset);
    assert_eq!(regs.read(VIRTIO_MMIO_STATUS), before);
    regs.reset();
    assert_eq!(regs.read(VIRTIO_MMIO_STATUS), Some(0));
    assert_eq!(regs.features(), 0);
    for index in 0..2 {
        assert_eq!(regs.queue(index).setup(), RingSetup::default());
        assert!(!regs.queue(index).ready());
    }
}

fn is_refused(action: Action) -> bool {
    matches!(action, Action::Refused(_))
}

#[test]
fn identity() {
    let regs = regs();
    assert_eq!(regs.read(VIRTIO_MMIO_MAGIC_VALUE), Some(0x7472_6976));
    assert_eq!(regs.read(VIRTIO_MMIO_VERSION), Some(2));
    assert_eq!(regs.read(VIRTIO_MMIO_DEVICE_ID), Some(2));
    assert_eq!(
        regs.read(VIRTIO_MMIO_VENDOR_ID),
        Some(u32::from_le_bytes(*b"armv"))
    );
    assert_eq!(regs.read(VIRTIO_MMIO_DEVICE_FEATURES), Some(0b101));
    regs.write(VIRTIO_MMIO_DEVICE_FEATURES_SEL, 1);
    assert_eq!(regs.read(VIRTIO_MMIO_DEVICE_FEATURES), Some(1));
    regs.write(VIRTIO_MMIO_DEVICE_FEATURES_SEL, 2);
    assert_eq!(regs.read(VIRTIO_MMIO_DEVICE_FEATURES), Some(0));
    assert_eq!(regs.read(VIRTIO_MMIO_SHM_LEN_LOW), Some(u32::MAX));
}

#[test]
fn status_goes_up_in_order_and_down_by_reset_only() {
    for (from, to) in [
        (0, 2),
        (0, 4),
        (0, 8),
        (0, 15),
        (1, 5),
        (1, 9),
        (3, 7),
        (3, 2),
        (3, 1),
        (0, 16),
    ] {
        let regs = regs();
        for step in [1, 3] {
            if step <= from {
                assert_eq!(regs.write(VIRTIO_MMIO_STATUS, step), Action::None);
            }
        }
        assert!(
            is_refused(regs.write(VIRTIO_MMIO_STATUS, to)),
            "{from} to {to}"
        );
        assert_eq!(regs.read(VIRTIO_MMIO_STATUS), Some(from), "{from} to {to}");
    }
    let regs = negotiated();
    assert_eq!(regs.write(VIRTIO_MMIO_STATUS, 15), Action::Activate);
    assert_eq!(regs.write(VIRTIO_MMIO_STATUS, 15), Action::None);
    assert!(regs.live());
    assert!(is_refused(regs.write(VIRTIO_MMIO_STATUS, 11)));
    assert_eq!(regs.write(VIRTIO_MMIO_STATUS, 15 | 128), Action::None);
    assert!(!regs.live());
    resets(&regs);
}

#[test]
fn features_are_a_subset_with_version_1() {
    // (low word, high word, accepted): the second is a legacy driver that ignored the version.
    for (low, high, accepted) in [
        (0b101, 1, true),
        (0b101, 0, false),
        (0b111, 1, false),
        (0, 3, false),
        (0b100, 1, true),
    ] {
        let regs = regs();
        assert!(
            is_refused(regs.write(VIRTIO_MMIO_DRIVER_FEATURES, low)),
            "before DRIVER"
        );
        regs.write(VIRTIO_MMIO_STATUS, 1);
        regs.write(VIRTIO_MMIO_STATUS, 3);
        regs.write(VIRTIO_MMIO_DRIVER_FEATURES, low);
        regs.write(VIRTIO_MMIO_DRIVER_FEATURES_SEL, 1);
        regs.write(VIRTIO_MMIO_DRIVER_FEATURES, high);
        assert_eq!(
            is_refused(regs.write(VIRTIO_MMIO_STATUS, 11)),
            !accepted,
            "{low:b} {high:b}"
        );
        assert_eq!(
            regs.read(VIRTIO_MMIO_STATUS),
            Some(if accepted { 11 } else { 3 })
        );
        if accepted {
            assert!(is_refused(regs.write(VIRTIO_MMIO_DRIVER_FEATURES, 0)));
            assert_eq!(regs.features(), u64::from(high) << 32 | u64::from(low));
        }
    }
    let regs = regs();
    regs.write(VIRTIO_MMIO_STATUS, 1);
    regs.write(VIRTIO_MMIO_STATUS, 3);
    regs.write(VIRTIO_MMIO_DRIVER_FEATURES_SEL, 2);
    assert_eq!(regs.write(VIRTIO_MMIO_DRIVER_FEATURES, 0), Action::None);
    assert!(is_refused(regs.write(VIRTIO_MMIO_DRIVER_FEATURES, 1)));
}

#[test]
fn queues_are_set_up_between_features_and_driver_ok() {
    let early = regs();
    assert!(is_refused(early.write(VIRTIO_MMIO_QUEUE_NUM, 8)));
    assert!(is_refused(early.write(VIRTIO_MMIO_QUEUE_READY, 1)));

    let regs = negotiated();
    regs.write(VIRTIO_MMIO_QUEUE_SEL, 1);
    assert_eq!(regs.read(VIRTIO_MMIO_QUEUE_NUM_MAX), Some(64));
    for (offset, value) in [
        (0x38, 8),
        (0x80, 0x1000),
        (0x84, 7),
        (0x90, 0x2000),
        (0xa4, 0x3000),
    ] {
        assert_eq!(regs.write(offset, value), Action::None);
    }
    let setup = regs.queue(1).setup();
    assert_eq!(
        setup,
        RingSetup {
            size: 8,
            desc: 0x7_0000_1000,
            avail: 0x2000,
            used: 0x3000 << 32
        }
    );
    assert_eq!(regs.write(VIRTIO_MMIO_QUEUE_READY, 1), Action::Enable(1));
    assert_eq!(
        regs.read(VIRTIO_MMIO_QUEUE_READY),
        Some(0),
        "the transport checks it first"
    );
    regs.set_ready(1, true);
    assert_eq!(regs.read(VIRTIO_MMIO_QUEUE_READY), Some(1));
    assert!(is_refused(regs.write(VIRTIO_MMIO_QUEUE_NUM, 16)));
    assert!(is_refused(regs.write(VIRTIO_MMIO_QUEUE_READY, 2)));
    assert!(
        is_refused(regs.write(0x88, 0)),
        "a gap between the registers"
    );
    assert_eq!(regs.write(VIRTIO_MMIO_QUEUE_READY, 0), Action::Stop(1));
    assert_eq!(
        regs.read(VIRTIO_MMIO_QUEUE_READY),
        Some(1),
        "the transport stops it first"
    );
    regs.set_ready(1, false);
    assert_eq!(regs.read(VIRTIO_MMIO_QUEUE_READY), Some(0));
    assert_eq!(regs.write(VIRTIO_MMIO_STATUS, 15), Action::Activate);
    assert!(is_refused(regs.write(VIRTIO_MMIO_QUEUE_READY, 1)));
    assert!(is_refused(regs.write(VIRTIO_MMIO_QUEUE_NUM, 16)));
}

#[test]
fn queues_that_do_not_exist() {
    let regs = negotiated();
    for select in [2, 1000, u32::MAX] {
        regs.write(VIRTIO_MMIO_QUEUE_SEL, select);
        assert_eq!(regs.read(VIRTIO_MMIO_QUEUE_NUM_MAX), Some(0));
        assert_eq!(regs.read(VIRTIO_MMIO_QUEUE_READY), Some(0));
        assert!(is_refused(regs.write(VIRTIO_MMIO_QUEUE_NUM, 8)));
        assert!(is_refused(regs.write(VIRTIO_MMIO_QUEUE_READY, 1)));
        assert!(is_refused(regs.write(VIRTIO_MMIO_QUEUE_NOTIFY, select)));
    }
    assert_eq!(regs.write(VIRTIO_MMIO_QUEUE_NOTIFY, 1), Action::Notify(1));
}

#[test]
fn the_devices_own_bit_cannot_be_written() {
    let regs = negotiated();
    assert_eq!(regs.write(VIRTIO_MMIO_STATUS, 15 | 64), Action::Activate);
    assert_eq!(regs.read(VIRTIO_MMIO_STATUS), Some(15));
    regs.set_needs_reset();
    assert!(!regs.live());
    assert_eq!(
        regs.write(VIRTIO_MMIO_STATUS, 15),
        Action::None,
        "cannot be cleared"
    );
    assert_eq!(regs.read(VIRTIO_MMIO_STATUS), Some(15 | 64));
    let regs = negotiated();
    regs.set_needs_reset();
    assert!(
        is_refused(regs.write(VIRTIO_MMIO_STATUS, 15)),
        "cannot start before a reset"
    );
    assert_eq!(regs.write(VIRTIO_MMIO_STATUS, 11 | 128), Action::None);
    resets(&regs);
}

#[test]
fn registers_of_other_versions_and_directions() {
    let regs = negotiated();
    for offset in [
        VIRTIO_MMIO_GUEST_PAGE_SIZE,
        VIRTIO_MMIO_QUEUE_ALIGN,
        VIRTIO_MMIO_QUEUE_PFN,
    ] {
        assert!(
            is_refused(regs.write(offset, 4096)),
            "legacy register {offset:#x}"
        );
        assert_eq!(regs.read(offset), None);
    }
    for offset in [
        VIRTIO_MMIO_MAGIC_VALUE,
        VIRTIO_MMIO_VERSION,
        VIRTIO_MMIO_QUEUE_NUM_MAX,
        0xfc,
    ] {
        assert!(is_refused(regs.write(offset, 1)), "read-only {offset:#x}");
    }
    for offset in [
        VIRTIO_MMIO_QUEUE_NOTIFY,
        VIRTIO_MMIO_QUEUE_NUM,
        VIRTIO_MMIO_DRIVER_FEATURES,
    ] {
        assert_eq!(regs.read(offset), None, "write-only {offset:#x}");
    }
}
