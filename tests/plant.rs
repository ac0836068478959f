//! A switch between two interfaces, folders for results, and `ofmeter` on both.
#![allow(clippy::unwrap_used)]

use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use bofuss_ports::NetNs;
use bofuss_tests::{Process, have, ip, ok, printed, program, until};
use serde_json::Value;

/// The ports on which the switch and the liar in front of it listen for OpenFlow.
pub const SWITCH: u16 = 6690;
pub const LIAR: u16 = 6691;
/// Tells the folders of one process apart.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// A folder for results, removed when dropped.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Self {
        let number = NEXT.fetch_add(1, Relaxed);
        let name = format!("ofmeter-test-{}-{number}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    /// The results, one for each line.
    pub fn results(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.0.join("results.jsonl")).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap()
    }

    /// Lets LaTeX take all that the folder has for documents into one of several pages.
    pub fn typeset(&self) {
        if !have(&["pdflatex"]) {
            return;
        }
        let thesis = self.0.join("thesis");
        let head = "\\documentclass{article}\n\\usepackage{graphicx}\n\\begin{document}";
        let mut document = format!("{head}\n\\input{{methods}}\n");
        for (folder, kind, command) in [
            ("tables", "tex", "\\input"),
            ("figures", "pdf", "\\includegraphics[width=\\linewidth]"),
        ] {
            for entry in std::fs::read_dir(thesis.join(folder)).unwrap() {
                let path = entry.unwrap().path();
                if path.extension().is_some_and(|end| end == kind) {
                    let name = path.file_stem().unwrap().to_str().unwrap();
                    document += &format!("\n{command}{{{folder}/{name}}}\n\\clearpage\n");
                }
            }
        }
        document += "\\end{document}\n";
        std::fs::write(thesis.join("all.tex"), document).unwrap();
        let mut latex = Command::new("pdflatex");
        latex.args(["-halt-on-error", "-interaction=nonstopmode", "all.tex"]);
        let said = ok(latex.current_dir(&thesis));
        assert!(said.contains("Output written on all.pdf"), "{said}");
        assert!(!said.contains("Missing character"), "{said}");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A number of a result.
pub fn metric(result: &Value, name: &str) -> f64 {
    let metrics = result["metrics"].as_array().unwrap();
    let found = metrics.iter().find(|metric| metric["name"] == name);
    found.unwrap_or_else(|| panic!("{name} of {result}"))["value"]
        .as_f64()
        .unwrap()
}

/// The bounds of a number in the report of a folder: the cells of its row, joined by blanks, begin
/// with `row`; `column` is the head of the column.
pub fn stated(folder: &Folder, case: &str, row: &str, column: &str) -> (f64, f64) {
    let page = folder.read("report.html");
    let mut sections = page.split("<h2 id=\"");
    let section = sections.find(|part| part.starts_with(case)).unwrap();
    for table in section.split("<table>").skip(1) {
        let rows = table.split("</table>").next().unwrap().lines();
        let lines: Vec<Vec<String>> = rows.map(cells).collect();
        let Some(at) = lines[0].iter().position(|head| head == column) else {
            continue;
        };
        for line in &lines[1..] {
            let words = line.join(" ").replace(" (forced)", "");
            let words = words.replace(" (not ok)", "");
            if words.starts_with(row) {
                let (low, high) = line[at]
                    .split_once(" to ")
                    .unwrap_or_else(|| panic!("{line:?}"));
                let [low, high] = [low, high].map(|word| word.replace(',', "").parse().unwrap());
                return (low, high);
            }
        }
    }
    panic!("{row} and {column} of {case}: {section}");
}

/// The texts of the cells of a row.
fn cells(row: &str) -> Vec<String> {
    let pieces = row
        .split("<t")
        .filter(|piece| piece.starts_with(['d', 'h']));
    pieces
        .map(|piece| {
            let text = piece.split_once('>').unwrap().1;
            text.split('<').next().unwrap().to_string()
        })
        .collect()
}

/// The file of a calibration in its folder.
const CALIBRATION_FILE: &str = "calibration.json";
/// The calibration of the instrument, which all tests share: it takes seconds on a busy machine.
static CALIBRATION: OnceLock<String> = OnceLock::new();

fn calibrated() -> String {
    let folder = Folder::new();
    let mut command = Command::new(program("ofmeter"));
    ok(command
        .args(["calibrate", "--short", "--out"])
        .arg(&folder.0));
    folder.read(CALIBRATION_FILE)
}

/// A command of the meter, which finds a calibration in the folder.
pub fn ofmeter(folder: &Folder, arguments: &[&str]) -> Command {
    let text = CALIBRATION.get_or_init(calibrated);
    std::fs::create_dir_all(&folder.0).unwrap();
    std::fs::write(folder.0.join(CALIBRATION_FILE), text).unwrap();
    let mut command = Command::new(program("ofmeter"));
    command
        .arg(arguments[0])
        .arg("--out")
        .arg(&folder.0)
        .args(&arguments[1..]);
    command
}

/// Runs cases in their shortest form and returns their results.
pub fn measured(folder: &Folder, arguments: &[&str]) -> Vec<Value> {
    let shortest = [&["run", "--short", "--force"], arguments].concat();
    println!("{}", ok(&mut ofmeter(folder, &shortest)));
    folder.results()
}

/// Two veth pairs and a switch between them, in this network namespace.
pub struct Plant {
    _switch: Process,
    /// The switch's name.
    pub name: String,
}

/// Busy loops beside a meter, while they are held.
pub fn busy_loops(count: usize) -> Vec<Process> {
    let mut shell = Command::new("sh");
    shell.args(["-c", "while :; do :; done"]);
    (0..count).map(|_| Process::start(&mut shell)).collect()
}

fn cable(one: &str, other: &str) {
    ip(&format!("link add {one} type veth peer name {other}"));
    ip(&format!("link set {one} up"));
    ip(&format!("link set {other} up"));
}

impl Plant {
    pub fn new(arguments: &[&str]) -> Self {
        cable("far", "sb");
        Self::of(arguments)
    }

    /// The same with a line behind the switch that has faults, which is a program.
    pub fn with_line(faults: &str) -> (Self, Process) {
        cable("la", "sb");
        cable("far", "lb");
        let plant = Self::of(&[]);
        let mut forward = Command::new(program("ofmeter"));
        forward.args(["forward", "la", "lb", "--faults", faults]);
        let line = Process::start(forward.stdout(Stdio::null()));
        (plant, line)
    }

    fn of(arguments: &[&str]) -> Self {
        ip("link set lo up");
        cable("near", "sa");
        let mut bofuss = Command::new(program("bofuss"));
        let listen = format!("ptcp:{SWITCH}");
        bofuss.args(["run", "--port", "sa", "--port", "sb", "--listen", &listen]);
        bofuss.args(["--fail-mode", "secure"]).args(arguments);
        let name = format!("plant{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
        bofuss
            .args(["--name", &name])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let switch = Process::start(&mut bofuss);
        until("the switch listens", || {
            TcpStream::connect(("127.0.0.1", SWITCH)).is_ok()
        });
        Self {
            _switch: switch,
            name,
        }
    }

    /// Runs our dpctl on the switch.
    pub fn dpctl(&self, arguments: &[&str]) -> String {
        let address = format!("tcp:127.0.0.1:{SWITCH}");
        ok(Command::new(program("dpctl")).arg(address).args(arguments))
    }
}

/// Runs a test in a network namespace of its own.
pub fn alone(test: impl FnOnce() + Send) {
    NetNs::new().unwrap().run(test).unwrap();
}

/// The arguments that name a switch of a [`Plant`] and its interfaces.
pub fn switch_at(port: u16) -> [String; 4] {
    let address = format!("tcp:127.0.0.1:{port}");
    [
        "--switch".into(),
        address,
        "--ports".into(),
        "near,far".into(),
    ]
}

pub fn measured_at(port: u16, folder: &Folder, arguments: &[&str]) -> Vec<Value> {
    let switch = switch_at(port);
    let switch: Vec<&str> = switch.iter().map(String::as_str).collect();
    measured(folder, &[&switch[..], arguments].concat())
}

/// The first result of a case on a switch. The user ends the run then: at its other points a switch
/// that lies takes as long again, and shows nothing more.
pub fn first_measured_at(port: u16, folder: &Folder, arguments: &[&str]) -> Value {
    let shortest = [&["run", "--short", "--force"], arguments].concat();
    let mut command = ofmeter(folder, &shortest);
    command.args(switch_at(port));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut meter = command.spawn().unwrap();
    let results = folder.0.join("results.jsonl");
    let mut ended = None;
    // A point may take as long as it needs.
    while ended.is_none() && !results.exists() {
        std::thread::sleep(Duration::from_millis(20));
        ended = meter.try_wait().unwrap();
    }
    if ended.is_none() {
        ok(Command::new("kill").args(["-s", "INT", &meter.id().to_string()]));
    }
    let output = meter.wait_with_output().unwrap();
    let said = printed(&output);
    println!("{said}");
    assert_eq!(output.status.code(), Some(1), "the user ended it: {said}");
    folder.results().swap_remove(0)
}
