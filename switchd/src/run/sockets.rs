//! Gives a switch its name, and opens its sockets in the run-time directory.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bofuss_channel::{Endpoint, Hub, Listener, PassiveAddress, run_sockets};
use tokio::sync::mpsc;
use tokio::time::sleep;
use tracing::info;

use crate::config::{Config, DEFAULT_NAME};
use crate::error::{Error, Result, context};
use crate::snoop::{self, SnoopClients};
use crate::{control, drivers, kept, port, rundir};

/// The time that a starting switch waits for another one that is ending to release its name,
/// interfaces and addresses. That usually takes 70 ms.
pub const PREDECESSOR_TIMEOUT: Duration = Duration::from_secs(2);
/// The wait between two attempts to get a name or an address that another switch has.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);
/// The number of names that are tried at most.
const MAX_NAMES: u32 = 1000;

/// The sockets of a switch, removed when dropped.
pub(super) struct RunSockets {
    /// The path of `openflow`.
    pub(super) socket: PathBuf,
    // Dropped before `openflow`: a switch that finds no OpenFlow socket replaces all four.
    _control: control::Socket,
    _snoop: control::Socket,
    _drivers: control::Socket,
    /// The listener for tools that speak OpenFlow.
    pub(super) openflow: Listener,
}

/// Opens the sockets of a switch. Errors: a sentence for the user.
pub(super) async fn open(
    config: &mut Config,
    hub: &Hub,
    folder: &Path,
    requests: &mpsc::Sender<control::CommandRequest>,
    snoop_clients: &SnoopClients,
) -> Result<RunSockets> {
    named(config, folder, async |config| {
        try_open(config, folder, hub, requests, snoop_clients).await
    })
    .await
}

/// Opens the control socket of a switch that does not speak OpenFlow. Errors: a sentence for the
/// user.
pub async fn open_control(
    config: &mut Config,
    folder: &Path,
    requests: &mpsc::Sender<control::CommandRequest>,
) -> Result<control::Socket> {
    named(config, folder, async |config| {
        let path = folder.join(format!("{}.ctl", config.name));
        if answers(&path) || answers(&path.with_extension("sock")) {
            return Ok(None);
        }
        let opened = control::listen(&path, &config.name, requests.clone());
        opened.map(Some).map_err(context("control socket"))
    })
    .await
}

/// Opens with `try_open` the sockets of a switch under its name; that returns `None` if another has
/// them. If the name is taken, a switch with a configured name waits for the other to end; any
/// other takes the next free name.
///
/// Errors: a sentence for the user.
async fn named<T>(
    config: &mut Config,
    folder: &Path,
    try_open: impl AsyncFn(&Config) -> Result<Option<T>>,
) -> Result<T> {
    let end = Instant::now() + PREDECESSOR_TIMEOUT;
    let wanted = config.name.clone();
    let mut number = 0;
    loop {
        // A default name is skipped, too, if a switch in another run-time directory has it.
        if config.is_named || run_sockets("ctl", Some(&config.name)).is_empty() {
            let lock = lock_folder(folder, end)
                .await
                .map_err(context(rundir::RUN_FOLDER))?;
            let opened = try_open(config).await?;
            drop(lock);
            if let Some(sockets) = opened {
                if number > 0 {
                    let name = &config.name;
                    info!("switch {wanted} runs already: this one is {name} (--name names it)");
                }
                return Ok(sockets);
            }
        }
        let name = &config.name;
        if config.is_named && Instant::now() >= end || number == MAX_NAMES {
            return Err(format!(
                "--name {name}: a switch of this name runs already; choose another"
            )
            .into());
        }
        if config.is_named {
            sleep(RETRY_INTERVAL).await;
        } else {
            number += 1;
            config.rename(numbered(&wanted, number));
        }
    }
}

/// Whether somebody listens at a socket.
fn answers(socket: &Path) -> bool {
    UnixStream::connect(socket).is_ok()
}

