//! The codec from outside: vectors, laws, other codecs, the fuzz corpus.

mod common;
mod corpus;
mod differential;
mod laws;
mod typed;
mod vectors;
