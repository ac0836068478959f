//! Network namespaces that last as long as someone holds them.

use std::{
    fs::File,
    io,
    os::fd::{AsFd, BorrowedFd},
    thread,
};

use crate::sys;

/// A network namespace. It and all its interfaces vanish when the last handle, thread and socket in
/// it is gone, however the process ends.
#[derive(Debug)]
pub struct NetNs(File);

impl NetNs {
    /// Makes a namespace with nothing but a loopback interface that is down.
    ///
    /// Errors: the kernel's; `PermissionDenied` without CAP_SYS_ADMIN in the user namespace.
    pub fn new() -> io::Result<Self> {
        let made = thread::spawn(|| {
            // SAFETY: without CLONE_FILES and CLONE_FS, only this thread's network namespace
            // changes.
            match unsafe { libc::unshare(libc::CLONE_NEWNET) } {
                0 => Self::current(),
                _ => Err(io::Error::last_os_error()),
            }
        });
        made.join().expect("the thread does not panic")
    }

    /// The namespace of the calling thread.
    pub fn current() -> io::Result<Self> {
        File::open("/proc/thread-self/ns/net").map(Self)
    }

    /// The namespace of a socket, whichever the calling thread is in.
    ///
    /// Errors: the kernel's; `PermissionDenied` without CAP_NET_ADMIN in that namespace.
    pub(crate) fn of_socket(socket: BorrowedFd<'_>) -> io::Result<Self> {
        sys::open_namespace(socket).map(|fd| Self(fd.into()))
    }

    /// Moves the calling thread into the namespace; what it opens and starts from now on is there.
    pub fn enter(&self) -> io::Result<()> {
        // SAFETY: the descriptor is open, and only this thread's network namespace changes.
        match unsafe { libc::setns(std::os::fd::AsRawFd::as_raw_fd(&self.0), libc::CLONE_NEWNET) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Runs `work` on a thread of its own inside the namespace, and gives what it gives.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        thread::scope(|scope| {
            let thread = scope.spawn(|| self.enter().map(|()| work()));
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Another handle to the same namespace.
    pub fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }
}

impl AsFd for NetNs {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
