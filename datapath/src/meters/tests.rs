//! Meters on a virtual clock: how much passes in any window of time.

extern crate std;

use alloc::string::String;
use std::vec::Vec;

use bofuss_oflib::message::meter_mod::MeterModCommand;
use bofuss_oflib::text::parse_meter;

use super::*;

fn made(text: &str) -> Meter {
    let meter_mod = parse_meter(text, MeterModCommand::ADD).expect("a right meter");
    Meter::new(Time(0), &meter_mod)
}

/// A generator of random numbers, the same in each run.
struct Rng(u64);

impl Rng {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % limit
    }
}

/// For each packet, its time, its size in units of the rate, and whether it passed.
type Seen = Vec<(Time, u64, bool)>;

fn run(meter: &mut Meter, packets: impl Iterator<Item = (Time, u64)>, by_bytes: bool) -> Seen {
    let one = |(at, bytes): (Time, u64)| {
        let passed = meter.judge(at, (1, bytes)).is_none();
        (at, if by_bytes { bytes * 8 } else { 1 }, passed)
    };
    packets.map(one).collect()
}

/// Checks every window: what passed is at most rate * T + burst + the longest packet. All in units
/// of the rate times nanoseconds.
fn check_upper(name: &str, seen: &Seen, rate: u64, burst: u64, longest: u64) {
    let (mut passed, mut least) = (0i128, i128::MAX);
    let second = i128::from(Time::SEC);
    for (at, size, _) in seen.iter().filter(|(.., passed)| *passed) {
        let line = i128::from(rate) * i128::from(at.0);
        // The window that begins with this packet, so without all earlier ones.
        least = least.min(line - passed * second);
        passed += i128::from(*size);
        let over = passed * second - line + least;
        let limit = i128::from(burst + longest) * second;
        assert!(over <= limit, "{name}: at {at:?}, {over} above {limit}");
    }
}

/// Checks windows from packet to packet: what passed is at least 98 % of the rate, or of what was
/// offered, less one packet.
fn check_lower(name: &str, seen: &Seen, rate: u64, longest: u64, rng: &mut Rng) {
    for _ in 0..200 {
        let from = rng.below(seen.len() as u64) as usize;
        let to = from + rng.below((seen.len() - from) as u64) as usize;
        let window = &seen[from..to];
        let passed: u64 = window.iter().filter(|p| p.2).map(|p| p.1).sum();
        let offered: u64 = window.iter().map(|p| p.1).sum();
        let nanos = u128::from(seen[to].0.0 - seen[from].0.0);
        let due = (nanos * u128::from(rate) / u128::from(Time::SEC)).min(offered.into());
        let least = due * 98 / 100;
        assert!(
            u128::from(passed + longest) >= least,
            "{name}: {passed} of {offered} in {nanos} ns, {least} due"
        );
    }
}

/// Packets at an even rate of `num / den` times `rate`.
fn even(rate: u64, num: u64, den: u64, count: u64) -> impl Iterator<Item = (Time, u64)> {
    let nanos = u128::from(Time::SEC * den);
    let at = move |i: u64| Time((u128::from(i) * nanos / u128::from(rate * num)) as u64);
    (0..count).map(move |i| (at(i), 60))
}

#[test]
fn any_window_lets_the_rate_and_the_burst_through_and_no_more_from_10_pps_to_10_mpps() {
    let mut rng = Rng(1);
    for rate in [10, 100, 999, 12_345, 100_000, 1_000_000, 10_000_000] {
        for burst in [0, 1, 2, 10, 1000] {
            for (num, den) in [
                (1, 3),
                (9, 10),
                (1, 1),
                (1001, 1000),
                (3, 2),
                (2, 1),
                (37, 10),
                (50, 1),
            ] {
                let name = alloc::format!("{rate} pps, burst {burst}, offered {num}/{den}");
                let mut meter = made(&alloc::format!(
                    "meter=1,pktps,burst,bands=type=drop,rate={rate},burst_size={burst}"
                ));
                let seen = run(&mut meter, even(rate, num, den, 5000), false);
                // A burst of 0 is rounded up to one packet.
                check_upper(&name, &seen, rate, burst.max(1), 1);
                check_lower(&name, &seen, rate, 1, &mut rng);
            }
        }
    }
}

#[test]
fn irregular_packets_of_any_size_stay_within_rate_and_burst() {
    let mut rng = Rng(2);
    for (kbps, burst) in [
        (1, 0),
        (100, 1),
        (1000, 100),
        (1_000_000, 1),
        (u32::MAX.into(), 5000),
    ] {
        let name = alloc::format!("{kbps} kb/s, burst {burst}");
        let text = "meter=1,kbps,burst,bands=type=drop,rate=";
        let mut meter = made(&alloc::format!("{text}{kbps},burst_size={burst}"));
        let (mut at, mut packets) = (0, Vec::new());
        for _ in 0..20_000 {
            // Half of them arrive in bursts; on average they arrive at about twice the rate.
            let pause = 800 * 8_000_000 / kbps / 2;
            at += rng.below(2) * rng.below(2 * pause + 2);
            packets.push((Time(at), 60 + rng.below(1455)));
        }
        let seen = run(&mut meter, packets.into_iter(), true);
        let longest = 1514 * 8;
        check_upper(
            &name,
            &seen,
            kbps * 1000,
            (burst * 1000).max(longest),
            longest,
        );
    }
}

