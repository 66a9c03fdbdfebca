// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! virtio-entropy from the host kernel's generator.
//!
//! A request gets at most `MAX_REQUEST` bytes, so that a guest that asks for gigabytes cannot delay
//! the other devices; drivers must accept fewer bytes than they asked for. Before the host's own
//! pool is seeded there are no bytes: the request stays on the ring, and is retried when the driver
//! notifies or the retry timer fires.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use virtio_bindings::virtio_ids::VIRTIO_ID_RNG;
use vmm_sys_util::epoll::EventSet;

use crate::GuestMemory;
use crate::sys;
use crate::virtio::chain::Chain;
use crate::virtio::ring::RingError;
use crate::virtio::{Context, Counter, Error, Event, Face, Served, Sources, VirtioDevice};

const QUEUE_SIZE: u16 = 64;
const MAX_REQUEST: usize = 64 << 10;
const STEP: usize = 4 << 10;
const RETRY: Duration = Duration::from_millis(100);
const TIMER: u32 = 0;

/// An entropy device (virtio 1.3, 5.4) that passes on the host's random numbers.
pub struct Rng {
    fill: fn(&mut [u8]) -> io::Result<usize>,
    timer: Option<OwnedFd>,
    counters: Arc<Counters>,
}

#[derive(Debug, Default)]
struct Counters {
    requests: Counter,
    bytes: Counter,
    unseeded: Counter,
}

impl Face for Counters {
    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("requests", self.requests.get()),
            ("bytes", self.bytes.get()),
            ("unseeded", self.unseeded.get()),
        ]
    }
}

impl Default for Rng {
    fn default() -> Self {
        Self::with_source(sys::random)
    }
}

impl Rng {
    fn with_source(fill: fn(&mut [u8]) -> io::Result<usize>) -> Self {
        Self {
            fill,
            timer: None,
            counters: Arc::default(),
        }
    }

    fn request(&mut self, mem: &GuestMemory, chain: &Chain) -> Result<Served, RingError> {
        if chain.read_len() != 0 {
            return Err(RingError::Direction);
        }
        let want = MAX_REQUEST.min(chain.write_len() as usize);
        let mut buf = [0; STEP];
        let mut given = 0;
        while given < want {
            let step = STEP.min(want - given);
            match (self.fill)(&mut buf[..step]) {
                Ok(got) if got > 0 => {
                    chain.write(mem, given as u32, &buf[..got])?;
                    given += got;
                }
                _ => break,
            }
        }
        if given == 0 {
            self.counters.unseeded.add(1);
            return Ok(Served::Later);
        }
        self.counters.requests.add(1);
        self.counters.bytes.add(given as u64);
        Ok(Served::Used(given as u32))
    }

    /// Serves the queue, and comes back later if the host had nothing to give.
    fn serve(&mut self, ctx: &mut Context<'_>) -> Result<(), RingError> {
        let before = self.counters.unseeded.get();
        ctx.serve(0, |mem, chain| self.request(mem, chain))?;
        if self.counters.unseeded.get() > before {
            self.arm(ctx.sources);
        }
        Ok(())
    }

    /// Without a timer the next notification retries, which is as well as we can do then.
    fn arm(&mut self, sources: &dyn Sources) {
        self.disarm(sources);
        let Ok(timer) = sys::timer(RETRY) else { return };
        if sources.add(timer.as_fd(), TIMER, EventSet::IN).is_ok() {
            self.timer = Some(timer);
        }
    }

    fn disarm(&mut self, sources: &dyn Sources) {
        if let Some(timer) = self.timer.take() {
            let _ = sources.remove(timer.as_fd());
        }
    }
}

impl VirtioDevice for Rng {
    fn name(&self) -> &'static str {
        "rng"
    }

    fn device_type(&self) -> u32 {
        VIRTIO_ID_RNG
    }

    fn features(&self) -> u64 {
        0
    }

    fn queue_sizes(&self) -> &[u16] {
        &[QUEUE_SIZE]
    }

    fn face(&self) -> Arc<dyn Face> {
        Arc::clone(&self.counters) as _
    }

    fn activate(&mut self, _ctx: &mut Context<'_>) -> Result<(), Error> {
        Ok(())
    }

    fn handle(&mut self, event: Event, ctx: &mut Context<'_>) -> Result<(), RingError> {
        if let Event::Source(..) = event {
            self.disarm(ctx.sources);
        }
        self.serve(ctx)
    }

    fn reset(&mut self, sources: &dyn Sources) {
        self.disarm(sources);
    }
}

#[cfg(test)]
#[path = "rng_test.rs"]
mod tests;
