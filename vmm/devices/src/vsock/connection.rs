// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! One stream between a socket of the host and a port of the guest.
//!
//! Flow control, both ways by the specification's counters (bytes since the connection began,
//! modulo 2^32):
//! * to the guest: never more than `peer_buf_alloc` bytes that the guest did not consume yet; the
//!   socket is not read (and not watched) while there is no credit or no receive buffer;
//! * from the guest: what the socket does not take is kept in `backlog`, at most `BUF_ALLOC` bytes;
//!   a guest that sends more than it was granted loses the connection.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::net::Shutdown;
use std::num::Wrapping;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use vm_memory::VolatileSlice;
use vmm_sys_util::epoll::EventSet;

use super::packet::*;
use crate::sys;

/// What a guest may have under way to one socket.
pub(super) const BUF_ALLOC: u32 = 256 << 10;
/// The most data in one packet to the guest.
const MAX_DATA: usize = 64 << 10;

/// How far the connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The host connected; the guest has not answered the REQUEST.
    Requested,
    /// Both agreed.
    Established,
}

/// What the guest has to be told, beside data.
#[derive(Clone, Copy, Debug, Default)]
struct Due {
    request: bool,
    response: bool,
    credit: bool,
    /// The SHUTDOWN that was sent said too little.
    shutdown: bool,
    reset: bool,
}

/// A connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) stream: UnixStream,
    pub(super) token: u32,
    /// What the event loop watches the socket for; `None` if it does not.
    pub(super) interest: Option<EventSet>,
    /// In the device's list of connections with something for the guest.
    pub(super) queued: bool,
    state: State,
    due: Due,
    /// The socket has data, or its end, that was not read yet.
    readable: bool,
    /// The socket's other end is closed both ways.
    hung_up: bool,
    /// SHUTDOWN flags that were sent to, and came from, the guest.
    shutdown_sent: u32,
    shutdown_got: u32,
    write_closed: bool,
    backlog: VecDeque<u8>,
    peer_buf_alloc: u32,
    peer_fwd_cnt: Wrapping<u32>,
    sent: Wrapping<u32>,
    received: Wrapping<u32>,
    forwarded: Wrapping<u32>,
    forwarded_told: Wrapping<u32>,
}

/// What a connection puts into a receive buffer.
pub(super) enum Packet {
    /// A header without data.
    Control(Header),
    /// A header and this many bytes of data, which are in the buffer.
    Data(Header),
    /// The refusal that ends the connection.
    Last(Header),
    /// Nothing after all.
    Nothing,
}

impl Connection {
    /// The host asked for the guest's port.
    pub(super) fn from_host(stream: UnixStream, token: u32) -> Self {
        let due = Due {
            request: true,
            ..Due::default()
        };
        Self::new(stream, token, State::Requested, due)
    }

    /// The guest asked for a port of the host, and its socket took the connection.
    pub(super) fn from_guest(stream: UnixStream, token: u32, request: &Header) -> Self {
        let due = Due {
            response: true,
            ..Due::default()
        };
        let mut connection = Self::new(stream, token, State::Established, due);
        connection.note_credit(request);
        connection
    }

    fn new(stream: UnixStream, token: u32, state: State, due: Due) -> Self {
        Self {
            stream,
            token,
            interest: None,
            queued: false,
            state,
            due,
            readable: false,
            hung_up: false,
            shutdown_sent: 0,
            shutdown_got: 0,
            write_closed: false,
            backlog: VecDeque::new(),
            peer_buf_alloc: 0,
            peer_fwd_cnt: Wrapping(0),
            sent: Wrapping(0),
            received: Wrapping(0),
            forwarded: Wrapping(0),
            forwarded_told: Wrapping(0),
        }
    }

    /// Takes the guest's view of our credit, which every packet carries.
    pub(super) fn note_credit(&mut self, header: &Header) {
        self.peer_buf_alloc = header.buf_alloc;
        self.peer_fwd_cnt = Wrapping(header.fwd_cnt);
    }

    fn credit(&self) -> u32 {
        self.peer_buf_alloc
            .saturating_sub((self.sent - self.peer_fwd_cnt).0)
    }

