// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The PL031 real-time clock on the MMIO bus, with the alarm that wakes a sleeping guest.
//!
//! The alarm is a timer on the host's real-time clock, so it stays right when somebody sets that
//! clock. The main loop waits for it.
//!
//! `registers` is held during an access, which includes setting the timer and sending the
//! interrupt: system calls that wait for nobody. So the timer and the match register never differ,
//! and each alarm is one edge. A timer that has fired is handled before it is set anew: if the
//! guest moves the alarm too late, it still gets it, even if the main loop has not seen it yet.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use armvisor_devices::{Interrupt, MmioDevice};
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};
use vm_superio::Rtc;
use vm_superio::rtc_pl031::{NoEvents, RtcState};

/// RTCDR, the time.
const DATA: u16 = 0;
/// RTCMR, RTCLR and RTCCR: when the alarm is, and what changes the time. Other registers, and what
/// these hold, are the library's.
const MATCH: u16 = 4;
const LOAD: u16 = 8;
const CONTROL: u16 = 0xc;

/// PL031 (Arm DDI 0224) with the host's clock.
pub struct RealTimeClock {
    registers: Mutex<Rtc<NoEvents>>,
    timer: OwnedFd,
    interrupt: Box<dyn Interrupt>,
}

fn register(offset: u64) -> Option<u16> {
    u16::try_from(offset).ok().filter(|offset| offset % 4 == 0)
}

/// The host's clock without a system call: the library asks the C library, and musl's asks the kernel.
fn seconds() -> i64 {
    clock_gettime(ClockId::Realtime).tv_sec
}

/// RTCDR at a second of the host's clock.
fn time_at(host: i64, state: &RtcState) -> u32 {
    host.wrapping_add(state.offset) as u32
}

/// RTCMIS: whether the interrupt's line is up.
fn is_raised(registers: &Rtc<NoEvents>) -> bool {
    let state = registers.state();
    state.ris & state.imsc != 0
}

impl RealTimeClock {
    /// A clock with the host's time; one `trigger` is one alarm.
    pub fn new(interrupt: Box<dyn Interrupt>) -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        Ok(RealTimeClock {
            registers: Mutex::new(Rtc::new()),
            timer: timerfd_create(TimerfdClockId::Realtime, flags)?,
            interrupt,
        })
    }

    /// Becomes readable when the main loop should call [`RealTimeClock::alarm`].
    pub fn timer_fd(&self) -> RawFd {
        self.timer.as_raw_fd()
    }

    /// Raises the alarm if the timer has fired.
    pub fn alarm(&self) {
        self.change(|registers| self.take_alarm(registers));
    }

    fn lock(&self) -> MutexGuard<'_, Rtc<NoEvents>> {
        self.registers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `action` on the registers, and sends an edge if the interrupt's line has gone up.
    fn change(&self, action: impl FnOnce(&mut Rtc<NoEvents>)) {
        let mut registers = self.lock();
        let raised = is_raised(&registers);
        action(&mut registers);
        if !raised && is_raised(&registers) {
            if let Err(error) = self.interrupt.trigger() {
                log::error!("clock: cannot interrupt the guest: {error}");
            }
        }
    }

    /// Sets RTCRIS if the timer has fired since it was set or taken.
    fn take_alarm(&self, registers: &mut Rtc<NoEvents>) {
        if rustix::io::read(&self.timer, &mut [0; 8]).is_ok() {
            let state = RtcState {
                ris: 1,
                ..registers.state()
            };
            *registers = Rtc::from_state(&state, NoEvents);
        }
    }

    /// Sets the timer to the second in which the time will be the match register's. The time is a
    /// number of 32 bits, so it comes to each value.
    fn set_timer(&self, state: &RtcState) {
        let now = seconds();
        let left = state.mr.wrapping_sub(time_at(now, state));
        let second = |tv_sec| Timespec { tv_sec, tv_nsec: 0 };
        let spec = Itimerspec {
            it_interval: second(0),
            it_value: second(now + i64::from(left)),
        };
        if let Err(error) = timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &spec) {
            log::error!("clock: cannot set the alarm: {error}");
        }
    }
}

impl MmioDevice for RealTimeClock {
    /// Registers have 32 bits; other accesses read zero.
    fn read(&self, offset: u64, data: &mut [u8]) {
        data.fill(0);
        let (Some(offset), Ok(data)) = (register(offset), <&mut [u8; 4]>::try_from(data)) else {
            return;
        };
        let mut registers = self.lock();
        if offset == DATA {
            *data = time_at(seconds(), &registers.state()).to_le_bytes();
        } else {
            registers.read(offset, data);
        }
    }

