//! Drivers of ports at a real switch: what controllers of all versions see, drivers that go and
//! come back, and hostile ones, which hold up nobody.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bofuss_channel::{ActiveAddress, Client, Endpoint, run_sockets};
use bofuss_oflib::message::multipart::{PortDescRequest, PortRequest, ReplyBody, RequestBody};
use bofuss_oflib::text::parse_bytes;
use bofuss_oflib::wire::{Bytes, Text};
use bofuss_oflib::{Message, PortNo, Version};
use bofuss_tests::folder::Folder;
use bofuss_tests::{Lab, PATIENCE, have, ok, program, until};

/// What others may wait for while hostile drivers do what they can.
const MOST_WAIT: Duration = Duration::from_millis(500);
/// For how long they do it.
const ATTACK: Duration = Duration::from_secs(6);

/// A driver.
struct Driver(BufReader<UnixStream>);

impl Driver {
    fn connect(lab: &Lab) -> Self {
        let path = run_sockets("driver", Some(&lab.name)).remove(0).path;
        let stream = UnixStream::connect(path).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self(BufReader::new(stream))
    }

    /// The driver of a port.
    fn of(lab: &Lab, port: u32) -> Self {
        let mut driver = Self::connect(lab);
        driver.say(&format!("{{\"port\":{port}}}"));
        let answer = driver.hear();
        assert!(answer.contains(&format!("\"port\":{port}")), "{answer}");
        driver
    }

    fn say(&mut self, line: &str) {
        let line = format!("{line}\n");
        self.0.get_mut().write_all(line.as_bytes()).unwrap();
    }

    fn hear(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().into()
    }
}

/// A runtime for clients.
fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().unwrap()
}

async fn client(lab: &Lab, version: Version) -> Client {
    let path = run_sockets("sock", Some(&lab.name)).remove(0).path;
    let address = ActiveAddress(Endpoint::Unix(path));
    let catalogue = Arc::new(bofuss_ext::catalogue());
    let versions = [version];
    let connecting = Client::connect(&address, &versions, &catalogue, None, PATIENCE);
    connecting.await.unwrap()
}

/// Asks with a multipart request. Returns the answer.
async fn ask(client: &mut Client, body: RequestBody) -> ReplyBody {
    let request = Message::MultipartRequest(body.into());
    let Message::MultipartReply(reply) = client.request(&request).await.unwrap() else {
        panic!("it is no multipart reply");
    };
    reply.body
}

