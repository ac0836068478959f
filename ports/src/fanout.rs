//! Packet sockets of one interface that share its frames: a program in the kernel chooses the
//! socket of each frame by its flow or by words of it, or gives all frames to one.

mod steps;
mod words;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::{fmt, io};

use libc::{c_int, sock_filter, sock_fprog};

use crate::sys;

use steps::{
    BPF_STX, BPF_TAX, LINK, NETWORK, NOTES, load, member_of_sum, returns, step, sum, unless_equal,
};

pub use words::{FanoutHeader, FanoutWord, MAX_VLAN_TAGS};

/// The mode of the group, with its flags: a classic BPF program chooses, and frames that this host
/// sends do not come back.
const MODE: c_int = (libc::PACKET_FANOUT_CBPF | libc::PACKET_FANOUT_FLAG_IGNORE_OUTGOING) as c_int;
/// The kernel chooses a number for a new group.
const NEW: c_int = libc::PACKET_FANOUT_FLAG_UNIQUEID as c_int;
/// The bits of the word with an IPv4 packet's fragment offset that say that it is a fragment.
const FRAGMENT: u32 = 0x3fff;
/// Words of a flow: IPv6 addresses, protocol and ports.
const MOST_WORDS: usize = 10;

/// Which socket of a group gets a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FanoutRule {
    /// One for each flow: frames with the same addresses, protocol and ports are in one socket.
    /// Those of fragments have no ports.
    ///
    /// A flow is known by its MAC addresses if it is neither IPv4 nor IPv6, or has two VLAN tags.
    Flows,
    /// One for each sum of these words of the frame, each times its factor. A word whose header the
    /// frame lacks counts as 0.
    ///
    /// IP headers are found behind VLAN tags and SNAP. A frame with more than [`MAX_VLAN_TAGS`]
    /// besides one that the kernel takes out is in the first socket if there are words of IP.
    Words {
        /// The words.
        words: Vec<FanoutWord>,
        /// The factor of the last step of the hash, odd.
        last_factor: u32,
    },
    /// The socket with this number, from 0, gets all.
    Only(usize),
}

/// The sockets of an interface as a group: its rule can be exchanged while frames arrive.
pub struct Fanout {
    /// The first socket, by which the program is exchanged.
    first: Arc<OwnedFd>,
    members: usize,
    secret: u64,
}

impl fmt::Debug for Fanout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fanout of {} sockets", self.members)
    }
}

impl Fanout {
    /// Makes sockets a group, of which the first gets all frames. They are bound to one interface,
    /// which is up. `secret` is that of the hash by which flows are spread, so that nobody can
    /// choose flows that meet in one socket.
    ///
    /// Errors: the system's.
    pub(crate) fn new(sockets: &[Arc<OwnedFd>], secret: u64) -> io::Result<Self> {
        let first = sockets.first().ok_or(io::ErrorKind::InvalidInput)?;
        sys::set_packet_option(first.as_fd(), libc::PACKET_FANOUT, (MODE | NEW) << 16)?;
        let made = sys::packet_fanout(first.as_fd())?;
        let group = made & 0xffff | MODE << 16;
        for socket in &sockets[1..] {
            sys::set_packet_option(socket.as_fd(), libc::PACKET_FANOUT, group)?;
        }
        let this = Self {
            first: Arc::clone(first),
            members: sockets.len(),
            secret,
        };
        this.set_rule(&FanoutRule::Only(0))?;
        Ok(this)
    }

    /// Exchanges the rule. Frames that arrive after the call follow the new one, and all others are
    /// in the sockets that the old one gave them to.
    ///
    /// Errors: the system's.
    pub fn set_rule(&self, rule: &FanoutRule) -> io::Result<()> {
        let members = self.members as u32;
        let mut program = match rule {
            FanoutRule::Only(member) => vec![returns(*member as u32)],
            FanoutRule::Flows => by_flow(members, self.secret),
            FanoutRule::Words { words, last_factor } => {
                words::by_words(members, words, *last_factor)
            }
        };
        set_program(self.first.as_fd(), &mut program)
    }
}

/// Exchanges the program. The kernel returns when no processor runs the one before.
fn set_program(socket: BorrowedFd<'_>, program: &mut [sock_filter]) -> io::Result<()> {
    // The kernel copies the program before the call returns.
    let program = sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    sys::set_option(socket, libc::SOL_PACKET, libc::PACKET_FANOUT_DATA, &program)
}

