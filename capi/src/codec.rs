//! Messages as bytes and as text, for C.

use std::cell::RefCell;
use std::ffi::{c_char, CString};
use std::sync::Arc;

use bofuss_oflib::field::IN_PORT;
use bofuss_oflib::matching::Match;
use bofuss_oflib::message::PacketIn;
use bofuss_oflib::{Catalogue, Codec as Wire, Framer, Message, Version};
use bofuss_packet::{Key, Layout};

use crate::{
    bytes_at, c_text, copy_out, free, give, guarded, store, text_at, Done, Status, CATALOGUE,
};

/// Reads and writes messages.
pub struct CodecHandle {
    catalogue: Arc<Catalogue>,
    error: RefCell<CString>,
}

/// The fields of a PACKET_IN. `data` points into the message that was read.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PacketInFields {
    /// The buffer in which the switch holds the packet; 0xffffffff if it does not.
    pub buffer_id: u32,
    /// The ingress port.
    pub in_port: u32,
    /// The cookie of the entry that was looked up; all ones if there is none.
    pub cookie: u64,
    /// The length of the whole packet in bytes.
    pub total_len: u16,
    /// The reason for which it was sent: 0 table miss, 1 output action, 2 invalid TTL; since
    /// OpenFlow 1.4 also 3 output in an action set, 4 output in a group bucket, 5 packet-out.
    pub reason: u8,
    /// The table that was looked up.
    pub table_id: u8,
    /// The packet, or its beginning.
    pub data: *const u8,
    /// Their number.
    pub data_length: usize,
}

/// Makes a codec that knows all extensions. The caller owns it.
///
/// # Safety
///
/// `out` is NULL, or may be written.
#[no_mangle]
pub unsafe extern "C" fn bofuss_codec_new(out: *mut *mut CodecHandle) -> Status {
    guarded(|| {
        let made = CodecHandle {
            catalogue: CATALOGUE.clone(),
            error: RefCell::default(),
        };
        // SAFETY: the caller vouches for the place.
        unsafe { give(out, made) }
    })
}

/// Frees a codec and sets the caller's pointer to NULL. A second call gives BOFUSS_STATUS_NULL.
///
/// # Safety
///
/// `codec` is NULL, or points to NULL or a codec of bofuss_codec_new that was not freed and that no
/// other thread uses.
#[no_mangle]
pub unsafe extern "C" fn bofuss_codec_free(codec: *mut *mut CodecHandle) -> Status {
    // SAFETY: the caller vouches for both pointers.
    guarded(|| unsafe { free(codec, |_| Ok(())) })
}

/// Returns why a message or command was last refused (BOFUSS_STATUS_BAD_MESSAGE,
/// BOFUSS_STATUS_BAD_TEXT), as a sentence; empty if none was. It is valid until the next one is
/// refused. NULL for NULL.
///
/// # Safety
///
/// `codec` is NULL, or a codec that was not freed and that no other thread uses.
#[no_mangle]
pub unsafe extern "C" fn bofuss_codec_error(codec: *const CodecHandle) -> *const c_char {
    // SAFETY: the caller vouches for the pointer.
    let this = unsafe { codec.as_ref() };
    this.map_or(std::ptr::null(), |this| this.error.borrow().as_ptr())
}

impl CodecHandle {
    /// Runs a body on a codec; Null without one.
    fn call(this: Option<&Self>, body: impl FnOnce(&Self) -> Done) -> Status {
        guarded(|| body(this.ok_or(Status::Null)?))
    }

    fn fail(&self, status: Status, text: &str) -> Status {
        *self.error.borrow_mut() = c_text(text);
        status
    }

    /// Reads one whole message and its transaction id, in the version of its header.
    fn read(&self, bytes: &[u8]) -> Result<(u32, Message), Status> {
        let number = bytes.first().copied().unwrap_or(0);
        let version = Version::of_number(number).unwrap_or(Version::NEWEST);
        let read = Wire::new(version, self.catalogue.clone()).decode(bytes);
        match read {
            Ok(read) => Ok(read),
            Err(error) => Err(self.fail(Status::BadMessage, &error.to_string())),
        }
    }
}

