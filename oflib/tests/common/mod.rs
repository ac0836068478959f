//! Helpers that the tests share: a codec with an extension, the vectors, a generator of messages.

pub(crate) mod generate;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bofuss_oflib::ext::{Arg, ExtKind, ExtRow};
use bofuss_oflib::message::multipart::flow_monitor::{FlowMonitorCommand, FlowUpdate};
use bofuss_oflib::message::multipart::{MultipartReply, MultipartRequest, ReplyBody, RequestBody};
use bofuss_oflib::{Catalogue, Codec, Field, Message, Version};

/// The experimenter of the vectors.
pub(crate) const EXPERIMENTER: u32 = 0x00b0_f055;

const fn row(
    kind: ExtKind,
    ty: u32,
    name: &'static str,
    args: &'static [Arg],
    data: bool,
) -> ExtRow {
    let row = ExtRow::new(kind, EXPERIMENTER, ty, name).with_args(args);
    if data { row.with_data() } else { row }
}
const fn arg(name: &'static str, bytes: u8) -> Arg {
    Arg { name, bytes }
}

/// One value of each kind, as `testdata/vectors/README.md` says.
static EXT_ROWS: [ExtRow; 4] = [
    row(ExtKind::Action, 1, "paint", &[arg("color", 4)], false),
    row(
        ExtKind::Instruction,
        2,
        "wait",
        &[arg("ticks", 2), arg("more", 1)],
        false,
    ),
    row(ExtKind::Message, 3, "ask", &[arg("id", 4)], true),
    row(ExtKind::Multipart, 4, "report", &[arg("id", 8)], true),
];
const EXT_FIELD: Field = Field::extension(EXPERIMENTER, 1, "color", 20, true);

/// The versions whose matches, actions and instructions are those of 1.3 and what came after.
pub(crate) const MODERN: [Version; 3] = [Version::V1_3, Version::V1_4, Version::V1_5];

/// The codec that reads the vectors of OpenFlow 1.3, with one extension.
pub(crate) fn codec() -> Codec {
    codec_of(Version::V1_3)
}

/// The same in another version.
pub(crate) fn codec_of(version: Version) -> Codec {
    let mut catalogue = Catalogue::default();
    catalogue
        .add("test", &[EXT_FIELD], &EXT_ROWS)
        .expect("no other has such rows");
    Codec::new(version, Arc::new(catalogue))
}

/// A path from the root of the tree.
pub(crate) fn from_root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// One vector: what it says, its bytes, where it stands.
pub(crate) struct Vector {
    pub(crate) text: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) place: String,
}

/// The vectors of a version: those of other versions than 1.3 are in files of their own.
pub(crate) fn vectors_of(version: Version) -> Vec<Vector> {
    let mut vectors: Vec<Vector> = Vec::new();
    let folder = std::fs::read_dir(from_root("testdata/vectors")).expect("the vectors are there");
    for path in folder.map(|entry| entry.expect("a folder lists").path()) {
        let name = path
            .file_name()
            .expect("a file has a name")
            .to_string_lossy()
            .into_owned();
        let of = match name.strip_prefix("openflow") {
            Some(_) => name
                .trim_end_matches(".txt")
                .parse()
                .expect("a file is named by its version"),
            None => Version::V1_3,
        };
        if !name.ends_with(".txt") || name == "text.txt" || of != version {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a vector file is text");
        for (i, line) in text.lines().enumerate() {
            match line.strip_prefix("  ") {
                _ if line.is_empty() || line.starts_with('#') => {}
                Some(digits) => {
                    let vector = vectors.last_mut().expect("hex follows a text line");
                    vector.bytes.extend(hex(digits));
                }
                None => vectors.push(Vector {
                    text: line.into(),
                    bytes: Vec::new(),
                    place: format!("{name}:{}", i + 1),
                }),
            }
        }
    }
    vectors
}

/// Bytes of hexadecimal digits, blanks ignored.
pub(crate) fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(|b| *b != b' ').collect();
    let pairs = digits
        .chunks(2)
        .map(|pair| std::str::from_utf8(pair).expect("hex digits"));
    pairs
        .map(|pair| u8::from_str_radix(pair, 16).expect("hex digits"))
        .collect()
}

/// Hexadecimal digits of bytes.
pub(crate) fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// Returns true if 1.0 has a message from a vendor: roles, and flow monitors that are ended and
/// paused.
pub(crate) fn is_of_vendor(message: &Message) -> bool {
    match message {
        Message::RoleRequest(_) | Message::RoleReply(_) => true,
        Message::MultipartRequest(MultipartRequest {
            body: RequestBody::FlowMonitor(list),
            ..
        }) => list.len() == 1 && list[0].command == FlowMonitorCommand::DELETE,
        Message::MultipartReply(MultipartReply {
            body: ReplyBody::FlowMonitor(list),
            ..
        }) => matches!(list[..], [FlowUpdate::Stream(_)]),
        _ => false,
    }
}
