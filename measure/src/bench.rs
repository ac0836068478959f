//! The bench: rounds in which every set-up takes its turn, so that they share the machine's moods.

use std::path::Path;

use crate::case::{CASES, Case, Context};
use crate::net::{Bed, HOST_PORT};
use crate::report::Report;
use crate::setup::{Forwarder, Setup};
use crate::traffic::{Load, receive, send};

/// Frames that must arrive before anything is timed, and how fast they are sent.
const CHECKED_FRAMES: u64 = 2_000;
const CHECKED_RATE: u64 = 20_000;

/// What is asked for.
pub struct Wanted<'a> {
    /// Where our programs are.
    pub programs: &'a Path,
    /// Names of cases; all if there is none.
    pub cases: &'a [String],
    /// Set-ups.
    pub setups: Vec<Setup>,
    /// How often each set-up has its turn.
    pub rounds: usize,
    /// The most that a case's parameter may be.
    pub limit: u32,
}

/// Measures.
///
/// Errors: a set-up that does not work, or a wrong result.
pub fn run(wanted: &Wanted<'_>) -> Result<Report, String> {
    let chosen =
        |case: &&Case| wanted.cases.is_empty() || wanted.cases.iter().any(|n| n == case.name);
    let cases: Vec<&Case> = CASES.iter().filter(chosen).collect();
    if cases.is_empty() {
        let names: Vec<_> = CASES.iter().map(|case| case.name).collect();
        return Err(format!("no such case; there are {}", names.join(", ")));
    }
    let mut report = Report::default();
    let mut absent = Vec::new();
    for round in 1..=wanted.rounds {
        for &setup in &wanted.setups {
            for offloads in [true, false] {
                let suits = |case: &&&Case| case.offloads == offloads && case.suits(setup);
                let cases: Vec<&Case> = cases.iter().filter(suits).copied().collect();
                if cases.is_empty() {
                    continue;
                }
                if absent.contains(&setup) {
                    continue;
                }
                let bed = Bed::new(setup == Setup::Direct, offloads)?;
                let forwarder = match setup.start(wanted.programs) {
                    Ok(forwarder) => forwarder,
                    // What is not ours may not work on this machine.
                    Err(error) if setup.is_foreign() => {
                        eprintln!("{} is left out: {error}", setup.name());
                        absent.push(setup);
                        continue;
                    }
                    Err(error) => return Err(error),
                };
                check(&bed, setup)?;
                for case in cases {
                    let progress = format!("round {round}/{} {}", wanted.rounds, setup.name());
                    turn(
                        wanted,
                        &mut report,
                        &progress,
                        (case, setup),
                        (&bed, &forwarder),
                    )?;
                }
            }
        }
    }
    Ok(report)
}

/// One turn of a set-up at a case.
fn turn(
    wanted: &Wanted<'_>,
    report: &mut Report,
    progress: &str,
    (case, setup): (&Case, Setup),
    (bed, forwarder): (&Bed, &Forwarder),
) -> Result<(), String> {
    let (counts, values) = case.parameters;
    for &parameter in values.iter().filter(|value| **value <= wanted.limit) {
        let context = Context {
            bed,
            forwarder,
            parameter,
        };
        let name = match counts {
            "" => case.name.to_string(),
            counts => format!("{} ({parameter} {counts})", case.name),
        };
        let figures = case
            .run(&context, setup)
            .map_err(|error| format!("{}: {name}: {error}", setup.name()))?;
        let shown = case.metrics.iter().zip(&figures);
        let shown: Vec<_> = shown
            .map(|((_, unit), figure)| format!("{figure:.1} {unit}"))
            .collect();
        eprintln!("{progress} {name}: {}", shown.join(", "));
        report.add(case, parameter, setup, &figures);
    }
    Ok(())
}

/// The result before the time: numbered frames arrive complete, in order and unchanged.
fn check(bed: &Bed, setup: Setup) -> Result<(), String> {
    let load = Load {
        rate: CHECKED_RATE,
        ..Load::of(CHECKED_FRAMES)
    };
    let (tell, ready) = std::sync::mpsc::channel();
    let checked = std::thread::scope(|scope| {
        let receiving = scope.spawn(|| {
            let told = move || {
                let _ = tell.send(());
            };
            bed.host(true, || receive(HOST_PORT, CHECKED_FRAMES, told))
        });
        let _ = ready.recv();
        bed.host(false, || send(HOST_PORT, load))?;
        receiving.join().map_err(|_| "the receiver died")?
    });
    checked.map_err(|error| format!("{}: {error}", setup.name()))
}
