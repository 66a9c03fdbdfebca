// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! A budget for log lines that a guest can cause: `BURST` lines, then one per `REFILL`. The
//! caller's own counters count omitted lines.

use std::sync::Mutex;
use std::time::{Duration, Instant};

const BURST: u32 = 10;
const REFILL: Duration = Duration::from_secs(10);

/// One device's budget.
#[derive(Debug)]
pub(crate) struct LogLimit(Mutex<(u32, Instant)>);

impl LogLimit {
    pub(crate) fn new() -> Self {
        Self(Mutex::new((BURST, Instant::now())))
    }

    /// Whether one more line may be written now.
    pub(crate) fn allow(&self) -> bool {
        self.allow_at(Instant::now())
    }

    fn allow_at(&self, now: Instant) -> bool {
        let mut budget = crate::virtio::lock(&self.0);
        let earned = now.saturating_duration_since(budget.1).as_secs() / REFILL.as_secs();
        if earned > 0 {
            budget.0 = budget
                .0
                .saturating_add(u32::try_from(earned).unwrap_or(BURST))
                .min(BURST);
            budget.1 = now;
        }
        if budget.0 == 0 {
            return false;
        }
        budget.0 -= 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_cut_and_time_refills() {
        let limit = LogLimit::new();
        let start = Instant::now();
        let allowed = (0..1000).filter(|_| limit.allow_at(start)).count();
        assert_eq!(allowed, BURST as usize);
        let later = start + 3 * REFILL + Duration::from_secs(1);
        assert_eq!((0..1000).filter(|_| limit.allow_at(later)).count(), 3);
        let much_later = later + 1_000_000 * REFILL;
        assert_eq!(
            (0..1000).filter(|_| limit.allow_at(much_later)).count(),
            BURST as usize
        );
    }
}
