//! The program of an object file: its section, with loads of maps by their numbers.

use bofuss_ext::ebpf::code::{Code, MAX_SLOTS};
use bofuss_ext::ebpf::helper::Helper;
use bofuss_ext::ebpf::instruction::{Instruction, LD_IMM64, OF_MAP, SLOT_BYTES};
use bofuss_ext::ebpf::map::MapForm;
use object::elf::{EM_BPF, ET_REL};
use object::read::elf::{ElfSection64, FileHeader};
use object::{
    LittleEndian, Object, ObjectSection, ObjectSymbol, Relocation, RelocationTarget, SectionKind,
    SymbolKind,
};

use super::maps::{self, Declared, Elf};

/// The section of functions for which a source names none.
const FUNCTIONS: &str = ".text";

/// The most sections that an error names.
const MAX_NAMED: usize = 16;

/// A program as a switch takes it.
#[derive(Debug)]
pub(super) struct Program {
    /// The maps, by their numbers in the code.
    pub(super) maps: Vec<MapForm>,
    /// The code.
    pub(super) code: Vec<u8>,
}

/// Reads an object file, and in it the section of this name, or the only one that has a program.
/// Never panics, whatever the bytes.
///
/// Errors: what is wrong, and where.
pub(super) fn read(bytes: &[u8], section: Option<&str>) -> Result<Program, String> {
    let file = Elf::parse(bytes)
        .map_err(|error| format!("no ELF file of 64 bits in little-endian order: {error}"))?;
    let header = file.elf_header();
    if (header.e_machine(LittleEndian), header.e_type(LittleEndian)) != (EM_BPF, ET_REL) {
        return Err("no object file for eBPF: compile it with clang -target bpf -c".into());
    }
    let (name, section) = chosen(&file, section)?;
    let declared = maps::declared(&file)?;
    let in_section = |error: String| format!("section {name}: {error}");
    let code = linked(&file, &section, &declared).map_err(in_section)?;
    check(&code, declared.len()).map_err(in_section)?;
    let maps = declared.into_iter().map(|map| map.form).collect();
    Ok(Program { maps, code })
}

/// The section with the program, and its name.
fn chosen<'a, 'b>(
    file: &'b Elf<'a>,
    wanted: Option<&str>,
) -> Result<(&'b str, ElfSection64<'a, 'b, LittleEndian>), String> {
    let named = file.sections().filter_map(|section| {
        let is_program = section.kind() == SectionKind::Text && section.size() > 0;
        let name = is_program.then(|| section.name().ok()).flatten()?;
        Some((name, section))
    });
    let mut all: Vec<_> = named.collect();
    // The functions of programs that are not inlined are there, unless it has the only program.
    if all.len() > 1 {
        all.retain(|(name, _)| *name != FUNCTIONS);
    }
    let names: Vec<&str> = all.iter().map(|row| row.0).take(MAX_NAMED).collect();
    let names = names.join(", ");
    if let Some(wanted) = wanted {
        all.retain(|(name, _)| *name == wanted);
    }
    match (all.pop(), all.is_empty(), wanted) {
        (Some(one), true, _) => Ok(one),
        (Some(_), false, None) => Err(format!(
            "it has several programs: choose one by section=NAME, of {names}"
        )),
        (Some(_), false, Some(wanted)) => Err(format!("several sections are named {wanted}")),
        (None, _, Some(wanted)) => Err(format!(
            "no section {wanted} with a program; there are: {names}"
        )),
        (None, _, None) => Err("no section has a program".into()),
    }
}

