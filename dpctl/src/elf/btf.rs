//! The types of `.BTF`, as far as they declare maps. Spec: Linux's Documentation/bpf/btf.rst.

const MAGIC: u16 = 0xeb9f;
/// Bytes of a type's head: its name, what it is, and its size or the type that it is made of.
const HEAD_BYTES: usize = 12;
/// The most types that one is made of, on the way to its size; the C compiler wants 127.
const MAX_DEPTH: usize = 128;

/// What a declaration says, in Linux's numbers.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Definition {
    /// The kind of the map.
    pub(super) kind: u32,
    /// Bytes of a key.
    pub(super) key_bytes: u32,
    /// Bytes of a value.
    pub(super) value_bytes: u32,
    /// The most entries.
    pub(super) entries: u32,
    /// Flags.
    pub(super) flags: u32,
}

/// The kinds of types that maps are declared with.
mod kind {
    pub(super) const INT: u32 = 1;
    pub(super) const PTR: u32 = 2;
    pub(super) const ARRAY: u32 = 3;
    pub(super) const STRUCT: u32 = 4;
    pub(super) const UNION: u32 = 5;
    pub(super) const ENUM: u32 = 6;
    pub(super) const TYPEDEF: u32 = 8;
    pub(super) const VOLATILE: u32 = 9;
    pub(super) const CONST: u32 = 10;
    pub(super) const RESTRICT: u32 = 11;
    pub(super) const FUNC_PROTO: u32 = 13;
    pub(super) const VAR: u32 = 14;
    pub(super) const DATASEC: u32 = 15;
    pub(super) const FLOAT: u32 = 16;
    pub(super) const DECL_TAG: u32 = 17;
    pub(super) const TYPE_TAG: u32 = 18;
    pub(super) const ENUM64: u32 = 19;
}

/// One type.
struct Type<'a> {
    name: u32,
    kind: u32,
    /// The size, or the number of another type.
    size: u32,
    /// What is behind the head: members, for instance.
    rest: &'a [u8],
}

/// The types of an object file.
pub(super) struct Btf<'a> {
    /// The first one has the number 1.
    types: Vec<Type<'a>>,
    strings: &'a [u8],
}

impl<'a> Btf<'a> {
    /// Reads the section. Errors: where it ends too early, or is unknown.
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, String> {
        Self::read(bytes).ok_or_else(|| "the section .BTF is damaged, or of a new kind".into())
    }

    fn read(bytes: &'a [u8]) -> Option<Self> {
        let magic = u16::from_le_bytes(*bytes.first_chunk()?);
        if magic != MAGIC {
            return None;
        }
        let body = bytes.get(number(bytes, 4)? as usize..)?;
        let part = |offset, length| {
            let from = number(bytes, offset)? as usize;
            body.get(from..)?.get(..number(bytes, length)? as usize)
        };
        let (mut rest, strings) = (part(8, 12)?, part(16, 20)?);
        let mut types = Vec::new();
        while !rest.is_empty() {
            let (name, info, size) = (number(rest, 0)?, number(rest, 4)?, number(rest, 8)?);
            let kind = info >> 24 & 0x1f;
            let length = behind_head(kind, info as usize & 0xffff);
            let (this, next) = rest.split_at_checked(HEAD_BYTES + length)?;
            types.push(Type {
                name,
                kind,
                size,
                rest: &this[HEAD_BYTES..],
            });
            rest = next;
        }
        Some(Self { types, strings })
    }

