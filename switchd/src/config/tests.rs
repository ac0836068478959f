//! Tests of what a configuration file may say, and of the errors that name its lines.

use super::*;
use bofuss_datapath::{QueueSpec, Rate};
use bofuss_oflib::PortNo;

fn options(ports: &[&str]) -> Options {
    Options {
        ports: ports.iter().map(|p| p.to_string()).collect(),
        ..Options::default()
    }
}

#[test]
fn an_unknown_key_is_answered_with_the_nearest_one() {
    let wrong = |line: &str| from_line(line).expect_err("the key is unknown");
    for (line, wanted) in [
        (
            "{ fail_mode = 'secure' }",
            "'fail_mode'; did you mean 'fail-mode'?",
        ),
        ("{ ports = ['a'] }", "'ports'; did you mean 'port'?"),
        (
            "{ controllers = ['a'] }",
            "'controllers'; did you mean 'controller'?",
        ),
        ("{ prot = ['a'] }", "'prot'; did you mean 'port'?"),
        ("{ ocntroller = ['a'] }", "did you mean 'controller'?"),
        ("{ cntroller = ['a'] }", "did you mean 'controller'?"),
        ("{ fialmode = 'secure' }", "did you mean 'fail-mode'?"),
        ("{ ax-entries = 5 }", "did you mean 'max-entries'?"),
        ("{ ataptah = 'cache' }", "did you mean 'datapath'?"),
        (
            "{ xyz = 1 }",
            "unknown key 'xyz'; bofuss.toml(5) lists the keys",
        ),
        (
            "controller",
            "options are as { controller = [\"tcp:192.0.2.1\"] }: ",
        ),
    ] {
        let said = wrong(line);
        assert!(said.text.contains(wanted), "{said}");
        assert!(!said.text.contains('\n') && said.text.len() < 200, "{said}");
    }
}

#[test]
fn ports_are_numbered_by_place_unless_they_say() {
    let config = options(&["a", "7=b", "tap:c", "local=tap:d"])
        .check()
        .expect("is right");
    let numbers: Vec<u32> = config.ports.iter().map(|port| port.number.0).collect();
    assert_eq!(numbers, [1, 7, 3, PortNo::LOCAL.0]);
}

#[test]
fn a_number_or_interface_twice_is_refused() {
    assert!(options(&["2=a", "b"]).check().is_err());
    assert!(options(&["a", "a"]).check().is_err());
}

#[test]
fn a_peer_twice_is_refused() {
    let twice = Options {
        controllers: vec!["tcp:127.0.0.1".into(), "tcp:127.0.0.1:6653".into()],
        ..Options::default()
    };
    let error = twice.check().unwrap_err().to_string();
    assert_eq!(error, "--controller: tcp:127.0.0.1:6653 is there twice");
}

#[test]
fn a_vlan_of_a_port_that_is_not_there_is_refused() {
    let mut wrong = options(&["a", "b"]);
    wrong.tags.push("3=10".into());
    let error = wrong.check().unwrap_err().to_string();
    assert_eq!(error, "--tag 3=10: there is no port 3");
}

#[test]
fn no_port_has_the_reserved_vlan_as_its_tag() {
    for (tag, right) in [("1=4094", true), ("1=4095", false), ("1=4096", false)] {
        let mut tagged = options(&["a"]);
        tagged.tags.push(tag.into());
        assert_eq!(tagged.check().is_ok(), right, "{tag}");
    }
    let mut trunk = options(&["a"]);
    trunk.trunks.push("1=0,4095".into());
    assert!(trunk.check().is_ok(), "as in Open vSwitch");
}

#[test]
fn without_controller_the_switch_stands_alone() {
    assert_eq!(
        options(&[]).check().expect("is right").fail_mode,
        FailMode::Standalone
    );
    let mut led = options(&[]);
    led.controllers.push("tcp:127.0.0.1".into());
    assert_eq!(led.check().expect("is right").fail_mode, FailMode::Secure);
}

#[test]
fn as_many_auxiliary_connections_as_there_are_numbers() {
    for (count, right) in [(MAX_AUXILIARIES, true), (MAX_AUXILIARIES + 1, false)] {
        let mut many = options(&[]);
        many.auxiliaries = vec!["udp".into(); count];
        assert_eq!(many.check().is_ok(), right);
    }
    for wrong in ["dtls", "tcp:0", "udp:", "ssl"] {
        let mut one = options(&[]);
        one.auxiliaries.push(wrong.into());
        assert!(one.check().is_err(), "{wrong}");
    }
}

