//! Any list of calls at the border to C, with wrong pointers, numbers and lengths, gives statuses,
//! and leaves a switch that answers.
//!
//! A call is one byte that says which, and bytes for its arguments; short input reads as zeros.

use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

use bofuss::codec::{
    bofuss_codec_free, bofuss_codec_new, bofuss_command, bofuss_message_length,
    bofuss_message_text, bofuss_packet_in_with_headers, bofuss_read_packet_in, CodecHandle,
    PacketInFields,
};
use bofuss::connection::{bofuss_connect, bofuss_disconnect, bofuss_feed, bofuss_set_held_bytes};
use bofuss::frame::FrameBytes;
use bofuss::port::{
    bofuss_port_add, bofuss_port_remove, bofuss_port_set_link, bofuss_port_set_room,
    bofuss_receive, bofuss_trace,
};
use bofuss::switch::{
    bofuss_config_default, bofuss_get_table_entries, bofuss_get_usage, bofuss_next_tick,
    bofuss_switch_free, bofuss_switch_new, bofuss_tick, bofuss_work, Callbacks, Config,
    SwitchHandle, SwitchUsage,
};
use bofuss::Status;

/// Calls of one list.
const MAX_CALLS: usize = 128;
/// Bytes of results that are kept.
const OUT_BYTES: usize = 512;
/// HELLO and BARRIER_REQUEST of OpenFlow 1.3.
const HELLO: [u8; 8] = [4, 0, 0, 8, 0, 0, 0, 0];
const BARRIER_REQUEST: [u8; 8] = [4, 20, 0, 8, 0, 0, 0, 9];
const BARRIER_REPLY: u8 = 21;

/// The bytes of the calls that are left.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, left) = self.0.split_at(count.min(self.0.len()));
        self.0 = left;
        taken
    }

    /// Bytes as a caller may name them: those that are there, or with a length that no object has,
    /// or NULL.
    fn slice(&mut self) -> (*const u8, usize) {
        let kind = self.byte();
        let count = usize::from(self.byte());
        let bytes = self.take(count);
        match kind % 8 {
            0 => (null(), bytes.len()),
            1 => (bytes.as_ptr(), usize::MAX),
            2 => (bytes.as_ptr(), isize::MAX as usize + 1),
            3 => (null(), 0),
            _ => (bytes.as_ptr(), bytes.len()),
        }
    }
}

/// Counts the replies to barriers.
extern "C" fn sent(user: *mut c_void, _: u64, bytes: *const u8, length: usize) {
    // SAFETY: `user` is the counter of `run`, and the library names bytes that are there.
    let (barriers, bytes) = unsafe {
        let counter = user.cast::<usize>().as_mut().expect("it was given");
        (counter, std::slice::from_raw_parts(bytes, length))
    };
    *barriers += bytes
        .windows(2)
        .filter(|head| *head == [4, BARRIER_REPLY])
        .count();
}

/// Runs a list of calls.
pub fn run(bytes: &[u8]) {
    let mut barriers = 0_usize;
    let mut config = MaybeUninit::<Config>::uninit();
    let callbacks = Callbacks {
        user: (&raw mut barriers).cast(),
        transmit: None,
        send: Some(sent),
        close: None,
        set_link: None,
    };
    let mut switch: *mut SwitchHandle = null_mut();
    let mut codec: *mut CodecHandle = null_mut();
    // SAFETY: the places are there.
    unsafe {
        assert_eq!(bofuss_config_default(config.as_mut_ptr()), Status::Ok);
        let made = bofuss_switch_new(0, config.as_ptr(), &callbacks, &mut switch);
        assert_eq!(made, Status::Ok);
        assert_eq!(bofuss_codec_new(&mut codec), Status::Ok);
    }
    let mut input = Input(bytes);
    let mut now = 0;
    for _ in 0..MAX_CALLS {
        if input.0.is_empty() {
            break;
        }
        now += 1_000_000;
        // SAFETY: switch and codec are there, and the input names what may be named.
        unsafe { call(&mut input, now, switch, codec) };
    }
    let mut conn = 0;
    let mut taken = 0;
    let before = barriers;
    // SAFETY: the places and bytes are there.
    unsafe {
        assert_eq!(bofuss_connect(switch, 1, &mut conn), Status::Ok);
        for message in [HELLO, BARRIER_REQUEST] {
            let fed = bofuss_feed(
                switch,
                now,
                conn,
                message.as_ptr(),
                message.len(),
                &mut taken,
            );
            assert_eq!(fed, Status::Ok);
        }
        assert_eq!(bofuss_switch_free(&mut switch), Status::Ok);
        assert_eq!(bofuss_switch_free(&mut switch), Status::Null);
        assert_eq!(bofuss_codec_free(&mut codec), Status::Ok);
        assert_eq!(bofuss_codec_free(&mut codec), Status::Null);
    }
    assert!(barriers > before, "the switch answers");
}

