//! The facts about the machine and the switch that all results of a run depend on.

use std::fs;
use std::path::Path;

use bofuss_oflib::message::Empty;
use bofuss_oflib::message::multipart::{ReplyBody, RequestBody};

use crate::cases::workbench::{Limits, Workbench};
use crate::testbed::net::run;

/// The files of the system that have one fact each.
const FACTS: [(&str, &str); 6] = [
    ("kernel", "proc/sys/kernel/osrelease"),
    (
        "governor",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    ),
    (
        "highest frequency, kHz",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq",
    ),
    ("load of 1, 5 and 15 minutes, and processes", "proc/loadavg"),
    (
        "clock source",
        "sys/devices/system/clocksource/clocksource0/current_clocksource",
    ),
    ("interrupts since the start", "proc/stat"),
];

/// The beginnings of the facts that change during a run.
const CHANGING: [&str; 3] = ["frequencies", "load", "interrupts"];
/// The beginnings of those facts at the end of a run, and of the day.
pub const AT_THE_END: &str = "at the end: ";
/// See [`AT_THE_END`].
const DATE: &str = "date: ";

/// The facts about this machine.
pub fn host() -> Vec<String> {
    let mut facts = host_of(Path::new("/"));
    facts.push(format!("{DATE}{}", command("date -u +%Y-%m-%d")));
    facts
}

/// The same, and how frames are sent and received; the interfaces are the meter's own, or the
/// user's.
pub fn machine(has_own_interfaces: bool) -> Vec<String> {
    let offloads = if has_own_interfaces {
        "off, but in cases that say otherwise"
    } else {
        "as the user has set them"
    };
    let mut facts = host();
    facts.extend([
        "input and output: AF_PACKET rings".into(),
        format!("offloads: {offloads}"),
        "frame sizes: without the frame check sequence".into(),
    ]);
    facts
}

/// The facts that change during a run, as they are at its end.
pub fn at_the_end() -> Vec<String> {
    changing(host_of(Path::new("/")))
}

/// Those of some facts that change during a run.
fn changing(mut facts: Vec<String>) -> Vec<String> {
    facts.retain(|fact| changes(fact));
    facts
        .iter()
        .map(|fact| format!("{AT_THE_END}{fact}"))
        .collect()
}

fn changes(fact: &str) -> bool {
    CHANGING.iter().any(|begin| fact.starts_with(*begin))
}

/// Returns true if a fact is the same in each session on one machine with one switch.
pub fn lasts(fact: &str) -> bool {
    let is_of_the_day = fact.starts_with(AT_THE_END) || fact.starts_with(DATE);
    !changes(fact) && !is_of_the_day
}

/// What was asked for, in words.
pub fn asked(limits: &Limits) -> String {
    let frames = match limits.frames {
        0 => "each case's own number of frames".into(),
        frames => format!("{frames} frames of a series"),
    };
    let largest = match limits.largest_flow {
        None => "each case's own".into(),
        Some(bytes) => format!("{bytes} bytes"),
    };
    format!(
        "asked for: {frames}, one of {} parts of it in a repeat; at most {} frames/s and {} rules; \
         {} s for an answer; trials of {} s; links {} times slower; largest flow: {largest}",
        limits.parts,
        limits.max_rate,
        limits.max_rules,
        limits.stall.as_secs(),
        limits.trial_seconds,
        limits.scale
    )
}

/// The facts that the files below a folder have. A virtual machine lacks some: these are said to be
/// unknown, as they differ from machine to machine nevertheless.
fn host_of(root: &Path) -> Vec<String> {
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let processors = read("proc/cpuinfo");
    let cores = processors.matches("processor\t").count();
    let mhz: Vec<&str> = values(&processors, "cpu MHz").collect();
    let status = read("proc/self/status");
    let allowed = values(&status, "Cpus_allowed_list").next();
    let mut facts = vec![
        format!(
            "processor: {}, {cores} cores",
            values(&processors, "model name")
                .next()
                .unwrap_or("unknown")
        ),
        format!("frequencies now, MHz: {}", known(&mhz.join(", "))),
        format!(
            "pinning: none; processors that it may use: {}",
            known(allowed.unwrap_or_default())
        ),
    ];
    for (name, path) in FACTS {
        let text = read(path);
        let fact = match path {
            "proc/stat" => values_of_words(&text, "intr"),
            _ => text.trim(),
        };
        facts.push(format!("{name}: {}", known(fact)));
    }
    facts
}

