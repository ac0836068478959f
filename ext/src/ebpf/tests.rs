//! Tests of programs without a switch: what is refused, numbers, memory, maps, the meter.

mod numbers;

use alloc::{vec, vec::Vec};

use super::code::{BadCode, Code, MAX_SLOTS};
use super::instruction::Instruction;
use super::map::{Map, MapForm, MapKind};
use super::name::Name;
use super::run::{Fault, MAX_NOTIFICATION_BYTES, MAX_NOTIFICATIONS, MAX_STEPS, Outside, Ran, run};

/// A packet alone.
#[derive(Default)]
struct Alone {
    packet: Vec<u8>,
    notified: Vec<(u32, Vec<u8>)>,
}

impl Outside for Alone {
    fn packet(&self) -> &[u8] {
        &self.packet
    }
    fn packet_mut(&mut self) -> &mut [u8] {
        &mut self.packet
    }
    fn in_port(&mut self) -> u32 {
        0x0102_0304
    }
    fn now_ns(&self) -> u64 {
        5_000_000_007
    }
    fn notify(&mut self, id: u32, data: &[u8]) {
        self.notified.push((id, data.into()));
    }
}

/// An instruction: opcode, registers, offset, constant.
fn slot(opcode: u8, dst: u8, src: u8, offset: i16, imm: i32) -> [u8; 8] {
    let instruction = Instruction {
        opcode,
        dst,
        src,
        offset,
        imm,
    };
    assert_eq!(Instruction::from_slot(instruction.to_slot()), instruction);
    instruction.to_slot()
}

const EXIT: [u8; 8] = [0x95, 0, 0, 0, 0, 0, 0, 0];

/// A constant of 64 bits, or with `src` 1 a map.
fn constant(dst: u8, src: u8, value: u64) -> [[u8; 8]; 2] {
    let upper = (value >> 32) as i32;
    [
        slot(0x18, dst, src, 0, value as i32),
        slot(0, 0, 0, 0, upper),
    ]
}

/// What a program without maps returns for a packet.
fn ran(slots: &[[u8; 8]], packet: &[u8]) -> Result<u64, Fault> {
    let mut alone = Alone {
        packet: packet.into(),
        ..Alone::default()
    };
    let code = Code::load(&slots.concat(), 0).expect("it is right");
    run(&code, &mut [], &mut alone).result
}

