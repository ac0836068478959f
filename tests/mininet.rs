//! Mininet drives the switch: its own class for BOFUSS, and ours.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

use bofuss_tests::{have, printed, program, run};

const TOOLS: &[&str] = &["ip", "unshare", "mn", "iperf", "ovs-testcontroller"];
/// The file of our class inside the namespaces.
const OURS: &str = "/run/bin/bofuss_mininet.py";
const FORMER: &str = "/run/bin/mininet.py";
/// Mininet kills by name and deletes files of /tmp. So everything runs in namespaces of its own,
/// with copies of the programs, which may be in /tmp.
const INSIDE: &str = r#"set -e
mount -t tmpfs run /run
mkdir -p /run/netns /run/openvswitch /run/bin
mount -t sysfs sysfs /sys 2>/dev/null || true
cp "$1" "$2" "$3"/contrib/*.py /run/bin
cp "$3"/tests/mininet/*.py "$3"/testdata/p4/crossing/*.json /run
ln -s bofuss /run/bin/ofdatapath
ln -s bofuss /run/bin/ofprotocol
ln -s bofuss /run/bin/simple_switch
ln -s bofuss /run/bin/simple_switch_grpc
cd /run
unset TMPDIR
export PATH=/run/bin:$PATH
shift 3
mount -t tmpfs tmp /tmp
ip link set lo up
status=0
"$@" || status=$?
[ $status = 0 ] || cat /tmp/*.log
exit $status"#;

/// Runs a command where it finds Mininet and our programs. Returns what it prints. Panics: if it
/// fails.
fn inside(words: &[&str]) -> String {
    let root: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut command = Command::new("unshare");
    command.args(["-nm", "--pid", "--fork", "--kill-child", "--mount-proc"]);
    command.args(["sh", "-c", INSIDE, "sh"]);
    command
        .arg(program("bofuss"))
        .arg(program("dpctl"))
        .arg(root);
    command.args(["timeout", "-k", "5", "120"]).args(words);
    let output = run(&mut command);
    let said = printed(&output);
    assert!(output.status.success(), "{words:?}: {said}");
    said
}

/// Runs `mn` with arguments separated by blanks.
fn mn(arguments: &str) -> String {
    let words: Vec<&str> = ["mn"].into_iter().chain(arguments.split(' ')).collect();
    inside(&words)
}

fn tour(class: &str, scenario: &str) -> String {
    // The Python that has the module of the package.
    inside(&["/usr/bin/python3", "/run/tour.py", class, scenario])
}

#[test]
fn mn_with_the_user_switch_works_as_it_is() {
    if !have(TOOLS) {
        return;
    }
    let said = mn("--switch user --controller ovsc --topo linear,6 --wait --test pingall");
    assert!(said.contains("0% dropped (30/30 received)"), "{said}");
    // Without a controller, nothing waits for one.
    mn("--switch user --controller none --topo single,2 --wait --test none");
    // The switches are in namespaces of their own.
    let said = mn("--switch user --controller ovsc --innamespace --wait --test pingall");
    assert!(said.contains("0% dropped"), "{said}");
}

#[test]
fn mn_with_our_class_works() {
    if !have(TOOLS) {
        return;
    }
    let ours = |more: &str| {
        mn(&format!(
            "--custom {OURS} --switch bofuss{more} --test pingall"
        ))
    };
    let said = ours(" --controller ovsc --topo linear,6 --wait");
    assert!(said.contains("0% dropped (30/30 received)"), "{said}");
    for more in [
        ",datapath=reference --controller none",
        ",failMode=standalone --controller remote,port=6999 --topo tree,2,2",
        ",inNamespace=1 --controller none",
        " --controller ovsc --innamespace --wait",
    ] {
        let said = ours(more);
        assert!(said.contains("0% dropped"), "{more}: {said}");
    }
}

#[test]
fn a_p4_program_runs_in_switches_of_our_class() {
    if !have(TOOLS) {
        return;
    }
    let ours = |more: &str, test: &str| {
        let switch = format!("--switch bofussp4{more} --controller none");
        mn(&format!(
            "--custom {OURS} {switch} --topo linear,2 --test {test}"
        ))
    };
    let program = ",json=/run/crossing.json";
    let said = ours(program, "pingall");
    assert!(said.contains("0% dropped (2/2 received)"), "{said}");
    // Without a program, nothing passes before a controller has set one.
    let said = ours("", "pingall");
    assert!(said.contains("100% dropped (0/2 received)"), "{said}");
    let script = format!(
        "cp /run/s1-runtime.json /run/s2-runtime.json; echo 'dpctl entries MyIngress.others' | \
         mn --custom {OURS} --controller none --topo linear,2 \
         --switch bofussp4{program},entries=/run/{{name}}-runtime.json,grpcPort=50051,cpuPort=255"
    );
    let said = inside(&["sh", "-c", &script]);
    assert_eq!(
        said.matches("MyIngress.send(port=0x1)").count(),
        2,
        "{said}"
    );
    // Without controllers, commands change the entries: those of files and of dpctl.
    let script = format!(
        "for n in 1 2; do echo 'table_add others send 3 => 1' > /run/s$n-commands.txt; done; \
         printf 'dpctl table_add others send 4 => 2\\ndpctl entries MyIngress.others\\n' | \
         mn --custom {OURS} --controller none --topo linear,2 \
         --switch bofussp4{program},commands=/run/{{name}}-commands.txt"
    );
    let said = inside(&["sh", "-c", &script]);
    for wanted in ["MyIngress.send(port=0x1)", "MyIngress.send(port=0x2)"] {
        assert_eq!(said.matches(wanted).count(), 2, "{said}");
    }
}

#[test]
fn what_starts_bmv2_as_the_p4_tutorials_do_finds_our_stand_ins() {
    if !have(TOOLS) || !have(&["ss"]) {
        return;
    }
    for program in ["simple_switch", "simple_switch_grpc"] {
        let words = [
            "/usr/bin/python3",
            "/run/bmv2.py",
            program,
            "/run/crossing.json",
        ];
        let said = inside(&words);
        for wanted in [
            "lost: 0",
            "MyIngress.crossing",
            "s1-eth1.pcap has frames",
            "s1-eth2.pcap has frames",
            "--thrift-port: there is no Thrift",
            "--nanolog: events are not published",
        ] {
            assert!(said.contains(wanted), "{program}: {wanted}: {said}");
        }
        let listens = program == "simple_switch_grpc";
        assert_eq!(said.contains("listens: LISTEN"), listens, "{said}");
        assert_eq!(said.matches("there is no Thrift").count(), 1, "{said}");
    }
}

#[test]
fn sflow_of_switches_reaches_a_collector_beside_them() {
    if !have(TOOLS) || !have(&["sfcapd", "nfdump"]) {
        return;
    }
    // As docs/flow-export.md has it.
    let script = format!(
        "mkdir /tmp/flows; sfcapd -l /tmp/flows -b 127.0.0.1 -p 6343 2>/dev/null & sleep 1
        mn --custom {OURS} --topo linear,3 --controller none \
        --switch bofuss,failMode=standalone,opts=\"--sflow '127.0.0.1 rate=1 poll=5'\" \
        --test pingall
        sleep 1; kill $!; wait $!; nfdump -R /tmp/flows -s ip/packets"
    );
    let said = inside(&["sh", "-c", &script]);
    assert!(said.contains("0% dropped (6/6 received)"), "{said}");
    for host in 1..=3 {
        assert!(said.contains(&format!(" 10.0.0.{host} ")), "{said}");
    }
}

#[test]
fn the_class_is_importable_and_its_former_file_still_works() {
    if !have(TOOLS) {
        return;
    }
    let said = mn(&format!(
        "--custom {FORMER} --switch bofuss --controller none --test pingall"
    ));
    assert!(said.contains("0% dropped"), "{said}");
    // In their folder, and with it first on the path.
    let import = "import sys; sys.path.insert(0, '/run/bin'); import bofuss_mininet, mininet.net; \
                  print(bofuss_mininet.BofussSwitch.__name__, mininet.__file__)";
    let said = inside(&["/usr/bin/python3", "-B", "-c", import]);
    assert!(said.contains("BofussSwitch /usr/"), "{said}");
}

#[test]
fn a_courses_first_exercises_work_with_either_class() {
    if !have(TOOLS) {
        return;
    }
    for class in ["user", OURS] {
        let said = tour(class, "tour");
        let dpctl = said.split_once("*** s1").unwrap_or_default().1;
        for wanted in ["actions=", "remote.is-connected=true", "rx pkts="] {
            assert!(dpctl.contains(wanted), "{class}: {wanted} in: {said}");
        }
    }
}

#[test]
fn several_controllers_links_with_a_rate_and_numbers_of_ports_work() {
    if !have(TOOLS) {
        return;
    }
    for class in ["user", OURS] {
        tour(class, "controllers");
        tour(class, "shaped");
        tour(class, "numbered");
    }
    tour(OURS, "late");
}

#[test]
fn a_switch_that_is_stopped_and_started_works_again() {
    if !have(TOOLS) {
        return;
    }
    for class in ["user", OURS] {
        tour(class, "again");
    }
}

#[test]
fn access_points_of_mininet_wifi_find_what_they_start() {
    if have(TOOLS) {
        tour("user", "wifi");
    }
}

#[test]
#[ignore = "takes a minute"]
fn twenty_switches_in_a_row_and_a_hundred_work() {
    if !have(TOOLS) {
        return;
    }
    // The test controller takes 16 switches only.
    for class in [
        "user,opts=--fail=open".into(),
        format!("bofuss,failMode=standalone --custom {OURS}"),
    ] {
        let said = mn(&format!(
            "--switch {class} --controller none --topo linear,20 --wait --test pingall"
        ));
        assert!(said.contains("0% dropped (380/380 received)"), "{said}");
    }
    println!("{}", tour(OURS, "many"));
}
