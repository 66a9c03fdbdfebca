// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! virtio-net on a link of the host, a TAP or a stream; one queue pair.
//!
//! Sending: each chain is one frame behind its header. A frame that a TAP does not take (its queue
//! full, offloads that were not negotiated) is dropped and counted, as hardware would, and so is one
//! while the link is down. A stream that takes no more now has the frame wait on the ring. A chain too
//! short for a header, or with writable parts, breaks the ring.
//!
//! Receiving: a frame is read from the link only when the one before it was delivered. If the driver
//! has no room for it, it waits here and the link is not watched, so that the host's queue fills and
//! its senders notice: nothing is dropped, nothing spins. The driver's next buffers resume
//! reception. Only a frame for which there can never be room is dropped and counted.

mod header;
mod link;
mod stream;
mod tap;
mod wire;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use log::warn;
use virtio_bindings::virtio_ids::VIRTIO_ID_NET;
use virtio_bindings::virtio_net::*;
use vm_memory::VolatileSlice;
use vmm_sys_util::epoll::EventSet;

use crate::GuestMemory;
use crate::sys;
use crate::virtio::chain::Chain;
use crate::virtio::ring::{Ring, RingError};
use crate::virtio::watched::Watched;
use crate::virtio::{
    Context, Counter, Error, Event, Face, Served, Sources, VirtioDevice, read_config_bytes,
};
use header::HEADER;
use link::{Link, Sent};
use tap::Tap;

pub use stream::{Peer, Stream};

const QUEUE_SIZES: [u16; 2] = [256, 256];
const RX: usize = 0;
const TX: usize = 1;
const LINK: u32 = 0;
/// The largest frame with its header: 64 KiB of IP and an Ethernet header.
const MAX_PACKET: usize = HEADER + 14 + 65_535 + 1;
const MIN_FRAME: usize = 14;
/// Frames received for one event before the other devices get a turn.
const RX_BUDGET: u32 = 256;

/// What a network device on a TAP is made with.
#[derive(Clone, Debug, Default)]
pub struct NetConfig {
    /// The name of an existing TAP.
    pub tap: String,
    /// The guest's MAC address. If None, a random one that is locally administered.
    pub mac: Option<[u8; 6]>,
}

