//! A switch whose configuration file a test changes, key by key.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::process::Command;

use bofuss_tests::{Lab, PATIENCE, ok, printed, program, raw, run};

use crate::pki::Pki;

/// A switch with two hosts and a configuration file, with the file's keys and values.
pub struct Stage {
    pub lab: Lab,
    pub file: String,
    pub keys: BTreeMap<String, String>,
    /// A controller's port, and its connection from the switch.
    pub controller: TcpListener,
    pub port: u16,
    pub pki: Pki,
}

impl Stage {
    pub fn new() -> Self {
        let pki = Pki::new("reload");
        for ca in ["ca", "other"] {
            pki.ca(ca);
        }
        for (ca, who) in [("ca", "tool"), ("ca", "switch"), ("other", "strange")] {
            pki.sign(ca, who, "IP:127.0.0.1");
        }
        let controller = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = controller.local_addr().unwrap().port();
        let file = pki.path("switch.toml");
        let record = format!("'{}'", pki.path("record"));
        std::fs::write(&file, format!("record = {record}\n")).unwrap();
        let lab = Lab::with_file(2, &["--config", &file]);
        let mut keys = BTreeMap::from([("record".into(), record)]);
        let ports = [1, 2].map(|i| format!("{i}={}", lab.port(i)));
        keys.insert("port".into(), format!("{ports:?}"));
        for (key, who) in [
            ("private-key", "switch-privkey"),
            ("certificate", "switch-cert"),
            ("ca-cert", "ca-cert"),
        ] {
            let path = pki.path(&format!("{who}.pem"));
            keys.insert(key.into(), format!("'{path}'"));
        }
        let listen = format!("['pssl:{}']", port + 1);
        keys.insert("listen".into(), listen);
        keys.insert("tables".into(), "10".into());
        let stage = Self {
            lab,
            file,
            keys,
            controller,
            port,
            pki,
        };
        assert_eq!(stage.reload(), (true, String::new()));
        stage.lab.all_ping();
        stage
    }

    /// Writes `keys` to the file, and makes the switch read it. Returns whether it did, and what it
    /// printed.
    pub fn reload(&self) -> (bool, String) {
        let lines = self
            .keys
            .iter()
            .map(|(key, value)| format!("{key} = {value}\n"));
        std::fs::write(&self.file, lines.collect::<String>()).unwrap();
        let mut bofuss = Command::new(program("bofuss"));
        let output = run(bofuss.args(["reload", &self.lab.name]));
        (output.status.success(), printed(&output))
    }

    /// Sets a key and reloads; if that is refused, the key keeps its value here.
    pub fn set(&mut self, key: &str, value: &str) -> (bool, String) {
        let before = self.keys.insert(key.into(), value.into());
        let (done, said) = self.reload();
        if !done {
            match before {
                Some(before) => self.keys.insert(key.into(), before),
                None => self.keys.remove(key),
            };
        }
        (done, said)
    }

    /// Sets a key, and checks that the switch takes the change.
    pub fn follows(&mut self, key: &str, value: &str) {
        assert_eq!(
            self.set(key, value),
            (true, String::new()),
            "{key} = {value}"
        );
    }

    pub fn ctl(&self, words: &str) -> String {
        let mut bofuss = Command::new(program("bofuss"));
        ok(bofuss.args(["ctl", &self.lab.name]).args(words.split(' ')))
    }

    /// Captures and mirrors, without the record.
    pub fn captures(&self) -> String {
        let listed = self.ctl("captures");
        let lines = listed.lines().filter(|line| !line.starts_with("record "));
        lines.collect()
    }

    pub fn dpctl(&self, words: &[&str]) -> String {
        printed(&self.lab.dpctl(words))
    }

    /// Accepts a connection of the switch and sends a HELLO of OpenFlow 1.3.
    pub fn greets(&self) -> TcpStream {
        let (mut stream, _) = self.controller.accept().unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(&raw::HELLO).unwrap();
        stream
    }

    /// Returns true if a tool with these files reaches the switch by TLS.
    pub fn reached_by(&self, who: &str, ca: &str) -> bool {
        let mut dpctl = Command::new(program("dpctl"));
        let files = self.pki.options(who, &format!("{ca}-cert.pem"));
        let address = format!("ssl:127.0.0.1:{}", self.port + 1);
        let output = run(dpctl.args(files).arg(address).arg("features"));
        output.status.success()
    }
}

/// Checks that the switch refuses a value and names its line.
pub fn refuses(stage: &mut Stage, key: &str, value: &str, reason: &str) {
    let (done, said) = stage.set(key, value);
    assert!(!done && said.contains(reason), "{key} = {value}: {said}");
    let number = std::fs::read_to_string(&stage.file)
        .unwrap()
        .lines()
        .position(|line| line.starts_with(&format!("{key} =")))
        .unwrap();
    assert!(
        said.contains(&format!(", line {}: {key}", number + 1)),
        "{said}"
    );
}

/// Changes the keys of VLANs, in the order in which they are listed.
pub fn vlans(stage: &mut Stage, key: &str) {
    if key == "tag" {
        refuses(stage, key, "['2']", "tag 2: it is PORT=VLAN");
        refuses(stage, key, "['2=4095']", "a VLAN is 0 to 4094");
        stage.follows(key, "['2=10']");
        assert!(!stage.lab.pings(1, 2));
        stage.follows(key, "['1=10', '2=10']");
    } else if key == "trunks" {
        refuses(stage, key, "['2=10']", "without vlan-mode");
        stage.follows("tag", "[]");
        stage.follows(key, "['2=10,20']");
        assert!(!stage.lab.pings(1, 2));
        stage.follows(key, "['2=0,20']");
    } else {
        stage.follows("trunks", "[]");
        refuses(
            stage,
            key,
            "['2=dot1q-tunnel']",
            "is none of access, trunk,",
        );
        refuses(stage, key, "['2=native-tagged']", "such a port has a tag");
        stage.follows("tag", "['1=10', '2=10']");
        refuses(stage, key, "['2=trunk']", "such a port has no tag");
        stage.follows(key, "['2=native-tagged']");
        assert!(!stage.lab.pings(1, 2));
        stage.follows(key, "['2=native-untagged']");
    }
    stage.lab.all_ping();
}
