//! TLS (section 6.3.4) with other implementations: OpenSSL, Open vSwitch with its PKI, os-ken.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Stdio};

use bofuss_tests::locked::give;
use bofuss_tests::{Lab, Process, have, ok, printed, program, python, run, until};

mod pki;

use pki::Pki;

/// The first message of a switch: a HELLO of 1.5, in hexadecimal.
const HELLO: &str = "0600001000000000";

/// A laboratory whose switch has these arguments and certificates.
fn lab(hosts: u8, words: &[&str], tls: &[String]) -> Lab {
    let tls = tls.iter().map(String::as_str);
    Lab::new(hosts, &words.iter().copied().chain(tls).collect::<Vec<_>>())
}

/// Runs `ovs-ofctl` with these certificates. Returns what it prints, and whether it succeeds.
fn ofctl(address: &str, tls: &[String]) -> (String, bool) {
    let mut command = Command::new("ovs-ofctl");
    command
        .args(tls)
        .args(["-O", "OpenFlow13", "--timeout=10", "show", address]);
    let output = run(&mut command);
    (printed(&output), output.status.success())
}

/// Runs `openssl s_client`, which sends nothing, for some seconds. Returns what it prints, with the
/// peer's bytes in hexadecimal.
fn s_client(pki: &Pki, port: u16, seconds: u64, options: &str) -> String {
    let limit = seconds + 2;
    let client = format!("timeout {limit} openssl s_client -connect 127.0.0.1:{port} {options}");
    let script = format!("sleep {seconds} | {client} 2>&1 | od -An -tx1 -w100000 | tr -d ' \\n'");
    let hex = ok(Command::new("sh").args(["-c", &script]).current_dir(&pki.0));
    hex.trim().into()
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn d22_tools_reach_the_switch_by_tls_with_a_certificate_and_not_without() {
    if !have(&["ip", "openssl", "ovs-ofctl"]) {
        return;
    }
    let pki = Pki::new("tools");
    pki.ca("ca");
    pki.ca("foreign");
    pki.sign("ca", "switch", "IP:127.0.0.1,DNS:localhost");
    pki.sign("ca", "tool", "DNS:tool");
    pki.sign("foreign", "stranger", "DNS:stranger");
    let listen = ["--listen", "pssl:16671", "--listen", "ptcp:16672"];
    let lab = lab(1, &listen, &pki.options("switch", "ca-cert.pem"));
    let tool = pki.options("tool", "ca-cert.pem");
    let (text, done) = ofctl("ssl:127.0.0.1:16671", &tool);
    assert!(done && text.contains("OFPT_FEATURES_REPLY"), "{text}");
    let mut dpctl = Command::new(program("dpctl"));
    let text = ok(dpctl.args(&tool).args(["ssl:localhost:16671", "show"]));
    assert!(text.contains("dpid:"), "{text}");

    // Both versions of TLS, and no older one.
    let known =
        "-key tool-privkey.pem -cert tool-cert.pem -CAfile ca-cert.pem -verify_return_error";
    for (option, version) in [("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3")] {
        let options = format!("-quiet {option} {known}");
        // A busy machine takes longer.
        let mut times = [1, 2, 4, 8].iter();
        let is_greeted =
            times.any(|seconds| s_client(&pki, 16671, *seconds, &options).contains(HELLO));
        assert!(is_greeted, "{version}");
    }
    let old = s_client(
        &pki,
        16671,
        1,
        &format!("-tls1_1 -cipher ALL:@SECLEVEL=0 {known}"),
    );
    assert!(!old.contains(HELLO), "{old}");
    until("the log has the old version", || {
        lab.log().contains("TLS: peer is incompatible")
    });

    // No certificate, and one of a CA that is not ours.
    let alerts = ["alert certificate required", "alert handshake failure"].map(hex);
    let is_refused = [1, 2, 4, 8].iter().any(|seconds| {
        let none = s_client(&pki, 16671, *seconds, "-tls1_2 -CAfile ca-cert.pem");
        alerts.iter().any(|alert| none.contains(alert))
    });
    assert!(is_refused, "no alert");
    until("the log says that there is none", || {
        lab.log().contains("the peer shows no certificate")
    });
    let (text, done) = ofctl(
        "ssl:127.0.0.1:16671",
        &pki.options("stranger", "ca-cert.pem"),
    );
    assert!(!done, "{text}");
    until("the log tells of the stranger", || {
        lab.log()
            .contains("on pssl:16671:127.0.0.1: TLS: the peer's certificate is signed by no CA")
    });

    // A peer without TLS on the TLS port, and the other way round.
    let (text, done) = ofctl("tcp:127.0.0.1:16671", &tool);
    assert!(!done, "{text}");
    until("the log tells of the plain peer", || {
        lab.log()
            .contains("on pssl:16671:127.0.0.1: TLS: the peer does not speak TLS")
    });
    let (text, done) = ofctl("ssl:127.0.0.1:16672", &tool);
    assert!(!done, "{text}");
    until("the log tells of the TLS peer", || {
        let wanted = "on ptcp:16672:127.0.0.1: the peer speaks TLS, and this side plain OpenFlow";
        lab.log().contains(wanted)
    });
}

#[test]
fn the_pki_of_open_vswitch_serves_the_switch_and_its_controller() {
    if !have(&["ip", "ping", "ovs-pki", "ovs-ofctl", "ovs-testcontroller"]) {
        return;
    }
    let pki = Pki::new("ovs");
    let common = format!("-d {} -l {}", pki.path("pki"), pki.path("log"));
    pki.run("ovs-pki", &format!("{common} init"));
    pki.run("ovs-pki", &format!("{common} req+sign sc switch"));
    pki.run("ovs-pki", &format!("{common} req+sign ctl controller"));
    let mut controller = Command::new("ovs-testcontroller");
    controller
        .args(pki.options("ctl", "pki/switchca/cacert.pem"))
        .args(["-O", "OpenFlow14"])
        .arg(format!("--unixctl={}", pki.path("control")));
    let log = std::fs::File::create(pki.path("controller.log")).unwrap();
    let controller = Process::start(controller.arg("pssl:16673:127.0.0.1").stderr(log));
    let strict = pki.options("sc", "pki/controllerca/cacert.pem");
    let words = ["--controller", "ssl:127.0.0.1:16673"];
    // These certificates name no host.
    let refusing = lab(1, &words, &strict);
    until("the name is refused", || {
        let log = refusing.log();
        log.contains("ssl:127.0.0.1:16673: TLS: the peer's certificate is not for 127.0.0.1")
    });
    drop(refusing);
    let lab = lab(2, &["--any-peer-name", words[0], words[1]], &strict);
    lab.all_ping();
    drop((lab, controller));
}

/// os-ken's learning switch at a port of `pssl:`, with the certificate `ctl`.
fn learning(pki: &Pki, port: &str) -> Process {
    let mut controller = Command::new(python());
    controller.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("controllers"));
    controller.args(["learning.py", port]);
    controller.args(["--ctl-privkey", &pki.path("ctl-privkey.pem")]);
    controller.args(["--ctl-cert", &pki.path("ctl-cert.pem")]);
    controller.args(["--ca-certs", &pki.path("ca-cert.pem")]);
    Process::start(controller.stdout(Stdio::null()).stderr(Stdio::null()))
}