/// The name to try next: `s1` after `s0`, but `dp-6653-1` after `dp-6653`.
fn numbered(name: &str, number: u32) -> String {
    match name {
        DEFAULT_NAME => format!("s{number}"),
        other => format!("{other}-{number}"),
    }
}

/// Waits until no other switch is opening its sockets in this directory. Two switches that find the
/// socket of a killed one must not both replace it.
///
/// Errors: the system's, or a timeout.
async fn lock_folder(folder: &Path, end: Instant) -> io::Result<File> {
    let file = File::open(folder)?;
    while file.try_lock().is_err() {
        if Instant::now() >= end {
            let error = format!("{} stays locked", folder.display());
            return Err(io::Error::other(error));
        }
        sleep(RETRY_INTERVAL).await;
    }
    Ok(file)
}

/// Opens the sockets under the current name; `None` if a running switch has them.
async fn try_open(
    config: &Config,
    folder: &Path,
    hub: &Hub,
    requests: &mpsc::Sender<control::CommandRequest>,
    snoop_clients: &SnoopClients,
) -> Result<Option<RunSockets>> {
    let socket = folder.join(format!("{}.sock", config.name));
    let address = PassiveAddress(Endpoint::Unix(socket.clone()));
    let openflow = match hub.listen(&address).await {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => return Ok(None),
        listener => listener?,
    };
    // A switch that does not speak OpenFlow has only this one.
    if answers(&socket.with_extension("ctl")) {
        return Ok(None);
    }
    rundir::set_access(&socket, config.socket_group)?;
    // The owner of the OpenFlow socket may replace the others.
    let control = control::listen(
        &socket.with_extension("ctl"),
        &config.name,
        requests.clone(),
    );
    let snoop = snoop::listen(&socket.with_extension("snoop"), snoop_clients.clone());
    let drivers = drivers::listen(&socket.with_extension("driver"), hub.clone());
    Ok(Some(RunSockets {
        _drivers: drivers.map_err(context("driver socket"))?,
        _snoop: snoop.map_err(context("snoop socket"))?,
        _control: control.map_err(context("control socket"))?,
        openflow,
        socket,
    }))
}

/// Listens at an address. Errors: why it cannot.
pub(super) async fn listen(
    hub: &Hub,
    address: &PassiveAddress,
) -> Result<(PassiveAddress, Listener)> {
    let listener = hub
        .listen(address)
        .await
        .map_err(|error| Error::from(error).map(|text| format!("--listen {text}")))?;
    Ok((address.clone(), listener))
}

/// Listens at an address. If another process has it, which may be ending, tries again until `end`.
///
/// Errors: the socket's, with the address before it.
pub(super) async fn listen_until(
    hub: &Hub,
    address: &PassiveAddress,
    end: Instant,
) -> io::Result<Listener> {
    let kept = kept::take(&kept_name(address));
    let kept = kept.and_then(|socket| hub.listen_on(address, socket).ok());
    if let Some(listener) = kept {
        return Ok(listener);
    }
    loop {
        match hub.listen(address).await {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && Instant::now() < end => {
                sleep(RETRY_INTERVAL).await;
            }
            listener => return listener,
        }
    }
}

/// Has the service manager keep a listening socket while the switch restarts.
pub(super) fn keep(address: &PassiveAddress, listener: &Listener) {
    if let Some(socket) = listener.socket() {
        kept::keep(&kept_name(address), socket.as_fd());
    }
}

/// The names under which it keeps what a switch of this configuration opens.
pub fn kept_names(config: &Config) -> Vec<String> {
    let ports = config.ports.iter();
    let interfaces = ports.filter_map(|port| port.kind.interface());
    let listeners = config.listen.iter().map(kept_name);
    interfaces.map(port::kept_name).chain(listeners).collect()
}

/// The name under which it keeps that.
pub(super) fn kept_name(address: &PassiveAddress) -> String {
    format!("listen-{address}")
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