#[test]
fn a_rate_is_not_0_and_a_burst_is_a_quarter_of_it_unless_it_is_given() {
    let rates = |packet_in_rate, packet_in_burst| {
        let given = Options {
            message_rate: packet_in_rate,
            packet_in_rate,
            packet_in_burst,
            ..Options::default()
        };
        let config = given.check();
        config.map(|config| [config.message_rate, config.packet_in_rate])
    };
    let rate = |per_second, burst| Some(bofuss_channel::RateLimit { per_second, burst });
    let right = [rate(100, 25), rate(100, 25)];
    assert_eq!(rates(Some(100), None), Ok(right));
    let right = [rate(100, 25), rate(100, 7)];
    assert_eq!(rates(Some(100), Some(7)), Ok(right));
    assert_eq!(rates(None, None), Ok([None, None]));
    assert_eq!(
        rates(Some(0), None),
        Err("--message-rate 0: at least 1".into())
    );
    assert!(rates(None, Some(7)).is_err());
}

#[test]
fn tls_needs_its_three_files() {
    for (list, key) in [("ssl:h", None), ("tcp:h", Some("k.pem"))] {
        let mut half = options(&[]);
        half.controllers.push(list.into());
        half.private_key = key.map(Into::into);
        let error = half.check().expect_err("files are missing");
        assert!(error.text.contains("--ca-cert"), "{error}");
    }
    let mut named = options(&[]);
    named.private_key = Some("/none.pem".into());
    named.certificate = named.private_key.clone();
    named.ca_cert = named.private_key.clone();
    let error = named.check().expect_err("they are not there");
    assert!(error.text.contains(" /none.pem: "), "{error}");
}

#[test]
fn the_file_takes_the_same_keys_and_the_command_line_counts_first() {
    let file: Options =
        toml::from_str("name = 'x'\nport = ['a', 'b']\nfail-mode = 'secure'").expect("is valid");
    let given = Options {
        name: Some("y".into()),
        ..Options::default()
    };
    let merged = over(&given, &file);
    let config = merged.check().expect("is right");
    assert_eq!((config.name.as_str(), config.ports.len()), ("y", 2));
    assert!(
        toml::from_str::<Options>("ports = []").is_err(),
        "an unknown key is refused"
    );
}

#[test]
fn rates_rings_and_queues_belong_to_ports() {
    let mut own = options(&["a", "b"]);
    own.port_rates.push("2=10M".into());
    own.queues = ["1:3:max=500k", "2:1:200", "2:0"]
        .map(String::from)
        .to_vec();
    let config = own.clone().check().expect("is right");
    assert_eq!(config.ports[1].rate_kbps, Some(10_000));
    assert_eq!(config.queues[0].spec.max, Some(Rate::Kbps(500)));
    assert_eq!(config.queues[1].spec.min, Some(Rate::PerMille(200)));
    assert_eq!(config.queues[2].spec, QueueSpec::default());
    for wrong in [
        "3:1:max=1M",
        "1",
        "1:x:max=1M",
        "1:1:max=1001",
        "1:1:maximum=1M",
    ] {
        let queues = vec![wrong.to_string()];
        let options = Options {
            queues,
            ..own.clone()
        };
        assert!(options.check().is_err(), "{wrong}");
    }
    own.rings = ["4096", "2=0"].map(String::from).to_vec();
    let config = own.clone().check().expect("is right");
    let slots: Vec<_> = config.ports.iter().map(|p| p.options.ring_slots).collect();
    assert_eq!(slots, [4096, 0]);
    for wrong in ["65537", "x", "3=1", "1="] {
        let rings = vec![wrong.to_string()];
        let options = Options {
            rings,
            ..own.clone()
        };
        assert!(options.check().is_err(), "{wrong}");
    }
    own.port_rates.push("3=10M".into());
    assert!(own.check().is_err(), "there is no port 3");
}

#[test]
fn what_normal_learns_is_bounded_for_all_ports_or_one() {
    let mut own = options(&["a", "b"]);
    own.mac_limits = ["100", "2=7"].map(String::from).to_vec();
    let tables = own.clone().check().expect("is right").tables;
    assert_eq!(tables.max_addresses, 100);
    assert_eq!(tables.port_addresses, [(PortNo(2), 7)].into());
    for wrong in ["0", "8193", "x", "0=1", "1=", "1=0", "3=7"] {
        own.mac_limits = vec![wrong.to_string()];
        let error = own.clone().check().expect_err(wrong);
        assert!(error.text.starts_with("--mac-limit "), "{error}");
    }
}

#[test]
fn d16_datapath_ids_are_hexadecimal() {
    assert_eq!(datapath_id("0x1f"), Ok(0x1f));
    assert_eq!(datapath_id("000000000010"), Ok(0x10));
    assert!(datapath_id("0").is_err() && datapath_id("12345678901234567").is_err());
}