/// The code of a section, in which each load of a map has the map's number.
fn linked(
    file: &Elf<'_>,
    section: &ElfSection64<'_, '_, LittleEndian>,
    maps: &[Declared],
) -> Result<Vec<u8>, String> {
    let functions = file.symbols().filter(|symbol| {
        symbol.kind() == SymbolKind::Text && symbol.section_index() == Some(section.index())
    });
    if functions.count() > 1 {
        return Err("it has several functions, and a program is one: inline the others".into());
    }
    let data = section.data().map_err(|error| error.to_string())?;
    if data.len() > MAX_SLOTS * SLOT_BYTES {
        let slots = data.len() / SLOT_BYTES;
        return Err(format!(
            "{slots} slots of code, and at most {MAX_SLOTS} fit"
        ));
    }
    let mut code = data.to_vec();
    for (offset, relocation) in section.relocations() {
        let place = usize::try_from(offset)
            .ok()
            .and_then(|at| code.get_mut(at..));
        relocate(file, place.unwrap_or_default(), &relocation, maps)
            .map_err(|error| format!("slot {}: {error}", offset / SLOT_BYTES as u64))?;
    }
    Ok(code)
}

/// Writes the number of a map into the instruction with which `code` begins.
fn relocate(
    file: &Elf<'_>,
    code: &mut [u8],
    relocation: &Relocation,
    maps: &[Declared],
) -> Result<(), String> {
    let RelocationTarget::Symbol(index) = relocation.target() else {
        return Err("what it refers to is no symbol".into());
    };
    let symbol = file.symbol_by_index(index).map_err(|e| e.to_string())?;
    let section = symbol.section_index();
    let named_section = section.and_then(|index| file.section_by_index(index).ok());
    let section_name = named_section.as_ref().and_then(|one| one.name().ok());
    let section_name = section_name.unwrap_or_default();
    // The symbol of a section has no name.
    let name = symbol.name().ok().filter(|name| !name.is_empty());
    let name = name.unwrap_or(section_name);
    let Some(slot) = code.first_chunk_mut::<SLOT_BYTES>() else {
        return Err(format!("{name} is used behind the code"));
    };
    let mut instruction = Instruction::from_slot(*slot);
    if instruction.is_call() {
        return Err(format!(
            "it calls {name}: a program has no functions but those of the switch"
        ));
    }
    if instruction.opcode != LD_IMM64 || instruction.src != 0 {
        return Err(format!(
            "{name} is used by an instruction that loads no address"
        ));
    }
    if named_section.is_none() {
        return Err(format!("{name} is defined nowhere"));
    }
    let addend = if relocation.has_implicit_addend() {
        instruction.imm.into()
    } else {
        relocation.addend()
    };
    let address = symbol.address().wrapping_add_signed(addend);
    let found = maps
        .iter()
        .position(|map| Some(map.section) == section && map.address == address);
    let Some(map) = found else {
        return Err(format!(
            "it uses data of section {section_name}: a program has no global variables and \
             constants but its maps"
        ));
    };
    instruction.src = OF_MAP;
    // At most 16; `maps::declared` has checked it.
    instruction.imm = map as i32;
    *slot = instruction.to_slot();
    // The upper half of the constant, where the next slot is one: `Code` checks it.
    if let Some(upper) = code.get_mut(SLOT_BYTES + 4..2 * SLOT_BYTES) {
        upper.fill(0);
    }
    Ok(())
}

/// Checks code as a switch does. Errors: the slot, and what is wrong with it.
fn check(code: &[u8], maps: usize) -> Result<(), String> {
    let loaded = Code::load(code, maps);
    let calls = code.chunks_exact(SLOT_BYTES).enumerate().filter_map(|row| {
        let slot = Instruction::from_slot(*row.1.first_chunk()?);
        (slot.is_call() && Helper::numbered(slot.imm).is_none()).then_some((row.0, slot))
    });
    let Err(bad) = loaded else {
        return Ok(());
    };
    // The likeliest reason, with the number of what is called.
    let first = calls.map(|(at, slot)| {
        let known: Vec<String> = Helper::ALL.iter().map(|row| row.0.to_string()).collect();
        let (number, known) = (slot.imm, known.join(", "));
        if slot.src == 0 {
            format!("slot {at}: it calls function {number}; the switch has {known}")
        } else {
            format!("slot {at}: it calls a function of its own: inline that")
        }
    });
    Err(first.take(1).next().unwrap_or_else(|| bad.to_string()))
}
