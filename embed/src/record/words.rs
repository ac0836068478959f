//! The words in a record's lines: digits, frames, ports, configurations.

use alloc::{format, string::String, vec::Vec};
use core::fmt::{self, Display, Write};
use core::str::FromStr;

use bofuss_frame::{Gso, GsoKind, MAX_FRAME_BYTES, Offload, OffloadCapabilities};
use bofuss_oflib::message::{PortDesc, PortStatus, PortStatusReason};
use bofuss_oflib::wire::cut;
use bofuss_oflib::{Codec, Message, Version};

use super::{RecordError, RecordedConfig, RecordedFrame};

/// The word for an empty value.
const NOTHING: &str = "-";
/// The kinds of super-frames, with their names.
const GSO_KINDS: [(GsoKind, &str); 5] = [
    (GsoKind::Tcp4, "tcp4"),
    (GsoKind::Tcp6, "tcp6"),
    (GsoKind::Udp, "udp"),
    (GsoKind::UdpFragment, "udp-fragment"),
    (GsoKind::Sctp, "sctp"),
];
const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// The words of a line that were not taken yet.
pub(super) struct LineWords<'l>(pub &'l str);

impl<'l> LineWords<'l> {
    /// Takes the next word. Errors: there is none; the error names `what` was expected.
    pub(super) fn next(&mut self, what: &str) -> Result<&'l str, RecordError> {
        let (word, rest) = self.0.split_once(' ').unwrap_or((self.0, ""));
        self.0 = rest;
        if word.is_empty() {
            return Err(format!("the {what} is missing").into());
        }
        Ok(word)
    }

    /// Takes the next word as a number. Errors: it is none; the error names `what` was expected.
    pub(super) fn number<N: FromStr>(&mut self, what: &str) -> Result<N, RecordError> {
        number(self.next(what)?, what)
    }

    /// Checks that no word is left. Errors: one is.
    pub(super) fn end(&self) -> Result<(), RecordError> {
        match self.0 {
            "" => Ok(()),
            rest => Err(format!("unexpected '{}'", shortened(rest)).into()),
        }
    }
}

/// Returns true if the next word is `first`. Errors: it is neither `first` nor `second`.
pub(super) fn choice(
    words: &mut LineWords<'_>,
    first: &str,
    second: &str,
) -> Result<bool, RecordError> {
    let word = words.next(first)?;
    if word != first && word != second {
        return Err(format!("'{}' is not {first} or {second}", shortened(word)).into());
    }
    Ok(word == first)
}

/// The beginning of a text, for an error that quotes it.
pub(super) fn shortened(text: &str) -> &str {
    cut(text, 40)
}

/// Reads a word as a number. Errors: it is none; the error names `what` was expected.
pub(super) fn number<N: FromStr>(word: &str, what: &str) -> Result<N, RecordError> {
    let read = word.parse();
    read.map_err(|_| format!("'{}' is no {what}", shortened(word)).into())
}

/// Bytes as hexadecimal digits.
pub(super) struct HexDigits<'b>(pub &'b [u8]);

impl Display for HexDigits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str(NOTHING);
        }
        let mut digits = [0; 128];
        for part in self.0.chunks(digits.len() / 2) {
            for (byte, pair) in part.iter().zip(digits.chunks_exact_mut(2)) {
                pair[0] = DIGITS[usize::from(byte >> 4)];
                pair[1] = DIGITS[usize::from(byte & 0xf)];
            }
            let text = core::str::from_utf8(&digits[..2 * part.len()]);
            f.write_str(text.expect("digits are ASCII"))?;
        }
        Ok(())
    }
}

/// Reads hexadecimal digits. Errors: another character, or an odd number of digits.
pub(super) fn bytes(word: &str) -> Result<Vec<u8>, RecordError> {
    if word == NOTHING {
        return Ok(Vec::new());
    }
    let mut bytes = Vec::with_capacity(word.len() / 2);
    let pairs = word.as_bytes().chunks_exact(2);
    let rest = pairs.remainder();
    for pair in pairs {
        let digits = (value(pair[0]), value(pair[1]));
        let (Some(high), Some(low)) = digits else {
            return Err(format!("'{}': no hexadecimal digits", shortened(word)).into());
        };
        bytes.push(high << 4 | low);
    }
    if !rest.is_empty() {
        return Err(format!("'{}': an odd number of digits", shortened(word)).into());
    }
    Ok(bytes)
}

