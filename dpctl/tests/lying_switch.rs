//! dpctl against switches that lie: what they send neither reaches the terminal as commands nor
//! fills the memory.
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};
use std::thread;

/// Types of OpenFlow 1.3.
const HELLO: u8 = 0;
const ERROR: u8 = 1;
const MULTIPART_REQUEST: u8 = 18;
const MULTIPART_REPLY: u8 = 19;
/// Types of multiparts.
const DESC: u16 = 0;
const FLOW: u16 = 1;
const TABLE_FEATURES: u16 = 12;
const PORT_DESC: u16 = 13;
/// The most virtual memory of dpctl, in KiB. The longest reply takes 1.1 GB.
const MEMORY_KIB: u32 = 1_600_000;
/// The characters that a terminal obeys: a title, the bell, erasing, and the one-byte form of ESC
/// [.
const COMMANDS: &str = "\u{1b}]0;x\u{7}\u{1b}[2J\u{9b}31m\r\u{7f}";

fn message(kind: u8, xid: &[u8], body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![4, kind];
    bytes.extend((8 + body.len() as u16).to_be_bytes());
    bytes.extend(xid);
    bytes.extend(body);
    bytes
}

fn multipart(ty: u16, more: bool, xid: &[u8], body: &[u8]) -> Vec<u8> {
    let mut whole = ty.to_be_bytes().to_vec();
    whole.extend([0, u8::from(more), 0, 0, 0, 0]);
    whole.extend(body);
    message(MULTIPART_REPLY, xid, &whole)
}

/// A text in a field of this many bytes.
fn field(text: &str, bytes: usize) -> Vec<u8> {
    let mut field = text.as_bytes().to_vec();
    field.resize(bytes, 0);
    field
}

fn read(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut bytes = vec![0; 8];
    stream.read_exact(&mut bytes).ok()?;
    bytes.resize(u16::from_be_bytes([bytes[2], bytes[3]]).into(), 0);
    stream.read_exact(&mut bytes[8..]).ok()?;
    Some(bytes)
}

/// Returns what dpctl does with these words against a switch that answers each message so, until
/// the connection ends.
fn meet(
    words: &[&str],
    answer: impl Fn(&[u8], &mut TcpStream) -> std::io::Result<()> + Send + 'static,
) -> Output {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let switch = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(&message(HELLO, &[0; 4], &[])).unwrap();
        while let Some(asked) = read(&mut stream) {
            if asked[1] != HELLO && answer(&asked, &mut stream).is_err() {
                break;
            }
        }
    });
    let limited = format!("ulimit -v {MEMORY_KIB}; exec \"$0\" \"$@\"");
    let mut dpctl = Command::new("sh");
    dpctl.args(["-c", &limited, env!("CARGO_BIN_EXE_dpctl")]);
    dpctl.args(["-O", "OpenFlow13", "--timeout", "120"]);
    let address = format!("tcp:127.0.0.1:{port}");
    let output = dpctl.arg(address).args(words).output().unwrap();
    switch.join().unwrap();
    output
}

/// Returns true if nothing in it is obeyed by a terminal.
fn is_tame(output: &Output) -> bool {
    let all = [&output.stdout[..], &output.stderr].concat();
    let text = String::from_utf8(all).unwrap();
    !text.contains(|c: char| c.is_control() && c != '\n' && c != '\t')
}

/// The body of a multipart reply that has [`COMMANDS`] in every text.
fn wild(ty: u16) -> Vec<u8> {
    match ty {
        DESC => {
            let mut body = field(COMMANDS, 256).repeat(3);
            body.extend(field(COMMANDS, 32));
            body.extend(field(COMMANDS, 256));
            body
        }
        PORT_DESC => {
            let mut body = vec![0, 0, 0, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1, 0, 0];
            body.extend(field("\u{1b}]0;x\u{7}", 16));
            body.extend([0; 32]);
            body
        }
        TABLE_FEATURES => {
            let mut body = vec![0, 64, 0, 0, 0, 0, 0, 0];
            body.extend(field(COMMANDS, 32));
            body.extend([0; 24]);
            body
        }
        _ => Vec::new(),
    }
}

/// Returns what a switch answers: to a multipart request texts, to all else an error with a text
/// (OFPET_HELLO_FAILED).
fn wild_reply(asked: &[u8]) -> Vec<u8> {
    let xid = &asked[4..8];
    if asked[1] == MULTIPART_REQUEST {
        let ty = u16::from_be_bytes([asked[8], asked[9]]);
        multipart(ty, false, xid, &wild(ty))
    } else {
        let body = [&[0; 4][..], COMMANDS.as_bytes()].concat();
        message(ERROR, xid, &body)
    }
}

#[test]
fn no_text_of_a_switch_reaches_the_terminal_as_a_command() {
    for verb in [
        "dump-desc",
        "stats-desc",
        "show",
        "dump-ports-desc",
        "dump-table-features",
        "status",
    ] {
        for option in [&[][..], &["--json"], &["--names"]] {
            let mut words = option.to_vec();
            words.push(verb);
            let output = meet(&words, |asked, stream| stream.write_all(&wild_reply(asked)));
            assert!(is_tame(&output), "{words:?}: {output:?}");
            let said = String::from_utf8_lossy(&output.stdout);
            let has_text = verb.contains("desc") || verb.contains("features");
            assert!(
                !has_text || said.contains("\\u001b]0;x"),
                "{words:?}: {output:?}"
            );
        }
    }
}

/// Answers a request with this many parts of entries. Every part says that more follow; in messages
/// that answer nothing, which dpctl keeps for later, seven of eight do.
fn flood(parts: usize, is_answer: bool) -> Output {
    meet(&["dump-flows"], move |asked, stream| {
        let mut entry = vec![0, 56];
        entry.extend([0; 46]);
        entry.extend([0, 1, 0, 4, 0, 0, 0, 0]);
        let entries = entry.repeat(1160);
        let mut xid = asked[4..8].to_vec();
        if !is_answer {
            xid[0] = 0xee;
        }
        let more = multipart(FLOW, true, &xid, &entries);
        let last = multipart(FLOW, is_answer, &xid, &entries);
        for part in 1..=parts {
            stream.write_all(if part % 8 == 0 { &last } else { &more })?;
        }
        stream.shutdown(std::net::Shutdown::Both)
    })
}

#[test]
fn an_endless_reply_ends_with_an_error_that_says_what_to_do() {
    // 1.3 GB, which took 3.9 GB of memory.
    let output = flood(20_000, true);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("longer than 256 MiB; ask for a part"),
        "{output:?}"
    );
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn messages_that_nobody_asked_for_fill_no_memory() {
    // 520 MB, in 1,000 messages.
    let output = flood(8_000, false);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("is gone"), "{output:?}");
    assert_eq!(output.status.code(), Some(1));
}
