// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! The main loop of a machine without vCPUs: requests to a machine that its guest resets at once.

use std::io::Write as _;
use std::os::unix::net::UnixStream;

use armvisor_devices::button::Button;

use super::*;
use crate::rundir::{Places, RunDir};

struct Silent;

impl armvisor_devices::Interrupt for Silent {
    fn trigger(&self) -> io::Result<()> {
        Ok(())
    }
}

struct Setup {
    _parent: tempfile::TempDir,
    run: RunDir,
    outside: Outside,
    shared: Arc<Shared>,
}

fn setup() -> Setup {
    let parent = tempfile::tempdir().unwrap();
    let run = RunDir::at(parent.path().join("armvisor"));
    let outside = Outside {
        signals: EndSignals::new().unwrap(),
        server: Server::new(run.listen("vm").unwrap()).unwrap(),
    };
    Setup {
        _parent: parent,
        run,
        outside,
        shared: Arc::new(Shared::new().unwrap()),
    }
}

impl Setup {
    /// A client that has said what it wants.
    fn ask(&self, request: Request) -> UnixStream {
        let mut stream = Places::from(self.run.clone()).connect("vm").unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        let line = serde_json::to_string(&request).unwrap();
        stream.write_all(format!("{line}\n").as_bytes()).unwrap();
        stream
    }

    /// One machine of the VM, from its first look to its end.
    fn run_machine(&mut self) -> Ended {
        let shared = Arc::clone(&self.shared);
        let screen = Screen::new(None).unwrap();
        let main_loop = MainLoop {
            shared,
            vcpus: Vec::new(),
            io: IoThread::spawn().unwrap(),
            io_patience: PATIENCE,
            uart: Arc::new(Uart::new(Box::new(Silent), screen)),
            clock: Arc::new(RealTimeClock::new(Box::new(Silent)).unwrap()),
            outside: &mut self.outside,
            coalesced: false,
            handles: Handles {
                balloon: None,
                button: Button::new().unwrap().1,
            },
            memory: Size {
                bytes: 64 << 20,
                unit: Unit::M,
            },
            stat: Box::new(|state| Stat {
                state,
                ..Stat::default()
            }),
            account: Box::new(|_| Ok(())),
        };
        main_loop.run(false).unwrap()
    }
}

fn reply(mut stream: UnixStream) -> Reply {
    let mut bytes = [0; 4096];
    let got = stream.read(&mut bytes).unwrap();
    serde_json::from_slice(&bytes[..got]).unwrap()
}

#[test]
fn a_reset_restarts() {
    let mut setup = setup();
    setup.shared.end(End::Reset);
    let mut ended = setup.run_machine();
    assert!(ended.may_restart() && !ended.paused);
    assert_eq!(ended.end, End::Reset);
}

#[test]
fn who_asks_is_heard_although_the_machine_has_ended_before_its_loop() {
    let mut setup = setup();
    let client = setup.ask(Request::Stat);
    setup.shared.end(End::Reset);
    assert!(setup.run_machine().may_restart());
    assert!(reply(client).stat.is_some());
}

#[test]
fn a_stop_stands_against_a_reset_that_came_first() {
    let mut setup = setup();
    let client = setup.ask(Request::Stop);
    setup.shared.end(End::Reset);
    let mut ended = setup.run_machine();
    // If a reset ends the VM anyway, the reset counts: it came first.
    assert_eq!(ended.end, End::Reset);
    assert!(!ended.may_restart(), "it was told to end");
    let by = "armvisor stop --force";
    assert_eq!(ended.end, End::Stopped { by });
    assert!(reply(client).ok);
}

#[test]
fn a_stop_that_comes_first_is_the_end() {
    let mut setup = setup();
    setup.shared.stop(End::Signal { number: 15 });
    setup.shared.end(End::Reset);
    let mut ended = setup.run_machine();
    assert!(!ended.may_restart());
    assert_eq!(ended.end, End::Signal { number: 15 });
}

#[test]
fn a_stop_changes_no_other_end() {
    let mut setup = setup();
    setup.shared.end(End::PowerOff);
    setup.shared.stop(End::Signal { number: 1 });
    let mut ended = setup.run_machine();
    assert!(!ended.may_restart());
    assert_eq!(ended.end, End::PowerOff);
}

#[test]
fn a_pause_that_meets_a_reset_is_the_next_machines() {
    let mut setup = setup();
    let client = setup.ask(Request::Pause);
    setup.shared.end(End::Reset);
    let mut ended = setup.run_machine();
    assert!(ended.may_restart() && ended.paused);
    assert!(reply(client).ok);
}