fn value(digit: u8) -> Option<u8> {
    let value = char::from(digit).to_digit(16)?;
    Some(value as u8)
}

impl Display for RecordedFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Offload {
            checksum,
            gso,
            fragment_bytes,
        } = self.offload;
        HexDigits(&self.bytes).fmt(f)?;
        if self.omitted_bytes > 0 {
            write!(f, ",omitted={}", self.omitted_bytes)?;
        }
        if let Some((start, offset)) = checksum {
            write!(f, ",checksum={start}:{offset}")?;
        }
        if let Some(gso) = gso {
            let row = GSO_KINDS.iter().find(|row| row.0 == gso.kind);
            let name = row.expect("every kind has a name").1;
            write!(f, ",gso={name}:{}", gso.segment_bytes)?;
            if gso.ecn {
                f.write_str(",ecn")?;
            }
        }
        if fragment_bytes > 0 {
            write!(f, ",fragment={fragment_bytes}")?;
        }
        if self.tunnel_id != 0 {
            write!(f, ",tunnel={}", self.tunnel_id)?;
        }
        Ok(())
    }
}

impl FromStr for RecordedFrame {
    type Err = RecordError;

    /// Errors: what is wrong with the word; for example, an offload record that the frame is too
    /// short for.
    fn from_str(word: &str) -> Result<Self, RecordError> {
        let mut parts = word.split(',');
        let bytes = bytes(parts.next().unwrap_or_default())?;
        let mut all_bytes = bytes.len();
        let mut offload = Offload::NONE;
        let mut tunnel_id = 0;
        for part in parts {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let wrong = || format!("'{}' is no property of a frame", shortened(part));
            match key {
                "omitted" => {
                    let omitted: u16 = number(value, "count of bytes")?;
                    all_bytes = bytes.len() + usize::from(omitted);
                }
                "checksum" => offload.checksum = Some(checksum(value, all_bytes)?),
                "gso" => offload.gso = Some(gso(value)?),
                "ecn" => offload.gso.as_mut().ok_or_else(wrong)?.ecn = true,
                "fragment" => offload.fragment_bytes = number(value, "length of a fragment")?,
                "tunnel" => tunnel_id = number(value, "tunnel id")?,
                _ => return Err(wrong().into()),
            }
        }
        if all_bytes > MAX_FRAME_BYTES {
            return Err(format!("a frame of {all_bytes} bytes").into());
        }
        Ok(Self {
            omitted_bytes: all_bytes - bytes.len(),
            bytes,
            offload,
            tunnel_id,
        })
    }
}

fn checksum(value: &str, frame_bytes: usize) -> Result<(u16, u16), RecordError> {
    let (start, offset) = value.split_once(':').unwrap_or((value, ""));
    let start: u16 = number(start, "place of a checksum")?;
    let offset: u16 = number(offset, "place of a checksum")?;
    if usize::from(start) + usize::from(offset) + 2 > frame_bytes {
        return Err(format!("checksum={value} is after the end of the frame").into());
    }
    Ok((start, offset))
}

fn gso(value: &str) -> Result<Gso, RecordError> {
    let (name, bytes) = value.split_once(':').unwrap_or((value, ""));
    let named = GSO_KINDS.iter().find(|row| row.1 == name);
    let row = named.ok_or_else(|| format!("'{}' is no kind of super-frame", shortened(name)))?;
    let segment_bytes = number(bytes, "length of a segment")?;
    if segment_bytes == 0 {
        return Err(String::from("segments of 0 bytes").into());
    }
    Ok(Gso {
        kind: row.0,
        segment_bytes,
        ecn: false,
    })
}

