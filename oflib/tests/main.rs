//! The codec from outside: vectors, laws, other codecs, the fuzz corpus.

mod common;
mod differential;
mod laws;
mod vectors;
