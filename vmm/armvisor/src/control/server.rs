// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The VM's end of the control socket, driven by the main loop.
//!
//! Clients can do no harm: they are few at a time, requests have bounded length, and the VM waits
//! for nobody. A client that does not read its reply is dropped.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;

use vmm_sys_util::epoll::{ControlOperation, Epoll, EpollEvent, EventSet};

use super::{MAX_REQUEST, Reply, Request};
use crate::rundir::Socket;

const MAX_CLIENTS: usize = 16;
/// Looks at the sockets in one [`Server::serve`]: one takes a client in, another hears what it says.
const LOOKS: usize = 8;

struct Client {
    stream: UnixStream,
    input: Vec<u8>,
}

/// The server; its descriptor is readable when [`Server::serve`] has something to do.
pub struct Server {
    socket: Socket,
    clients: BTreeMap<RawFd, Client>,
    epoll: Epoll,
}

impl AsRawFd for Server {
    fn as_raw_fd(&self) -> RawFd {
        self.epoll.as_raw_fd()
    }
}

impl Server {
    /// Listens on `socket`. Fails if the process has no file descriptor left.
    pub fn new(socket: Socket) -> io::Result<Self> {
        let epoll = Epoll::new()?;
        let fd = socket.listener.as_raw_fd();
        epoll.ctl(
            ControlOperation::Add,
            fd,
            EpollEvent::new(EventSet::IN, fd as u64),
        )?;
        Ok(Server {
            socket,
            clients: BTreeMap::new(),
            epoll,
        })
    }

    /// Serves what is there, without waiting.
    pub fn serve(&mut self, mut answer: impl FnMut(Request) -> Reply) -> io::Result<()> {
        for _ in 0..LOOKS {
            if !self.look(&mut answer)? {
                break;
            }
        }
        Ok(())
    }

    /// Serves what is there now; false when there was nothing.
    fn look(&mut self, answer: &mut impl FnMut(Request) -> Reply) -> io::Result<bool> {
        let mut events = [EpollEvent::default(); 8];
        let count = self.epoll.wait(0, &mut events)?;
        for event in &events[..count] {
            let fd = event.data() as RawFd;
            if fd == self.socket.listener.as_raw_fd() {
                self.accept();
            } else if !self
                .clients
                .get_mut(&fd)
                .is_some_and(|client| client.serve(answer))
            {
                // Closing the descriptor takes it out of epoll.
                self.clients.remove(&fd);
            }
        }
        Ok(count > 0)
    }

    fn accept(&mut self) {
        while let Ok((stream, _)) = self.socket.listener.accept() {
            let fd = stream.as_raw_fd();
            let event = EpollEvent::new(EventSet::IN, fd as u64);
            let full = self.clients.len() >= MAX_CLIENTS;
            if full
                || stream.set_nonblocking(true).is_err()
                || self.epoll.ctl(ControlOperation::Add, fd, event).is_err()
            {
                log::warn!(
                    "control socket: a client is turned away, {} are connected already",
                    self.clients.len()
                );
                continue;
            }
            self.clients.insert(
                fd,
                Client {
                    stream,
                    input: Vec::new(),
                },
            );
        }
    }
}