/// Writes the offloads that a port does.
pub(super) fn write_offloads(can: &OffloadCapabilities, out: &mut String) {
    let begin = out.len();
    let names = [
        (can.checksum, "checksum"),
        (can.tcp, "tcp"),
        (can.udp, "udp"),
    ];
    for (_, name) in names.iter().filter(|row| row.0) {
        out.push_str(name);
        out.push(',');
    }
    if can.vlan_tags > 0 {
        let _ = write!(out, "vlan={},", can.vlan_tags);
    }
    if out.len() == begin {
        out.push_str(NOTHING);
    } else {
        out.pop();
    }
}

/// Reads the offloads that a port does. Errors: an unknown one.
pub(super) fn offloads(word: &str) -> Result<OffloadCapabilities, RecordError> {
    let mut can = OffloadCapabilities::default();
    for part in word.split(',').filter(|_| word != NOTHING) {
        match part.split_once('=').unwrap_or((part, "")) {
            ("checksum", "") => can.checksum = true,
            ("tcp", "") => can.tcp = true,
            ("udp", "") => can.udp = true,
            ("vlan", tags) => can.vlan_tags = number(tags, "number of tags")?,
            _ => return Err(format!("'{}' is no offload", shortened(part)).into()),
        }
    }
    Ok(can)
}

fn codec(version: Version) -> Codec {
    Codec::new(version, Default::default())
}

/// Writes a port as a PORT_STATUS of OpenFlow 1.3, or of 1.5 if its packets have no Ethernet
/// header.
pub(super) fn write_desc(desc: &PortDesc, out: &mut String) {
    let message = Message::PortStatus(PortStatus {
        reason: PortStatusReason::MODIFY,
        desc: desc.clone(),
    });
    let version = if desc.is_without_ethernet() {
        Version::V1_5
    } else {
        Version::V1_3
    };
    let mut bytes = Vec::new();
    let written = codec(version).encode(0, &message, &mut bytes);
    written.expect("these versions describe every port, in one message");
    let _ = write!(out, "{}", HexDigits(&bytes));
}

/// Reads the port of a PORT_STATUS. Errors: it is none, or no port can have its number.
pub(super) fn desc(word: &str) -> Result<PortDesc, RecordError> {
    let bytes = bytes(word)?;
    let version = bytes.first().and_then(|number| Version::of_number(*number));
    let read = codec(version.unwrap_or(Version::V1_3)).decode(&bytes);
    match read {
        Ok((_, Message::PortStatus(status))) if status.desc.port_no.is_port() => Ok(status.desc),
        Ok((_, Message::PortStatus(status))) => {
            Err(format!("{} is no port's number", status.desc.port_no).into())
        }
        Ok((_, other)) => Err(format!("the port is described by a {}", other.name()).into()),
        Err(error) => Err(format!("the port: {error}").into()),
    }
}

impl Display for RecordedConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            datapath_id,
            secret,
            epoch_ns,
            profile,
            options,
        } = self;
        let profile = HexDigits(profile);
        write!(
            f,
            "{datapath_id:#018x} {secret} {epoch_ns} {profile} {options}"
        )
    }
}

impl RecordedConfig {
    /// Reads the rest of a line. Errors: what is wrong with it.
    pub(super) fn read(words: &mut LineWords<'_>) -> Result<Self, RecordError> {
        let id = words.next("datapath id")?;
        let digits = id.strip_prefix("0x").unwrap_or_default();
        let datapath_id = u64::from_str_radix(digits, 16)
            .map_err(|_| format!("'{}' is no datapath id", shortened(id)))?;
        Ok(Self {
            datapath_id,
            secret: words.number("secret")?,
            epoch_ns: words.number("epoch")?,
            profile: bytes(words.next("profile")?)?,
            options: words.0.into(),
        })
    }
}

/// The items of a list; none for `-`.
pub(super) fn list(word: &str) -> impl Iterator<Item = &str> {
    word.split(';').filter(move |_| word != NOTHING)
}

/// Ends the list that begins at `begin`: removes the last `;`, or writes that it is empty.
pub(super) fn end_list(begin: usize, out: &mut String) {
    if out.len() == begin {
        out.push_str(NOTHING);
    } else {
        out.pop();
    }
}
