//! Frames of a flow below the switch stay in order with those that come up.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use crate::{Tap, below, both, datagram, standing};

#[test]
fn frames_do_not_overtake_one_of_their_flow_that_comes_up() {
    let Some([lab, _]) = both(&[]) else { return };
    lab.asks(&["add-flow", "in_port=1,udp,actions=output:2"]);
    let [mut one, mut two] = [1, 2].map(|host| Tap::of(&lab, host));
    let frames: Vec<_> = (0..3000)
        .map(|n| {
            let mut frame = datagram(n, None, 60);
            if n % 10 == 5 {
                // A TTL of 1, which the kernel leaves to the switch.
                frame[22] = 1;
            }
            frame
        })
        .collect();
    for few in frames.chunks(10) {
        one.send(few);
        std::thread::sleep(Duration::from_millis(1));
    }
    two.waits_for(frames.len());
    assert!(two.numbers().is_sorted(), "frames overtook each other");
    assert!(below(&lab) > 500, "{}", standing(&lab));
}
