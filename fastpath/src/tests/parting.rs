//! An accelerator learns which TCP flags part the segments of a super-frame.

use alloc::{vec, vec::Vec};

use bofuss_datapath::Time;
use bofuss_datapath::engine::ReviewScope;
use bofuss_oflib::PortNo;

use super::below::with_flow_below;
use super::stage::*;

#[test]
fn flows_below_know_the_flags_that_part_super_frames() {
    let (mut datapath, accelerator, bytes) = with_flow_below("output:2");
    let mut parting_with = |text: &str| {
        flow(&mut datapath, text);
        datapath.review(Time(2), ReviewScope::All);
        // The first frame is cached, and the second offers the flow.
        for _ in 0..2 {
            let frame = datapath.pool().frame(&bytes).expect("within the limit");
            datapath.receive(Time(2), PortNo(1), &mut vec![frame], &mut Seen::default());
        }
        let ways = accelerator.ways();
        ways.iter().map(|way| way.parting).collect::<Vec<_>>()
    };
    assert_eq!(parting_with("tcp,tcp_flags=+syn,actions=drop"), [0]);
    assert_eq!(parting_with("tcp,tcp_flags=-psh,actions=drop"), [0x09]);
    assert_eq!(parting_with("tcp,tcp_flags=+cwr,actions=drop"), [0x89]);
    assert_eq!(parting_with("tcp,tcp_flags=+ack,actions=drop"), [0x89]);
}
