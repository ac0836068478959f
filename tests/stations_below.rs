//! Stations that NORMAL knows: their frames go below, and come up when a station is elsewhere.

use super::*;

/// Frames from the station 1 to the station 2.
fn frames(numbers: std::ops::Range<u32>) -> Vec<Vec<u8>> {
    numbers.map(|number| datagram(number, None, 60)).collect()
}

/// A frame from the station 2 to the station 1, which has no number.
fn answer() -> Vec<u8> {
    let mut bytes = datagram(0, None, 60);
    bytes[..12].rotate_left(6);
    bytes[37] += 1;
    bytes
}

#[test]
fn frames_between_stations_go_below_and_follow_a_station_that_moves() {
    let Some(labs) = both(&[]) else { return };
    let mut seen = Vec::new();
    for (place_in_list, lab) in labs.iter().enumerate() {
        lab.asks(&["add-flow", "actions=NORMAL"]);
        let mut taps = [1, 2, 3].map(|host| Tap::of(lab, host));
        taps[1].send(&[answer()]);
        send_slowly(&mut taps[0], &frames(0..300));
        taps[1].waits_for(300);
        // The station 2 is at port 3 now.
        taps[2].send(&[answer()]);
        until("the switch knows", || {
            ctl(lab, &["macs"]).contains("00:02 untagged port=3")
        });
        send_slowly(&mut taps[0], &frames(300..3000));
        taps[2].waits_for(2700);
        taps[1].receive();
        let numbers = taps.each_ref().map(|tap| tap.numbers());
        assert_eq!(numbers[1][..300], (0..300).collect::<Vec<_>>());
        assert_eq!(numbers[2], (300..3000).collect::<Vec<_>>());
        if place_in_list == 0 {
            assert!(below(lab) > 1000, "{}", standing(lab));
            assert_eq!(
                place(lab, &frames(0..1)[0]),
                "in the kernel, below the switch"
            );
        }
        let known = ctl(lab, &["macs"]);
        let known = known.lines().map(|line| line.rsplit_once(' ').unwrap());
        let known = known.map(|(known, age)| {
            assert!(
                ["age=0s", "age=1s", "age=2s", "age=3s", "age=4s"].contains(&age),
                "{age}"
            );
            known.to_string()
        });
        let known: Vec<_> = known
            .filter(|known| known.starts_with("02:00:00:00:00:0"))
            .collect();
        seen.push((counters(lab), known));
        // They are forgotten at once.
        ctl(lab, &["flush-macs"]);
        send_slowly(&mut taps[0], &frames(5000..5001));
        for tap in &mut taps[1..] {
            let before = tap.frames.len();
            tap.waits_for(before + 1);
            assert_eq!(tap.numbers().last(), Some(&5000), "it is flooded");
        }
    }
    assert_eq!(seen[0], seen[1]);
}