    /// The guest accepted: tell the host's program under which port it goes.
    pub(super) fn accepted(&mut self, key: Key) {
        if self.state != State::Requested || self.due.request {
            return self.abort();
        }
        self.state = State::Established;
        let line = format!("OK {}\n", key.host_port);
        // The socket is new and empty; if it does not take a line, its owner is gone.
        if self.stream.write_all(line.as_bytes()).is_err() {
            self.abort();
        }
    }

    /// Ends the connection with a refusal to the guest.
    pub(super) fn abort(&mut self) {
        self.due = Due {
            reset: true,
            ..Due::default()
        };
        self.backlog.clear();
    }

    pub(super) fn tell_credit(&mut self) {
        self.due.credit = true;
    }

    /// Data from the guest.
    pub(super) fn receive(&mut self, data: &[VolatileSlice], len: u32) {
        let outstanding = (self.received - self.forwarded).0;
        let allowed = outstanding
            .checked_add(len)
            .is_some_and(|sum| sum <= BUF_ALLOC);
        let may_send = self.state == State::Established && self.shutdown_got & SHUTDOWN_SEND == 0;
        if !allowed || !may_send || self.due.reset {
            return self.abort();
        }
        self.received += len;
        let mut taken = 0;
        if self.backlog.is_empty() {
            match self.send(|stream| sys::send_gather(stream.as_fd(), &[], data)) {
                Some(now) => taken = now,
                None => return,
            }
        }
        for slice in data {
            let skip = taken.min(slice.len());
            taken -= skip;
            let mut bytes = vec![0; slice.len() - skip];
            if let Ok(rest) = slice.offset(skip) {
                rest.copy_to(&mut bytes);
            }
            self.backlog.extend(bytes);
        }
    }

    /// Gives the socket what it did not take before.
    pub(super) fn flush(&mut self) {
        while !self.backlog.is_empty() {
            let backlog = std::mem::take(&mut self.backlog);
            let sent = self.send(|mut stream| stream.write(backlog.as_slices().0));
            self.backlog = backlog;
            match sent {
                Some(0) | None => break,
                Some(now) => drop(self.backlog.drain(..now)),
            }
        }
        if self.due.reset {
            self.backlog.clear();
        }
        self.finish_shutdown();
    }

    /// Writes to the socket: the bytes taken (0 if it is full), or `None` and the end of it.
    fn send(&mut self, write: impl FnOnce(&UnixStream) -> io::Result<usize>) -> Option<usize> {
        if self.hung_up {
            self.abort();
            return None;
        }
        match write(&self.stream) {
            Ok(len) => {
                self.forwarded += len as u32;
                Some(len)
            }
            Err(e)
                if matches!(
                    e.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) =>
            {
                Some(0)
            }
            Err(_) => {
                self.abort();
                None
            }
        }
    }

    /// The guest will not send or receive any more.
    pub(super) fn shut_down(&mut self, flags: u32) {
        self.shutdown_got |= flags & SHUTDOWN_BOTH;
        if flags & SHUTDOWN_RECEIVE != 0 {
            // Fails if the other end is gone, as intended.
            let _ = self.stream.shutdown(Shutdown::Read);
        }
        self.finish_shutdown();
    }

    /// Passes the guest's end of stream on once everything before it is through.
    fn finish_shutdown(&mut self) {
        if self.shutdown_got & SHUTDOWN_SEND == 0 || !self.backlog.is_empty() {
            return;
        }
        if self.shutdown_got == SHUTDOWN_BOTH {
            // The guest's socket is closed; the refusal is what it waits for.
            return self.abort();
        }
        if !std::mem::replace(&mut self.write_closed, true) {
            let _ = self.stream.shutdown(Shutdown::Write);
        }
    }

    /// The event loop reports the socket.
    pub(super) fn ready(&mut self, events: EventSet) {
        if events.intersects(EventSet::HANG_UP | EventSet::ERROR) {
            // Read what is left; there is nothing more to wait for.
            self.hung_up = true;
            self.readable = true;
            self.backlog.clear();
            self.due.shutdown = self.shutdown_sent != 0;
            if self.state == State::Requested {
                // Nobody waits for the guest's answer any more.
                return self.abort();
            }
        }
        if events.contains(EventSet::IN) {
            self.readable = true;
        }
        if events.contains(EventSet::OUT) {
            self.flush();
        }
    }