#[test]
fn code_that_is_wrong_is_refused_with_the_slot() {
    let load = |slots: &[[u8; 8]]| Code::load(&slots.concat(), 1).map(|_| ());
    let nothing = slot(0xb7, 0, 0, 0, 0);
    let [map, rest] = constant(1, 1, 0);
    assert_eq!(load(&[map, rest, EXIT]), Ok(()));
    assert_eq!(load(&vec![EXIT; MAX_SLOTS]), Ok(()));
    assert_eq!(load(&vec![EXIT; MAX_SLOTS + 1]), Err(BadCode::Length));
    assert_eq!(load(&[]), Err(BadCode::Length));
    assert_eq!(Code::load(&[0x95; 9], 0), Err(BadCode::Length));
    for unknown in [
        slot(0xff, 0, 0, 0, 0),
        // Registers that are not there, and the one that is only read.
        slot(0xb7, 11, 0, 0, 0),
        slot(0xbf, 0, 11, 0, 0),
        slot(0xb7, 10, 0, 0, 0),
        slot(0x79, 10, 1, 0, 0),
        // An unknown helper, a function of the program, a call by a register.
        slot(0x85, 0, 0, 0, 4),
        slot(0x85, 0, 1, 0, 1),
        slot(0x8d, 0, 0, 0, 1),
        // Loads of the packet that are of the past, atomic operations on bytes and unknown ones.
        slot(0x20, 0, 0, 0, 0),
        slot(0xd3, 1, 2, 0, 0),
        slot(0xdb, 1, 2, 0, 0x20),
        // Divisions by 0, shifts by too much, unknown offsets, and orders of no width.
        slot(0x37, 0, 0, 0, 0),
        slot(0x94, 0, 0, 0, 0),
        slot(0x67, 0, 0, 0, 64),
        slot(0x74, 0, 0, 0, 32),
        slot(0x3f, 0, 1, 2, 0),
        slot(0x37, 0, 0, 1, 0),
        slot(0xb7, 0, 0, 8, 1),
        slot(0xbc, 0, 1, 32, 0),
        slot(0x07, 0, 0, 1, 1),
        slot(0xd4, 0, 0, 0, 8),
        slot(0xdf, 0, 0, 0, 16),
        slot(0x99, 0, 1, 0, 0),
        slot(0x06, 0, 0, 1, 1),
        // A constant of 64 bits that is cut, and a map that is not there.
        slot(0x18, 0, 1, 0, 1),
        slot(0x18, 0, 2, 0, 0),
    ] {
        assert_eq!(
            load(&[nothing, unknown, EXIT]),
            Err(BadCode::Instruction(1)),
            "{unknown:x?}"
        );
    }
    // Jumps before the first and behind the last slot, and into a constant; an end without exit.
    for to in [-2, 2, i16::MAX, i16::MIN] {
        assert_eq!(
            load(&[slot(0x15, 0, 0, to, 0), EXIT, EXIT]),
            Err(BadCode::Jump(0)),
            "{to}"
        );
    }
    let into = slot(0x05, 0, 0, 1, 0);
    assert_eq!(load(&[into, map, rest, EXIT]), Err(BadCode::Jump(0)));
    assert_eq!(load(&[EXIT, nothing]), Err(BadCode::Jump(1)));
    // A loop without an end, where it is reached.
    let turns = slot(0x05, 0, 0, -1, 0);
    assert_eq!(
        load(&[slot(0x15, 0, 0, 1, 0), turns, EXIT]),
        Err(BadCode::Endless(1))
    );
    assert_eq!(load(&[EXIT, turns]), Ok(()));
    assert_eq!(load(&[slot(0x15, 0, 0, -1, 0), EXIT]), Ok(()));
}

#[test]
fn memory_ends_where_it_ends() {
    let packet = [1, 2, 3, 4, 5, 6, 7, 8];
    let load = |opcode, base, offset| ran(&[slot(opcode, 0, base, offset, 0), EXIT], &packet);
    // Metadata: port, time, length; then the packet.
    assert_eq!(load(0x61, 1, 0), Ok(0x0102_0304));
    assert_eq!(load(0x61, 1, 4), Ok(5));
    assert_eq!(load(0x61, 1, 8), Ok(7));
    assert_eq!(load(0x69, 1, 12), Ok(8));
    assert_eq!(load(0x79, 1, 14), Ok(0x0807_0605_0403_0201));
    assert_eq!(load(0x71, 1, 21), Ok(8));
    assert_eq!(load(0x79, 10, -512), Ok(0));
    let out = Err(Fault::BadAccess);
    for (opcode, base, offset) in [
        (0x71, 1, 22),
        (0x69, 1, 21),
        (0x71, 1, -1),
        (0x69, 1, 13),
        (0x71, 10, 0),
        (0x79, 10, -7),
        (0x71, 10, -513),
        (0x71, 3, 0),
    ] {
        assert_eq!(
            load(opcode, base, offset),
            out,
            "{opcode:#x} {base} {offset}"
        );
    }
    // What is stored is read, by each size; metadata is not to be written.
    for (st, ldx, wanted) in [
        (0x72, 0x71, 0xfe),
        (0x6a, 0x69, 0xfffe),
        (0x62, 0x61, 0xffff_fffe),
    ] {
        let slots = [slot(st, 10, 0, -8, -2), slot(ldx, 0, 10, -8, 0), EXIT];
        assert_eq!(ran(&slots, &[]), Ok(wanted));
    }
    let slots = [slot(0x7a, 10, 0, -8, -2), slot(0x79, 0, 10, -8, 0), EXIT];
    assert_eq!(ran(&slots, &[]), Ok(-2i64 as u64));
    assert_eq!(ran(&[slot(0x72, 1, 0, 13, 0), EXIT], &packet), out);
    // Any number is an address; none reaches further.
    for address in [
        0,
        3 << 32,
        16 << 32,
        u64::MAX,
        1 << 32 | 0xffff_ffff,
        15 << 32,
    ] {
        let [a0, a1] = constant(3, 0, address);
        assert_eq!(
            ran(&[a0, a1, slot(0x79, 0, 3, 0, 0), EXIT], &packet),
            out,
            "{address:#x}"
        );
        assert_eq!(
            ran(&[a0, a1, slot(0x7b, 3, 0, 0, 0), EXIT], &packet),
            out,
            "{address:#x}"
        );
    }
}

