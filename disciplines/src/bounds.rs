//! Theoretical bounds of DRR and FRED, checked with random packets.

use alloc::{vec, vec::Vec};

use bofuss_datapath::Time;
use bofuss_datapath::egress::QueueClass;
use bofuss_frame::Pool;
use bofuss_oflib::{Mac, PortNo};
use bofuss_packet::craft;

use crate::models::Random;
use crate::row;

/// A frame of microflow `flow` with so many bytes.
fn frame(flow: u8, bytes: usize) -> Vec<u8> {
    let udp = craft::udp(1_000 + u16::from(flow), 9, &[]);
    let ip = craft::ipv4([10, 0, 1, flow].into(), [10, 0, 0, 1].into(), 64, udp);
    let mut frame = craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip);
    frame.resize(bytes, 0);
    frame
}

/// The microflow of a frame.
fn flow_of(frame: &[u8]) -> usize {
    usize::from(frame[29])
}

#[test]
fn t5_turns_of_drr_differ_by_three_quanta_at_most() {
    // Shreedhar and Varghese, 1995, theorem 2: while two microflows are backlogged, what they have
    // sent differs by at most three times the greater of quantum and longest frame.
    const LONGEST: u64 = 1_500;
    const QUANTUM: u64 = 1_514;
    let pool = Pool::new(1 << 26);
    for seed in 1..=5 {
        let mut random = Random(seed);
        let row = row("drr");
        let mut port = (row.new)(Time(0), PortNo(1), 10_000);
        let (mut now, mut sent, mut waiting) = (Time(0), [0_u64; 6], [0_u32; 6]);
        for _ in 0..4_000 {
            for flow in 0..6 {
                // Some send long frames, others short frames, and all are always backlogged.
                while waiting[flow] < 4 {
                    let bytes = 60 + random.below([200, 1_440][flow % 2]) as usize;
                    let given = pool.frame(&frame(flow as u8, bytes)).expect("it fits");
                    let taken = port.enqueue(now, &QueueClass::DEFAULT, given, true);
                    assert_eq!(taken, Ok(()));
                    waiting[flow] += 1;
                }
            }
            now = now.max(port.next_wakeup().expect("frames wait"));
            let (_, left) = port.dequeue(now).expect("it is due");
            let flow = flow_of(left.bytes());
            sent[flow] += left.len() as u64;
            waiting[flow] -= 1;
            let most = sent.iter().max().expect("there are six");
            let least = sent.iter().min().expect("there are six");
            assert!(most - least <= 3 * QUANTUM.max(LONGEST), "{seed}: {sent:?}");
        }
    }
}

#[test]
fn t4_fred_keeps_to_its_buffer_and_takes_the_first_of_each_microflow() {
    const BUFFER: usize = 25;
    const MOST_OF_ONE: usize = 5;
    let pool = Pool::new(1 << 26);
    for seed in 1..=5 {
        let mut random = Random(seed);
        let row = row("fred");
        let mut port = (row.new)(Time(0), PortNo(1), 10_000);
        let (mut now, mut waiting, mut refused) = (Time(0), vec![0_usize; 40], 0);
        for _ in 0..20_000 {
            now = now.after(random.below(1_200_000));
            // A few send most.
            let flow = (random.below(40) * random.below(40) / 40) as usize;
            let given = pool.frame(&frame(flow as u8, 1_000)).expect("it fits");
            let all: usize = waiting.iter().sum();
            let taken = port.enqueue(now, &QueueClass::DEFAULT, given, true).is_ok();
            // Lin and Morris, 1997: a microflow without a frame in the queue loses none while there
            // is room.
            if waiting[flow] == 0 {
                assert_eq!(taken, all < BUFFER, "{seed}: {all}");
            }
            waiting[flow] += usize::from(taken);
            refused += usize::from(!taken);
            assert!(waiting[flow] <= MOST_OF_ONE, "{seed}: {waiting:?}");
            while port.next_wakeup().is_some_and(|due| due <= now) {
                let (_, left) = port.dequeue(now).expect("it is due");
                waiting[flow_of(left.bytes())] -= 1;
            }
        }
        assert!(refused > 1_000, "{seed}: {refused}");
    }
}
