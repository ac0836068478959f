//! Descriptors that the service manager (systemd) keeps while the switch restarts: those of TAP and
//! TUN interfaces, which would vanish with the process, and of listening sockets.
//!
//! Source: `sd_notify(3)`, FDSTORE and FDSTOREREMOVE; a unit permits it by
//! `FileDescriptorStoreMax`.

use std::env;
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixDatagram;
use std::sync::{Mutex, OnceLock};

use bofuss_ports::inherited;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use tracing::debug;

use crate::manager;

/// What an earlier process of this service has left, and the way to what keeps it.
struct Store {
    left: Mutex<Vec<(String, OwnedFd)>>,
    socket: UnixDatagram,
}

/// The store of this process, if a service manager keeps something for it.
static STORE: OnceLock<Option<Store>> = OnceLock::new();

/// Takes what an earlier process of the service has left. To be called before anything is opened.
pub fn begin() {
    STORE.get_or_init(|| {
        // Without room the manager would keep nothing, and say so for each descriptor.
        let has_room = env::var("FDSTORE").map_or(true, |most| most != "0");
        let socket = manager::socket().filter(|_| has_room)?;
        let left = Mutex::new(inherited());
        Some(Store { left, socket })
    });
}

fn store() -> Option<&'static Store> {
    STORE.get()?.as_ref()
}

/// A name as the manager has it, which separates names by colons.
fn plain(name: &str) -> String {
    name.replace(':', "+")
}

/// Takes what an earlier process has left under this name.
pub fn take(name: &str) -> Option<OwnedFd> {
    let name = plain(name);
    let mut left = store()?.left.lock().ok()?;
    let at = left.iter().position(|(known, _)| *known == name)?;
    let (_, descriptor) = left.swap_remove(at);
    debug!("{name} is as an earlier process has left it");
    Some(descriptor)
}

/// Lets go what an earlier process has left and this one has not taken.
pub fn let_rest_go() {
    let Some(left) = store().and_then(|store| store.left.lock().ok()) else {
        return;
    };
    let names: Vec<String> = left.iter().map(|(name, _)| name.clone()).collect();
    drop(left);
    for name in names {
        drop(take(&name));
        let_go(&name);
    }
}

/// Has the manager keep a descriptor under this name, until the service is stopped.
pub fn keep(name: &str, descriptor: BorrowedFd<'_>) {
    tell("FDSTORE=1", name, Some(descriptor));
}

/// Has the manager keep what has this name no longer.
pub fn let_go(name: &str) {
    tell("FDSTOREREMOVE=1", name, None);
}

/// Errors are ignored: a manager that does not listen keeps nothing.
fn tell(what: &str, name: &str, descriptor: Option<BorrowedFd<'_>>) {
    let Some(store) = store() else { return };
    let text = format!("{what}\nFDNAME={}\n", plain(name));
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let descriptors: Vec<BorrowedFd<'_>> = descriptor.into_iter().collect();
    if !descriptors.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    }
    let slices = [IoSlice::new(text.as_bytes())];
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    let _ = sendmsg(store.socket.as_fd(), &slices, &mut ancillary, flags);
}