impl Client {
    /// False when the client is done with.
    fn serve(&mut self, answer: &mut impl FnMut(Request) -> Reply) -> bool {
        let mut bytes = [0; MAX_REQUEST];
        match self.stream.read(&mut bytes) {
            Ok(0) => return false,
            Ok(got) => self.input.extend_from_slice(&bytes[..got]),
            Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
        }
        while let Some(end) = self.input.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.input.drain(..=end).collect();
            if !self.reply(&line, answer) {
                return false;
            }
        }
        if self.input.len() >= MAX_REQUEST {
            self.send(&Reply::error("the request is too long"));
            return false;
        }
        true
    }

    fn reply(&mut self, line: &[u8], answer: &mut impl FnMut(Request) -> Reply) -> bool {
        match serde_json::from_slice(line) {
            Ok(request) => self.send(&answer(request)),
            Err(error) => {
                self.send(&Reply::error(format!("not a request: {error}")));
                false
            }
        }
    }

    fn send(&mut self, reply: &Reply) -> bool {
        let Ok(mut line) = serde_json::to_vec(reply) else {
            return false;
        };
        line.push(b'\n');
        // A reply fits the socket's buffer, unless the client has left earlier ones there.
        self.stream.write_all(&line).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::rundir::{Places, RunDir};

    struct Setup {
        _parent: tempfile::TempDir,
        run: RunDir,
        server: Server,
    }

    fn setup() -> Setup {
        let parent = tempfile::tempdir().unwrap();
        let run = RunDir::at(parent.path().join("armvisor"));
        let server = Server::new(run.listen("vm").unwrap()).unwrap();
        Setup {
            _parent: parent,
            run,
            server,
        }
    }

    impl Setup {
        fn connect(&self) -> UnixStream {
            let stream = Places::from(self.run.clone()).connect("vm").unwrap();
            stream
                .set_read_timeout(Some(Duration::from_millis(200)))
                .unwrap();
            stream
        }

        fn serve(&mut self) -> Vec<Request> {
            let mut seen = Vec::new();
            for _ in 0..4 {
                let answer = |request| {
                    seen.push(request);
                    Reply::done()
                };
                self.server.serve(answer).unwrap();
            }
            seen
        }
    }

    fn read(stream: &mut UnixStream) -> String {
        let mut bytes = [0; 4096];
        let got = stream.read(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..got]).into_owned()
    }

    #[test]
    fn requests_are_answered_in_order_even_in_pieces() {
        let mut setup = setup();
        let mut client = setup.connect();
        client
            .write_all(b"{\"command\":\"pause\"}\n{\"comm")
            .unwrap();
        assert_eq!(setup.serve(), [Request::Pause]);
        client.write_all(b"and\":\"resume\"}\n").unwrap();
        assert_eq!(setup.serve(), [Request::Resume]);
        assert_eq!(read(&mut client), "{\"ok\":true}\n{\"ok\":true}\n");
    }

    #[test]
    fn garbage_is_answered_and_dropped() {
        for garbage in [&b"\xff\xfe\n"[..], b"{}\n", b"[]\n", b"\n", &[b'['; 900]] {
            let mut setup = setup();
            let mut client = setup.connect();
            let mut line = garbage.to_vec();
            line.push(b'\n');
            client.write_all(&line).unwrap();
            assert!(setup.serve().is_empty());
            assert!(read(&mut client).contains("not a request"));
            assert_eq!(read(&mut client), "", "closed");
            assert!(setup.server.clients.is_empty());
        }
    }

    #[test]
    fn an_endless_request_is_cut_off() {
        let mut setup = setup();
        let mut client = setup.connect();
        client.write_all(&[b'x'; 2 * MAX_REQUEST]).unwrap();
        setup.serve();
        assert!(read(&mut client).contains("too long"));
        assert!(setup.server.clients.is_empty());
    }

    #[test]
    fn a_crowd_is_turned_away_and_leaves_no_trace() {
        let mut setup = setup();
        let crowd: Vec<UnixStream> = (0..MAX_CLIENTS + 4).map(|_| setup.connect()).collect();
        setup.serve();
        assert_eq!(setup.server.clients.len(), MAX_CLIENTS);
        drop(crowd);
        for _ in 0..8 {
            setup.serve();
        }
        assert!(setup.server.clients.is_empty());
        let mut client = setup.connect();
        client.write_all(b"{\"command\":\"stop\"}\n").unwrap();
        assert_eq!(setup.serve(), [Request::Stop]);
    }

    #[test]
    fn a_client_that_never_reads_is_dropped() {
        let mut setup = setup();
        let mut client = setup.connect();
        client.set_nonblocking(true).unwrap();
        for _ in 0..100_000 {
            let _ = client.write(b"{\"command\":\"stat\"}\n");
            setup
                .server
                .serve(|_| Reply::error("x".repeat(1000)))
                .unwrap();
            if setup.server.clients.is_empty() && client.peer_addr().is_ok() {
                let mut gone = setup.connect();
                gone.write_all(b"{\"command\":\"stat\"}\n").unwrap();
                assert_eq!(setup.serve(), [Request::Stat]);
                return;
            }
        }
        panic!("the client is still there");
    }
}
