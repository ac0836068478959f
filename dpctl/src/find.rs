//! Which switch is meant: an address, a name, or the only one that runs.

use bofuss_channel::{ActiveAddress, Endpoint, RunSocket, permitted, run_sockets};

use crate::Failure;

/// The extension of the sockets that speak OpenFlow.
const KIND: &str = "sock";

/// Running switches: those that answer, in this network namespace first.
pub(crate) fn running() -> Vec<RunSocket> {
    let mut sockets = run_sockets(KIND, None);
    sockets.retain(|socket| socket.is_permitted);
    sockets
}

/// The address that a word names: one with its kind in front, or the name of a running switch.
pub(crate) fn address(word: &str) -> Option<Result<ActiveAddress, Failure>> {
    if word.starts_with("tcp:") || word.starts_with("unix:") || word.starts_with("ssl:") {
        return Some(
            word.parse()
                .map_err(|error| Failure::Usage(format!("{error}"))),
        );
    }
    if word.contains(['/', '=', ':', ',']) {
        return None;
    }
    match meant(Some(word)) {
        Ok(sockets) => Some(Ok(unix(sockets.into_iter().next()?))),
        Err(refusal) => Some(Err(refusal)),
    }
}

/// The only switch that runs, or the only one of this network namespace.
pub(crate) fn only() -> Result<ActiveAddress, Failure> {
    let mut running = meant(None)?;
    match running.len() {
        1 => Ok(unix(running.remove(0))),
        0 => Err(Failure::Usage(
            "no switch runs here; start one (bofuss run --port IF --port IF) or name its address, \
             as in dpctl tcp:127.0.0.1:6653 show"
                .into(),
        )),
        _ => {
            let names: Vec<_> = running.into_iter().map(|socket| socket.name).collect();
            let names = names.join(", ");
            Err(Failure::Usage(format!(
                "several switches run: {names}; name one before the verb"
            )))
        }
    }
}

/// The switches of this name, or all, that this user may use. Errors: there are others only.
fn meant(name: Option<&str>) -> Result<Vec<RunSocket>, Failure> {
    permitted(run_sockets(KIND, name)).map_err(|refusal| {
        Failure::Failed(format!(
            "{refusal}: use sudo, or start it with --socket-group GROUP"
        ))
    })
}

/// The snoop socket of the switch whose socket for tools this is; another address as it is.
pub(crate) fn snoop(address: ActiveAddress) -> ActiveAddress {
    match address.0 {
        Endpoint::Unix(path) if path.extension().is_some_and(|kind| kind == KIND) => {
            ActiveAddress(Endpoint::Unix(path.with_extension("snoop")))
        }
        other => ActiveAddress(other),
    }
}

fn unix(socket: RunSocket) -> ActiveAddress {
    ActiveAddress(Endpoint::Unix(socket.path))
}
