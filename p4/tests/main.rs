//! Programs from outside: what they do with packets, alone, at random, and with a control plane.

mod plain;

mod cases;
mod commands;
mod control_plane;
mod hostile;
mod links;
mod profiles;
mod program_entries;
mod random_expressions;
mod random_programs;
mod random_tables;
mod replication;
