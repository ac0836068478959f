//! Loads a program into the kernel, and runs it there on a packet of ours.

use std::ffi::c_long;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Commands of `bpf(2)`, and the kind of programs that may read and change packets.
const PROG_LOAD: u32 = 5;
const PROG_TEST_RUN: u32 = 10;
const SCHED_CLS: u32 = 3;
const SLOT_BYTES: usize = 8;
const LICENSE: &[u8] = b"GPL\0";
const LOG_BYTES: usize = 1 << 16;

/// What `union bpf_attr` of `linux/bpf.h` is for the first command.
#[repr(C)]
#[derive(Default)]
struct Load {
    prog_type: u32,
    insn_cnt: u32,
    insns: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log_buf: u64,
}

/// The same for the second one.
#[repr(C)]
#[derive(Default)]
struct TestRun {
    prog_fd: u32,
    retval: u32,
    data_size_in: u32,
    data_size_out: u32,
    data_in: u64,
    data_out: u64,
    repeat: u32,
    duration: u32,
}

/// The reason why the kernel has no program.
pub(crate) enum Refused {
    /// This process may not load programs.
    NoRights,
    /// What the verifier says.
    Code(String),
}

/// A program in the kernel, for as long as this exists.
pub(crate) struct Loaded(OwnedFd);

impl Loaded {
    /// Loads code of 8-byte slots as a classifier. Errors: see [`Refused`].
    pub(crate) fn new(code: &[u8]) -> Result<Self, Refused> {
        let mut load = Load {
            prog_type: SCHED_CLS,
            insn_cnt: (code.len() / SLOT_BYTES) as u32,
            insns: code.as_ptr() as u64,
            license: LICENSE.as_ptr() as u64,
            ..Load::default()
        };
        let mut done = bpf(PROG_LOAD, &mut load);
        let mut log = vec![0u8; LOG_BYTES];
        if let Err(error) = &done {
            if error.raw_os_error() == Some(libc::EPERM) {
                return Err(Refused::NoRights);
            }
            load.log_level = 1;
            load.log_size = LOG_BYTES as u32;
            load.log_buf = log.as_mut_ptr() as u64;
            done = bpf(PROG_LOAD, &mut load);
        }
        let descriptor = done.map_err(|error| {
            let end = log.iter().position(|byte| *byte == 0).unwrap_or(LOG_BYTES);
            let log = String::from_utf8_lossy(&log[..end]);
            Refused::Code(format!("{error}\n{log}"))
        })?;
        // SAFETY: the kernel has just opened it for us, and nothing else knows it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(descriptor as i32) }))
    }

    /// What it returns for a packet, and the packet after it.
    pub(crate) fn run(&self, packet: &[u8]) -> (u32, Vec<u8>) {
        let mut after = vec![0; packet.len()];
        let mut run = TestRun {
            prog_fd: self.0.as_raw_fd() as u32,
            data_size_in: packet.len() as u32,
            data_size_out: after.len() as u32,
            data_in: packet.as_ptr() as u64,
            data_out: after.as_mut_ptr() as u64,
            repeat: 1,
            ..TestRun::default()
        };
        bpf(PROG_TEST_RUN, &mut run).unwrap();
        assert_eq!(run.data_size_out as usize, packet.len());
        (run.retval, after)
    }
}

/// A call of `bpf(2)`, whose attributes have addresses of memory that outlives it and is as large
/// as they say. Errors: the system's.
fn bpf<T>(command: u32, attributes: &mut T) -> io::Result<c_long> {
    // SAFETY: the kernel reads and writes the attributes within their size, and the memory that
    // they name within the sizes that they name; the callers above have these from slices.
    let done = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_mut(attributes),
            mem::size_of::<T>(),
        )
    };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(done)
}
