//! The program that chooses a socket by words of a frame: Ethernet addresses, and IP addresses
//! behind VLAN tags and SNAP.

use libc::sock_filter;

use super::steps::{
    BPF_ST, BPF_STX, BPF_TAX, BPF_TXA, LINK, NOTES, load, member_of_sum, returns, step, sum,
    unless_equal,
};

/// The most VLAN tags in the bytes of a frame behind which the program finds IP. The kernel takes
/// the first out before.
pub const MAX_VLAN_TAGS: usize = 8;

/// The Ethernet types of VLAN tags.
const TAGS: [u32; 3] = [0x8100, 0x88a8, 0x9100];
/// The least number that is an Ethernet type, in frames or of the kernel.
const LEAST_TYPE: u32 = 0x0600;
/// The beginning of a SNAP header whose type is one of Ethernet: four bytes, and then two zeros.
const SNAP: u32 = 0xaaaa_0300;
/// Bytes of a VLAN tag, and of a SNAP header.
const TAG_BYTES: u32 = 4;
const SNAP_BYTES: u32 = 8;
/// Places in the memory of the program: the sum, where the network header begins, and a type.
const SUM: u32 = 0;
const AT: u32 = 1;
const TYPE: u32 = 2;

/// A big-endian number in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FanoutWord {
    /// The header that has it.
    pub header: FanoutHeader,
    /// Where it begins in that header, in bytes.
    pub at: u32,
    /// Its bytes: 2 or 4.
    pub bytes: u8,
    /// Its factor, odd.
    pub factor: u32,
}

/// A header in which the program of a group finds words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FanoutHeader {
    /// Ethernet.
    Ethernet,
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
}

/// A program that returns the number of the socket for a frame's words.
pub(super) fn by_words(members: u32, words: &[FanoutWord], last_factor: u32) -> Vec<sock_filter> {
    let of = |header| words.iter().filter(move |word| word.header == header);
    // X has the sum.
    let mut program = vec![step(libc::BPF_LDX | libc::BPF_IMM, 0)];
    program.extend(of(FanoutHeader::Ethernet).flat_map(|word| {
        let number = load(size(word), LINK.wrapping_add(word.at));
        sum([number], &[word.factor])
    }));
    let ipv4: Vec<_> = of(FanoutHeader::Ipv4).flat_map(add).collect();
    let ipv6: Vec<_> = of(FanoutHeader::Ipv6).flat_map(add).collect();
    if !ipv4.is_empty() || !ipv6.is_empty() {
        program.push(step(BPF_STX, SUM));
        program.extend(find_network());
        program.push(step(BPF_STX, AT));
        program.push(unless_equal(libc::ETH_P_IP as u32, ipv4.len() + 1));
        program.extend(ipv4);
        program.push(skip(ipv6.len() + 1));
        program.push(unless_equal(libc::ETH_P_IPV6 as u32, ipv6.len()));
        program.extend(ipv6);
        program.push(step(libc::BPF_LDX | libc::BPF_MEM, SUM));
    }
    program.extend(member_of_sum(members, last_factor));
    program
}

fn size(word: &FanoutWord) -> u32 {
    if word.bytes == 2 {
        libc::BPF_H
    } else {
        libc::BPF_W
    }
}

/// Adds a word of the network header, which begins at X.
fn add(word: &FanoutWord) -> [sock_filter; 6] {
    [
        at_x(size(word), word.at),
        step(libc::BPF_ALU | libc::BPF_MUL, word.factor),
        step(libc::BPF_LDX | libc::BPF_MEM, SUM),
        step(libc::BPF_ALU | libc::BPF_ADD | libc::BPF_X, 0),
        step(BPF_ST, SUM),
        step(libc::BPF_LDX | libc::BPF_MEM, AT),
    ]
}

/// Finds the Ethernet type and leaves it in A, and where the header behind it begins in X. Loads
/// begin behind what the kernel has read: the Ethernet header and a tag.
fn find_network() -> Vec<sock_filter> {
    let protocol = NOTES.wrapping_add(libc::SKF_AD_PROTOCOL as u32);
    let mut program = vec![
        step(libc::BPF_LDX | libc::BPF_IMM, 0),
        load(libc::BPF_W, protocol),
    ];
    let mut behind = vec![at_x(libc::BPF_H, 2)];
    behind.extend(advance(TAG_BYTES));
    // A frame with more tags is in the first socket.
    let mut rest = if_tag(1).to_vec();
    rest.push(returns(0));
    for _ in 0..MAX_VLAN_TAGS {
        let mut tag = if_tag(behind.len() + rest.len()).to_vec();
        tag.extend(&behind);
        tag.extend(rest);
        rest = tag;
    }
    program.extend(rest);
    let named = snap();
    program.push(sock_filter {
        jt: named.len() as u8,
        ..step(libc::BPF_JMP | libc::BPF_JGE, LEAST_TYPE)
    });
    program.extend(named);
    program
}

/// Skips this many steps after these unless A is the type of a VLAN tag.
fn if_tag(skipped: usize) -> [sock_filter; 4] {
    let is = |number, skips| sock_filter {
        jt: skips,
        ..step(libc::BPF_JMP | libc::BPF_JEQ, number)
    };
    let [customer, service, old] = TAGS;
    [is(customer, 3), is(service, 2), is(old, 1), skip(skipped)]
}

/// Takes the type of a SNAP header at X, or else 0.
fn snap() -> Vec<sock_filter> {
    let mut found = vec![at_x(libc::BPF_H, 6)];
    found.extend(advance(SNAP_BYTES));
    found.push(skip(1));
    let mut program = vec![
        at_x(libc::BPF_W, 0),
        unless_equal(SNAP, 2 + found.len()),
        at_x(libc::BPF_H, 4),
        unless_equal(0, found.len()),
    ];
    program.extend(found);
    program.push(step(libc::BPF_LD | libc::BPF_IMM, 0));
    program
}

/// Adds bytes to X, and leaves A as it is.
fn advance(bytes: u32) -> [sock_filter; 5] {
    [
        step(BPF_ST, TYPE),
        step(libc::BPF_MISC | BPF_TXA, 0),
        step(libc::BPF_ALU | libc::BPF_ADD, bytes),
        step(libc::BPF_MISC | BPF_TAX, 0),
        step(libc::BPF_LD | libc::BPF_MEM, TYPE),
    ]
}

fn at_x(size: u32, at: u32) -> sock_filter {
    step(libc::BPF_LD | size | libc::BPF_IND, at)
}

fn skip(steps: usize) -> sock_filter {
    step(libc::BPF_JMP | libc::BPF_JA, steps as u32)
}
