//! Plays the command lines of `testdata/dpctl` on a switch at a loopback port, whose clock stands
//! still, and compares the output. The README there describes the format.
#![allow(clippy::unwrap_used)]

#[path = "lines/versions.rs"]
mod versions;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use bofuss_agent::{ConnId, FailMode, Identity, Request, SwitchIo};
use bofuss_datapath::{Config, Time};
use bofuss_ext::Switch;
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, OffloadCapabilities, Pool};
use bofuss_oflib::handshake::Handshake;
use bofuss_oflib::message::port::{PortFeatures, PortState};
use bofuss_oflib::message::{ErrorMsg, MultipartRequest, PortDesc};
use bofuss_oflib::text::NICIRA_ACTIONS;
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Catalogue, Codec, HEADER_BYTES, Mac, Message, PortNo, Version};

/// After this line, the page is written from the files.
const MARK: &str = "<!-- verbs -->\n";
/// The text of the page above its table of verbs and versions.
const VERSIONS: &str = "\
Every other verb works in each version from OpenFlow 1.0 to 1.5, as far as the version can express
its arguments. Without `-O`, `dpctl` speaks the newest version that the switch has: what only 1.5
can express works even if the switch's controllers speak an older version.";
/// The most lines of an example.
const EXAMPLE_LINES: usize = 8;
/// The most characters of a line of an example.
const EXAMPLE_CHARS: usize = 240;

/// Verbs that end with Ctrl-C, and have no example.
const ENDLESS: &[&str] = &["monitor", "snoop"];

/// The files have at least this many command lines together.
const MIN_LINES: usize = 340;
/// The time of the clock by which the switch commits scheduled bundles.
const CLOCK_NS: u64 = 1_800_000_000 * Time::SEC;
/// The newest version that the switch offers, so that a newer one in dpctl does not change what the
/// files quote.
const QUOTED: Version = Version::V1_5;
/// The tables of the switch.
const TABLES: u8 = 5;
/// The words before lists that grow with each field and each action. These lists are cut off.
const LISTS: &[&str] = &["{property=", "actions= "];
/// The ports of the switch.
const PORTS: u32 = 4;

/// Encodes the messages that the switch sends, and collects the bytes.
struct Wire(Codec, Vec<u8>);

impl SwitchIo for Wire {
    fn transmit(&mut self, _: PortNo, _: QueueId, _: Frame) {}
    fn flush(&mut self) {}
    fn send(&mut self, _: ConnId, xid: u32, message: Message) {
        self.0.encode(xid, &message, &mut self.1).unwrap();
    }
    fn has_room(&self, _: ConnId) -> bool {
        true
    }
    fn set_link(&mut self, _: PortNo, _: bool) {}
}

fn switch(catalogue: &Arc<Catalogue>, io: &mut Wire) -> Switch {
    let config = Config {
        n_tables: TABLES,
        ..bofuss_disciplines::config()
    };
    let mut datapath = Datapath::new(config, catalogue.clone(), Pool::new(1 << 26));
    let hooks = bofuss_ext::hooks(catalogue);
    hooks.into_iter().for_each(|hook| datapath.add_hook(hook));
    let mut identity = Identity {
        datapath_id: 1,
        ..Identity::default()
    };
    identity.desc.mfr_desc = "bofuss".into();
    identity.desc.dp_desc = "s1".into();
    let mut switch = Switch::new(Time(0), datapath, identity, FailMode::Secure);
    switch.clock_mut().set(CLOCK_NS);
    for number in 1..=PORTS {
        let desc = PortDesc {
            port_no: PortNo(number),
            hw_addr: Mac([0, 0, 0, 0, 1, number as u8]),
            name: format!("s1-eth{number}").as_str().into(),
            state: PortState::LIVE,
            curr: PortFeatures::FD_10GB,
            curr_speed: 10_000_000,
            ..PortDesc::default()
        };
        switch.ports(Time(0), io, |ports| {
            ports.changed(desc, OffloadCapabilities::default())
        });
    }
    switch
}

/// Serves one connection after another, until the test ends.
fn serve(listener: &TcpListener) {
    let catalogue = Arc::new(bofuss_ext::catalogue());
    let mut io = Wire(Codec::new(Version::NEWEST, catalogue.clone()), Vec::new());
    let mut switch = switch(&catalogue, &mut io);
    for (number, stream) in (1..).zip(listener.incoming()) {
        // It ends with an error when dpctl closes the connection.
        let _ = talk(stream.unwrap(), ConnId(number), &mut switch, &mut io);
        switch.disconnected(Time(0), ConnId(number));
    }
}