/// Factors of the words of a flow and of the last step: odd, and of the secret.
struct Factors([u32; MOST_WORDS + 1]);

impl Factors {
    fn of(secret: u64) -> Self {
        let mut state = secret;
        Self(std::array::from_fn(|_| {
            // Splitmix64: all factors depend on all bits of the secret.
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            (mixed >> 32) as u32 | 1
        }))
    }
}

/// A program that returns the number of the socket of a frame's flow. What it cannot read, because
/// the frame is cut, belongs to the first.
fn by_flow(members: u32, secret: u64) -> Vec<sock_filter> {
    let Factors(factors) = Factors::of(secret);
    let [words @ .., last] = factors;
    let ipv4 = ipv4(&words);
    let ipv6 = ipv6(&words);
    let macs = [LINK, LINK + 4, LINK + 8];
    let macs = sum(macs.map(|at| load(libc::BPF_W, at)), &words);
    // X has the sum, A what is added.
    let mut program = vec![
        step(libc::BPF_LDX | libc::BPF_IMM, 0),
        load(
            libc::BPF_W,
            NOTES.wrapping_add(libc::SKF_AD_PROTOCOL as u32),
        ),
        unless_equal(libc::ETH_P_IP as u32, ipv4.len() + 1),
    ];
    let to_end = ipv6.len() + 2 + macs.len();
    program.extend(ipv4);
    program.push(step(libc::BPF_JMP | libc::BPF_JA, to_end as u32));
    program.push(unless_equal(libc::ETH_P_IPV6 as u32, ipv6.len() + 1));
    program.extend(ipv6);
    program.push(step(libc::BPF_JMP | libc::BPF_JA, macs.len() as u32));
    program.extend(macs);
    program.extend(member_of_sum(members, last));
    program
}

/// Adds protocol, addresses and ports of IPv4.
fn ipv4(factors: &[u32]) -> Vec<sock_filter> {
    let words = [
        load(libc::BPF_B, NETWORK + 9),
        load(libc::BPF_W, NETWORK + 12),
        load(libc::BPF_W, NETWORK + 16),
    ];
    let mut steps = sum(words, factors);
    let header_bytes = step(libc::BPF_LDX | libc::BPF_B | libc::BPF_MSH, NETWORK);
    let ports = ports(NETWORK + 9, header_bytes, factors[words.len()]);
    steps.push(load(libc::BPF_H, NETWORK + 6));
    steps.push(sock_filter {
        jt: ports.len() as u8,
        ..step(libc::BPF_JMP | libc::BPF_JSET, FRAGMENT)
    });
    steps.extend(ports);
    steps
}

/// Adds protocol, addresses and ports of IPv6; the ports only if there are no further headers.
fn ipv6(factors: &[u32]) -> Vec<sock_filter> {
    let protocol = load(libc::BPF_B, NETWORK + 6);
    let addresses = (8..40).step_by(4);
    let addresses = addresses.map(|at| load(libc::BPF_W, NETWORK + at));
    let words: Vec<_> = std::iter::once(protocol).chain(addresses).collect();
    let count = words.len();
    let mut steps = sum(words, factors);
    let header_bytes = step(libc::BPF_LDX | libc::BPF_IMM, 40);
    steps.extend(ports(NETWORK + 6, header_bytes, factors[count]));
    steps
}

/// Adds the ports of TCP, UDP and SCTP. The protocol is at `protocol`, and `header_bytes` loads the
/// length of what is before the ports.
fn ports(protocol: u32, header_bytes: sock_filter, factor: u32) -> Vec<sock_filter> {
    let ports = [
        step(BPF_STX, 0),
        header_bytes,
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_IND, NETWORK),
        step(libc::BPF_ALU | libc::BPF_MUL, factor),
        step(libc::BPF_LDX | libc::BPF_MEM, 0),
        step(libc::BPF_ALU | libc::BPF_ADD | libc::BPF_X, 0),
        step(libc::BPF_MISC | BPF_TAX, 0),
    ];
    let is = |protocol: c_int, skips| sock_filter {
        jt: skips,
        ..step(libc::BPF_JMP | libc::BPF_JEQ, protocol as u32)
    };
    let mut steps = vec![
        load(libc::BPF_B, protocol),
        is(libc::IPPROTO_TCP, 2),
        is(libc::IPPROTO_UDP, 1),
        unless_equal(libc::IPPROTO_SCTP as u32, ports.len()),
    ];
    steps.extend(ports);
    steps
}
