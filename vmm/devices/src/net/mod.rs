// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! virtio-net on a TAP, one queue pair.
//!
//! Sending: each chain is one frame behind its header. A frame that the host does not take (link
//! down, its queue full, offloads that were not negotiated) is dropped and counted, as hardware
//! would. A chain too short for a header, or with writable parts, breaks the ring.
//!
//! Receiving: a frame is read from the TAP only when the one before it was delivered. If the driver
//! has no room for it, it waits here and the TAP is not watched, so that the host's queue fills and
//! its senders notice: nothing is dropped, nothing spins. The driver's next buffers resume
//! reception. Only a frame for which there can never be room is dropped and counted.

mod header;
mod tap;

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use log::warn;
use virtio_bindings::virtio_ids::VIRTIO_ID_NET;
use virtio_bindings::virtio_net::*;

use crate::GuestMemory;
use crate::sys;
use crate::virtio::chain::Chain;
use crate::virtio::ring::{Ring, RingError};
use crate::virtio::watched::Watched;
use crate::virtio::{
    Context, Counter, Error, Event, Face, Served, Sources, VirtioDevice, read_config_bytes,
};
use header::HEADER;
use tap::Tap;

const QUEUE_SIZES: [u16; 2] = [256, 256];
const RX: usize = 0;
const TX: usize = 1;
const TAP: u32 = 0;
/// The largest frame with its header: 64 KiB of IP and an Ethernet header.
const MAX_FRAME: usize = HEADER + 14 + 65_535 + 1;
const MIN_FRAME: usize = 14;
/// Frames received for one event before the other devices get a turn.
const RX_BUDGET: u32 = 256;

/// What a network device is made with.
#[derive(Clone, Debug, Default)]
pub struct NetConfig {
    /// The name of an existing TAP.
    pub tap: String,
    /// The guest's MAC address. If None, a random one that is locally administered.
    pub mac: Option<[u8; 6]>,
}

/// A network device (virtio 1.3, 5.1) on a TAP of the host.
pub struct Net {
    tap: Tap,
    shown: Arc<Shown>,
    features: u64,
    watched: Watched,
    buffer: Vec<u8>,
    /// Length of the frame in `buffer` that waits for room.
    pending: Option<usize>,
    chains: Vec<Chain>,
}

/// What vCPUs see of it while it works.
struct Shown {
    mac: [u8; 6],
    link_up: AtomicBool,
    counters: Counters,
}

#[derive(Debug, Default)]
struct Counters {
    tx_frames: Counter,
    tx_bytes: Counter,
    tx_dropped: Counter,
    rx_frames: Counter,
    rx_bytes: Counter,
    rx_dropped: Counter,
    rx_waits: Counter,
}

/// What became of a received frame.
#[derive(Debug, PartialEq, Eq)]
enum Delivery {
    Done,
    NoRoom,
    TooLarge,
}

impl Net {
    /// Attaches to the TAP. Fails if the host has no such TAP, does not permit its use, or has it in
    /// use, and for a MAC address of a group.
    pub fn new(config: &NetConfig) -> Result<Self, Error> {
        Self::with_tap(Tap::open(&config.tap)?, config.mac)
    }

    fn with_tap(tap: Tap, mac: Option<[u8; 6]>) -> Result<Self, Error> {
        let mac = match mac {
            Some(mac) if mac[0] & 1 != 0 || mac == [0; 6] => {
                return Err(Error::Config(
                    "its MAC is not the address of one device; give another".into(),
                ));
            }
            Some(mac) => mac,
            None => random_mac()?,
        };
        Ok(Self {
            tap,
            shown: Arc::new(Shown {
                mac,
                link_up: AtomicBool::new(true),
                counters: Counters::default(),
            }),
            features: 0,
            watched: Watched::default(),
            buffer: vec![0; MAX_FRAME],
            pending: None,
            chains: Vec::new(),
        })
    }

    /// The guest's address.
    pub fn mac(&self) -> [u8; 6] {
        self.shown.mac
    }

    fn send(&mut self, mem: &GuestMemory, chain: &Chain) -> Result<Served, RingError> {
        if chain.write_len() != 0 {
            return Err(RingError::Direction);
        }
        let mut header = [0; HEADER];
        chain.read(mem, 0, &mut header)?;
        let len = chain.read_len() as usize - HEADER;
        let sent = match header::sanitize(header, self.features) {
            Some(header) if (MIN_FRAME..=MAX_FRAME - HEADER).contains(&len) => {
                let frame = chain.read_slices(mem, HEADER as u32, len)?;
                self.tap.write(&header, &frame).is_ok()
            }
            _ => false,
        };
        if sent {
            self.shown.counters.tx_frames.add(1);
            self.shown.counters.tx_bytes.add(len as u64);
        } else {
            self.shown.counters.tx_dropped.add(1);
        }
        Ok(Served::Used(0))
    }