    fn write(&self, offset: u64, data: &[u8]) {
        let (Some(offset), Ok(data)) = (register(offset), <&[u8; 4]>::try_from(data)) else {
            return;
        };
        self.change(|registers| {
            let moves_alarm = matches!(offset, MATCH | LOAD | CONTROL);
            if moves_alarm {
                self.take_alarm(registers);
            }
            registers.write(offset, data);
            if moves_alarm {
                self.set_timer(&registers.state());
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::{SystemTime, UNIX_EPOCH};

    use vmm_sys_util::epoll::{ControlOperation, Epoll, EpollEvent, EventSet};

    use super::*;

    #[derive(Clone, Default)]
    struct Line(Arc<AtomicU32>);

    impl Interrupt for Line {
        fn trigger(&self) -> io::Result<()> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
    }

    impl Line {
        fn edges(&self) -> u32 {
            self.0.load(Ordering::Relaxed)
        }
    }

    fn clock() -> (RealTimeClock, Line) {
        let line = Line::default();
        (RealTimeClock::new(Box::new(line.clone())).unwrap(), line)
    }

    fn read(rtc: &RealTimeClock, offset: u64) -> u32 {
        let mut data = [0xff; 4];
        rtc.read(offset, &mut data);
        u32::from_le_bytes(data)
    }

    fn write(rtc: &RealTimeClock, offset: u64, value: u32) {
        rtc.write(offset, &value.to_le_bytes());
    }

    /// Sets the alarm to a second that comes, and says which. The second has not passed if the time is
    /// not later once it is set; else the test was stopped for longer, and sets another one.
    fn set_alarm(rtc: &RealTimeClock) -> u32 {
        loop {
            let second = read(rtc, 0).wrapping_add(1);
            write(rtc, 4, second);
            if read(rtc, 0) <= second {
                return second;
            }
            write(rtc, 4, second.wrapping_sub(50));
            write(rtc, 0x1c, 1);
        }
    }

    /// Waits until the main loop would look at the clock.
    fn wait_for_timer(rtc: &RealTimeClock) {
        let epoll = Epoll::new().unwrap();
        let event = EpollEvent::new(EventSet::IN, 0);
        epoll
            .ctl(ControlOperation::Add, rtc.timer_fd(), event)
            .unwrap();
        while epoll.wait(-1, &mut [EpollEvent::default()]).unwrap_or(0) == 0 {}
    }

    /// Does what the main loop does, until there has been an alarm.
    fn wait_for_alarm(rtc: &RealTimeClock) {
        wait_for_timer(rtc);
        rtc.alarm();
        assert_eq!(read(rtc, 0x14), 1);
    }

    #[test]
    fn it_tells_the_time_and_takes_another() {
        let (rtc, _) = clock();
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_secs() as u32;
        assert!(read(&rtc, 0).abs_diff(now) <= 1);
        write(&rtc, 8, 1_000_000);
        assert!(read(&rtc, 0).abs_diff(1_000_000) <= 1);
        write(&rtc, 8, u32::MAX);
        assert!(read(&rtc, 0).wrapping_add(1) <= 1);
        assert_eq!(read(&rtc, 0xfe0), 0x31);
    }

    #[test]
    fn an_alarm_comes_when_its_second_does_and_is_cleared() {
        let (rtc, line) = clock();
        write(&rtc, 8, 1_000_000);
        write(&rtc, 0x10, 1);
        let second = set_alarm(&rtc);
        assert!(second > 1_000_000);
        let before = line.edges();
        wait_for_alarm(&rtc);
        assert!(read(&rtc, 0) >= second);
        assert_eq!((read(&rtc, 0x18), line.edges()), (1, before + 1));
        // It has no further effect, and the next alarm is a new one.
        rtc.alarm();
        write(&rtc, 0x1c, 1);
        assert_eq!((read(&rtc, 0x14), line.edges()), (0, before + 1));
        set_alarm(&rtc);
        let before = line.edges();
        wait_for_alarm(&rtc);
        assert_eq!(line.edges(), before + 1);
    }

    #[test]
    fn a_masked_alarm_is_heard_when_it_is_unmasked() {
        let (rtc, line) = clock();
        set_alarm(&rtc);
        wait_for_alarm(&rtc);
        assert_eq!((read(&rtc, 0x18), line.edges()), (0, 0));
        write(&rtc, 0x10, 1);
        write(&rtc, 0x10, 1);
        assert_eq!((read(&rtc, 0x18), line.edges()), (1, 1));
    }

    #[test]
    fn an_alarm_that_is_moved_or_in_the_past_does_not_come_now() {
        let (rtc, line) = clock();
        write(&rtc, 0x10, 1);
        let now = read(&rtc, 0);
        write(&rtc, 4, now + 500_000);
        // Time reaches a match value in the past only after it has wrapped around.
        write(&rtc, 4, now.wrapping_sub(50));
        rtc.alarm();
        write(&rtc, 4, now + 1_000_000);
        rtc.alarm();
        assert_eq!((read(&rtc, 0x14), line.edges()), (0, 0));
        assert_eq!(read(&rtc, 4), now + 1_000_000);
    }

    #[test]
    fn an_alarm_that_is_moved_once_it_has_come_is_not_lost() {
        let (rtc, line) = clock();
        write(&rtc, 0x10, 1);
        let second = set_alarm(&rtc);
        let before = line.edges();
        // The main loop is late.
        wait_for_timer(&rtc);
        write(&rtc, 4, second.wrapping_add(1_000_000));
        assert_eq!((read(&rtc, 0x18), line.edges()), (1, before + 1));
        // It finds nothing left to do.
        rtc.alarm();
        write(&rtc, 0x1c, 1);
        rtc.alarm();
        assert_eq!((read(&rtc, 0x14), line.edges()), (0, before + 1));
    }

    #[test]
    fn odd_accesses_read_zero() {
        let (rtc, _) = clock();
        assert_eq!(read(&rtc, 2), 0);
        assert_eq!(read(&rtc, u64::MAX), 0);
        let mut eight = [0xff; 8];
        rtc.read(0, &mut eight);
        assert_eq!(eight, [0; 8]);
        rtc.write(8, &[1]);
        rtc.write(0xfff, &[0; 4]);
    }
}
