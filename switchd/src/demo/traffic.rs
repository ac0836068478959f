//! The traffic of the demo's hosts: pings, and a TCP transfer.

use std::io::{self, IsTerminal, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use super::lab::{HOSTS, Lab, REPLY_WAIT, address, run};
use crate::error::{Result, context};
use crate::tell::say;

/// The time that the TCP transfer runs.
const TRANSFER: Duration = Duration::from_secs(3);
/// The interval at which its rate is shown.
const RATE_PERIOD: Duration = Duration::from_millis(500);
/// The time that each host waits for an answer to a ping, in seconds.
const PING_WAIT: &str = "2";
/// The time that a controller may take to connect and to prepare the switch.
const CONTROLLER_WAIT: Duration = Duration::from_secs(10);
/// The TCP port of the transfer.
const TCP_PORT: u16 = 5001;

/// Pings once and returns the round-trip time. Errors: there was no answer within `wait` seconds.
pub(super) fn ping(lab: &Lab, from: u8, to: u8, wait: &str) -> Result<String> {
    let target = address(to).to_string();
    let output = lab
        .host(from)
        .run(|| run("ping", &["-n", "-c", "1", "-W", wait, &target]))
        .map_err(context("host"))??;
    let time = output
        .split("time=")
        .nth(1)
        .and_then(|rest| rest.lines().next());
    time.map(str::to_string)
        .ok_or_else(|| format!("ping says {output}").into())
}

/// Waits until h1 reaches h2: a controller needs time to connect and to prepare the switch.
pub(super) fn wait_for_controller(lab: &Lab) {
    let until = Instant::now() + CONTROLLER_WAIT;
    while ping(lab, 1, 2, "1").is_err() && Instant::now() < until {
        thread::sleep(Duration::from_millis(100));
    }
}

/// Every host pings every other. Errors: the first that does not reach another.
pub(super) fn ping_all(lab: &Lab) -> Result<()> {
    for from in 1..=HOSTS {
        for to in (1..=HOSTS).filter(|to| *to != from) {
            let time = ping(lab, from, to, PING_WAIT)
                .map_err(context(format_args!("h{from} does not reach h{to}")))?;
            say!("  h{from} -> h{to}   {time}");
        }
    }
    Ok(())
}

/// Sends from h1 to h2 as fast as TCP can, and prints the rate.
pub(super) fn transfer(lab: &Lab) -> Result<()> {
    let failed = context::<io::Error>("TCP transfer");
    let listener = lab
        .host(2)
        .run(|| TcpListener::bind((address(2), TCP_PORT)))
        .map_err(&failed)?
        .map_err(&failed)?;
    thread::scope(|scope| {
        let sender = scope.spawn(|| lab.host(1).run(send));
        let (mut stream, _) = listener.accept()?;
        stream.set_read_timeout(Some(REPLY_WAIT))?;
        show_rate(&mut stream)?;
        sender
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?
    })
    .map_err(failed)
}

/// Sends to h2 for the duration of a transfer.
fn send() -> io::Result<()> {
    let to = SocketAddr::from((address(2), TCP_PORT));
    let mut stream = TcpStream::connect_timeout(&to, REPLY_WAIT)?;
    let data = vec![0u8; 1 << 18];
    let until = Instant::now() + TRANSFER;
    while Instant::now() < until {
        stream.write_all(&data)?;
    }
    Ok(())
}

/// The rate in Gbit/s.
fn gigabits(bytes: u64, time: Duration) -> f64 {
    bytes as f64 * 8e-9 / time.as_secs_f64()
}

/// Reads a stream to its end. Prints the rate while it runs on a terminal, and once at the end.
fn show_rate(stream: &mut TcpStream) -> io::Result<()> {
    let live = io::stdout().is_terminal();
    let start = Instant::now();
    let mut total = 0u64;
    let mut shown = start;
    let mut shown_bytes = 0u64;
    let mut buffer = vec![0; 1 << 18];
    loop {
        let count = stream.read(&mut buffer)?;
        total += count as u64;
        let since = shown.elapsed();
        if live && since >= RATE_PERIOD {
            print!("\r  {:6.2} Gbit/s ", gigabits(total - shown_bytes, since));
            io::stdout().flush()?;
            shown = Instant::now();
            shown_bytes = total;
        }
        if count == 0 {
            break;
        }
    }
    let time = start.elapsed();
    let clear = if live { "\r" } else { "" };
    say!(
        "{clear}  {} MB in {:.1} s: {:.2} Gbit/s",
        total / 1_000_000,
        time.as_secs_f64(),
        gigabits(total, time)
    );
    Ok(())
}
