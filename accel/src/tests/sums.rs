//! The sum of a whole frame that a network card has computed stays right when the kernel changes
//! the frame. Newer kernels check that in test runs.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use super::*;

/// A command of `bpf(2)`, and the flag by which a frame has a sum, and that is checked.
const PROG_TEST_RUN: u32 = 10;
const CHECKSUM_COMPLETE: u32 = 1 << 2;

/// What `union bpf_attr` of `linux/bpf.h` is for the command.
#[repr(C)]
#[derive(Default)]
struct TestRunAttributes {
    prog_fd: u32,
    retval: u32,
    data_size_in: u32,
    data_size_out: u32,
    data_in: u64,
    data_out: u64,
    repeat: u32,
    duration: u32,
    ctx_size_in: u32,
    ctx_size_out: u32,
    ctx_in: u64,
    ctx_out: u64,
    flags: u32,
    cpu: u32,
    batch_size: u32,
    unused: u32,
}

/// Runs the program on a frame with a sum. Returns what it does. Errors: the system's; `EBADMSG` if
/// the sum is wrong afterwards.
fn run_with_sum(table: &mut FlowTable, frame: &[u8]) -> io::Result<u32> {
    let program = table.program.test().unwrap().fd().unwrap();
    let mut run = TestRunAttributes {
        prog_fd: program.as_fd().as_raw_fd() as u32,
        data_size_in: frame.len() as u32,
        data_in: frame.as_ptr() as u64,
        repeat: 1,
        flags: CHECKSUM_COMPLETE,
        ..TestRunAttributes::default()
    };
    // SAFETY: the kernel reads and writes `run` within its size, and reads the frame, whose length
    // it has.
    let done = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            PROG_TEST_RUN,
            &raw mut run,
            size_of::<TestRunAttributes>(),
        )
    };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(run.retval)
}

/// Frames of all protocols whose checksums are changed, and UDP without one.
fn frames() -> Vec<Vec<u8>> {
    let data = [7u8; 31];
    let of_ipv4 = |transport| {
        let packet = ipv4([10; 4].into(), [11; 4].into(), 64, transport);
        ethernet(Mac([2; 6]), Mac([4; 6]), packet)
    };
    let of_ipv6 = |transport| {
        let packet = ipv6([1; 8].into(), [2; 8].into(), 64, transport);
        ethernet(Mac([2; 6]), Mac([4; 6]), packet)
    };
    let mut frames = vec![
        of_ipv4(tcp(1, 2, 0x10, &data)),
        of_ipv4(udp(1, 2, &data)),
        of_ipv4(udp(1, 2, &data)),
        of_ipv4(icmp(1, 8, 0, &data)),
        of_ipv6(tcp(1, 2, 0x10, &data)),
        of_ipv6(udp(1, 2, &data)),
        of_ipv6(icmp(58, 128, 0, &data)),
    ];
    frames[2][40..42].fill(0);
    frames
}

#[test]
fn the_sum_of_a_whole_frame_stays_right() {
    let Some(mut table) = table() else { return };
    table.set_mask(key::mask_of(FieldSet::EMPTY).unwrap());
    let changes = [
        Action::DecNwTtl,
        Action::set_field(ETH_DST, 0x0200_1234_5678),
        Action::set_field(IP_DSCP, 9),
        Action::set_field(IPV4_SRC, 0x0a01_0203),
        Action::set_field(IPV4_DST, 0x0a04_0506),
        Action::set_field(IPV6_SRC, 0x1234_5678_9abc),
        Action::set_field(IPV6_DST, 0x0fed_cba9_8765_4321),
        Action::set_field(IPV6_FLABEL, 0x1_2345),
        Action::set_field(TCP_SRC, 7),
        Action::set_field(UDP_DST, 77),
        Action::set_field(ICMPV4_CODE, 3),
        Action::set_field(ICMPV6_CODE, 3),
    ];
    let output = Action::output(PortNo(1));
    let one_by_one = changes.iter().map(|change| vec![change.clone()]);
    for mut actions in one_by_one.chain([changes.to_vec()]) {
        actions.push(output.clone());
        for frame in frames() {
            table.forget_all();
            assert!(add_with(&mut table, 5, &frame, 1514, &actions));
            match run_with_sum(&mut table, &frame) {
                Ok(out) => assert_eq!(out, OUT),
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                    return println!("not run: the kernel checks no sums in test runs");
                }
                Err(error) => panic!("{error}: {actions:?} {frame:x?}"),
            }
        }
    }
}
