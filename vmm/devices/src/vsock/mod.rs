// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! virtio-vsock, streams between Unix sockets of the host and ports of the guest.
//!
//! A guest can open connections and answer or not as it likes, so all state for it is bounded:
//! connections by `MAX_CONNECTIONS`, each one's backlog by its credit, refusals by `MAX_REPLIES`
//! (then its packets wait on the ring until it takes the refusals). So are host programs that did
//! not finish their `CONNECT` line.
//!
//! After any event of a connection, `settle` decides from its state alone which events of its
//! socket to watch and whether it has data for the guest.

mod connection;
#[cfg(any(test, feature = "fuzzing"))]
mod fake;
mod host;
mod packet;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;

use log::{debug, warn};
use virtio_bindings::virtio_ids::VIRTIO_ID_VSOCK;
use vmm_sys_util::epoll::EventSet;

use crate::GuestMemory;
use crate::virtio::chain::Chain;
use crate::virtio::ring::RingError;
use crate::virtio::{
    Context, Counter, Error, Event, Face, Served, Sources, VirtioDevice, read_config_bytes,
};
use connection::{Connection, Packet};
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use fake::{FakeHost, with_fake_host};
use host::{Client, Listener, Progress};
use packet::*;

const QUEUE_SIZES: [u16; 3] = [256, 256, 16];
const RX: usize = 0;
const TX: usize = 1;
const MAX_CONNECTIONS: usize = 1023;
const MAX_REPLIES: usize = 256;
const MAX_CLIENTS: usize = 64;
/// Packets to the guest for one event before the other devices get a turn.
const RX_BUDGET: u32 = 256;
const LISTENER: u32 = 0;
/// The host's ports for its own connections start here, as Firecracker's do.
const FIRST_HOST_PORT: u32 = 1 << 30;

/// What a vsock device is made with.
#[derive(Clone, Debug)]
pub struct VsockConfig {
    /// The guest's context ID, 3 or more (virtio 1.3, 5.10.4).
    pub cid: u64,
    /// The Unix socket for programs of the host.
    pub uds: PathBuf,
}

/// Where connections come from and go to.
trait Host: Send {
    fn accept(&mut self) -> io::Result<UnixStream>;
    fn connect(&mut self, port: u32) -> io::Result<UnixStream>;
    fn fd(&self) -> Option<std::os::fd::BorrowedFd<'_>>;
}

impl Host for Listener {
    fn accept(&mut self) -> io::Result<UnixStream> {
        Self::accept(self)
    }

    fn connect(&mut self, port: u32) -> io::Result<UnixStream> {
        Self::connect(self, port)
    }

    fn fd(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        Some(self.as_fd())
    }
}

/// Who owns an event's token.
#[derive(Clone, Copy, Debug)]
enum Owner {
    Client,
    Connection(Key),
}

/// A socket device (virtio 1.3, 5.10) with streams, between the guest and Unix sockets of the host.
pub struct Vsock {
    shown: Arc<Shown>,
    host: Box<dyn Host>,
    listening: bool,
    connections: HashMap<Key, Connection>,
    clients: HashMap<u32, Client>,
    owners: HashMap<u32, Owner>,
    /// Connections that may have a packet for the guest, in turn.
    queue: VecDeque<Key>,
    /// Refusals that belong to no connection.
    replies: VecDeque<Header>,
    stalled: bool,
    next_token: u32,
    next_port: u32,
    scratch: Chain,
}

/// What vCPUs see of it while it works.
struct Shown {
    cid: u64,
    counters: Counters,
}

#[derive(Debug, Default)]
struct Counters {
    tx_packets: Counter,
    tx_bytes: Counter,
    rx_packets: Counter,
    rx_bytes: Counter,
    connections: Counter,
    /// Connections that there are now, and packets that wait for the guest to make room.
    open: Counter,
    waiting: Counter,
    refused: Counter,
    ignored: Counter,
}

impl Vsock {
    /// Listens on the Unix socket. Fails for a reserved context ID, and as bind() does.
    pub fn new(config: &VsockConfig) -> Result<Self, Error> {
        if config.cid <= HOST_CID || config.cid >= u64::from(u32::MAX) {
            return Err(Error::Config(format!(
                "CID {} is reserved; take one from 3 to 4294967294",
                config.cid
            )));
        }
        Ok(Self::with_host(
            config.cid,
            Box::new(Listener::bind(&config.uds)?),
        ))
    }

