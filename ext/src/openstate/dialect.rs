//! The three dialects, and how the dialect of a table is inferred from the messages about it.
//!
//! Nothing on the wire names a dialect. Each message and action is known to some of the dialects; a
//! table may have any dialect that knows all messages and actions about it so far.

/// The layouts and the behaviour of one line of controllers and switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateDialect {
    /// OpenState's.
    OpenState,
    /// BEBA's main line.
    Beba,
    /// BEBA's advanced line, Open Packet Processor.
    Opp,
}

impl StateDialect {
    /// All of them, by the names of the option.
    pub const ALL: [(&'static str, Self); 3] = [
        ("openstate", Self::OpenState),
        ("beba", Self::Beba),
        ("opp", Self::Opp),
    ];
}

/// The number of the form in which values are sent to connections of a dialect
/// ([`bofuss_datapath::Asker::form`]). 0 means that a connection has not shown its dialect.
pub(crate) fn form_of(dialect: StateDialect) -> u8 {
    dialect as u8 + 1
}

/// The dialect of a connection, if it has shown it.
pub(crate) fn dialect_of(form: u8) -> Option<StateDialect> {
    let all = StateDialect::ALL.into_iter().map(|(_, dialect)| dialect);
    let mut same = all.filter(|dialect| form_of(*dialect) == form);
    same.next()
}

/// A set of dialects that is not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialects(u8);

impl Dialects {
    /// Every dialect.
    pub const ALL: Self = Self(7);
    /// Those in which SET_STATE has 48 bytes.
    pub const SHORT_SET_STATE: Self = Self(3);
    /// Those in which extractors have `bit`, and INC_STATE and templates are known.
    pub const BEBA_OR_OPP: Self = Self(6);

    /// One dialect alone.
    pub const fn only(dialect: StateDialect) -> Self {
        Self(1 << dialect as u8)
    }

    /// The dialects that are in both sets; `None` if there are none.
    pub fn and(self, other: Self) -> Option<Self> {
        match self.0 & other.0 {
            0 => None,
            both => Some(Self(both)),
        }
    }

    /// The dialect, if only one is left; until then BEBA's.
    pub fn dialect(self) -> StateDialect {
        let all = StateDialect::ALL.into_iter().map(|(_, dialect)| dialect);
        let mut single = all.filter(|dialect| self == Self::only(*dialect));
        single.next().unwrap_or(StateDialect::Beba)
    }
}

impl Default for Dialects {
    fn default() -> Self {
        Self::ALL
    }
}