#[test]
fn a_run_that_does_not_end_is_ended() {
    let mut alone = Alone::default();
    let forever = [slot(0xb7, 0, 0, 0, 1), slot(0x55, 0, 0, -1, 0), EXIT];
    let code = Code::load(&forever.concat(), 0).expect("a way leads to its exit");
    let ran: Ran = run(&code, &mut [], &mut alone);
    assert_eq!(ran.result, Err(Fault::Overrun));
    assert!(ran.steps > MAX_STEPS && ran.steps < MAX_STEPS + 100);
}

fn form(kind: MapKind, key: usize, entries: usize) -> MapForm {
    let name = Name::new("m").expect("it is one");
    MapForm::new(name, kind, key, 8, entries).expect("it is one")
}

/// Calls a helper with the map, and on the stack a key of 4 bytes at -4, a value at -16 and a place
/// for a pointer at -24.
fn call(helper: i32, map: &mut Map, key: i32, value: i32, flags: i32) -> Result<u64, Fault> {
    let [m0, m1] = constant(1, 1, 0);
    let third = if helper == 1 { -24 } else { -16 };
    let slots = [
        slot(0x62, 10, 0, -4, key),
        slot(0x7a, 10, 0, -16, value),
        m0,
        m1,
        slot(0xbf, 2, 10, 0, 0),
        slot(0x07, 2, 0, 0, -4),
        slot(0xbf, 3, 10, 0, 0),
        slot(0x07, 3, 0, 0, third),
        slot(0xb7, 4, 0, 0, flags),
        slot(0x85, 0, 0, 0, helper),
        // Of a lookup that finds something: the value.
        slot(0x55, 0, 0, 3, 0),
        slot(0x79, 1, 10, -24, 0),
        slot(0x15, 1, 0, 1, 0),
        slot(0x79, 0, 1, 0, 0),
        EXIT,
    ];
    let code = Code::load(&slots.concat(), 1).expect("it is right");
    let maps = core::slice::from_mut(map);
    run(&code, maps, &mut Alone::default()).result
}

#[test]
fn a_hash_has_room_for_its_keys_and_no_more() {
    let map = &mut Map::new(form(MapKind::Hash, 4, 2));
    let failed = Ok(u64::MAX);
    assert_eq!(call(1, map, 7, 0, 0), failed);
    assert_eq!(call(2, map, 7, 70, 2), failed, "only if it is there");
    assert_eq!(call(2, map, 7, 70, 0), Ok(0));
    assert_eq!(call(2, map, 7, 71, 1), failed, "only if it is not there");
    assert_eq!(call(2, map, 7, 71, 3), failed, "unknown flags");
    assert_eq!(call(1, map, 7, 0, 0), Ok(70));
    assert_eq!(call(2, map, 8, 80, 1), Ok(0));
    assert_eq!(call(2, map, 9, 90, 0), failed, "there is no room");
    assert_eq!(call(2, map, 8, 81, 2), Ok(0));
    assert_eq!(call(3, map, 7, 0, 0), Ok(0));
    assert_eq!(call(3, map, 7, 0, 0), failed);
    assert_eq!(call(2, map, 9, 90, 0), Ok(0));
    assert_eq!(call(1, map, 9, 0, 0), Ok(90));
    let key = |n: u32| n.to_le_bytes().to_vec();
    let value = |n: u64| n.to_le_bytes().to_vec();
    let all = vec![(key(9), value(90)), (key(8), value(81))];
    assert_eq!(map.entries_from(0, 10), (all.clone(), None));
    assert_eq!(map.entries_from(0, 1), (all[..1].to_vec(), Some(1)));
    assert_eq!(map.entries_from(5, 1), (vec![], None));
}