#[test]
fn a_locked_switch_speaks_tls_to_a_controller_that_comes_again_and_to_tools() {
    if !have(&["ip", "ping", "openssl", "python3"]) {
        return;
    }
    let pki = Pki::new("locked");
    pki.ca("ca");
    pki.sign("ca", "ctl", "IP:127.0.0.1");
    pki.sign("ca", "switch", "IP:127.0.0.1");
    // OpenSSL writes it for its owner alone, whom later keys in it keep.
    give(&pki.path("switch-privkey.pem"));
    // The first handshake comes after the rights are gone.
    let words = [
        "--lock-down",
        "--controller",
        "ssl:127.0.0.1:16676",
        "--listen",
        "pssl:16677",
    ];
    let mut lab = lab(2, &words, &pki.options("switch", "ca-cert.pem"));
    until("it is locked down", || {
        lab.log().contains("locked down: no capabilities")
    });
    let connected = |lab: &Lab| lab.log().matches("ssl:127.0.0.1:16676: connected").count();
    let tool = pki.options("ctl", "ca-cert.pem");
    for time in 1..=3 {
        let controller = learning(&pki, "16676");
        until("the controller is there", || connected(&lab) == time);
        lab.all_ping();
        let mut dpctl = Command::new(program("dpctl"));
        ok(dpctl.args(&tool).args(["ssl:127.0.0.1:16677", "show"]));
        // The files are read again, in the folder that was declared.
        pki.sign("ca", "switch", "IP:127.0.0.1");
        drop(controller);
        until("the switch notices", || {
            let log = lab.log();
            log.matches("ssl:127.0.0.1:16676: disconnected").count() == time
        });
    }
    until("the log tells of the changed files", || {
        lab.log()
            .contains("TLS: new connections use the changed files")
    });
    // A handshake that fails is logged, and has no other effect.
    pki.ca("foreign");
    pki.sign("foreign", "stranger", "DNS:stranger");
    let mut dpctl = Command::new(program("dpctl"));
    dpctl.args(pki.options("stranger", "ca-cert.pem"));
    assert!(
        !run(dpctl.args(["ssl:127.0.0.1:16677", "show"]))
            .status
            .success()
    );
    until("the log tells of the stranger", || {
        lab.log().contains("signed by no CA of ours")
    });
    assert_eq!(lab.switch.terminate(), Some(0));
}

