//! The daemon in good and bad times. Each module is a program of its own: see `e2e.rs`.

mod capture;
mod drivers;
mod ends;
mod faults;
mod hardship;
mod listeners;
mod memory;
mod metrics;
mod offloads;
mod ports;
mod rates;
mod record;
mod refused;
mod restart;
mod saved_state;
mod several;
mod soak;
mod tags;
mod truth;
mod unit;
mod users;
