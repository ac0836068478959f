//! Prints 10,000 random inputs as a record, with what a switch does with them: switches in other
//! languages do the same, see `capi/tests/replay.c` and `python/tests/test_switch.py`.
#![allow(clippy::unwrap_used)]

#[path = "../tests/common/random_inputs.rs"]
mod random_inputs;
#[path = "../tests/common/random_record.rs"]
mod random_record;

fn main() {
    let catalogue = std::sync::Arc::new(bofuss_ext::catalogue());
    print!("{}", random_record::random_record(&catalogue).text);
}
