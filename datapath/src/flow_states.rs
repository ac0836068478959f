//! The states that an extension has for flows, as replicas of a switch divide them: all packets of
//! a state are in one replica, which has it.

use alloc::sync::Arc;
use core::any::Any;
use core::fmt;

use bofuss_oflib::field::{
    ETH_DST, ETH_SRC, Header, IN_PORT, IPV4_DST, IPV4_SRC, IPV6_DST, IPV6_SRC,
};
use bofuss_oflib::{Action, Field, PortNo};
use bofuss_packet::Layout;

/// The states of a hook, taken out of it.
pub type TakenStates = Arc<dyn Any + Send + Sync>;

/// A hook with states of flows.
pub trait FlowStates {
    /// Returns in what all packets of a state agree; `None` if packets have no states. Errors: why
    /// all packets have to be in one replica.
    fn agreement(&self) -> Result<Option<Agreement>, &'static str>;
    /// Takes all states.
    fn take(&mut self) -> TakenStates;
    /// Adds those states that were taken from a replica of this hook and for whose key `is_own`
    /// returns true.
    fn add(&mut self, states: &TakenStates, is_own: &dyn Fn(&dyn StateKey) -> bool);
}

/// The key of a state, or another source of fields.
pub trait StateKey {
    /// The value of a field, if it is a part of the key.
    fn value(&self, field: &'static Field) -> Option<u128>;

    /// The ingress port, if it is a part of the key.
    fn port(&self) -> Option<u32> {
        self.value(IN_PORT).map(|port| port as u32)
    }
}

/// In what all packets of a state agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreement {
    /// They have the same values of these fields.
    pub same: DispatchFields,
    /// They have the same two addresses, which may change places.
    pub either_way: DispatchFields,
    /// They have the same ingress port.
    pub same_port: bool,
}

impl Agreement {
    /// The agreement of packets that have no state.
    pub const ALL: Self = Self {
        same: DispatchFields(ALL_FIELDS),
        either_way: DispatchFields(ALL_FIELDS | EITHER_WAY),
        same_port: true,
    };

    /// In what packets agree that agree in both.
    pub fn and(self, other: Self) -> Self {
        Self {
            same: DispatchFields(self.same.0 & other.same.0),
            either_way: DispatchFields(self.either_way.0 & other.either_way.0),
            same_port: self.same_port && other.same_port,
        }
    }

    /// The fields that spread packets best; `None` if there are none.
    pub fn fields(self) -> Option<DispatchFields> {
        let all = [self.same, self.either_way];
        all.into_iter().find(|fields| fields.0 & ALL_FIELDS != 0)
    }
}

/// The addresses by which packets can be divided: the pairs of [`DispatchFields::PAIRS`].
const FIELDS: [&Field; 6] = [ETH_SRC, ETH_DST, IPV4_SRC, IPV4_DST, IPV6_SRC, IPV6_DST];
const ALL_FIELDS: u8 = (1 << FIELDS.len()) - 1;
/// The bit that says that two partners may change places.
const EITHER_WAY: u8 = 1 << 7;
/// The most bytes of a value that are hashed at a time.
const WORD_BYTES: usize = 4;
/// Words of the longest address.
const WORDS: usize = 4;

/// Addresses by which packets are divided among replicas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DispatchFields(u8);

impl DispatchFields {
    /// The addresses by which packets can be divided, each source with the destination.
    pub const PAIRS: [[&'static Field; 2]; 3] = [
        [ETH_SRC, ETH_DST],
        [IPV4_SRC, IPV4_DST],
        [IPV6_SRC, IPV6_DST],
    ];

    /// The addresses among these fields.
    pub fn of(fields: impl IntoIterator<Item = &'static Field>) -> Self {
        let bit = |field: &'static Field| FIELDS.iter().position(|one| *one == field);
        let bits = fields.into_iter().filter_map(bit);
        Self(bits.fold(0, |all, bit| all | 1 << bit))
    }

    /// Both of each pair of partners that are among them, which may change places.
    pub fn either_way(self) -> Self {
        let firsts = self.0 & self.0 >> 1 & 0b01_0101;
        Self(firsts | firsts << 1 | EITHER_WAY)
    }

    /// Those that are among others, too.
    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Those that are not among others.
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The field of a name. Errors: there is none by which packets can be divided.
    pub fn named(name: &str) -> Option<Self> {
        let field = FIELDS.iter().find(|field| field.name == name)?;
        Some(Self::of([*field]))
    }

    /// These and others.
    pub fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns true if all of these are among others.
    pub fn are_in(self, others: Self) -> bool {
        self.0 & !others.0 == 0
    }

    /// The fields.
    pub fn fields(self) -> impl Iterator<Item = &'static Field> {
        let all = FIELDS.iter().enumerate();
        all.filter_map(move |(bit, field)| (self.0 & 1 << bit != 0).then_some(*field))
    }