#[test]
fn an_array_has_all_its_numbers_from_the_start() {
    let map = &mut Map::new(form(MapKind::Array, 4, 2));
    assert_eq!(call(1, map, 1, 0, 0), Ok(0));
    assert_eq!(call(2, map, 1, 5, 0), Ok(0));
    assert_eq!(call(1, map, 1, 0, 0), Ok(5));
    for helper in [1, 2] {
        assert_eq!(
            call(helper, map, 2, 5, 0),
            Ok(u64::MAX),
            "there is no third"
        );
    }
    assert_eq!(call(3, map, 1, 0, 0), Ok(u64::MAX), "none is deleted");
    assert_eq!(map.entries_from(0, 10).0.len(), 2);
}

#[test]
fn a_value_is_reached_within_its_bounds_alone() {
    let map = &mut Map::new(form(MapKind::Array, 4, 2));
    assert!(map.part(0, 8).is_some() && map.part(8, 8).is_some());
    for (from, count) in [(1, 8), (7, 2), (16, 1), (usize::MAX, 8)] {
        assert!(map.part(from, count).is_none(), "{from} {count}");
    }
    // A handle is no memory, and a number no handle.
    let [m0, m1] = constant(1, 1, 0);
    let as_memory = [m0, m1, slot(0x79, 0, 1, 0, 0), EXIT].concat();
    let as_handle = [slot(0xb7, 1, 0, 0, 0), slot(0x85, 0, 0, 0, 3), EXIT].concat();
    for code in [as_memory, as_handle] {
        let code = Code::load(&code, 1).expect("it is right");
        let maps = core::slice::from_mut(map);
        let ran = run(&code, maps, &mut Alone::default());
        assert_eq!(ran.result, Err(Fault::BadAccess));
    }
}

#[test]
fn a_run_tells_controllers_so_much_and_no_more() {
    let notify = |bytes: i32| {
        [
            slot(0xb7, 1, 0, 0, 77),
            slot(0xbf, 2, 10, 0, 0),
            slot(0x07, 2, 0, 0, -8),
            slot(0xb7, 3, 0, 0, bytes),
            slot(0x85, 0, 0, 0, 31),
        ]
    };
    let result = |slots: &[[u8; 8]]| {
        let mut alone = Alone::default();
        let code = Code::load(&[slots, &[EXIT]].concat().concat(), 0).expect("it is right");
        (run(&code, &mut [], &mut alone).result, alone.notified)
    };
    assert_eq!(result(&notify(8)), (Ok(0), vec![(77, vec![0; 8])]));
    assert_eq!(result(&notify(9)), (Err(Fault::BadAccess), vec![]));
    assert_eq!(result(&notify(-1)), (Ok(u64::MAX), vec![]));
    assert_eq!(
        result(&notify(MAX_NOTIFICATION_BYTES as i32 + 1)),
        (Ok(u64::MAX), vec![])
    );
    let (last, notified) = result(&[notify(8); MAX_NOTIFICATIONS + 1].concat());
    assert_eq!((last, notified.len()), (Ok(u64::MAX), MAX_NOTIFICATIONS));
}

#[test]
fn maps_have_sizes_and_programs_names_within_limits() {
    let name = Name::new("m").expect("it is one");
    for (kind, key, value, entries, is_right) in [
        (MapKind::Hash, 64, 1024, 65_536, true),
        (MapKind::Hash, 65, 1, 1, false),
        (MapKind::Hash, 1, 1025, 1, false),
        (MapKind::Hash, 1, 1, 65_537, false),
        (MapKind::Hash, 0, 1, 1, false),
        (MapKind::Hash, 1, 0, 1, false),
        (MapKind::Hash, 1, 1, 0, false),
        (MapKind::Array, 4, 1, 1, true),
        (MapKind::Array, 8, 1, 1, false),
    ] {
        let form = MapForm::new(name, kind, key, value, entries);
        assert_eq!(form.is_some(), is_right, "{kind:?} {key} {value} {entries}");
    }
    for (text, is_right) in [
        ("a", true),
        ("a_b-c.9", true),
        ("", false),
        ("a b", false),
        ("a,b", false),
        ("1234567890123456789012345678901", true),
        ("12345678901234567890123456789012", false),
    ] {
        assert_eq!(Name::new(text).is_some(), is_right, "{text}");
    }
}