    /// The declaration of a map. Errors: the member that is wrong, or unknown.
    pub(super) fn map(&self, name: &str) -> Result<Definition, String> {
        let mut variables = self.types.iter().filter(|one| one.kind == kind::VAR);
        let variable = variables.find(|one| self.is_named(one, name));
        let declared = variable.and_then(|one| self.plain(one.size));
        let Some(declared) = declared.filter(|one| one.kind == kind::STRUCT) else {
            return Err("the section .BTF has no structure of its name".into());
        };
        let mut definition = Definition::default();
        for member in declared.rest.chunks_exact(HEAD_BYTES) {
            let name = number(member, 0).and_then(|name| self.string(name));
            let name = name.unwrap_or_default();
            let pointed = number(member, 4).and_then(|pointer| self.pointed(pointer));
            let (place, value) = match name {
                "type" => (&mut definition.kind, self.elements(pointed)),
                "key_size" => (&mut definition.key_bytes, self.elements(pointed)),
                "value_size" => (&mut definition.value_bytes, self.elements(pointed)),
                "max_entries" => (&mut definition.entries, self.elements(pointed)),
                "map_flags" => (&mut definition.flags, self.elements(pointed)),
                "key" => (&mut definition.key_bytes, self.size(pointed)),
                "value" => (&mut definition.value_bytes, self.size(pointed)),
                _ => return Err(format!("its member {name} is not known here")),
            };
            *place = value.ok_or_else(|| format!("its member {name} has another type"))?;
        }
        Ok(definition)
    }

    /// Returns true if a type has a name; looks at no more bytes than that has, as there may be
    /// many types with names of any length.
    fn is_named(&self, one: &Type<'_>, name: &str) -> bool {
        let bytes = self.strings.get(one.name as usize..);
        let rest = bytes.and_then(|bytes| bytes.strip_prefix(name.as_bytes()));
        rest.is_some_and(|rest| rest.first() == Some(&0))
    }

    fn string(&self, at: u32) -> Option<&'a str> {
        let bytes = self.strings.get(at as usize..)?;
        let end = bytes.iter().position(|byte| *byte == 0)?;
        std::str::from_utf8(&bytes[..end]).ok()
    }

    fn numbered(&self, number: u32) -> Option<&Type<'a>> {
        self.types.get((number as usize).checked_sub(1)?)
    }

    /// The type of this number, without its names and qualifiers.
    fn plain(&self, number: u32) -> Option<&Type<'a>> {
        let mut one = self.numbered(number)?;
        for _ in 0..MAX_DEPTH {
            match one.kind {
                kind::TYPEDEF | kind::VOLATILE | kind::CONST | kind::RESTRICT | kind::TYPE_TAG => {
                    one = self.numbered(one.size)?
                }
                _ => return Some(one),
            }
        }
        None
    }

    /// The number of the type that a pointer points to.
    fn pointed(&self, pointer: u32) -> Option<u32> {
        let one = self.plain(pointer)?;
        (one.kind == kind::PTR).then_some(one.size)
    }

    /// The elements of an array, by which a declaration writes a number.
    fn elements(&self, array: Option<u32>) -> Option<u32> {
        let one = self.plain(array?)?;
        (one.kind == kind::ARRAY).then(|| number(one.rest, 8))?
    }

    /// The bytes of a value of a type.
    fn size(&self, of: Option<u32>) -> Option<u32> {
        let mut one = self.plain(of?)?;
        let mut count = 1u32;
        for _ in 0..MAX_DEPTH {
            let bytes = match one.kind {
                kind::ARRAY => {
                    count = count.checked_mul(number(one.rest, 8)?)?;
                    one = self.plain(number(one.rest, 0)?)?;
                    continue;
                }
                kind::PTR => size_of::<u64>() as u32,
                kind::INT
                | kind::STRUCT
                | kind::UNION
                | kind::ENUM
                | kind::ENUM64
                | kind::FLOAT => one.size,
                _ => return None,
            };
            return count.checked_mul(bytes);
        }
        None
    }
}

/// The bytes behind the head of a type with so many members.
fn behind_head(kind: u32, members: usize) -> usize {
    match kind {
        kind::INT | kind::VAR | kind::DECL_TAG => 4,
        kind::ARRAY => 12,
        kind::STRUCT | kind::UNION | kind::DATASEC | kind::ENUM64 => 12 * members,
        kind::ENUM | kind::FUNC_PROTO => 8 * members,
        _ => 0,
    }
}

/// The number of 32 bits at a place.
fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*word))
}