fn talk(
    mut stream: TcpStream,
    conn: ConnId,
    switch: &mut Switch,
    io: &mut Wire,
) -> std::io::Result<()> {
    let quoted = Version::SPOKEN.iter().filter(|one| **one <= QUOTED);
    let versions: Vec<Version> = quoted.copied().collect();
    let handshake = Handshake::new(&versions, io.0.catalogue.clone());
    stream.write_all(&handshake.hello())?;
    io.1.clear();
    let hello = received(&mut stream)?;
    io.0 = handshake.judge(&hello).unwrap();
    switch.connected(Time(0), conn, io.0.version, false);
    let mut before: Option<MultipartRequest> = None;
    loop {
        stream.write_all(&io.1)?;
        io.1.clear();
        let bytes = received(&mut stream)?;
        let xid = u32::from_be_bytes(bytes[4..8].try_into().unwrap());
        let mut message = io.0.decode(&bytes).map(|(_, message)| message);
        if let Ok(Message::MultipartRequest(part)) = &mut message {
            if let Some(mut whole) = before.take() {
                assert!(whole.body.join(part.body.clone()));
                whole.more = part.more;
                *part = whole;
            }
            if part.more {
                before = Some(part.clone());
                continue;
            }
        }
        let request = Request {
            xid,
            head: &bytes[..bytes.len().min(64)],
            message: message.map_err(|e| ErrorMsg::quoting(e.error, &bytes)),
        };
        switch.message(Time(0), conn, request, io);
        while switch.has_work(io) {
            switch.work(Time(0), io);
        }
    }
}

/// The bytes of the next message.
fn received(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; HEADER_BYTES];
    stream.read_exact(&mut bytes)?;
    let length = u16::from_be_bytes([bytes[2], bytes[3]]);
    bytes.resize(length.into(), 0);
    stream.read_exact(&mut bytes[HEADER_BYTES..])?;
    Ok(bytes)
}

/// The words of a line, as a shell splits it.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if open == c => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// The output and error output of a command line, without empty lines, and its exit code if that is
/// not 0.
fn play(line: &str, address: &str) -> Vec<String> {
    let is_address = |word: &str| word.starts_with("unix:") || word.starts_with("tcp:");
    let mut words = words(line);
    words.retain(|word| word != "sudo");
    assert_eq!(words.remove(0), "dpctl", "{line}");
    for word in words.iter_mut().filter(|word| is_address(word)) {
        *word = address.into();
    }
    let output = Command::new(env!("CARGO_BIN_EXE_dpctl"))
        .args(words)
        .output()
        .unwrap();
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    let text = text.replace(address, "ADDRESS");
    let lines = text.lines().filter(|line| !line.is_empty());
    let mut said: Vec<String> = lines.map(|line| without_lists(&timeless(line))).collect();
    match output.status.code() {
        Some(0) => {}
        code => said.push(format!("= {}", code.unwrap())),
    }
    said
}

/// A line, cut off before a list of all that the switch can do.
fn without_lists(line: &str) -> String {
    let cut = |list: &&str| line.find(list).map(|at| at + 2);
    match LISTS.iter().filter_map(cut).min() {
        Some(at) => format!("{}...", &line[..at]),
        None => line.into(),
    }
}

/// A line, cut after `chars` characters if it is longer.
fn cut(line: &str, chars: usize) -> String {
    match line.char_indices().nth(chars) {
        Some((end, _)) => format!("{} ...", &line[..end]),
        None => line.into(),
    }
}

/// A line without times that the real clock measured.
fn timeless(line: &str) -> String {
    match (
        line.split_once("time="),
        line.split_once("\"milliseconds\":"),
    ) {
        (Some((before, _)), _) => format!("{before}time=T ms"),
        (_, Some((before, after))) => {
            let rest = after.find([',', '}']).map_or("", |at| &after[at..]);
            format!("{before}\"milliseconds\":T{rest}")
        }
        _ => line.into(),
    }
}

