//! The codec from outside: vectors, laws, other codecs, the fuzz corpus.

mod common;
mod corpus;
mod coverage;
mod differential;
mod laws;
mod typed;
mod vectors;

#[path = "../examples/extension.rs"]
mod extension;

#[test]
fn an_extension_declared_outside_is_written_and_read_again() {
    extension::main().expect("the example checks itself");
}