/// The length of the first message in a stream, header included, by its header alone.
/// BOFUSS_STATUS_NONE if the header is not complete yet, BOFUSS_STATUS_BAD_MESSAGE if its length is
/// shorter than a header: then the stream cannot be read on.
///
/// # Safety
///
/// `length` bytes may be read at `bytes`; `message_length` is NULL, or may be written.
#[no_mangle]
pub unsafe extern "C" fn bofuss_message_length(
    bytes: *const u8,
    length: usize,
    message_length: *mut usize,
) -> Status {
    guarded(|| {
        // SAFETY: the caller vouches for the bytes.
        let bytes = unsafe { bytes_at(bytes, length) }?;
        let mut framer = Framer::new();
        framer.push(&bytes[..bytes.len().min(bofuss_oflib::HEADER_BYTES)]);
        let announced = framer.announced().map_err(|_| Status::BadMessage)?;
        // SAFETY: the caller vouches for the place.
        unsafe { store(message_length, announced.ok_or(Status::None)?) }
    })
}

/// Converts a whole message, in the version of its header, to a line of text (`as_json` 0) or to
/// the JSON of dpctl (1). `length` is that of the result, without the zero byte that ends it in
/// `out`.
///
/// # Safety
///
/// `codec` is NULL, or a codec that was not freed and that no other thread uses; `message_length`
/// bytes may be read at `message`; `capacity` bytes may be written at `out` unless it is NULL;
/// `length` is NULL, or may be written.
#[no_mangle]
pub unsafe extern "C" fn bofuss_message_text(
    codec: *const CodecHandle,
    message: *const u8,
    message_length: usize,
    as_json: u8,
    out: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> Status {
    // SAFETY: the caller vouches for the codec.
    let codec = unsafe { codec.as_ref() };
    CodecHandle::call(codec, |this| {
        // SAFETY: the caller vouches for the bytes.
        let bytes = unsafe { bytes_at(message, message_length) }?;
        let (_, message) = this.read(bytes)?;
        let text = if as_json == 0 {
            message.to_string()
        } else {
            bofuss_dpctl::message_json(&message)
        };
        // SAFETY: the caller vouches for the buffer.
        unsafe { copy_out(text.as_bytes(), &[0], out.cast(), capacity, length) }
    })
}

/// Encodes the messages of a command line, which has a verb and its arguments: in the syntax of
/// BOFUSS's dpctl, such as `flow-mod cmd=add,table=0 in_port=1 apply:output=2`, or of ovs-ofctl,
/// such as `add-flow in_port=1,actions=output:2`. `version` is the number on the wire, from 1 for
/// OpenFlow 1.0 to 6 for 1.5; `xid` is the transaction id of the first message; `length` is that of
/// all messages together.
///
/// # Safety
///
/// `codec` is NULL, or a codec that was not freed and that no other thread uses; `line` is NULL, or
/// ends with a zero byte; `capacity` bytes may be written at `out` unless it is NULL; `length` is
/// NULL, or may be written.
#[no_mangle]
pub unsafe extern "C" fn bofuss_command(
    codec: *const CodecHandle,
    version: u8,
    xid: u32,
    line: *const c_char,
    out: *mut u8,
    capacity: usize,
    length: *mut usize,
) -> Status {
    // SAFETY: the caller vouches for the codec.
    let codec = unsafe { codec.as_ref() };
    CodecHandle::call(codec, |this| {
        // SAFETY: the caller vouches for the text.
        let line = unsafe { text_at(line) }?;
        let version = Version::of_number(version).ok_or(Status::BadValue)?;
        let messages = bofuss_dpctl::messages(line, &this.catalogue)
            .map_err(|error| this.fail(Status::BadText, &error.to_string()))?;
        let wire = Wire::new(version, this.catalogue.clone());
        let mut bytes = Vec::new();
        for (number, message) in (0..).zip(&messages) {
            wire.encode(xid.wrapping_add(number), message, &mut bytes)
                .map_err(|error| this.fail(Status::BadText, &error.to_string()))?;
        }
        // SAFETY: the caller vouches for the buffer.
        unsafe { copy_out(&bytes, &[], out, capacity, length) }
    })
}

/// Reads a PACKET_IN. BOFUSS_STATUS_NONE for another message.
///
/// # Safety
///
/// `codec` is NULL, or a codec that was not freed and that no other thread uses; `length` bytes may
/// be read at `message`; `packet_in` is NULL, or may be written.
#[no_mangle]
pub unsafe extern "C" fn bofuss_read_packet_in(
    codec: *const CodecHandle,
    message: *const u8,
    length: usize,
    packet_in: *mut PacketInFields,
) -> Status {
    // SAFETY: the caller vouches for the codec.
    let codec = unsafe { codec.as_ref() };
    CodecHandle::call(codec, |this| {
        // SAFETY: the caller vouches for the bytes.
        let bytes = unsafe { bytes_at(message, length) }?;
        let (_, Message::PacketIn(read)) = this.read(bytes)? else {
            return Err(Status::None);
        };
        let in_port = read.fields.get(IN_PORT).map_or(0, |field| field.number());
        // In every version, the message ends with the data.
        let data = &bytes[bytes.len() - read.data.0.len()..];
        let made = PacketInFields {
            buffer_id: read.buffer_id.0,
            in_port: in_port as u32,
            cookie: read.cookie,
            total_len: read.total_len,
            reason: read.reason.0,
            table_id: read.table_id.0,
            data: data.as_ptr(),
            data_length: data.len(),
        };
        // SAFETY: the caller vouches for the place.
        unsafe { store(packet_in, made) }
    })
}

/// Writes a PACKET_IN of OpenFlow 1.2 or later again, with a match that also has the fields of the
/// headers in its data, as far as its version has them: a controller's program then finds them as
/// those of an entry. BOFUSS_STATUS_NONE for another message, or an earlier version.
///
/// # Safety
///
/// `codec` is NULL, or a codec that was not freed and that no other thread uses; `message_length`
/// bytes may be read at `message`; `capacity` bytes may be written at `out` unless it is NULL;
/// `length` is NULL, or may be written.
#[no_mangle]
pub unsafe extern "C" fn bofuss_packet_in_with_headers(
    codec: *const CodecHandle,
    message: *const u8,
    message_length: usize,
    out: *mut u8,
    capacity: usize,
    length: *mut usize,
) -> Status {
    // SAFETY: the caller vouches for the codec.
    let codec = unsafe { codec.as_ref() };
    CodecHandle::call(codec, |this| {
        // SAFETY: the caller vouches for the bytes.
        let bytes = unsafe { bytes_at(message, message_length) }?;
        let (xid, read) = this.read(bytes)?;
        let number = bytes.first().copied().and_then(Version::of_number);
        let version = number.filter(|version| *version >= Version::V1_2);
        let (Message::PacketIn(mut packet_in), Some(version)) = (read, version) else {
            return Err(Status::None);
        };
        packet_in.fields = this.with_headers(&packet_in, version);
        let wire = Wire::new(version, this.catalogue.clone());
        let mut bytes = Vec::new();
        wire.encode(xid, &Message::PacketIn(packet_in), &mut bytes)
            .map_err(|error| this.fail(Status::BadMessage, &error.to_string()))?;
        // SAFETY: the caller vouches for the buffer.
        unsafe { copy_out(&bytes, &[], out, capacity, length) }
    })
}

impl CodecHandle {
    /// The fields of a packet-in's match, and those of the headers in its data that a version has.
    fn with_headers(&self, packet_in: &PacketIn, version: Version) -> Match {
        let mut key = Key::EMPTY;
        bofuss_packet::parse(&packet_in.data.0, &mut key, &mut { Layout::EMPTY });
        for one in packet_in.fields.fields() {
            key.set(one.field, one.number());
        }
        let all = key.to_match(&self.catalogue);
        let known = all.fields().iter();
        let known = known.filter(|one| one.field.versions.has(version)).cloned();
        Match::again(known.collect())
    }
}