/// The first successful example of a verb: its command line and the output below it.
fn example<'t>(texts: &'t [String], verb: &str) -> Option<Vec<&'t str>> {
    texts.iter().find_map(|text| {
        let lines: Vec<&str> = text.lines().collect();
        let is_it = |line: &str| line.starts_with("$ ") && line.split(' ').any(|w| w == verb);
        let plays = |line: &str| line.starts_with("$ ") || line.starts_with('#');
        (0..lines.len())
            .filter(|at| is_it(lines[*at]))
            .find_map(|at| {
                let after = lines[at + 1..].iter().position(|line| plays(line));
                let end = after.map_or(lines.len(), |count| at + 1 + count);
                let failed = lines[at..end].iter().any(|line| line.starts_with("= "));
                (!failed && !lines[at].contains("--json")).then(|| lines[at..end].to_vec())
            })
    })
}

/// Compares the page with the examples: it lists each verb with its syntax and output.
fn page() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let files = ["flow_mod", "stats", "ofctl", "extensions"];
    let texts = files.map(|name| read(&format!("testdata/dpctl/{name}.txt")));
    let mut command = Command::new(env!("CARGO_BIN_EXE_dpctl"));
    let verbs = command.args(["--generate", "verbs"]).output().unwrap();
    let verbs = String::from_utf8(verbs.stdout).unwrap();
    let names = verbs.lines().filter_map(|verb| verb.split('\t').nth(1));
    let names: Vec<String> = names.map(String::from).collect();
    let mut page = format!("\n## Verbs that do not work in every version\n\n{VERSIONS}\n\n");
    page += &versions::table(&names);
    let mut section = "";
    for verb in verbs.lines() {
        let parts: Vec<&str> = verb.split('\t').collect();
        let [title, name, arguments, help] = parts[..] else {
            panic!("{verb}")
        };
        if title != section {
            page += &format!("\n## {title}\n");
            section = title;
        }
        let Some(lines) = example(&texts, name) else {
            let shown = title.starts_with("Verbs of") && !ENDLESS.contains(&name);
            assert!(!shown, "{name} has no example in testdata/dpctl");
            continue;
        };
        let blank = if arguments.is_empty() { "" } else { " " };
        page += &format!("\n### {name}\n\n`{name}{blank}{arguments}`: {help}.\n");
        page += "\n```\n";
        for line in lines.iter().take(EXAMPLE_LINES) {
            page += &(cut(line, EXAMPLE_CHARS) + "\n");
        }
        page += if lines.len() > EXAMPLE_LINES {
            "...\n```\n"
        } else {
            "```\n"
        };
    }
    let path = root.join("docs/dpctl.md");
    let text = read("docs/dpctl.md");
    let (head, written) = text.split_once(MARK).unwrap();
    if std::env::var_os("BOFUSS_REWRITE").is_some() {
        std::fs::write(path, format!("{head}{MARK}{page}")).unwrap();
    } else {
        assert!(
            written == page,
            "docs/dpctl.md is stale: see testdata/dpctl/README.md"
        );
    }
}

#[test]
fn the_page_names_the_actions_that_need_nicira_s_extensions() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = std::fs::read_to_string(root.join("docs/dpctl.md")).unwrap();
    let page: Vec<&str> = page.split_whitespace().collect();
    let names: Vec<String> = NICIRA_ACTIONS
        .iter()
        .map(|name| format!("`{name}`"))
        .collect();
    let wanted = format!("needs Nicira's extensions: {};", names.join(", "));
    assert!(page.join(" ").contains(&wanted), "{wanted}");
}

#[test]
fn every_line_says_what_its_file_says_and_the_page_has_it() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../testdata/dpctl");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "txt"));
    files.sort();
    let mut count = 0;
    for path in files {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("tcp:{}", listener.local_addr().unwrap());
        std::thread::spawn(move || serve(&listener));
        let text = std::fs::read_to_string(&path).unwrap();
        let mut said = String::new();
        for line in text.lines() {
            if line.is_empty() || line.starts_with('#') {
                said += &format!("{line}\n");
            }
            if let Some(command) = line.strip_prefix("$ ") {
                count += 1;
                said += &format!("{line}\n");
                said.extend(
                    play(command, &address)
                        .iter()
                        .map(|line| format!("{line}\n")),
                );
            }
        }
        // Set this to change the texts on purpose, and read the difference.
        if std::env::var_os("BOFUSS_REWRITE").is_some() {
            std::fs::write(&path, said).unwrap();
            continue;
        }
        let name = path.file_name().unwrap().display();
        for (number, (said, wanted)) in (1..).zip(said.lines().zip(text.lines())) {
            assert_eq!(said, wanted, "{name}, line {number}");
        }
        assert_eq!(said.lines().count(), text.lines().count(), "{name}");
    }
    assert!(count >= MIN_LINES, "{count} lines");
    page();
}
