// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
use virtio_bindings::virtio_mmio::{VIRTIO_MMIO_CONFIG, VIRTIO_MMIO_STATUS};
use vmm_sys_util::epoll::EventSet;

use super::*;
use crate::MmioDevice;
use crate::testing::{BUFFERS, Buf, Rig};

const CONFIG: u64 = VIRTIO_MMIO_CONFIG as u64;

fn bench() -> (Rig, PowerButton) {
    let (button, finger) = Button::new().unwrap();
    let mut rig = Rig::new(Box::new(button));
    rig.start(0);
    (rig, finger)
}

/// A press as the event loop delivers it.
fn press(rig: &Rig, finger: &PowerButton) {
    finger.press().unwrap();
    assert!(rig.source(CONTROL, EventSet::IN), "nobody watches");
}

/// Gives the driver's buffers to the device.
fn offer(rig: &mut Rig, count: u64) {
    for index in 0..count {
        rig.add(EVENTS, &[Buf::Write(BUFFERS + index * 8, 8)]);
    }
    rig.notify(EVENTS);
    rig.serve(EVENTS);
}

fn event((kind, code, value): InputEvent) -> Vec<u8> {
    [
        &kind.to_le_bytes()[..],
        &code.to_le_bytes(),
        &value.to_le_bytes(),
    ]
    .concat()
}

fn query(rig: &mut Rig, select: u32, subsel: u8) -> Vec<u8> {
    rig.virtio.write(CONFIG, &[select as u8]);
    rig.virtio.write(CONFIG + 1, &[subsel]);
    let mut size = [0];
    rig.virtio.read(CONFIG + 2, &mut size);
    let byte = |rig: &mut Rig, at: u64| {
        let mut byte = [0];
        rig.virtio.read(CONFIG + 8 + at, &mut byte);
        byte[0]
    };
    (0..u64::from(size[0])).map(|at| byte(rig, at)).collect()
}

#[test]
fn it_says_that_it_is_a_button() {
    let (mut rig, _) = bench();
    assert_eq!(query(&mut rig, CFG_ID_NAME, 0), NAME);
    assert_eq!(query(&mut rig, CFG_ID_DEVIDS, 0), [6, 0, 0, 0, 0, 0, 1, 0]);
    let mut keys = [0; 15];
    keys[14] = 1 << 4;
    assert_eq!(query(&mut rig, CFG_EV_BITS, 1), keys);
    for (select, subsel) in [(0, 0), (CFG_ID_NAME, 1), (CFG_EV_BITS, 0), (255, 255)] {
        assert_eq!(query(&mut rig, select, subsel), [0; 0], "{select} {subsel}");
    }
}

#[test]
fn a_press_is_a_key_down_and_up() {
    let (mut rig, finger) = bench();
    offer(&mut rig, 6);
    assert_eq!(rig.used(EVENTS), None, "nothing to tell yet");
    press(&rig, &finger);
    for (index, expected) in (0..).zip(PRESS) {
        let (_, len) = rig.used(EVENTS).unwrap();
        assert_eq!(len, 8);
        assert_eq!(rig.take(BUFFERS + index * 8, 8), event(expected));
    }
    assert_eq!(rig.used(EVENTS), None);
    assert_eq!((rig.counter("presses"), rig.counter("events")), (1, 4));
    assert!(rig.interrupts() > 0);
}

#[test]
fn events_wait_for_buffers_and_presses_for_the_one_under_way() {
    let (mut rig, finger) = bench();
    offer(&mut rig, 1);
    press(&rig, &finger);
    press(&rig, &finger);
    assert!(rig.used(EVENTS).is_some());
    assert!(rig.used(EVENTS).is_none());
    offer(&mut rig, 8);
    assert_eq!((0..9).filter_map(|_| rig.used(EVENTS)).count(), 3);
    assert_eq!((rig.counter("presses"), rig.counter("events")), (1, 4));
    press(&rig, &finger);
    assert_eq!(rig.counter("events"), 8);
}

#[test]
fn the_driver_is_there_from_its_start_to_its_reset() {
    let (button, finger) = Button::new().unwrap();
    let mut rig = Rig::new(Box::new(button));
    finger.press().unwrap();
    assert!(!finger.has_driver());
    rig.start(0);
    assert!(finger.has_driver());
    assert_eq!(rig.counter("presses"), 0);
    offer(&mut rig, 1);
    press(&rig, &finger);
    rig.set(VIRTIO_MMIO_STATUS, 0);
    assert!(!finger.has_driver());
    assert!(
        !rig.source(CONTROL, EventSet::IN),
        "a source is left behind"
    );
    rig.start(0);
    offer(&mut rig, 4);
    assert_eq!(
        rig.used(EVENTS),
        None,
        "the rest of a press went with the driver"
    );
}

#[test]
fn a_buffer_that_cannot_take_an_event_breaks_the_ring() {
    for buf in [Buf::Read(BUFFERS, 8), Buf::Write(BUFFERS, 7)] {
        let (mut rig, finger) = bench();
        rig.add(EVENTS, &[buf]);
        rig.notify(EVENTS);
        rig.serve(EVENTS);
        assert!(!rig.needs_reset());
        press(&rig, &finger);
        assert!(rig.needs_reset());
    }
}

#[test]
fn what_the_driver_says_is_taken_and_not_answered() {
    let (mut rig, _) = bench();
    rig.request(STATUS, &[Buf::Read(BUFFERS, 8)]);
    assert_eq!(rig.used(STATUS), Some((0, 0)));
}