    fn with_host(cid: u64, host: Box<dyn Host>) -> Self {
        let counters = Counters::default();
        Self {
            shown: Arc::new(Shown { cid, counters }),
            host,
            listening: false,
            connections: HashMap::new(),
            clients: HashMap::new(),
            owners: HashMap::new(),
            queue: VecDeque::new(),
            replies: VecDeque::new(),
            stalled: false,
            next_token: LISTENER + 1,
            next_port: FIRST_HOST_PORT,
            scratch: Chain::default(),
        }
    }

    /// One packet of the guest.
    fn take_packet(
        &mut self,
        mem: &GuestMemory,
        chain: &Chain,
        sources: &dyn Sources,
    ) -> Result<Served, RingError> {
        if chain.write_len() != 0 {
            return Err(RingError::Direction);
        }
        if self.replies.len() >= MAX_REPLIES {
            self.stalled = true;
            return Ok(Served::Later);
        }
        let mut bytes = [0; HEADER];
        chain.read(mem, 0, &mut bytes)?;
        let header = Header::from_bytes(&bytes);
        if header.len > chain.read_len() - HEADER as u32 {
            return Err(RingError::Short);
        }
        self.shown.counters.tx_packets.add(1);
        self.shown.counters.tx_bytes.add(u64::from(header.len));
        if header.src_cid != self.shown.cid || header.dst_cid != HOST_CID {
            self.shown.counters.ignored.add(1);
        } else if header.kind != TYPE_STREAM {
            self.refuse(&header);
        } else {
            self.dispatch(mem, chain, &header, sources)?;
        }
        Ok(Served::Used(0))
    }

    fn dispatch(
        &mut self,
        mem: &GuestMemory,
        chain: &Chain,
        header: &Header,
        sources: &dyn Sources,
    ) -> Result<(), RingError> {
        let key = header.key();
        let Some(connection) = self.connections.get_mut(&key) else {
            match header.op {
                OP_REQUEST => self.open(header, sources),
                OP_RST => {}
                _ => self.refuse(header),
            }
            return Ok(());
        };
        connection.note_credit(header);
        match header.op {
            OP_RESPONSE => connection.accepted(key),
            OP_RW => {
                let data = chain.read_slices(mem, HEADER as u32, header.len as usize)?;
                connection.receive(&data, header.len);
            }
            OP_SHUTDOWN => connection.shut_down(header.flags),
            OP_CREDIT_UPDATE => {}
            OP_CREDIT_REQUEST => connection.tell_credit(),
            OP_RST => {
                self.close(key, sources);
                return Ok(());
            }
            _ => connection.abort(),
        }
        self.settle(key, sources);
        Ok(())
    }

    /// The guest wants a connection to the host.
    fn open(&mut self, header: &Header, sources: &dyn Sources) {
        if self.connections.len() >= MAX_CONNECTIONS {
            return self.refuse(header);
        }
        match self.host.connect(header.dst_port) {
            Ok(stream) => {
                let token = self.token();
                let connection = Connection::from_guest(stream, token, header);
                self.insert(header.key(), connection, sources);
            }
            Err(e) => {
                debug!(
                    "vsock: nothing takes the guest's connection to {}: {e}",
                    header.dst_port
                );
                self.refuse(header);
            }
        }
    }

    fn refuse(&mut self, header: &Header) {
        self.shown.counters.refused.add(1);
        if header.op != OP_RST {
            self.replies.push_back(header.refusal());
        }
    }

    fn insert(&mut self, key: Key, connection: Connection, sources: &dyn Sources) {
        self.shown.counters.connections.add(1);
        self.owners.insert(connection.token, Owner::Connection(key));
        self.connections.insert(key, connection);
        self.settle(key, sources);
    }

    fn close(&mut self, key: Key, sources: &dyn Sources) {
        let Some(connection) = self.connections.remove(&key) else {
            return;
        };
        self.owners.remove(&connection.token);
        if connection.interest.is_some() {
            let _ = sources.remove(connection.stream.as_fd());
        }
        if connection.queued {
            self.queue.retain(|&queued| queued != key);
        }
        // A lack of descriptors may have stopped us from listening.
        self.listen(sources, true);
    }

    /// Brings the event loop and the queue in line with a connection's state.
    fn settle(&mut self, key: Key, sources: &dyn Sources) {
        let Some(connection) = self.connections.get_mut(&key) else {
            return;
        };
        let wanted = connection.wanted();
        if wanted != connection.interest {
            let fd = connection.stream.as_fd();
            let done = match (connection.interest, wanted) {
                (None, Some(events)) => sources.add(fd, connection.token, events),
                (Some(_), Some(events)) => sources.modify(fd, connection.token, events),
                (_, None) => sources.remove(fd),
            };
            match done {
                Ok(()) => connection.interest = wanted,
                Err(_) => connection.abort(),
            }
        }
        if connection.has_packet() && !connection.queued {
            connection.queued = true;
            self.queue.push_back(key);
        }
    }