    /// The words that are hashed. All factors depend on all bits of the secret, so that nobody can
    /// choose packets that meet in one replica.
    pub fn words(self, secret: u64) -> impl Iterator<Item = HashedWord> {
        let places = FIELDS.iter().enumerate();
        let fields = places.filter(move |(bit, _)| self.0 & 1 << bit != 0);
        fields.flat_map(move |(bit, field)| {
            let place = field.at.first().expect("an address is in a header");
            let header = place.header.known().expect("it is one of the standard");
            let hashed_as = if self.0 & EITHER_WAY != 0 {
                bit & !1
            } else {
                bit
            };
            let starts = (0..field.bytes()).step_by(WORD_BYTES).enumerate();
            starts.map(move |(number, start)| HashedWord {
                field,
                header,
                start,
                at: usize::from(place.bit) / 8 + start,
                bytes: WORD_BYTES.min(field.bytes() - start),
                factor: factor(secret, hashed_as * WORDS + number),
            })
        })
    }

    /// The replica of `count` that has the packets of a frame. A field that it lacks counts as 0.
    pub fn replica_of_frame(
        self,
        (layout, bytes): (&Layout, &[u8]),
        (count, secret): (usize, u64),
    ) -> usize {
        let values = self.words(secret).map(|word| {
            let start = layout.offset(word.header).map(|start| start + word.at);
            let value = start.and_then(|start| bytes.get(start..start + word.bytes));
            let number = value.map_or(0, |value| {
                value
                    .iter()
                    .fold(0, |all, byte| all << 8 | u32::from(*byte))
            });
            number.wrapping_mul(word.factor)
        });
        let sum = values.fold(0, u32::wrapping_add);
        replica_of(sum, (count, secret))
    }

    /// The replica of `count` that has the state of a key.
    pub fn replica_of_key(self, key: &dyn StateKey, (count, secret): (usize, u64)) -> usize {
        let values = self.words(secret).map(|word| {
            let after = word.field.bytes() - word.start - word.bytes;
            let value = key.value(word.field).unwrap_or(0) >> (8 * after);
            let mask = u32::MAX >> (8 * (WORD_BYTES - word.bytes));
            (value as u32 & mask).wrapping_mul(word.factor)
        });
        let sum = values.fold(0, u32::wrapping_add);
        replica_of(sum, (count, secret))
    }
}

impl fmt::Display for DispatchFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, field) in self.fields().enumerate() {
            let sign = if place == 0 { "" } else { "," };
            write!(f, "{sign}{}", field.name)?;
        }
        if self.0 & EITHER_WAY != 0 {
            f.write_str(" either way")?;
        }
        Ok(())
    }
}

/// A part of an address that is multiplied and added to the hash, as a big-endian number.
#[derive(Clone, Copy, Debug)]
pub struct HashedWord {
    field: &'static Field,
    /// Its beginning in the field.
    start: usize,
    /// The header that has it.
    pub header: Header,
    /// Its beginning in that header, in bytes.
    pub at: usize,
    /// Its bytes, 2 or 4.
    pub bytes: usize,
    /// Its factor.
    pub factor: u32,
}

/// Returns true if a packet that is sent with these actions may pass tables or change a state.
pub fn may_use_states(actions: &[Action]) -> bool {
    actions.iter().any(|action| {
        let to_table = matches!(action, Action::Output(output) if output.port == PortNo::TABLE);
        to_table || matches!(action, Action::Group(_) | Action::Experimenter(_))
    })
}

/// The replica of `count` for a sum of words. The high bits of the product depend on all of it.
fn replica_of(sum: u32, (count, secret): (usize, u64)) -> usize {
    let mixed = (sum ^ sum >> 16).wrapping_mul(last_factor(secret)) >> 16;
    (mixed as usize * count) >> 16
}

/// The factor of the last step of the hash.
pub fn last_factor(secret: u64) -> u32 {
    factor(secret, FIELDS.len() * WORDS)
}

/// An odd factor that depends on a secret. Splitmix64.
fn factor(secret: u64, number: usize) -> u32 {
    let state = secret.wrapping_add(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(number as u64 + 1));
    let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed >> 32) as u32 | 1
}
