//! Objects that clang compiles become words; what a switch lacks is refused with its place; no
//! bytes do harm.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bofuss_ext::ebpf::code::Code;
use bofuss_ext::ebpf::map::{Map, MapForm};
use bofuss_ext::ebpf::run::{Outside, run};
use bofuss_oflib::ExtValue;
use bofuss_oflib::ext::ExtKind;
use bofuss_oflib::text::parse_bytes;

use super::{program, with_code};
use crate::extension::CATALOGUE;

/// The programs of the example, and what they include.
const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/bpfabric");

/// A folder of a test's own, which vanishes with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(test: &str) -> Self {
        let folder = format!("bofuss-elf-{test}-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        fs::create_dir_all(&folder).expect("a folder for scratch can be written");
        Self(folder)
    }

    /// The object of a source, if there is a clang; there has to be one in CI.
    fn compiled(&self, source: &str, options: &[&str]) -> Option<Vec<u8>> {
        let (from, to) = (self.0.join("it.c"), self.0.join("it.o"));
        fs::write(&from, source).expect("scratch can be written");
        let clang = Command::new("clang")
            .args("-O2 -g -Wall -Werror -target bpf -mcpu=v3 -c -I".split(' '))
            .arg(EXAMPLE)
            .args(options)
            .arg(&from)
            .arg("-o")
            .arg(&to)
            .status();
        let Ok(status) = clang else {
            assert!(std::env::var_os("CI").is_none(), "there is no clang");
            println!("not run: there is no clang");
            return None;
        };
        assert!(status.success(), "clang compiles {source}");
        Some(fs::read(&to).expect("clang has written it"))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn count() -> String {
    fs::read_to_string(Path::new(EXAMPLE).join("count.c")).expect("the example has it")
}

/// A source with a function in the section `prog`, after these declarations.
fn source(declarations: &str, body: &str) -> String {
    format!(
        "#include \"bpfabric.h\"\n{declarations}\n\
         SEC(\"prog\") u32 it(const struct packet *packet)\n{{\n{body}\n}}\n"
    )
}

/// The words of `program_mod` for a text.
fn words(text: &str) -> Result<String, String> {
    let mut rows = CATALOGUE.values(ExtKind::Message);
    let row = rows.find(|row| row.name == "program_mod");
    let row = row.expect("the extension has it");
    let words = with_code(row, text).map_err(|error| error.to_string())?;
    ExtValue::parse(row, &words, &CATALOGUE).map_err(|error| error.to_string())?;
    Ok(words)
}

struct Packet(Vec<u8>);

impl Outside for Packet {
    fn packet(&self) -> &[u8] {
        &self.0
    }
    fn packet_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
    fn in_port(&mut self) -> u32 {
        3
    }
    fn now_ns(&self) -> u64 {
        0
    }
    fn notify(&mut self, _: u32, _: &[u8]) {}
}

/// What a program returns for a packet of 60 bytes, and what its first map then has for a key.
fn ran(code: &[u8], forms: &[MapForm], key: &[u8]) -> (u64, Option<Vec<u8>>) {
    let code = Code::load(code, forms.len()).expect("it was checked");
    let mut maps: Vec<Map> = forms.iter().cloned().map(Map::new).collect();
    let ran = run(&code, &mut maps, &mut Packet(vec![0; 60]));
    let bytes = forms[0].value_bytes();
    let at = maps[0].find(key);
    let value = at.map(|at| maps[0].part(at, bytes).expect("it is one").to_vec());
    (ran.result.expect("it ends"), value)
}

#[test]
fn an_object_of_clang_is_a_program_with_its_maps() {
    let scratch = Scratch::new("program");
    let Some(object) = scratch.compiled(&count(), &[]) else {
        return;
    };
    let file = scratch.0.join("it.o");
    let text = words(&format!("add,name=count,object={}", file.display())).expect("it is right");
    let (maps, code) = text.split_once(",code=").expect("it has code");
    let wanted = "add,name=count,map0=(name=counts,type=array,key=4,value=16,entries=8)";
    assert_eq!(maps, wanted);
    let program = program::read(&object, None).expect("it is right");
    let code = parse_bytes(code).expect("it is hexadecimal");
    assert_eq!(code, program.code);
    let (result, value) = ran(&code, &program.maps, &[3, 0, 0, 0]);
    let wanted = [1u64.to_le_bytes(), 60u64.to_le_bytes()].concat();
    assert_eq!((result as u32, value), (0xffff_fffc, Some(wanted)));
    let refused = words(&format!("add,name=x,code=95,object={}", file.display()));
    assert!(refused.is_err_and(|error| error.contains("leave out code")));
    assert_eq!(
        words("delete,name=x").expect("it is right"),
        "delete,name=x"
    );
}

#[test]
fn maps_are_declared_by_numbers_or_types_and_a_section_is_chosen() {
    let scratch = Scratch::new("maps");
    let declarations = "\
        struct bpf_map_def { u32 type, key_size, value_size, max_entries, map_flags; };\n\
        struct bpf_map_def first SEC(\"maps\") = { HASH, 6, 4, 256, 1 };\n\
        typedef const struct { u16 a[3][2]; void *b; } pair;\n\
        struct { int (*type)[HASH]; int (*key_size)[5]; pair *value; MAP_ENTRIES(9); } \
        second SEC(\".maps\");\n\
        SEC(\"more\") u32 other(void *packet) { return 7; }\n";
    let body = "u64 key = 1; map_delete(&second, &key); return map_delete(&first, &key);";
    let Some(object) = scratch.compiled(&source(declarations, body), &[]) else {
        return;
    };
    let program = program::read(&object, Some("prog")).expect("it is right");
    let mut forms: Vec<_> = program
        .maps
        .iter()
        .map(|map| {
            (
                map.name().as_str(),
                map.key_bytes(),
                map.value_bytes(),
                map.entries(),
            )
        })
        .collect();
    let deleted: Vec<u8> = program
        .code
        .chunks_exact(8)
        .filter(|slot| slot[0] == 0x18)
        .map(|slot| slot[4])
        .collect();
    let place = |name| forms.iter().position(|form| form.0 == name);
    let wanted = [place("second"), place("first")].map(|at| at.expect("it is there") as u8);
    assert_eq!(deleted, wanted);
    forms.sort();
    assert_eq!(forms, [("first", 6, 4, 256), ("second", 5, 24, 9)]);
    let other = program::read(&object, Some("more")).expect("it is right");
    assert_eq!(other.code.len(), 16);
    for (section, wanted) in [
        (
            None,
            "several programs: choose one by section=NAME, of more, prog",
        ),
        (
            Some("prig"),
            "no section prig with a program; there are: more, prog",
        ),
    ] {
        let error = program::read(&object, section).expect_err("it is refused");
        let same = error.replace("prog, more", "more, prog");
        assert!(same.contains(wanted), "{error}");
    }
}

#[test]
fn what_a_switch_lacks_is_refused_with_its_place() {
    let scratch = Scratch::new("refused");
    let map = |members: &str| format!("struct {{ {members} }} m SEC(\".maps\");");
    let used = "u32 key = 0; return map_delete(&m, &key);";
    let legacy = "struct { u32 numbers[6]; } m SEC(\"maps\") = { { 1, 4, 4, 4 } };";
    let far = "static long (*const far)(void) = (void *)14;";
    let own = "static __attribute__((noinline)) u32 own(u32 n) { return n * n + 3; }";
    let rows = [
        (
            far.into(),
            "return far();",
            "calls function 14; the switch has 1, 2, 3, 5, 31",
        ),
        (
            own.into(),
            "return own(packet->in_port);",
            "it calls .text: a program has no functions",
        ),
        ("u32 sum;".into(), "return ++sum;", "data of section .bss"),
        (
            "u32 sum = 7;".into(),
            "return ++sum;",
            "data of section .data",
        ),
        (
            "static const volatile u32 list[4] = { 1, 2, 5, 3 };".into(),
            "return list[packet->in_port & 3];",
            "data of section .rodata",
        ),
        (
            "extern u32 there;".into(),
            "return there;",
            "there is defined nowhere",
        ),
        (
            map("MAP_TYPE(9); MAP_KEY(u32); MAP_VALUE(u32); MAP_ENTRIES(1);"),
            used,
            "map m: there are no maps of type 9, only hash (1) and array (2)",
        ),
        (
            map("MAP_TYPE(ARRAY); MAP_KEY(u64); MAP_VALUE(u32); MAP_ENTRIES(1);"),
            used,
            "map m: no map has keys of 8, values of 4 bytes and 1 entries",
        ),
        (
            map("MAP_TYPE(ARRAY); int (*pinning)[1];"),
            used,
            "map m: its member pinning is not",
        ),
        (
            map("u32 type;"),
            used,
            "map m: its member type has another type",
        ),
        (
            map("MAP_TYPE(HASH); int (*map_flags)[4];"),
            used,
            "map m: it has unknown flags 0x4",
        ),
        (legacy.into(), used, "map m: it has 4 or 5 numbers"),
        (String::new(), "for (;;) ;", "no way leads from slot"),
    ];
    for (declarations, body, wanted) in rows {
        let Some(object) = scratch.compiled(&source(&declarations, body), &[]) else {
            return;
        };
        let error = program::read(&object, None).expect_err("it is refused");
        assert!(error.contains(wanted), "{declarations} {body}: {error}");
    }
    let one = "MAP_TYPE(ARRAY); MAP_KEY(u32); MAP_VALUE(u32); MAP_ENTRIES(1);";
    let many = (0..17).map(|n| format!("struct {{ {one} }} m{n} SEC(\".maps\");\n"));
    let many: String = many.collect();
    for (text, options, wanted) in [
        (source(&many, "return 0;"), &[][..], "at most 16 maps"),
        (count(), &["-g0"], "compile with clang -g"),
        (count(), &["-target", "bpfeb"], "little-endian"),
        ("int x;".into(), &[], "no section has a program"),
    ] {
        let object = scratch.compiled(&text, options).expect("there is a clang");
        let error = program::read(&object, None).expect_err("it is refused");
        assert!(error.contains(wanted), "{wanted}: {error}");
    }
    let mut object = scratch.compiled(&count(), &[]).expect("there is a clang");
    // The machine: that of x86-64.
    object[18] = 62;
    let error = program::read(&object, None).expect_err("it is refused");
    assert!(error.contains("no object file for eBPF"), "{error}");
}

#[test]
fn no_bytes_do_harm() {
    let scratch = Scratch::new("harm");
    let Some(object) = scratch.compiled(&count(), &[]) else {
        return;
    };
    let mut refused = 0;
    for end in 0..object.len() {
        refused += usize::from(program::read(&object[..end], None).is_err());
    }
    assert_eq!(refused, object.len(), "the table of sections is at the end");
    let mut state = 1u64;
    let mut next = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % below
    };
    let borders = [0, 1, 0x7f, 0x80, 0xff];
    for _ in 0..20_000 {
        let mut damaged = object.clone();
        for _ in 0..1 + next(4) {
            let at = next(damaged.len());
            damaged[at] = match next(2) {
                0 => borders[next(borders.len())],
                _ => next(256) as u8,
            };
        }
        let _ = program::read(&damaged, None);
    }
    for _ in 0..2000 {
        let mut bytes: Vec<u8> = (0..next(2000)).map(|_| next(256) as u8).collect();
        let head = bytes.len().min(64);
        bytes[..head].copy_from_slice(&object[..head]);
        let _ = program::read(&bytes, None);
    }
}

#[test]
fn files_that_are_none_are_refused_at_once() {
    let scratch = Scratch::new("files");
    let pipe = scratch.0.join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("there is mkfifo").success());
    let large = scratch.0.join("large");
    let file = fs::File::create(&large).expect("scratch can be written");
    file.set_len(1 << 30).expect("it is sparse");
    for (file, wanted) in [
        (pipe.as_path(), "not a regular file"),
        (&scratch.0, "not a regular file"),
        (Path::new("/dev/zero"), "not a regular file"),
        (&large, "larger than 4 MiB"),
        (Path::new("nonesuch.o"), "No such file"),
        (Path::new("/dev/null"), "not a regular file"),
        (Path::new("Cargo.toml"), "Cargo.toml: no ELF file"),
    ] {
        let error = words(&format!("add,name=x,object={}", file.display()));
        let error = error.expect_err("it is refused");
        assert!(error.contains(wanted), "{error}");
    }
}
