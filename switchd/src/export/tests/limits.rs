//! An export that is fed more than it can send, and the end of several.

use super::*;

#[test]
fn counters_are_asked_for_however_many_samples_come() {
    let pair = Pair::new("sflow", "poll=1 rate=1");
    let bell = Bell::new(Waker::noop().clone());
    pair.started.export.add_bell(&bell);
    let mut tap = pair.tap(1);
    let burst = [pair.frame(&[0; 60])];
    let start = Instant::now();
    while !bell.was_rung() {
        assert!(start.elapsed() < PATIENCE);
        tap.see(&burst);
    }
    assert!(pair.started.export.state.counts.dropped.load(Relaxed) > 0);
}

#[test]
fn exports_end_side_by_side() {
    let pairs = [Pair::new("sflow", ""), Pair::new("sflow", "")];
    // Their threads do not end before these.
    let _fed = pairs.each_ref().map(|pair| pair.started.export.clone());
    let start = Instant::now();
    let limit = Duration::from_millis(200);
    StartedExport::end_all(pairs.map(|pair| pair.started), limit);
    assert!((limit..2 * limit).contains(&start.elapsed()));
}
