//! The messages of P4Runtime 1.4, declared by the field numbers of its specification.
//!
//! A message within another is named by both, as `FieldMatchLpm`; a choice by its message and its
//! name, as `TableActionType`.

pub mod config;
pub mod entities;
pub mod messages;