    /// Moves frames from the TAP to the driver until one side has no more.
    fn receive(&mut self, ctx: &mut Context<'_>) -> Result<(), RingError> {
        for _ in 0..RX_BUDGET {
            let Some(len) = self.next_frame(ctx) else {
                break;
            };
            match self.deliver(ctx.mem, &mut ctx.rings[RX], len)? {
                Delivery::Done => {
                    self.shown.counters.rx_frames.add(1);
                    self.shown.counters.rx_bytes.add((len - HEADER) as u64);
                }
                Delivery::TooLarge => self.shown.counters.rx_dropped.add(1),
                Delivery::NoRoom => {
                    self.pending = Some(len);
                    if ctx.rings[RX].rearm_for_more(ctx.mem)? {
                        continue;
                    }
                    self.shown.counters.rx_waits.add(1);
                    self.watch(ctx.sources, false);
                    return ctx.finish(RX);
                }
            }
        }
        ctx.rings[RX].suppress(ctx.mem)?;
        self.watch(ctx.sources, self.shown.link_up());
        if self.pending.is_some() {
            // Out of budget with a frame in hand, which no event of the TAP would bring back.
            ctx.again(RX);
        }
        ctx.finish(RX)
    }

    /// The frame that waits, or the next one of the TAP, in `buffer`.
    fn next_frame(&mut self, ctx: &Context<'_>) -> Option<usize> {
        if let Some(len) = self.pending.take() {
            return Some(len);
        }
        loop {
            match self.tap.read(&mut self.buffer) {
                Ok(len) if len >= HEADER + MIN_FRAME => return Some(len),
                Ok(_) => self.shown.counters.rx_dropped.add(1),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return None,
                Err(e) => {
                    // The TAP is gone. Watching it further would only spin.
                    warn!("net: the TAP failed, the link is down now: {e}");
                    self.shown.link_up.store(false, Ordering::Release);
                    ctx.signal.config_changed();
                    return None;
                }
            }
        }
    }

    fn deliver(
        &mut self,
        mem: &GuestMemory,
        ring: &mut Ring,
        len: usize,
    ) -> Result<Delivery, RingError> {
        let mergeable = self.features & (1 << VIRTIO_NET_F_MRG_RXBUF) != 0;
        let most = if mergeable { ring.size() } else { 1 };
        let mut count = 0;
        let mut room = 0;
        while room < len {
            if count == most {
                ring.undo_pops(count);
                return Ok(Delivery::TooLarge);
            }
            if self.chains.len() == usize::from(count) {
                self.chains.push(Chain::default());
            }
            let chain = &mut self.chains[usize::from(count)];
            if !ring.pop(mem, chain)? {
                ring.undo_pops(count);
                return Ok(Delivery::NoRoom);
            }
            if chain.read_len() != 0 {
                return Err(RingError::Direction);
            }
            if count == 0 && (chain.write_len() as usize) < HEADER {
                return Err(RingError::Short);
            }
            room += chain.write_len() as usize;
            count += 1;
        }
        header::set_num_buffers(&mut self.buffer, count);
        let mut rest = &self.buffer[..len];
        for chain in &self.chains[..usize::from(count)] {
            let (now, later) = rest.split_at(rest.len().min(chain.write_len() as usize));
            chain.write(mem, 0, now)?;
            ring.push_used(mem, chain.head(), now.len() as u32)?;
            rest = later;
        }
        Ok(Delivery::Done)
    }

    fn watch(&mut self, sources: &dyn Sources, want: bool) {
        if let Err(e) = self.watched.set(want, sources, self.tap.as_fd(), TAP) {
            warn!("net: cannot change what is watched: {e}");
        }
    }

    fn offloads(&self, ctx: &Context<'_>) -> u32 {
        if !ctx.has(VIRTIO_NET_F_GUEST_CSUM) {
            return 0;
        }
        let wanted = [
            (VIRTIO_NET_F_GUEST_TSO4, tap::OFFLOAD_TSO4),
            (VIRTIO_NET_F_GUEST_TSO6, tap::OFFLOAD_TSO6),
            (VIRTIO_NET_F_GUEST_ECN, tap::OFFLOAD_ECN),
        ];
        let wanted = wanted.iter().filter(|(feature, _)| ctx.has(*feature));
        wanted.fold(tap::OFFLOAD_CSUM, |flags, (_, flag)| flags | flag)
    }
}

impl Shown {
    fn link_up(&self) -> bool {
        self.link_up.load(Ordering::Acquire)
    }
}