/// A network device (virtio 1.3, 5.1) on a link of the host.
pub struct Net {
    link: Link,
    /// Why the link failed while frames were sent.
    failed: Option<io::Error>,
    /// Whether the link is watched for frames.
    receives: bool,
    /// Whether frames wait on the ring until the link takes them.
    holds: bool,
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
        Self::with_link(Link::Tap(Tap::open(&config.tap)?), config.mac)
    }

    /// A device on a stream, which only the device uses while it lives. Fails for a MAC address of a group.
    pub fn with_stream(stream: Arc<Mutex<Stream>>, mac: Option<[u8; 6]>) -> Result<Self, Error> {
        Self::with_link(Link::Stream(stream), mac)
    }

    fn with_link(link: Link, mac: Option<[u8; 6]>) -> Result<Self, Error> {
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
            shown: Arc::new(Shown {
                mac,
                link_up: AtomicBool::new(link.is_up()),
                counters: Counters::default(),
            }),
            link,
            failed: None,
            receives: false,
            holds: false,
            features: 0,
            watched: Watched::default(),
            buffer: vec![0; MAX_PACKET],
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
            Some(header) if (MIN_FRAME..=MAX_PACKET - HEADER).contains(&len) => {
                let frame = chain.read_slices(mem, HEADER as u32, len)?;
                self.put(&header, &frame)
            }
            _ => Sent::Dropped,
        };
        match sent {
            Sent::Done => {
                self.shown.counters.tx_frames.add(1);
                self.shown.counters.tx_bytes.add(len as u64);
            }
            Sent::Dropped => self.shown.counters.tx_dropped.add(1),
            Sent::Full => {
                self.holds = true;
                return Ok(Served::Later);
            }
        }
        Ok(Served::Used(0))
    }

    fn put(&mut self, header: &[u8], frame: &[VolatileSlice]) -> Sent {
        if self.failed.is_some() {
            return Sent::Dropped;
        }
        self.link.write(header, frame).unwrap_or_else(|error| {
            self.failed = Some(error);
            Sent::Dropped
        })
    }

    /// Sends what is on the ring, as far as the link takes it now.
    fn transmit(&mut self, ctx: &mut Context<'_>) -> Result<(), RingError> {
        self.holds = false;
        ctx.serve(TX, |mem, chain| self.send(mem, chain))?;
        if let Some(error) = self.failed.take() {
            self.fail(ctx, &error);
        }
        self.watch(ctx.sources);
        Ok(())
    }

    /// Takes the link down.
    fn fail(&mut self, ctx: &Context<'_>, error: &io::Error) {
        self.set_watch(ctx.sources, EventSet::empty());
        self.link.fail(error);
        self.set_up(ctx, false);
    }

    fn set_up(&self, ctx: &Context<'_>, up: bool) {
        self.shown.link_up.store(up, Ordering::Release);
        ctx.signal.config_changed();
    }

    /// Something has become of the link.
    fn attend(&mut self, events: EventSet, ctx: &mut Context<'_>) -> Result<(), RingError> {
        if !self.shown.link_up() {
            return self.recover(ctx);
        }
        let ended = EventSet::HANG_UP | EventSet::ERROR;
        if self.link.is_stream() && events.intersects(ended) {
            let gone = io::Error::new(io::ErrorKind::UnexpectedEof, "it has ended");
            self.fail(ctx, &gone);
            return self.receive(ctx);
        }
        if self.link.is_busy() || self.holds {
            if let Err(error) = self.link.flush() {
                self.fail(ctx, &error);
            }
            self.transmit(ctx)?;
        }
        self.receive(ctx)
    }

    fn recover(&mut self, ctx: &mut Context<'_>) -> Result<(), RingError> {
        self.set_watch(ctx.sources, EventSet::empty());
        if self.link.take_started() {
            self.set_up(ctx, true);
        }
        self.receive(ctx)
    }

    /// Moves frames from the link to the driver until one side has no more.
    fn receive(&mut self, ctx: &mut Context<'_>) -> Result<(), RingError> {
        if !ctx.rings[RX].ready() {
            // The driver stopped the queue: leave the frames to the link.
            self.receives = false;
            self.watch(ctx.sources);
            return Ok(());
        }
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
                    self.receives = false;
                    self.watch(ctx.sources);
                    return ctx.finish(RX);
                }
            }
        }
        ctx.rings[RX].suppress(ctx.mem)?;
        self.receives = true;
        self.watch(ctx.sources);
        if self.pending.is_some() || self.link.has_more() {
            // Out of budget with frames in hand, which no event of the link would bring back.
            ctx.again(RX);
        }
        ctx.finish(RX)
    }

    /// The frame that waits, or the next one of the link, in `buffer`.
    fn next_frame(&mut self, ctx: &Context<'_>) -> Option<usize> {
        if let Some(len) = self.pending.take() {
            return Some(len);
        }
        if !self.shown.link_up() {
            return None;
        }
        loop {
            match self.link.read(&mut self.buffer) {
                Ok(len) if len >= HEADER + MIN_FRAME => return Some(len),
                Ok(_) => self.shown.counters.rx_dropped.add(1),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return None,
                Err(e) => {
                    // Watching it further would only spin.
                    self.fail(ctx, &e);
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

    /// Watches the link for what there is to do with it now.
    fn watch(&mut self, sources: &dyn Sources) {
        let mut want = EventSet::empty();
        if !self.shown.link_up() {
            want.set(EventSet::IN, self.link.is_stream());
        } else {
            want.set(EventSet::IN, self.receives);
            want.set(EventSet::OUT, self.holds || self.link.is_busy());
        }
        self.set_watch(sources, want);
    }

    fn set_watch(&mut self, sources: &dyn Sources, want: EventSet) {
        let watched = &mut self.watched;
        let done = self
            .link
            .with_fd(|fd| watched.set_events(want, sources, fd, LINK));
        if let Err(e) = done {
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
        let offloads = self.link.offloads();
        let mut features =
            1 << VIRTIO_NET_F_MAC | 1 << VIRTIO_NET_F_STATUS | 1 << VIRTIO_NET_F_MRG_RXBUF;
        if self.link.is_stream() {
            // Frames on a stream have no header.
            return features;
        }
        features |= 1 << VIRTIO_NET_F_CSUM
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
        self.link
            .set_offloads(self.offloads(ctx))
            .map_err(|e| Error::host("cannot set the TAP's offloads", e))?;
        self.features = ctx.features;
        Ok(())
    }

    fn handle(&mut self, event: Event, ctx: &mut Context<'_>) -> Result<(), RingError> {
        match event {
            Event::Queue(TX) => self.transmit(ctx)?,
            Event::Queue(_) => self.receive(ctx)?,
            Event::Source(_, events) => self.attend(events, ctx)?,
        }
        if self.holds && !self.shown.link_up() {
            // What waited for a link that has failed meanwhile is dropped.
            self.transmit(ctx)?;
        }
        Ok(())
    }

    fn reset(&mut self, sources: &dyn Sources) {
        self.set_watch(sources, EventSet::empty());
        self.receives = false;
        self.holds = false;
        self.failed = None;
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
    let link = Link::Tap(Tap::stand_in(inside.into()));
    let net = Net::with_link(link, Some([2, 0, 0, 0, 0, 1]))?;
    Ok((net, wire))
}

#[cfg(test)]
#[path = "net_test.rs"]
mod tests;

#[cfg(test)]
mod stream_test;