/// The values of the lines `name : value`.
fn values<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    let pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs
        .filter(move |(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim())
}

/// The first value of the line `name value value`.
fn values_of_words<'a>(text: &'a str, name: &str) -> &'a str {
    let mut lines = text.lines().map(str::split_whitespace);
    let found = lines.find_map(|mut words| (words.next()? == name).then(|| words.next())?);
    found.unwrap_or_default()
}

fn known(fact: &str) -> &str {
    if fact.is_empty() { "unknown" } else { fact }
}

/// What a command prints, or nothing.
fn command(words: &str) -> String {
    run(words).unwrap_or_default().trim().into()
}

/// The facts about the switch: its own description, and the file of its program.
pub fn switch_facts(bench: &mut Workbench<'_>) -> Vec<String> {
    let mut facts = Vec::new();
    if let Some(controller) = &mut bench.controller {
        let said = match controller.multipart(RequestBody::Desc(Empty)) {
            Ok(ReplyBody::Desc(desc)) => [
                desc.mfr_desc.to_string(),
                desc.hw_desc.to_string(),
                desc.sw_desc.to_string(),
                desc.serial_num.to_string(),
                desc.dp_desc.to_string(),
            ]
            .join("; "),
            Ok(_) => "it answered something else".into(),
            Err(error) => error.to_string(),
        };
        facts.push(format!("the switch's description (DESC): {said}"));
    }
    let forwarder = bench.subject.forwarder.as_ref();
    if let Some(path) = forwarder.and_then(|forwarder| forwarder.program()) {
        let bytes = fs::metadata(&path).map_or(0, |file| file.len());
        let built = command(&format!("date -u +%FT%TZ -r {}", path.display()));
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        facts.push(format!(
            "the switch's program: {name}, {bytes} bytes, of {}",
            known(&built)
        ));
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::held::ScratchFolder;

    #[test]
    fn what_the_system_says_is_in_the_record_and_what_it_does_not_is_unknown() {
        let folder = ScratchFolder::new().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let one = "processor\t: 0\nmodel name\t: A 1\ncpu MHz\t\t: 2400.5\n\n";
        write("proc/cpuinfo", &format!("{one}{}", one.replace('0', "1")));
        write("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-1\n");
        write("proc/loadavg", "4.00 3.00 2.00 5/100 7\n");
        write("proc/stat", "cpu 1 2\nintr 1234 5 6\n");
        write("proc/sys/kernel/osrelease", "6.1\n");
        let found = host_of(folder.path());
        assert_eq!(
            found,
            [
                "processor: A 1, 2 cores",
                "frequencies now, MHz: 2400.5, 2411.5",
                "pinning: none; processors that it may use: 0-1",
                "kernel: 6.1",
                "governor: unknown",
                "highest frequency, kHz: unknown",
                "load of 1, 5 and 15 minutes, and processes: 4.00 3.00 2.00 5/100 7",
                "clock source: unknown",
                "interrupts since the start: 1234",
            ]
        );
        let later = changing(found);
        assert_eq!(
            later,
            [
                "at the end: frequencies now, MHz: 2400.5, 2411.5",
                "at the end: load of 1, 5 and 15 minutes, and processes: 4.00 3.00 2.00 5/100 7",
                "at the end: interrupts since the start: 1234",
            ]
        );
    }

    #[test]
    fn what_was_asked_for_is_in_the_record_and_no_offloads_of_the_user_are_claimed() {
        let limits = Limits {
            frames: 500,
            max_rate: 2_000.0,
            ..Limits::unbounded(true)
        };
        let said = asked(&limits);
        for words in ["500 frames of a series", "at most 2000 frames/s", "0.2 s"] {
            assert!(said.contains(words), "{said}");
        }
        let usual = asked(&Limits::unbounded(false));
        assert!(usual.contains("each case's own number of frames"));
        let unknown = "offloads: as the user has set them".to_string();
        let claims = |own| machine(own).contains(&unknown);
        assert_eq!([claims(true), claims(false)], [false, true]);
    }
}
