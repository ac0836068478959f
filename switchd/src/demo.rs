//! `bofuss demo`: three hosts on a switch, in network namespaces of its own.
//!
//! Namespaces, interfaces and sockets belong to this process and vanish with it.

use std::sync::Arc;
use std::{fs, io, thread};

use crate::config::Options;
use crate::error::{Result, context};
use crate::process::Process;
use crate::reload::ConfigSource;
use crate::tell::say;

use lab::{HOSTS, Lab, path, port_name};

mod lab;
mod scenes;
mod traffic;

/// Options of `bofuss demo`.
#[derive(Clone, Debug, clap::Args)]
pub struct DemoOptions {
    /// Keep everything running at the end, and print what to try next.
    #[arg(long)]
    keep: bool,
    /// Let this controller program the switch: tcp:HOST[:PORT] as this shell reaches it, or
    /// unix:FILE.
    #[arg(long, value_name = "ADDRESS")]
    controller: Option<String>,
}

/// Runs the demo; `stopped` ends it early. Errors: a sentence for the user.
pub async fn demo(options: DemoOptions, stopped: impl Future<Output = ()>) -> Result<()> {
    let program = std::env::args().next().unwrap_or_else(|| "bofuss".into());
    let lab = Lab::new().map_err(|error| {
        if error.kind() == io::ErrorKind::PermissionDenied {
            format!("creating network namespaces is not permitted; type: sudo {program} demo")
        } else {
            format!("creating network namespaces: {error}")
        }
    })?;
    lab.connect()?;
    let config = Options {
        name: Some(format!("demo-{}", std::process::id())),
        dpid: Some("0x1".into()),
        ports: (1..=HOSTS).map(port_name).collect(),
        controllers: options.controller.iter().cloned().collect(),
        // Without a controller, the scenes add all entries.
        fail_mode: Some("secure".into()),
        ..Options::default()
    }
    .check()?;
    let into = lab.switch.try_clone().map_err(context("namespace"))?;
    let enter = Box::new(move || {
        into.enter()
            .map_err(context("entering the switch's namespace"))
    });
    let source = ConfigSource::of(&config);
    let process = Process::start(vec![config], source, Some(enter)).await?;
    let socket = process.socket().to_path_buf();
    let (done, finished) = tokio::sync::oneshot::channel();
    let controlled = options.controller.clone();
    let lab = Arc::new(lab);
    let scene = Arc::clone(&lab);
    thread::Builder::new()
        .name("demo".into())
        .spawn(move || drop(done.send(scenes::play(&scene, &socket, controlled.as_deref()))))
        .map_err(context("thread"))?;
    let mut stopped = std::pin::pin!(stopped);
    let mut played = tokio::select! {
        result = finished => result.unwrap_or_else(|_| Err("the demo's thread died".into())),
        () = &mut stopped => Err("interrupted; everything is cleaned up".into()),
    };
    if played.is_ok() && options.keep {
        while_up(&process, &lab)?;
        process.until(stopped).await?;
    } else {
        played = played.and_then(|()| what_next());
        // The switch gives back what it changed.
        process.until(std::future::ready(())).await?;
    }
    played?;
    say!("\nCleaned up.");
    Ok(())
}

/// Prints what to try next, in three lines: with make if the program was built in the tree,
/// otherwise with the installed programs.
fn what_next() -> Result<()> {
    let program = std::env::current_exe().map_err(context("own path"))?;
    let lines = if program
        .parent()
        .is_some_and(|folder| folder.ends_with("demo"))
    {
        [
            (
                "make demo ARGS=--keep",
                "the same, kept running for entries of your own",
            ),
            (
                "make build",
                "the programs as they are released; README.md says how to run them",
            ),
            (
                "docs/guide/lecture.md",
                "more with Mininet, captures, a controller in Python",
            ),
        ]
    } else {
        [
            (
                "sudo bofuss demo --keep",
                "the same, kept running for entries of your own",
            ),
            ("bofuss run --help", "a switch with ports of your own"),
            (
                "dpctl help",
                "entries, groups, meters and statistics of a switch",
            ),
        ]
    };
    scenes::title("What next");
    lines
        .iter()
        .for_each(|(words, what)| say!("  {words:25} {what}"));
    Ok(())
}

/// Prints what to try while everything runs; each line can be pasted into another shell.
fn while_up(process: &Process, lab: &Lab) -> Result<()> {
    let socket = process.socket().display();
    let pid = std::process::id();
    let program = std::env::current_exe().map_err(context("own path"))?;
    let dpctl_path = program.with_file_name("dpctl");
    let dpctl = dpctl_path.display();
    let enter = enter_command(pid, &path(lab.host(1)));
    scenes::title("Running until Ctrl-C. In another shell, try");
    say!("  a shell in host h1       {enter} sh");
    say!("  h1 pings h3              {enter} ping -c 3 10.0.0.3");
    say!("  the flow table           {dpctl} unix:{socket} dump-flows");
    say!("  a flow of your own       {dpctl} unix:{socket} add-flow in_port=3,actions=drop");
    say!("  another tool             ovs-ofctl -O OpenFlow13 dump-ports unix:{socket}");
    say!(
        "  a controller decides     {} demo --keep --controller tcp:127.0.0.1:6653",
        program.display()
    );
    Ok(())
}

/// The command by which another shell enters a network namespace of this process, and first the
/// user namespace that this process may have made for lack of rights.
fn enter_command(pid: u32, namespace: &str) -> String {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    // Only the first user namespace maps all ids, 2^32 - 1.
    if map.split_whitespace().nth(2) != Some("4294967295") {
        return format!("nsenter -t {pid} -U --preserve-credentials --net={namespace}");
    }
    let sudo = match std::env::var_os("SUDO_USER") {
        Some(_) => "sudo ",
        None => "",
    };
    format!("{sudo}nsenter --net={namespace}")
}
