//! Any bytes are code or are refused; what is loaded ends in time whatever the packet, and has no
//! more than its maps have room for.

use bofuss_ext::ebpf::code::Code;
use bofuss_ext::ebpf::map::{Map, MapForm, MapKind};
use bofuss_ext::ebpf::name::Name;
use bofuss_ext::ebpf::run::{self, MAX_NOTIFICATION_BYTES, MAX_NOTIFICATIONS, MAX_STEPS, Outside};

/// The most bytes of the packet, which are the first ones of the input.
const MAX_PACKET: usize = 64;
/// Keys for which a map has room, and bytes of its keys and values.
const ENTRIES: usize = 3;
const KEY_BYTES: usize = 4;
const VALUE_BYTES: usize = 16;
/// What the last instruction of a run may add to its steps: a call.
const LAST_STEPS: u32 = 33;

struct Alone {
    packet: Vec<u8>,
    notified: usize,
}

impl Outside for Alone {
    fn packet(&self) -> &[u8] {
        &self.packet
    }
    fn packet_mut(&mut self) -> &mut [u8] {
        &mut self.packet
    }
    fn in_port(&mut self) -> u32 {
        1
    }
    fn now_ns(&self) -> u64 {
        1_000_000_001
    }
    fn notify(&mut self, _: u32, data: &[u8]) {
        assert!(data.len() <= MAX_NOTIFICATION_BYTES);
        self.notified += 1;
    }
}

fn map(name: &str, kind: MapKind) -> Map {
    let name = Name::new(name).expect("it is a name");
    let form = MapForm::new(name, kind, KEY_BYTES, VALUE_BYTES, ENTRIES);
    Map::new(form.expect("the sizes are right"))
}

/// Returns whether the code was loaded. Panics: if the loader or a run breaks its word.
pub fn run(bytes: &[u8]) -> bool {
    let (packet, bytes) = bytes.split_at(bytes.len().min(MAX_PACKET));
    let mut maps = [map("hash", MapKind::Hash), map("array", MapKind::Array)];
    let Ok(code) = Code::load(bytes, maps.len()) else {
        return false;
    };
    assert_eq!(code.bytes(), bytes);
    for length in [packet.len(), 0, packet.len() / 2] {
        let mut alone = Alone {
            packet: packet[..length].into(),
            notified: 0,
        };
        let ran = run::run(&code, &mut maps, &mut alone);
        assert!(ran.steps <= MAX_STEPS + LAST_STEPS);
        assert!(alone.notified <= MAX_NOTIFICATIONS);
        assert_eq!(alone.packet.len(), length);
        for map in &maps {
            assert!(map.entries_from(0, usize::MAX).0.len() <= ENTRIES);
        }
    }
    true
}