impl Face for Shown {
    fn read_config(&self, offset: u64, data: &mut [u8]) {
        let mut config = [0; 12];
        config[..6].copy_from_slice(&self.mac);
        config[6] = if self.link_up() {
            VIRTIO_NET_S_LINK_UP as u8
        } else {
            0
        };
        // max_virtqueue_pairs
        config[8] = 1;
        read_config_bytes(&config, offset, data);
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let c = &self.counters;
        vec![
            ("tx_frames", c.tx_frames.get()),
            ("tx_bytes", c.tx_bytes.get()),
            ("tx_dropped", c.tx_dropped.get()),
            ("rx_frames", c.rx_frames.get()),
            ("rx_bytes", c.rx_bytes.get()),
            ("rx_dropped", c.rx_dropped.get()),
            ("rx_waits", c.rx_waits.get()),
        ]
    }
}

impl VirtioDevice for Net {
    fn name(&self) -> &'static str {
        "net"
    }

    fn device_type(&self) -> u32 {
        VIRTIO_ID_NET
    }

    fn features(&self) -> u64 {
        let offloads = self.tap.offloads();
        let mut features = 1 << VIRTIO_NET_F_MAC
            | 1 << VIRTIO_NET_F_STATUS
            | 1 << VIRTIO_NET_F_MRG_RXBUF
            | 1 << VIRTIO_NET_F_CSUM
            | 1 << VIRTIO_NET_F_HOST_TSO4
            | 1 << VIRTIO_NET_F_HOST_TSO6
            | 1 << VIRTIO_NET_F_HOST_ECN;
        for (offload, feature) in [
            (tap::OFFLOAD_CSUM, VIRTIO_NET_F_GUEST_CSUM),
            (tap::OFFLOAD_TSO4, VIRTIO_NET_F_GUEST_TSO4),
            (tap::OFFLOAD_TSO6, VIRTIO_NET_F_GUEST_TSO6),
            (tap::OFFLOAD_ECN, VIRTIO_NET_F_GUEST_ECN),
        ] {
            if offloads & offload != 0 {
                features |= 1 << feature;
            }
        }
        features
    }

    fn queue_sizes(&self) -> &[u16] {
        &QUEUE_SIZES
    }

    fn face(&self) -> Arc<dyn Face> {
        Arc::clone(&self.shown) as _
    }

    fn activate(&mut self, ctx: &mut Context<'_>) -> Result<(), Error> {
        self.tap
            .set_offloads(self.offloads(ctx))
            .map_err(|e| Error::host("cannot set the TAP's offloads", e))?;
        self.features = ctx.features;
        Ok(())
    }

    fn handle(&mut self, event: Event, ctx: &mut Context<'_>) -> Result<(), RingError> {
        match event {
            Event::Queue(TX) => ctx.serve(TX, |mem, chain| self.send(mem, chain)),
            _ if ctx.rings[RX].ready() => self.receive(ctx),
            // The driver stopped the queue: leave the frames to the TAP.
            _ => {
                self.watch(ctx.sources, false);
                Ok(())
            }
        }
    }

    fn reset(&mut self, sources: &dyn Sources) {
        self.watch(sources, false);
        self.pending = None;
        self.features = 0;
    }
}

/// The commands, each after a semicolon, that make a TAP for whoever runs them, with an address of the
/// host's on it, and up.
pub fn how_to_make_a_tap(name: &str) -> String {
    format!(
        "sudo ip tuntap add dev {name} mode tap user $USER; \
         sudo ip addr add 192.168.77.1/24 dev {name}; sudo ip link set {name} up"
    )
}

/// A locally administered address.
pub fn random_mac() -> Result<[u8; 6], Error> {
    let mut mac = [0; 6];
    match sys::random_not_secret(&mut mac) {
        Ok(6) => {}
        Ok(_) => return Err(Error::Config("has no random MAC to give; name one".into())),
        Err(e) => return Err(Error::host("has no random MAC to give", e)),
    }
    mac[0] = mac[0] & !1 | 2;
    Ok(mac)
}

/// A device on one end of a socket pair in place of a TAP, and the other end.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn stand_in() -> Result<(Net, std::os::unix::net::UnixDatagram), Error> {
    let failed = |e| Error::host("no socket pair", e);
    let (wire, inside) = std::os::unix::net::UnixDatagram::pair().map_err(failed)?;
    wire.set_nonblocking(true).map_err(failed)?;
    inside.set_nonblocking(true).map_err(failed)?;
    let net = Net::with_tap(Tap::stand_in(inside.into()), Some([2, 0, 0, 0, 0, 1]))?;
    Ok((net, wire))
}

#[cfg(test)]
#[path = "net_test.rs"]
mod tests;
