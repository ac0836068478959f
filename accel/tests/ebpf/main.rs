//! Random programs of eBPF leave the same registers, stack and packet in the kernel and in the
//! interpreter of the extension `ebpf`.
#![allow(clippy::unwrap_used)]

mod kernel;
mod random;

use std::collections::BTreeSet;

use bofuss_ext::ebpf::code::Code;
use bofuss_ext::ebpf::run::{Outside, run};

use random::{Numbers, PACKET_BYTES, Program};

/// Programs of a run, which are always the same ones; they take half a second.
///
/// Of 200,000, two differ with Linux 6.18 on x86-64, and RFC 9669 has what the switch does. In
/// both, the verifier has taken two ways through a program for one: so r0 kept its upper half in an
/// exchange of 32 bits (see `atomic`), and a jump that depends on a number from an atomic operation
/// was always taken. Of 800,000 programs without numbers from atomic operations, none differs.
const PROGRAMS: u64 = 1000;
/// Packets of each.
const PACKETS: usize = 3;

struct Alone(Vec<u8>);

impl Outside for Alone {
    fn packet(&self) -> &[u8] {
        &self.0
    }
    fn packet_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
    fn in_port(&mut self) -> u32 {
        1
    }
    fn now_ns(&self) -> u64 {
        0
    }
    fn notify(&mut self, _: u32, _: &[u8]) {}
}

#[test]
fn programs_do_the_same_in_the_kernel() {
    let mut opcodes = BTreeSet::new();
    for number in 0..PROGRAMS {
        let mut numbers = Numbers::new(number);
        let program = Program::random(&mut numbers);
        let in_kernel = match kernel::Loaded::new(&program.for_kernel()) {
            Ok(loaded) => loaded,
            Err(kernel::Refused::NoRights) => {
                let why = "the kernel lets this user load no programs";
                assert!(std::env::var_os("CI").is_none(), "{why}");
                return println!("not run: {why}");
            }
            Err(kernel::Refused::Code(log)) => panic!("program {number}: {log}\n{program}"),
        };
        let code = Code::load(&program.for_switch(), 0);
        let code = code.unwrap_or_else(|bad| panic!("program {number}: {bad}\n{program}"));
        for _ in 0..PACKETS {
            let packet: Vec<u8> = (0..PACKET_BYTES).map(|_| numbers.next() as u8).collect();
            let (result, after) = in_kernel.run(&packet);
            let mut alone = Alone(packet.clone());
            let ran = run(&code, &mut [], &mut alone).result;
            let ours = ran.map(|result| result as u32);
            let differing = random::differing(&alone.0, &after);
            assert!(
                ours == Ok(result) && differing.is_empty(),
                "program {number} returns {ours:x?}, in the kernel {result:#x}; what differs: \
                 {differing:#?}\n{program}packet {packet:x?}"
            );
        }
        opcodes.extend(program.opcodes());
    }
    assert_eq!(opcodes.len(), random::KINDS, "all operations have occurred");
}
