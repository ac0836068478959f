//! The maps that an object file declares: by types in `.maps`, or by numbers in `maps`.

use bofuss_ext::ebpf::MAX_MAPS;
use bofuss_ext::ebpf::map::{MapForm, MapKind};
use bofuss_ext::ebpf::name::Name;
use object::read::elf::ElfFile64;
use object::{LittleEndian, Object, ObjectSection, ObjectSymbol, SectionIndex, SymbolKind};

use super::btf::{Btf, Definition};

/// An object file for eBPF.
pub(super) type Elf<'a> = ElfFile64<'a, LittleEndian>;

/// A map, and where its symbol is.
pub(super) struct Declared {
    /// The section of its symbol.
    pub(super) section: SectionIndex,
    /// Its place in that section.
    pub(super) address: u64,
    /// What a switch is told of it.
    pub(super) form: MapForm,
}

/// The section of declarations by types, which `.BTF` has.
const BY_TYPES: &str = ".maps";
/// The section of declarations of the kind `struct bpf_map_def`, as BPFabric's programs have them.
const BY_NUMBERS: &str = "maps";
/// The only flag that is heeded, as all maps do what it says: memory is taken with the keys.
const NO_PREALLOC: u32 = 1;

/// The maps: those that types declare, then the others, by their places.
///
/// Errors: the map, and what is wrong with it.
pub(super) fn declared(file: &Elf<'_>) -> Result<Vec<Declared>, String> {
    let mut all = Vec::new();
    for section_name in [BY_TYPES, BY_NUMBERS] {
        let Some(section) = file.section_by_name(section_name) else {
            continue;
        };
        let symbols = file.symbols().filter(|symbol| {
            symbol.kind() == SymbolKind::Data && symbol.section_index() == Some(section.index())
        });
        let mut symbols: Vec<_> = symbols.take(MAX_MAPS + 1).collect();
        symbols.sort_by_key(|symbol| symbol.address());
        for symbol in symbols {
            let name = symbol.name().unwrap_or_default();
            let of_map = |error: String| format!("map {name}: {error}");
            let name = Name::parse(name).map_err(|error| error.to_string())?;
            let definition = if section_name == BY_TYPES {
                by_type(file, name.as_str())
            } else {
                let data = section.data_range(symbol.address(), symbol.size());
                by_number(data.ok().flatten().unwrap_or_default())
            };
            let form = definition.and_then(|definition| form(name, &definition));
            all.push(Declared {
                section: section.index(),
                address: symbol.address(),
                form: form.map_err(of_map)?,
            });
            if all.len() > MAX_MAPS {
                return Err(format!("a program has at most {MAX_MAPS} maps"));
            }
        }
    }
    Ok(all)
}

fn by_type(file: &Elf<'_>, name: &str) -> Result<Definition, String> {
    let section = file.section_by_name(".BTF");
    let section = section.ok_or("there is no section .BTF: compile with clang -g")?;
    let data = section.data().map_err(|error| error.to_string())?;
    Btf::parse(data).and_then(|btf| btf.map(name))
}

/// A declaration of numbers of 32 bits: kind, key, value, entries, flags.
fn by_number(data: &[u8]) -> Result<Definition, String> {
    let numbers = data.chunks_exact(4).map(|number| {
        let number = number.first_chunk().expect("chunks are of this size");
        u32::from_le_bytes(*number)
    });
    let numbers: Vec<u32> = numbers.take(6).collect();
    let (kind, key_bytes, value_bytes, entries, flags) = match numbers[..] {
        [kind, key, value, entries] => (kind, key, value, entries, 0),
        [kind, key, value, entries, flags] => (kind, key, value, entries, flags),
        _ => return Err("it has 4 or 5 numbers: kind, key, value, entries, flags".into()),
    };
    Ok(Definition {
        kind,
        key_bytes,
        value_bytes,
        entries,
        flags,
    })
}

/// What a switch is told of a map. Errors: what no map here has.
fn form(name: Name, definition: &Definition) -> Result<MapForm, String> {
    let number = definition.kind;
    let row = MapKind::ALL.iter().find(|row| u32::from(row.1) == number);
    let Some((kind, ..)) = row else {
        let known: Vec<String> = MapKind::ALL
            .iter()
            .map(|row| format!("{} ({})", row.2, row.1))
            .collect();
        let known = known.join(" and ");
        return Err(format!("there are no maps of type {number}, only {known}"));
    };
    if definition.flags & !NO_PREALLOC != 0 {
        return Err(format!("it has unknown flags {:#x}", definition.flags));
    }
    let (key, value) = (definition.key_bytes, definition.value_bytes);
    let entries = definition.entries;
    let form = MapForm::new(name, *kind, key as usize, value as usize, entries as usize);
    form.ok_or_else(|| {
        format!("no map has keys of {key}, values of {value} bytes and {entries} entries")
    })
}
