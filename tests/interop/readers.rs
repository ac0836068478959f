//! Those that read what a switch says, and what they say to it.

use std::path::{Path, PathBuf};
use std::process::Command;

use bofuss_oflib::Version::{self, V1_0, V1_1, V1_2, V1_3};
use bofuss_tests::misread::MISREAD;
use bofuss_tests::{printed, python, run};

use crate::drive::Told;
use crate::pcap;

/// A library or program that reads messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reader {
    Openflowj,
    OsKen,
    PythonOpenflow,
    Tshark,
}

use Reader::{Openflowj, OsKen, PythonOpenflow, Tshark};

pub const READERS: [Reader; 4] = [Openflowj, OsKen, PythonOpenflow, Tshark];

/// The verdict of a reader on a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    Read,
    /// It does not read what the specification has; why.
    Misread(String),
    Fault(String),
}

/// The messages that readers misread, one row in a line.
const KNOWN_MISREADINGS: &str = include_str!("misread.txt");

impl Reader {
    pub fn speaks(self, version: Version) -> bool {
        match self {
            Openflowj => true,
            OsKen => version != V1_1,
            PythonOpenflow => [V1_0, V1_3].contains(&version),
            Tshark => ![V1_1, V1_2].contains(&version),
        }
    }

    /// Returns what it says to each message.
    pub fn read(self, version: Version, told: &[Told]) -> Vec<Verdict> {
        let all = match self {
            Openflowj => run_on(told, &mut java("Read.java")),
            OsKen => run_on(told, &mut script(&python(), "read_osken.py")),
            PythonOpenflow => {
                let python = target().join("venv-interop/bin/python");
                run_on(told, &mut script(&python, "read_pyof.py"))
            }
            Tshark => dissect(told),
        };
        assert_eq!(all.len(), told.len(), "{self:?} reads each message");
        let judged = all
            .into_iter()
            .zip(told)
            .map(|(verdict, told)| match verdict {
                Verdict::Fault(said) => self.judge(version, told, &said),
                Verdict::Read | Verdict::Misread(_) => verdict,
            });
        judged.collect()
    }

    /// Judges whether what it says is known to be its own fault.
    fn judge(self, version: Version, told: &Told, said: &str) -> Verdict {
        let said = format!("{said} <- {}", told.text);
        for row in KNOWN_MISREADINGS
            .lines()
            .filter(|row| !row.starts_with('#'))
        {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            let [who, name, part, why] = cells[..] else {
                panic!("four cells: {row}");
            };
            let (reader, versions) = who.split_once(' ').unwrap();
            let mut versions = versions.split(' ');
            let is_meant =
                reader == format!("{self:?}") && versions.any(|one| one == version.to_string());
            if is_meant && told.name.starts_with(name) && said.contains(part) {
                return Verdict::Misread(why.into());
            }
        }
        Verdict::Fault(said)
    }
}

/// Runs a reader on a file of messages, of which it says `ok` or what is wrong.
fn run_on(told: &[Told], reader: &mut Command) -> Vec<Verdict> {
    let file = std::env::temp_dir().join("interop.messages");
    let bytes: Vec<&[u8]> = told.iter().map(|told| told.bytes.as_slice()).collect();
    std::fs::write(&file, bytes.concat()).unwrap();
    let output = run(reader.arg(&file));
    assert!(output.status.success(), "{}", printed(&output));
    let said = String::from_utf8_lossy(&output.stdout);
    let verdicts = said.lines().map(|line| match line {
        "ok" => Verdict::Read,
        wrong => Verdict::Fault(wrong.into()),
    });
    verdicts.collect()
}

/// The folder of what is built and fetched.
fn target() -> PathBuf {
    python().ancestors().nth(3).unwrap().into()
}

/// The command that runs our Java with openflowj.
pub fn java(source: &str) -> Command {
    let path = target().join("interop/classpath");
    let path = std::fs::read_to_string(path).expect("make interop fetches the libraries");
    let mut java = Command::new("java");
    java.args(["-cp", path.trim()]);
    java.arg(format!("interop/{source}"));
    java
}

fn script(python: &Path, name: &str) -> Command {
    let mut script = Command::new(python);
    script.arg("-B").arg(format!("interop/{name}"));
    script
}

/// Returns what tshark says to messages, each in a frame of its own.
fn dissect(told: &[Told]) -> Vec<Verdict> {
    let file = std::env::temp_dir().join("interop.pcap");
    let messages = told.iter().map(|told| &told.bytes);
    std::fs::write(&file, pcap::capture(messages)).unwrap();
    let mut verdicts = vec![Verdict::Read; told.len()];
    let wrong = "(_ws.malformed || _ws.expert.severity >= 0x600000)";
    for (number, said) in frames(&file, wrong) {
        verdicts[number - 1] = Verdict::Fault(said);
    }
    for (messages, why) in MISREAD {
        for (number, _) in frames(&file, &format!("{wrong} && ({messages})")) {
            verdicts[number - 1] = Verdict::Misread(why.into());
        }
    }
    verdicts
}

/// The frames of a capture that a filter of tshark finds, with what it notes of them.
fn frames(file: &Path, filter: &str) -> Vec<(usize, String)> {
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(file);
    tshark.args(["-d", "tcp.port==6653,openflow", "-Y", filter]);
    tshark.args([
        "-T",
        "fields",
        "-e",
        "frame.number",
        "-e",
        "_ws.expert.message",
    ]);
    let output = run(&mut tshark);
    assert!(output.status.success(), "{}", printed(&output));
    let said = String::from_utf8_lossy(&output.stdout);
    let lines = said.lines().map(|line| line.split_once('\t').unwrap());
    lines
        .map(|(number, said)| (number.parse().unwrap(), said.into()))
        .collect()
}
