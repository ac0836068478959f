//! The functions of the switch that a program may call, by their numbers.

/// A function of the switch. Arguments are in r1 to r5, the result is in r0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Helper {
    /// `(map, key, &pointer)`: puts the address of a key's value where the pointer is; 0, or -1 if
    /// there is no such key.
    MapLookup,
    /// `(map, key, value, flags)`: 0, or -1 if there is no room or the flags forbid it.
    MapUpdate,
    /// `(map, key)`: 0, or -1 if there is no such key, or the map is an array.
    MapDelete,
    /// `()`: the switch's time in nanoseconds.
    Time,
    /// `(id, data, bytes)`: tells controllers; 0, or -1 if the run may not tell more.
    Notify,
}

impl Helper {
    /// The functions, by numbers: those of Linux, and that of BPFabric.
    pub const ALL: [(i32, Self); 5] = [
        (1, Self::MapLookup),
        (2, Self::MapUpdate),
        (3, Self::MapDelete),
        (5, Self::Time),
        (31, Self::Notify),
    ];

    /// The function of a number, if there is one.
    pub fn numbered(number: i32) -> Option<Self> {
        let row = Self::ALL.iter().find(|(known, _)| *known == number);
        row.map(|(_, helper)| *helper)
    }
}
