//! The properties that hold for every discipline.

use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec::Vec;

use bofuss_datapath::egress::{Discipline, MAX_QUEUE_PACKETS, QueueClass, QueueSpec, Rate};
use bofuss_datapath::{DropReason, Microflow, Time};
use bofuss_frame::Pool;
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Mac, PortNo};
use bofuss_packet::craft;

use crate::DISCIPLINES;

const PORT: PortNo = PortNo(1);

/// Each discipline on a port without a rate, and on a slow one with the queues that it
/// supports.
fn disciplines() -> Vec<Box<dyn Discipline>> {
    let now = Time(0);
    let mut all = Vec::new();
    for row in DISCIPLINES {
        let mut slow = (row.new)(now, PORT, 1_000);
        for (id, priority) in [(1, 0), (2, 0), (3, 7)] {
            let spec = QueueSpec {
                min: (id == 2).then_some(Rate::Kbps(100)),
                max: (id == 3).then_some(Rate::PerMille(300)),
                priority,
                weight: id as u16,
            };
            if slow.check(QueueId(id), &spec).is_ok() {
                slow.modify(now, QueueId(id), spec);
            }
        }
        all.push(slow);
        all.push((row.new)(now, PORT, 0));
    }
    all
}

#[test]
fn every_discipline_gives_back_each_frame_once_and_counts_it() {
    let pool = Pool::new(64 << 20);
    for mut one in disciplines() {
        let (mut now, mut taken, mut refused) = (Time(0), 0, 0);
        assert_eq!(
            (one.next_wakeup(), one.dequeue(now).is_none()),
            (None, true)
        );
        for n in 0..3 * MAX_QUEUE_PACKETS {
            let frame = pool.frame(&[n as u8; 100]).expect("within the limit");
            let class = QueueClass::of(QueueId(n as u32 % 5));
            match one.enqueue(now, &class, frame, n % 50 != 7) {
                Ok(()) => taken += 1,
                Err(DropReason::QueueFull | DropReason::QueuesFull | DropReason::TooEarly) => {
                    refused += 1
                }
                Err(other) => panic!("{other:?} is no reason of a discipline"),
            }
        }
        let mut left = 0;
        while let Some(at) = one.next_wakeup() {
            now = at.max(now);
            let (id, _) = one.dequeue(now).expect("a frame is due when it says");
            assert!(one.queues().iter().any(|queue| queue.id == id), "{one:?}");
            left += 1;
        }
        assert_eq!((left, taken + refused), (taken, 3 * MAX_QUEUE_PACKETS));
        let stats = one.queues().iter().map(|queue| queue.stats.clone());
        let counted = stats.fold((0, 0), |sum, s| (sum.0 + s.tx_packets, sum.1 + s.tx_errors));
        assert_eq!(counted, (left, refused));
        assert_eq!(pool.stats().bytes_in_use, 0);
    }
}

/// The words of disciplines about a flow, where three wait at 10 Mb/s, of which two have one
/// destination.
#[test]
fn disciplines_report_what_they_know_of_a_flow() {
    let with_rate = ["its share is ", " kb/s of ", "its ETA in "];
    let pool = Pool::new(1 << 20);
    for row in DISCIPLINES {
        let mut one = (row.new)(Time(0), PORT, 10_000);
        let mut first = None;
        for n in 0..30 {
            let flow = n % 3;
            let udp = craft::udp(7, flow, &[0; 500]);
            let subscriber = [10, 0, 0, (flow / 2) as u8].into();
            let ip = craft::ipv4([10, 0, 1, 1].into(), subscriber, 64, udp);
            let bytes = craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip);
            first.get_or_insert(Microflow::of(&bytes));
            let frame = pool.frame(&bytes).expect("within the limit");
            // Some are refused: that is told, too.
            let _ = one.enqueue(Time(0), &QueueClass::DEFAULT, frame, true);
        }
        let standing = one.standing(Time(0), &first.expect("it was sent"));
        let text = standing.map(|standing| standing.to_string());
        let text = text.unwrap_or_default();
        match row.name {
            "weighted-priority" | "fifo" => assert_eq!(text, "", "{}", row.name),
            "fred" => assert!(text.ends_with("bytes of its microflow wait"), "{text}"),
            name => with_rate.iter().for_each(|part| {
                assert!(text.contains(part), "{name}: {text}");
                assert!(!text.contains("ETA in 0 us"), "{name}: {text}");
            }),
        }
    }
}