/// Packets in bursts with pauses of at most 100 ms, until after `end`. A burst has `least` to
/// `least + 200` percent of what the rate, in `size`s, is in the pause before it.
fn bursts(rate: u64, size: u64, least: u64, end: u64, rng: &mut Rng) -> Vec<Time> {
    let (mut at, mut packets) = (0, Vec::new());
    let longest_pause = 1_000_000 + rng.below(99_000_000);
    while at < end {
        let pause = 1 + rng.below(longest_pause);
        at += pause;
        let percent = least + rng.below(201);
        let count = (rate * pause * percent / 100).div_ceil(size * Time::SEC);
        packets.extend((0..count).map(|_| Time(at)));
    }
    packets
}

/// Checks a meter without burst with packets of so many bytes: any window passes at most 300 ms of
/// the rate and a packet above it, and 10 s after the first have it within 3 % and a packet.
fn check_default(unit: &str, rate: u64, bytes: u64, rng: &mut Rng) {
    let text = alloc::format!("meter=1,{unit},bands=type=drop,rate={rate}");
    let by_bytes = unit == "kbps";
    let size = if by_bytes { bytes * 8 } else { 1 };
    let rate = if by_bytes { rate * 1000 } else { rate };
    for least in [0, 100] {
        let mut meter = made(&text);
        let name = alloc::format!("{text}, {bytes} bytes, at least {least} %");
        let packets = bursts(rate, size, least, 11 * Time::SEC, rng);
        let packets = packets.into_iter().map(|at| (at, bytes));
        let seen = run(&mut meter, packets, by_bytes);
        check_upper(&name, &seen, rate, rate * 3 / 10, size);
        if least == 100 {
            let passed = passed_in_10_s(&seen);
            let off = passed.abs_diff(rate * 10);
            assert!(off <= rate * 3 / 10 + size, "{name}: {passed} in 10 s");
        }
    }
}

/// Returns how much passed in the ten seconds after the first second.
fn passed_in_10_s(seen: &Seen) -> u64 {
    let seconds = Time::SEC..11 * Time::SEC;
    let passed = seen.iter().filter(|p| p.2 && seconds.contains(&p.0.0));
    passed.map(|p| p.1).sum()
}

#[test]
fn a_meter_without_burst_reaches_its_rate_under_bursts_and_passes_300_ms_more_at_most() {
    let mut rng = Rng(3);
    for _ in 0..5 {
        for rate in [1, 7, 50, 1_000, 3_000] {
            check_default("pktps", rate, 60, &mut rng);
        }
        for rate in [8, 100, 1_000] {
            check_default("kbps", rate, 60, &mut rng);
            check_default("kbps", rate, 1514, &mut rng);
        }
        check_default("kbps", 10_000, 1514, &mut rng);
    }
}

#[test]
fn a_meter_of_1000_pps_passes_them_out_of_bursts_of_20_and_of_200() {
    for (burst, pause) in [(20, 10_000_000), (200, 100_000_000)] {
        let mut meter = made("meter=1,pktps,bands=type=drop,rate=1000");
        let packets = (0..24_000).map(|i| (Time(i / burst * pause), 60));
        let seen = run(&mut meter, packets, false);
        let passed = passed_in_10_s(&seen);
        assert!(
            (9_999..=10_001).contains(&passed),
            "bursts of {burst}: {passed}"
        );
    }
}

#[test]
fn a_minute_of_packets_lets_exactly_the_rate_and_300_ms_of_it_through() {
    let mut meter = made("meter=1,pktps,bands=type=drop,rate=330");
    let seen = run(&mut meter, even(330, 3, 1, 330 * 3 * 60), false);
    assert_eq!(seen.iter().filter(|p| p.2).count(), 330 * 60 + 99);
}

/// For packets at 3000 a second: how many passed, and how many each band got.
fn shares(bands: &str) -> (u64, Vec<u64>) {
    let mut meter = made(&String::from_iter(["meter=1,pktps,burst,bands=", bands]));
    let seen = run(&mut meter, even(3000, 1, 1, 30_000), false);
    let passed = seen.iter().filter(|p| p.2).count() as u64;
    let bands = meter.stats.bands.iter().map(|b| b.packet_count).collect();
    assert_eq!(meter.stats.input.packet_count, 30_000);
    (passed, bands)
}

#[test]
fn the_highest_rate_that_is_exceeded_applies() {
    let (drop, remark) = ("type=drop,rate=", "type=dscp_remark,prec_level=1,rate=");
    for (first, second) in [(drop, remark), (remark, drop)] {
        // A third is below 1000, a third between the rates, a third above 2000: in any order.
        let low_first = shares(&alloc::format!("{first}1000,{second}2000"));
        let high_first = shares(&alloc::format!("{second}2000,{first}1000"));
        assert_eq!(
            low_first.1.iter().rev().collect::<Vec<_>>(),
            high_first.1.iter().collect::<Vec<_>>()
        );
        let near = |count: u64| count.abs_diff(10_000) <= 2;
        assert!(near(low_first.0) && low_first.1.into_iter().all(near));
    }
}

#[test]
fn a_rate_of_0_is_always_exceeded() {
    assert_eq!(shares("type=drop,rate=0"), (0, [30_000].into()));
}

#[test]
fn the_greatest_rate_burst_and_pause_are_no_overflow() {
    let most = u32::MAX;
    let mut meter = made(&alloc::format!(
        "meter=1,kbps,burst,bands=type=drop,rate={most},burst_size={most}"
    ));
    for at in [0, 1, u64::MAX, 5, u64::MAX] {
        assert_eq!(meter.judge(Time(at), (1, 65_000)), None);
    }
}
