//! Finds the switch to connect to: by its address, by its name, or as the only one that runs.

use bofuss_channel::{ActiveAddress, Endpoint, RunSocket, permitted, run_sockets};

use crate::Failure;

/// The file extension of the sockets that speak OpenFlow.
const KIND: &str = "sock";

/// The running switches that answer; those of this network namespace come first.
pub(crate) fn running() -> Vec<RunSocket> {
    let mut sockets = run_sockets(KIND, None);
    sockets.retain(|socket| socket.is_permitted);
    sockets
}

/// The address that a word stands for: it is one (`tcp:...`, `ssl:...`, `unix:...`), or the name of
/// a running switch. `None` if it is neither. Errors: an address that is malformed, a switch that
/// belongs to another user.
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

/// The only running switch, or the only one in this network namespace.
pub(crate) fn only() -> Result<ActiveAddress, Failure> {
    let mut running = meant(None)?;
    match running.len() {
        1 => Ok(unix(running.remove(0))),
        0 => Err(Failure::Usage(
            "no switch runs here; start one (bofuss run --port IF --port IF) or give its address, \
             as in dpctl tcp:127.0.0.1:6653 show"
                .into(),
        )),
        _ => {
            let names: Vec<_> = running.into_iter().map(|socket| socket.name).collect();
            Err(Failure::Usage(format!(
                "several switches run: {}; give a name before the verb",
                names.join(", ")
            )))
        }
    }
}

/// The running switches with this name, or all, that this user may access. Errors: there are some,
/// and all belong to other users.
fn meant(name: Option<&str>) -> Result<Vec<RunSocket>, Failure> {
    permitted(run_sockets(KIND, name)).map_err(|refusal| {
        Failure::Failed(format!(
            "{refusal}: use sudo, or start it with --socket-group GROUP"
        ))
    })
}

/// Replaces the OpenFlow socket of a switch by its snoop socket; other addresses stay.
pub(crate) fn snoop(address: ActiveAddress) -> ActiveAddress {
    if let Endpoint::Unix(path) = &address.0
        && path.extension().is_some_and(|kind| kind == KIND)
    {
        return ActiveAddress(Endpoint::Unix(path.with_extension("snoop")));
    }
    address
}

fn unix(socket: RunSocket) -> ActiveAddress {
    ActiveAddress(Endpoint::Unix(socket.path))
}