    /// What the socket should be watched for now.
    pub(super) fn wanted(&self) -> Option<EventSet> {
        if self.hung_up || self.due.reset {
            return None;
        }
        let mut events = EventSet::empty();
        let reads = self.state == State::Established && self.wants_data();
        events.set(EventSet::IN, reads && !self.readable);
        events.set(EventSet::OUT, !self.backlog.is_empty());
        Some(events)
    }

    fn wants_data(&self) -> bool {
        self.shutdown_got & SHUTDOWN_RECEIVE == 0 && self.shutdown_sent & SHUTDOWN_SEND == 0
    }

    /// Whether `next_packet` has something.
    pub(super) fn has_packet(&self) -> bool {
        let due = &self.due;
        due.reset
            || due.request
            || due.response
            || due.shutdown
            || self.credit_due()
            || self.state == State::Established
                && self.readable
                && self.wants_data()
                && self.credit() > 0
    }

    /// The guest should hear how much more it may send: it asked, or a good part was consumed.
    fn credit_due(&self) -> bool {
        self.state == State::Established
            && (self.due.credit || (self.forwarded - self.forwarded_told).0 >= BUF_ALLOC / 4)
    }

    /// Makes the next packet for the guest; data goes straight into `room`.
    pub(super) fn next_packet(&mut self, key: Key, cid: u64, room: &[VolatileSlice]) -> Packet {
        let due = self.due;
        if due.reset {
            return Packet::Last(self.header(key, cid, OP_RST));
        }
        if due.request {
            self.due.request = false;
            return Packet::Control(self.header(key, cid, OP_REQUEST));
        }
        if due.response {
            self.due.response = false;
            return Packet::Control(self.header(key, cid, OP_RESPONSE));
        }
        if due.shutdown {
            self.due.shutdown = false;
            return self.end_of_stream(key, cid);
        }
        let data = self.state == State::Established && self.readable && self.wants_data();
        if data && self.credit() > 0 {
            return self.read_data(key, cid, room);
        }
        if self.credit_due() {
            return Packet::Control(self.header(key, cid, OP_CREDIT_UPDATE));
        }
        Packet::Nothing
    }

    fn read_data(&mut self, key: Key, cid: u64, room: &[VolatileSlice]) -> Packet {
        let mut left = MAX_DATA.min(self.credit() as usize);
        let mut into = Vec::with_capacity(room.len());
        for slice in room {
            let len = slice.len().min(left);
            if len > 0 {
                into.extend(slice.subslice(0, len).ok());
            }
            left -= len;
        }
        match sys::read_scatter(self.stream.as_fd(), &into) {
            Ok(0) => self.end_of_stream(key, cid),
            Ok(len) => {
                self.sent += len as u32;
                let mut header = self.header(key, cid, OP_RW);
                header.len = len as u32;
                Packet::Data(header)
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                self.readable = false;
                Packet::Nothing
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => Packet::Nothing,
            Err(_) => {
                self.abort();
                Packet::Last(self.header(key, cid, OP_RST))
            }
        }
    }

    fn end_of_stream(&mut self, key: Key, cid: u64) -> Packet {
        self.readable = false;
        self.shutdown_sent = if self.hung_up {
            SHUTDOWN_BOTH
        } else {
            SHUTDOWN_SEND
        };
        let mut header = self.header(key, cid, OP_SHUTDOWN);
        header.flags = self.shutdown_sent;
        Packet::Control(header)
    }

    /// A header for the guest, which carries our credit along.
    fn header(&mut self, key: Key, cid: u64, op: u16) -> Header {
        self.due.credit = false;
        self.forwarded_told = self.forwarded;
        Header {
            src_cid: HOST_CID,
            dst_cid: cid,
            src_port: key.host_port,
            dst_port: key.guest_port,
            kind: TYPE_STREAM,
            op,
            buf_alloc: BUF_ALLOC,
            fwd_cnt: self.forwarded.0,
            ..Header::default()
        }
    }
}
