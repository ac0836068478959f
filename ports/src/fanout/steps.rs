//! Steps of the programs that choose a socket: loads, sums, and the member for a sum.

use libc::sock_filter;

/// Offsets of a load that begin at the frame, at the header after Ethernet and VLAN tag, and at the
/// kernel's own notes.
pub(super) const LINK: u32 = libc::SKF_LL_OFF as u32;
pub(super) const NETWORK: u32 = libc::SKF_NET_OFF as u32;
pub(super) const NOTES: u32 = libc::SKF_AD_OFF as u32;
/// Returns the member for the sum in X. The high bits of the product depend on all of it.
pub(super) fn member_of_sum(members: u32, last: u32) -> [sock_filter; 8] {
    [
        step(libc::BPF_MISC | BPF_TXA, 0),
        step(libc::BPF_ALU | libc::BPF_RSH, 16),
        step(libc::BPF_ALU | libc::BPF_XOR | libc::BPF_X, 0),
        step(libc::BPF_ALU | libc::BPF_MUL, last),
        step(libc::BPF_ALU | libc::BPF_RSH, 16),
        step(libc::BPF_ALU | libc::BPF_MUL, members),
        step(libc::BPF_ALU | libc::BPF_RSH, 16),
        step(libc::BPF_RET | BPF_A, 0),
    ]
}

/// Adds words to the sum, each times its factor.
pub(super) fn sum(
    loads: impl IntoIterator<Item = sock_filter>,
    factors: &[u32],
) -> Vec<sock_filter> {
    let added = loads.into_iter().zip(factors).map(|(load, factor)| {
        [
            load,
            step(libc::BPF_ALU | libc::BPF_MUL, *factor),
            step(libc::BPF_ALU | libc::BPF_ADD | libc::BPF_X, 0),
            step(libc::BPF_MISC | BPF_TAX, 0),
        ]
    });
    added.flatten().collect()
}

/// Codes of linux/filter.h that the C library has no names for.
pub(super) const BPF_ST: u32 = 0x02;
pub(super) const BPF_STX: u32 = 0x03;
pub(super) const BPF_A: u32 = 0x10;
pub(super) const BPF_TAX: u32 = 0x00;
pub(super) const BPF_TXA: u32 = 0x80;

pub(super) fn step(code: u32, k: u32) -> sock_filter {
    let (jt, jf) = (0, 0);
    let code = code as u16;
    sock_filter { code, jt, jf, k }
}

pub(super) fn returns(value: u32) -> sock_filter {
    step(libc::BPF_RET | libc::BPF_K, value)
}

pub(super) fn load(size: u32, at: u32) -> sock_filter {
    step(libc::BPF_LD | size | libc::BPF_ABS, at)
}

/// Skips steps unless A has this value. No part of the program has more than 255 steps.
pub(super) fn unless_equal(value: u32, skipped: usize) -> sock_filter {
    sock_filter {
        jf: skipped as u8,
        ..step(libc::BPF_JMP | libc::BPF_JEQ, value)
    }
}
