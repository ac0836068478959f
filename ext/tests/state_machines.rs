//! Random extended machines under random packets, by the fuzz target's own check.

#[path = "../../fuzz/checks/state_machine.rs"]
mod state_machine;

/// The number of machines that are played.
const MACHINES: u64 = 300;
/// The random bytes that each machine and its packets are made from.
const CHOICES: usize = 700;

#[test]
fn random_machines_do_what_a_plain_model_does_in_every_engine() {
    let mut number = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..MACHINES {
        let choices = [(); CHOICES].map(|()| {
            number ^= number << 13;
            number ^= number >> 7;
            number ^= number << 17;
            (number >> 32) as u8
        });
        state_machine::run(&choices);
    }
}