/// The arguments of a call, right or wrong.
struct Arguments {
    number: u32,
    flag: u8,
    bytes: *const u8,
    length: usize,
    /// Ends with a zero byte.
    line: Vec<u8>,
    out: [u8; OUT_BYTES],
    capacity: usize,
}

impl Arguments {
    fn read(input: &mut Input<'_>) -> Self {
        let number = u32::from(input.byte() % 8);
        let flag = input.byte();
        let (bytes, length) = input.slice();
        let mut line = b"features".to_vec();
        if length <= OUT_BYTES && !bytes.is_null() {
            // SAFETY: they are there, as the length is none of the wrong ones.
            line = unsafe { std::slice::from_raw_parts(bytes, length) }.to_vec();
        }
        line.push(0);
        Self {
            number,
            flag,
            bytes,
            length,
            line,
            out: [0; OUT_BYTES],
            capacity: (usize::from(flag) * 2).min(OUT_BYTES),
        }
    }

    /// Returns where a result goes: nowhere if there is no room.
    fn place(&mut self) -> *mut u8 {
        match self.capacity {
            0 => null_mut(),
            _ => self.out.as_mut_ptr(),
        }
    }
}

/// Makes one call; what it gives is a status, and no defect.
///
/// # Safety
///
/// Switch and codec are there.
unsafe fn call(
    input: &mut Input<'_>,
    now: u64,
    switch: *const SwitchHandle,
    codec: *const CodecHandle,
) {
    let which = input.byte();
    let mut arguments = Arguments::read(input);
    let place = arguments.place();
    let Arguments {
        number,
        flag,
        bytes,
        length,
        capacity,
        ..
    } = arguments;
    let mut size = 0_usize;
    let conn = u64::from(number);
    let frame = FrameBytes {
        bytes,
        length,
        tunnel_id: conn,
    };
    let frames = [frame; 3];
    let text = arguments.line.as_ptr().cast::<c_char>();
    // SAFETY: every pointer is NULL, or names what is there for as long as the call.
    let status = unsafe {
        match which % 18 {
            0 => bofuss_port_add(switch, now, number, text, null(), u32::from(flag)),
            1 => bofuss_port_remove(switch, now, number),
            2 => bofuss_port_set_link(switch, now, number, flag),
            3 => bofuss_port_set_room(switch, now, number, i64::from(flag) - 1),
            4 => bofuss_receive(switch, now, number, frames.as_ptr(), 3),
            5 => bofuss_receive(switch, now, number, frames.as_ptr(), usize::MAX),
            6 => bofuss_receive(switch, now, number, null(), usize::from(flag)),
            7 => bofuss_trace(
                switch,
                now,
                number,
                frame,
                flag % 2,
                place.cast(),
                capacity,
                &mut size,
            ),
            8 => bofuss_connect(switch, flag, &mut u64::from(flag)),
            9 => bofuss_feed(switch, now, conn, bytes, length, &mut size),
            10 => bofuss_feed(switch, now, conn, HELLO.as_ptr(), HELLO.len(), &mut size),
            11 => bofuss_set_held_bytes(switch, conn, length),
            12 => bofuss_disconnect(switch, now, conn),
            13 => bofuss_tick(switch, now.max(u64::from(flag) << 30)),
            14 => bofuss_work(switch, now),
            15 => bofuss_message_text(
                codec,
                bytes,
                length,
                flag % 2,
                place.cast(),
                capacity,
                &mut size,
            ),
            16 => bofuss_command(codec, flag % 6, number, text, place, capacity, &mut size),
            _ => ask(switch, codec, bytes, length),
        }
    };
    assert_ne!(status, Status::Internal, "call {}", which % 18);
}

/// Asks for all that can be asked for.
///
/// # Safety
///
/// Switch and codec are there, and the bytes are what `Input::slice` gives.
unsafe fn ask(
    switch: *const SwitchHandle,
    codec: *const CodecHandle,
    bytes: *const u8,
    length: usize,
) -> Status {
    let mut fields = MaybeUninit::<PacketInFields>::uninit();
    let mut usage = MaybeUninit::<SwitchUsage>::uninit();
    let mut at = 0;
    let mut size = 0;
    // SAFETY: every pointer is NULL, or names what is there for as long as the call.
    unsafe {
        assert_eq!(bofuss_get_usage(switch, usage.as_mut_ptr()), Status::Ok);
        let mut entries = 0;
        assert_ne!(
            bofuss_get_table_entries(switch, length as u8, &mut entries),
            Status::Internal
        );
        assert_ne!(bofuss_next_tick(switch, &mut at), Status::Internal);
        assert_ne!(
            bofuss_message_length(bytes, length, &mut size),
            Status::Internal
        );
        let mut out = [0; OUT_BYTES];
        assert_ne!(
            bofuss_packet_in_with_headers(
                codec,
                bytes,
                length,
                out.as_mut_ptr(),
                out.len(),
                &mut size
            ),
            Status::Internal
        );
        bofuss_read_packet_in(codec, bytes, length, fields.as_mut_ptr())
    }
}