#[test]
fn controllers_of_all_versions_see_what_a_driver_says_and_set_what_it_lets_them() {
    if !have(&["ip"]) {
        return;
    }
    let lab = Lab::new(2, &[]);
    let mut driver = Driver::of(&lab, 1);
    driver.say(
        r#"{"values":{"channel":36},"settable":["channel"],"counters":{"retries":7},
        "optical":{"supported":["TX_PWR"],"tx_pwr_min":-30,"tx_pwr_max":30},
        "optical_stats":{"flags":["RX_PWR"],"rx_pwr":-152}}"#
            .replace('\n', " ")
            .as_str(),
    );
    until("the switch knows it", || {
        lab.asks(&["port_values"]).contains("channel=36")
    });
    for (number, &version) in (40..).zip(Version::SPOKEN) {
        runtime().block_on(async {
            let mut controller = client(&lab, version).await;
            driver.say(&format!(r#"{{"values":{{"channel":{number}}}}}"#));
            driver.say(r#"{"event":"association","details":{"signal_dbm":-60}}"#);
            let (mut has_status, mut event) = (false, String::new());
            while event.is_empty() {
                match controller.next().await.unwrap().1 {
                    Message::PortStatus(status) => {
                        assert_eq!(status.desc.port_no, PortNo(1));
                        has_status = true;
                    }
                    Message::Experimenter(value) => event = format!("{}", Text(&value)),
                    other => panic!("{other:?}"),
                }
            }
            assert!(
                has_status,
                "a change is a PORT_STATUS, in version {version}"
            );
            assert_eq!(event, "port_event(port=1,event=association,signal_dbm=-60)");
            if !version.has_bundles() {
                return;
            }
            let asked = RequestBody::PortDesc(PortDescRequest::ALL);
            let ReplyBody::PortDesc(ports) = ask(&mut controller, asked).await else {
                panic!("it is no port description");
            };
            assert_eq!(ports[0].optical.unwrap().tx_pwr_min as i16, -30);
            let values = &ports[0].experimenters[0].data;
            let channel = [&b"\0\0\x07\x08channel\0\0\0\0\0\0\0"[..], &[number]].concat();
            assert_eq!(*values, Bytes(channel));
            let asked = RequestBody::PortStats(PortRequest { port_no: PortNo(1) });
            let ReplyBody::PortStats(stats) = ask(&mut controller, asked).await else {
                panic!("it is no port statistics");
            };
            assert_eq!(stats[0].optical.unwrap().rx_pwr as i16, -152);
            let retries = "00000708726574726965730000000000000007";
            assert_eq!(
                stats[0].experimenters[0].data.0,
                parse_bytes(retries).unwrap()
            );
        });
        let version = format!("OpenFlow{}", version.to_string().replace('.', ""));
        let set = ["-O", &version, "port_set", "port=1,channel=11"];
        assert!(lab.dpctl(&set).status.success());
        assert_eq!(driver.hear(), r#"{"set":{"channel":11}}"#);
    }
    drop(driver);
    until("its values have gone", || {
        lab.asks(&["port_values"]).is_empty()
    });
    // The next driver is told what controllers want, in place of the one that has gone.
    let mut next = Driver::connect(&lab);
    next.say(r#"{"port":1}"#);
    assert!(next.hear().contains(r#""set":{"channel":11}"#));
}

#[test]
fn a_switch_with_workers_locked_down_or_recorded_has_drivers_too() {
    if !have(&["ip", "ping"]) {
        return;
    }
    let folder = Folder::new("drivers");
    let record = folder.file("record");
    for options in [
        &["--workers", "2"][..],
        &["--lock-down"],
        &["--record", &record],
        &["--datapath", "reference"],
        &["--versions", "1.0"],
    ] {
        let mut lab = Lab::new(2, options);
        lab.all_ping();
        let mut driver = Driver::of(&lab, 1);
        driver.say(r#"{"values":{"channel":36},"settable":["channel"],"link":"down"}"#);
        until("the link is down", || !lab.pings(1, 2));
        assert!(
            lab.asks(&["port_values"]).contains("channel=36"),
            "{options:?}"
        );
        lab.asks(&["port_set", "port=1,channel=40"]);
        assert_eq!(driver.hear(), r#"{"set":{"channel":40}}"#, "{options:?}");
        drop(driver);
        until("the link is as the interface", || lab.pings(1, 2));
        assert_eq!(lab.switch.terminate(), Some(0), "{options:?}");
    }
    let said = ok(Command::new(program("bofuss")).args(["replay", &record]));
    assert!(said.contains("outputs as recorded"), "{said}");
}

/// Runs `attack` again and again in a thread for [`ATTACK`].
fn attacker(ends: &Arc<AtomicBool>, mut attack: impl FnMut() + Send + 'static) {
    let ends = ends.clone();
    thread::spawn(move || {
        while !ends.load(Ordering::Relaxed) {
            attack();
        }
    });
}

/// Has drivers attack in the ways that there are. One who is closed comes back.
fn attack(lab: &Lab, ends: &Arc<AtomicBool>) {
    let path = run_sockets("driver", Some(&lab.name)).remove(0).path;
    let bursts: [(&str, bool); 6] = [
        // Events, and answers that are not read.
        ("{\"event\":\"e\",\"details\":{\"a\":1}}\n", false),
        // The same, read.
        ("{\"event\":\"e\"}\n", true),
        ("{\"link\":\"down\"}\n{\"link\":\"up\"}\n", true),
        ("no line of the protocol\n", true),
        ("a line without an end ", true),
        ("{\"port\":1}\n{\"port\":1}\n", false),
    ];
    for (number, (text, reads)) in (3..).zip(bursts) {
        let path = path.clone();
        attacker(ends, move || {
            let mut stream = UnixStream::connect(&path).unwrap();
            stream
                .set_write_timeout(Some(Duration::from_secs(1)))
                .unwrap();
            let first = format!("{{\"port\":{number}}}\n");
            if reads {
                let reader = stream.try_clone().unwrap();
                thread::spawn(move || BufReader::new(reader).lines().map_while(Result::ok).count());
            }
            let burst = text.repeat(1000);
            let mut written = stream.write_all(first.as_bytes());
            let begin = Instant::now();
            while written.is_ok() && begin.elapsed() < Duration::from_secs(2) {
                written = stream.write_all(burst.as_bytes());
            }
            // The thread that reads has it, too.
            let _ = stream.shutdown(Shutdown::Both);
        });
    }
    // Connections that say nothing, and drivers that go at once.
    attacker(ends, move || {
        let silent: Vec<_> = (0..100).map(|_| UnixStream::connect(&path)).collect();
        for mut stream in silent.into_iter().flatten() {
            let _ = stream.write_all(b"{\"port\":9}\n");
        }
        thread::sleep(Duration::from_millis(100));
    });
}

#[test]
fn hostile_drivers_hold_up_no_packet_no_controller_and_no_other_driver() {
    if !have(&["ip", "ping"]) {
        return;
    }
    let lab = Lab::new(9, &[]);
    lab.all_ping();
    let mut good = Driver::of(&lab, 2);
    good.say(r#"{"values":{"channel":0},"settable":["channel"]}"#);
    until("it is known", || {
        lab.asks(&["port_values"]).contains("settable=(channel)")
    });
    let before = lab.resident_kib();
    let ends = Arc::new(AtomicBool::new(false));
    attack(&lab, &ends);
    let (mut echo, mut set, mut ping) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    let begin = Instant::now();
    let runtime = runtime();
    let mut controller = runtime.block_on(client(&lab, Version::V1_3));
    while begin.elapsed() < ATTACK {
        let start = Instant::now();
        let asked = Message::EchoRequest(Bytes(vec![7; 8]));
        runtime.block_on(controller.request(&asked)).unwrap();
        echo = echo.max(start.elapsed());
        let start = Instant::now();
        assert!(lab.pings(1, 2), "packets pass");
        ping = ping.max(start.elapsed());
        let start = Instant::now();
        good.say(r#"{"port":2}"#);
        assert!(good.hear().contains("has port 2 already"));
        set = set.max(start.elapsed());
    }
    ends.store(true, Ordering::Relaxed);
    let grown = lab.resident_kib().saturating_sub(before);
    println!("longest waits: echo {echo:?}, ping {ping:?}, driver {set:?}; {grown} KiB more");
    assert!(
        echo < MOST_WAIT && set < MOST_WAIT,
        "echo {echo:?}, driver {set:?}"
    );
    assert!(ping < 2 * MOST_WAIT, "a program that pings once: {ping:?}");
    assert!(grown < 100 << 10, "{grown} KiB");
    assert!(lab.log().lines().count() < 2000, "the log is bounded");
    until("other ports are as before", || {
        lab.asks(&["port_values"])
            .lines()
            .all(|line| line.starts_with("port=2"))
    });
}
