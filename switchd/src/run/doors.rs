//! The name that a switch gets, and its sockets in the run-time directory.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bofuss_channel::{Endpoint, Hub, Listener, PassiveAddress, run_sockets};
use tokio::sync::mpsc;
use tokio::time::sleep;
use tracing::info;

use super::ENDING;
use crate::config::{Config, DEFAULT_NAME};
use crate::snoop::{self, Readers};
use crate::{control, rundir};

/// How long to wait before what another has is tried again.
const PAUSE: Duration = Duration::from_millis(20);
/// The most names that are tried.
const MAX_NAMES: u32 = 1000;

/// The sockets of a switch; they go when dropped.
pub(super) struct Doors {
    /// Where `openflow` is.
    pub(super) socket: PathBuf,
    // It goes first: who finds no OpenFlow socket replaces both.
    _control: control::Socket,
    _snoop: control::Socket,
    /// Where tools speak OpenFlow.
    pub(super) openflow: Listener,
}

/// Opens the sockets of a switch. One that need not have its name gets the next that is free; one
/// that must waits for another to end.
///
/// Errors: a sentence for the user.
pub(super) async fn open(
    config: &mut Config,
    hub: &Hub,
    requests: &mpsc::Sender<control::Request>,
    readers: &Readers,
) -> Result<Doors, String> {
    let failed = |error: io::Error| format!("run-time directory: {error}");
    let folder = rundir::directory().map_err(failed)?;
    let end = Instant::now() + ENDING;
    let wanted = config.name.clone();
    let mut number = 0;
    loop {
        if config.is_named || run_sockets("sock", Some(&config.name)).is_empty() {
            let turn = turn(&folder, end).await.map_err(failed)?;
            let opened = try_open(config, &folder, hub, requests, readers).await?;
            drop(turn);
            if let Some(doors) = opened {
                if number > 0 {
                    let name = &config.name;
                    info!("switch {wanted} runs already: this one is {name} (--name names it)");
                }
                return Ok(doors);
            }
        }
        let name = &config.name;
        if config.is_named && Instant::now() >= end || number == MAX_NAMES {
            return Err(format!(
                "--name {name}: a switch of this name runs already; choose another"
            ));
        }
        if config.is_named {
            sleep(PAUSE).await;
        } else {
            number += 1;
            config.rename(numbered(&wanted, number));
        }
    }
}

/// The name to try next: `s1` after `s0`, but `dp-6653-1` after `dp-6653`.
fn numbered(name: &str, number: u32) -> String {
    match name {
        DEFAULT_NAME => format!("s{number}"),
        other => format!("{other}-{number}"),
    }
}

/// Waits until no other switch is opening its sockets in this directory: two that find a socket of
/// a switch that was killed must not both replace it.
///
/// Errors: the system's, or it took too long.
async fn turn(folder: &Path, end: Instant) -> io::Result<File> {
    let file = File::open(folder)?;
    while file.try_lock().is_err() {
        if Instant::now() >= end {
            let error = format!("{} stays locked", folder.display());
            return Err(io::Error::other(error));
        }
        sleep(PAUSE).await;
    }
    Ok(file)
}

/// Opens the sockets under the name of now; `None` if a running switch has them.
async fn try_open(
    config: &Config,
    folder: &Path,
    hub: &Hub,
    requests: &mpsc::Sender<control::Request>,
    readers: &Readers,
) -> Result<Option<Doors>, String> {
    let socket = folder.join(format!("{}.sock", config.name));
    let address = PassiveAddress(Endpoint::Unix(socket.clone()));
    let openflow = match hub.listen(&address).await {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => return Ok(None),
        listener => listener.map_err(|error| error.to_string())?,
    };
    rundir::close(&socket, config.socket_group)?;
    // Whoever has the socket above may replace what another left here.
    let control = control::listen(
        &socket.with_extension("ctl"),
        &config.name,
        requests.clone(),
    );
    let snoop = snoop::listen(&socket.with_extension("snoop"), readers.clone());
    Ok(Some(Doors {
        _snoop: snoop.map_err(|error| format!("snoop socket: {error}"))?,
        _control: control.map_err(|error| format!("control socket: {error}"))?,
        openflow,
        socket,
    }))
}

/// Listens at an address, and waits until `end` if another has it, who may be ending.
///
/// Errors: the socket's, with the address before it.
pub(super) async fn listen_until(
    hub: &Hub,
    address: &PassiveAddress,
    end: Instant,
) -> io::Result<Listener> {
    loop {
        match hub.listen(address).await {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && Instant::now() < end => {
                sleep(PAUSE).await;
            }
            listener => return listener,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::numbered;

    #[test]
    fn the_next_name_is_never_that_of_another_port() {
        assert_eq!(numbered("s0", 3), "s3");
        assert_eq!(numbered("dp-6650", 1), "dp-6650-1");
    }
}