    /// Gives the guest what there is for it, as long as it has buffers.
    fn fill(&mut self, ctx: &mut Context<'_>) -> Result<(), RingError> {
        if !ctx.rings[RX].ready() {
            return Ok(());
        }
        let mut chain = std::mem::take(&mut self.scratch);
        let mut budget = RX_BUDGET;
        while !(self.replies.is_empty() && self.queue.is_empty()) {
            if budget == 0 {
                ctx.again(RX);
                break;
            }
            budget -= 1;
            let ring = &mut ctx.rings[RX];
            if !ring.pop(ctx.mem, &mut chain)? {
                if ring.rearm_for_more(ctx.mem)? {
                    continue;
                }
                break;
            }
            if chain.read_len() != 0 {
                return Err(RingError::Direction);
            }
            // With no room beyond the header no data could ever go.
            if chain.write_len() as usize <= HEADER {
                return Err(RingError::Short);
            }
            match self.put_packet(ctx.mem, &chain, ctx.sources)? {
                Some(len) => ring.push_used(ctx.mem, chain.head(), len)?,
                None => ring.undo_pop(),
            }
        }
        self.scratch = chain;
        if self.stalled && self.replies.len() < MAX_REPLIES / 2 {
            self.stalled = false;
            ctx.again(TX);
        }
        ctx.finish(RX)
    }

    /// Writes the next packet into `chain`; `None` if there is none after all.
    fn put_packet(
        &mut self,
        mem: &GuestMemory,
        chain: &Chain,
        sources: &dyn Sources,
    ) -> Result<Option<u32>, RingError> {
        let header = match self.replies.pop_front() {
            Some(header) => Some(header),
            None => self.next_packet(mem, chain, sources)?,
        };
        let Some(header) = header else {
            return Ok(None);
        };
        chain.write(mem, 0, &header.to_bytes())?;
        self.shown.counters.rx_packets.add(1);
        self.shown.counters.rx_bytes.add(u64::from(header.len));
        Ok(Some(HEADER as u32 + header.len))
    }

    fn next_packet(
        &mut self,
        mem: &GuestMemory,
        chain: &Chain,
        sources: &dyn Sources,
    ) -> Result<Option<Header>, RingError> {
        let room = chain.write_len() as usize - HEADER;
        let room = chain.write_slices(mem, HEADER as u32, room)?;
        while let Some(key) = self.queue.pop_front() {
            let Some(connection) = self.connections.get_mut(&key) else {
                continue;
            };
            connection.queued = false;
            let header = match connection.next_packet(key, self.shown.cid, &room) {
                Packet::Control(header) | Packet::Data(header) => Some(header),
                Packet::Last(header) => {
                    self.close(key, sources);
                    Some(header)
                }
                Packet::Nothing => None,
            };
            self.settle(key, sources);
            if header.is_some() {
                return Ok(header);
            }
        }
        Ok(None)
    }

    /// A socket of the host is ready.
    fn host_event(&mut self, token: u32, events: EventSet, sources: &dyn Sources) {
        match self.owners.get(&token) {
            None if token == LISTENER => self.accept(sources),
            // Closed since the event was fetched.
            None => {}
            Some(&Owner::Connection(key)) => {
                if let Some(connection) = self.connections.get_mut(&key) {
                    connection.ready(events);
                    self.settle(key, sources);
                }
            }
            Some(Owner::Client) => self.advance_client(token, sources),
        }
    }

    fn accept(&mut self, sources: &dyn Sources) {
        for _ in 0..MAX_CLIENTS {
            let stream = match self.host.accept() {
                Ok(stream) => stream,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                Err(e) => {
                    // Most likely no descriptors are left: to keep watching would spin.
                    warn!("vsock: not listening until a connection closes: {e}");
                    return self.listen(sources, false);
                }
            };
            if self.clients.len() >= MAX_CLIENTS {
                let oldest = self.clients.keys().min().copied();
                oldest.and_then(|token| self.take_client(token, sources));
            }
            let token = self.token();
            if sources.add(stream.as_fd(), token, EventSet::IN).is_ok() {
                self.owners.insert(token, Owner::Client);
                self.clients.insert(token, Client::new(stream));
            }
        }
    }

