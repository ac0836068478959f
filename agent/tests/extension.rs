//! The controllers' side of extensions, with extensions that only this test has.
#![allow(clippy::unwrap_used)]

mod common;

use std::sync::Arc;

use bofuss_agent::{FailMode, Identity, Switch};
use bofuss_datapath::{Config, Datapath, Hook, Time};
use bofuss_frame::Pool;
use bofuss_oflib::error::BadRequest;
use bofuss_oflib::ext::{ExtKind, ExtRow};
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Catalogue, ErrorCode, ExtValue, Message, Version};

use common::{CONN, Kept, Lab};

const fn message(experimenter: u32, ty: u32, name: &'static str) -> ExtRow {
    ExtRow::new(ExtKind::Message, experimenter, ty, name).with_data()
}

static ONE: [ExtRow; 2] = [message(71, 1, "one_ask"), message(71, 2, "one_told")];
static TWO: [ExtRow; 2] = [message(72, 1, "two_ask"), message(72, 2, "two_told")];
/// An extension without behaviour.
static NONE: [ExtRow; 1] = [message(73, 1, "none_ask")];

/// Answers its own messages with the place of their row.
struct Echo(&'static str, &'static [ExtRow]);

impl Hook for Echo {
    fn name(&self) -> &'static str {
        self.0
    }
    fn on_message(
        &mut self,
        _: Time,
        row: usize,
        value: &ExtValue,
    ) -> Result<Vec<ExtValue>, ErrorCode> {
        assert!(std::ptr::eq(value.row, &self.1[row]));
        let said = Bytes(vec![row as u8]);
        Ok(vec![ExtValue::new(&self.1[1], vec![], said)])
    }
}

/// A switch with these extensions and four ports.
fn lab(extensions: &[(&'static str, &'static [ExtRow])], hooks: Vec<Box<dyn Hook>>) -> Lab {
    let mut catalogue = Catalogue::default();
    for (name, rows) in extensions {
        catalogue.add(name, &[], rows).expect("they differ");
    }
    let (catalogue, pool) = (Arc::new(catalogue), Pool::new(1 << 24));
    let mut datapath = Datapath::new(Config::default(), catalogue.clone(), pool.clone());
    hooks.into_iter().for_each(|hook| datapath.add_hook(hook));
    let identity = Identity::default();
    let mut switch = Switch::new(Time(0), datapath, identity, FailMode::Secure);
    switch.connected(Time(0), CONN, Version::V1_3, true);
    let mut lab = Lab {
        switch,
        io: Kept::default(),
        now: Time(0),
        pool,
        catalogue,
    };
    (1..=4).for_each(|port| lab.port(port));
    lab.io.messages.clear();
    lab
}

#[test]
fn each_hook_is_given_what_is_its_own_with_the_place_of_its_row() {
    let hooks: Vec<Box<dyn Hook>> = vec![Box::new(Echo("one", &ONE)), Box::new(Echo("two", &TWO))];
    let mut lab = lab(&[("one", &ONE), ("two", &TWO), ("none", &NONE)], hooks);
    for row in ONE.iter().chain(&TWO) {
        lab.message(Message::Experimenter(ExtValue::new(
            row,
            vec![],
            Bytes::default(),
        )));
    }
    let told = |rows: &'static [ExtRow], place| {
        let said = Bytes(vec![place]);
        Message::Experimenter(ExtValue::new(&rows[1], vec![], said))
    };
    let wanted = [told(&ONE, 0), told(&ONE, 1), told(&TWO, 0), told(&TWO, 1)];
    assert_eq!(lab.io.messages, wanted);
    let nobodys = ExtValue::new(&NONE[0], vec![], Bytes::default());
    lab.message(Message::Experimenter(nobodys));
    let Some(Message::Error(error)) = lab.io.messages.last() else {
        panic!("nobody knows it")
    };
    assert_eq!(error.error, BadRequest::BAD_EXPERIMENTER);
}
