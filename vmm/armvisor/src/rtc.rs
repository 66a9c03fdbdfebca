// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The PL031 real-time clock on the MMIO bus. It tells the time; it has no alarm interrupt. Its lock is
//! held for arithmetic only.

use std::sync::{Mutex, MutexGuard, PoisonError};

use armvisor_devices::MmioDevice;
use rustix::time::{ClockId, clock_gettime};
use vm_superio::Rtc;
use vm_superio::rtc_pl031::NoEvents;

/// RTCDR, the time. The other registers are the library's.
const DATA: u16 = 0;

pub struct RealTimeClock(Mutex<Rtc<NoEvents>>);

impl Default for RealTimeClock {
    fn default() -> Self {
        RealTimeClock(Mutex::new(Rtc::new()))
    }
}

fn register(offset: u64) -> Option<u16> {
    u16::try_from(offset).ok().filter(|offset| offset % 4 == 0)
}

impl RealTimeClock {
    fn lock(&self) -> MutexGuard<'_, Rtc<NoEvents>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// RTCDR without a system call: the library asks the C library, and musl's asks the kernel.
    fn seconds(&self) -> u32 {
        let now = clock_gettime(ClockId::Realtime).tv_sec;
        now.wrapping_add(self.lock().state().offset) as u32
    }
}

impl MmioDevice for RealTimeClock {
    /// Registers have 32 bits; other accesses read zero.
    fn read(&self, offset: u64, data: &mut [u8]) {
        data.fill(0);
        let (Some(offset), Ok(data)) = (register(offset), <&mut [u8; 4]>::try_from(data)) else {
            return;
        };
        if offset == DATA {
            *data = self.seconds().to_le_bytes();
        } else {
            self.lock().read(offset, data);
        }
    }

    fn write(&self, offset: u64, data: &[u8]) {
        if let (Some(offset), Ok(data)) = (register(offset), <&[u8; 4]>::try_from(data)) {
            self.lock().write(offset, data);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{SystemTime, UNIX_EPOCH};

    use super::*;

    fn read(rtc: &RealTimeClock, offset: u64) -> u32 {
        let mut data = [0xff; 4];
        rtc.read(offset, &mut data);
        u32::from_le_bytes(data)
    }

    #[test]
    fn it_tells_the_time_and_takes_another() {
        let rtc = RealTimeClock::default();
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_secs() as u32;
        assert!(read(&rtc, 0).abs_diff(now) <= 1);
        rtc.write(8, &1_000_000_u32.to_le_bytes());
        assert!(read(&rtc, 0).abs_diff(1_000_000) <= 1);
        rtc.write(8, &[0xff; 4]);
        assert!(read(&rtc, 0).wrapping_add(1) <= 1);
        assert_eq!(read(&rtc, 0xfe0), 0x31);
    }

    #[test]
    fn odd_accesses_read_zero() {
        let rtc = RealTimeClock::default();
        assert_eq!(read(&rtc, 2), 0);
        assert_eq!(read(&rtc, u64::MAX), 0);
        let mut eight = [0xff; 8];
        rtc.read(0, &mut eight);
        assert_eq!(eight, [0; 8]);
        rtc.write(8, &[1]);
        rtc.write(0xfff, &[0; 4]);
    }
}
