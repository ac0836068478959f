//! The codec from outside: vectors, laws, other codecs, the fuzz corpus.

mod common;
mod laws;
mod vectors;