#[test]
fn a_learning_switch_on_os_ken_by_tls_joins_hosts_while_certificates_change() {
    if !have(&["ip", "ping", "openssl", "python3"]) {
        return;
    }
    let pki = Pki::new("os-ken");
    pki.ca("ca");
    pki.sign("ca", "ctl", "IP:127.0.0.1");
    pki.sign("ca", "switch", "DNS:switch");
    let mut controller = Some(learning(&pki, "16674"));
    let words = [
        "--controller",
        "ssl:127.0.0.1:16674",
        "--listen",
        "pssl:16675",
    ];
    let lab = lab(2, &words, &pki.options("switch", "ca-cert.pem"));
    lab.all_ping();
    lab.tcp(1, 2, 16);
    // A new certificate is shown to new connections; the controller stays.
    pki.sign("ca", "switch", "IP:127.0.0.1");
    let tool = pki.options("ctl", "ca-cert.pem");
    let mut dpctl = Command::new(program("dpctl"));
    ok(dpctl.args(&tool).args(["ssl:127.0.0.1:16675", "show"]));
    until("the log tells of the changed files", || {
        lab.log()
            .contains("TLS: new connections use the changed files")
    });
    assert!(!lab.log().contains("ssl:127.0.0.1:16674: disconnected"));
    lab.all_ping();
    drop(controller.take());
    until("the switch notices", || {
        lab.log().contains("ssl:127.0.0.1:16674: disconnected")
    });
}

#[test]
fn keys_on_a_slow_file_system_delay_nobody_for_long() {
    if !have(&["ip", "openssl", "strace"]) {
        return;
    }
    let pki = Pki::new("slow");
    pki.ca("ca");
    pki.sign("ca", "ctl", "IP:127.0.0.1");
    pki.sign("ca", "switch", "IP:127.0.0.1");
    let words = ["--listen", "pssl:16678"];
    let lab = lab(2, &words, &pki.options("switch", "ca-cert.pem"));
    let (key, trace) = (pki.path("switch-privkey.pem"), pki.path("trace"));
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-o", &trace, "-P", &key]);
    strace.args([
        "-e",
        "trace=%file",
        "-e",
        "inject=%file:delay_enter=3600000000",
    ]);
    let process = lab.switch.0.id().to_string();
    let _tracer = Process::start(strace.args(["-p", &process]).stderr(Stdio::null()));
    until("it is traced", || {
        let status = std::fs::read_to_string(format!("/proc/{process}/status"));
        !status.unwrap().contains("TracerPid:\t0\n")
    });
    // The first connection waits a second for its thread, and then takes the files as they were.
    for _ in 0..3 {
        let mut dpctl = Command::new(program("dpctl"));
        dpctl.args(pki.options("ctl", "ca-cert.pem"));
        ok(dpctl.args(["ssl:127.0.0.1:16678", "show"]));
        assert!(lab.dpctl(&["show"]).status.success());
        assert!(std::fs::read_to_string(&trace).unwrap().contains(&key));
    }
    lab.all_ping();
}
