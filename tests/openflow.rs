//! What controllers and tools see of a switch. Each module is a program of its own: see `e2e.rs`.

mod bundles;
mod configured;
mod controllers;
mod dpctl;
mod dpctl_live;
mod fields;
mod monitors;
mod open_vswitch;
mod openflow10;
mod openflow11;
mod openflow12;
mod openflow14;
mod openflow15;
mod openqflow;
mod openstate;
mod packet_type;
mod rest;
mod tools;
mod trace;
mod translated;
