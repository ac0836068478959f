//! A server from outside: over connections, with the corpus of its fuzz targets, and with TLS.

mod common;
mod spoil;

mod corpus;
mod entities;
mod hostile;
mod profiles;
mod service;
mod specification;
mod tls;