    fn take_client(&mut self, token: u32, sources: &dyn Sources) -> Option<Client> {
        let client = self.clients.remove(&token)?;
        self.owners.remove(&token);
        let _ = sources.remove(client.stream.as_fd());
        Some(client)
    }

    fn advance_client(&mut self, token: u32, sources: &dyn Sources) {
        let progress = self.clients.get_mut(&token).map(Client::advance);
        let Some(Progress::Port(_) | Progress::Bad) = progress else {
            return;
        };
        let client = self.take_client(token, sources);
        let (Some(client), Some(Progress::Port(guest_port))) = (client, progress) else {
            return;
        };
        if self.connections.len() >= MAX_CONNECTIONS {
            return;
        }
        let key = Key {
            host_port: self.port(guest_port),
            guest_port,
        };
        let token = self.token();
        self.insert(key, Connection::from_host(client.stream, token), sources);
    }

    fn show_state(&self) {
        let waiting = self.queue.len() + self.replies.len();
        self.shown.counters.open.set(self.connections.len() as u64);
        self.shown.counters.waiting.set(waiting as u64);
    }

    fn listen(&mut self, sources: &dyn Sources, want: bool) {
        let Some(fd) = self.host.fd() else { return };
        if want == self.listening {
            return;
        }
        let done = if want {
            sources.add(fd, LISTENER, EventSet::IN)
        } else {
            sources.remove(fd)
        };
        if done.is_ok() {
            self.listening = want;
        }
    }

    /// A token that nobody has. Old ones are reused only after four billion connections.
    fn token(&mut self) -> u32 {
        loop {
            let token = self.next_token;
            self.next_token = token.wrapping_add(1) & (u32::MAX >> 1);
            if token != LISTENER && !self.owners.contains_key(&token) {
                return token;
            }
        }
    }

    /// A port of the host that has no connection to `guest_port`.
    fn port(&mut self, guest_port: u32) -> u32 {
        loop {
            let host_port = self.next_port;
            self.next_port = host_port.wrapping_add(1) & !(1 << 31) | FIRST_HOST_PORT;
            if !self.connections.contains_key(&Key {
                host_port,
                guest_port,
            }) {
                return host_port;
            }
        }
    }
}

impl Face for Shown {
    fn read_config(&self, offset: u64, data: &mut [u8]) {
        read_config_bytes(&self.cid.to_le_bytes(), offset, data);
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let c = &self.counters;
        vec![
            ("tx_packets", c.tx_packets.get()),
            ("tx_bytes", c.tx_bytes.get()),
            ("rx_packets", c.rx_packets.get()),
            ("rx_bytes", c.rx_bytes.get()),
            ("connections", c.connections.get()),
            ("open", c.open.get()),
            ("waiting", c.waiting.get()),
            ("refused", c.refused.get()),
            ("ignored", c.ignored.get()),
        ]
    }
}

impl VirtioDevice for Vsock {
    fn name(&self) -> &'static str {
        "vsock"
    }

    fn device_type(&self) -> u32 {
        VIRTIO_ID_VSOCK
    }

    fn features(&self) -> u64 {
        0
    }

    fn queue_sizes(&self) -> &[u16] {
        &QUEUE_SIZES
    }

    fn face(&self) -> Arc<dyn Face> {
        Arc::clone(&self.shown) as _
    }

    fn activate(&mut self, ctx: &mut Context<'_>) -> Result<(), Error> {
        self.listen(ctx.sources, true);
        Ok(())
    }

    fn handle(&mut self, event: Event, ctx: &mut Context<'_>) -> Result<(), RingError> {
        let sources = ctx.sources;
        match event {
            Event::Queue(TX) => {
                ctx.serve(TX, |mem, chain| self.take_packet(mem, chain, sources))?;
            }
            // Event buffers are only for a guest that moved to another host.
            Event::Queue(_) => {}
            Event::Source(token, events) => self.host_event(token, events, sources),
        }
        let filled = self.fill(ctx);
        self.show_state();
        filled
    }

    fn reset(&mut self, sources: &dyn Sources) {
        let keys: Vec<Key> = self.connections.keys().copied().collect();
        keys.into_iter().for_each(|key| self.close(key, sources));
        let clients: Vec<u32> = self.clients.keys().copied().collect();
        for token in clients {
            self.take_client(token, sources);
        }
        self.replies.clear();
        self.stalled = false;
        self.listen(sources, false);
        self.show_state();
    }
}

#[cfg(test)]
#[path = "vsock_test.rs"]
mod tests;
