//! Limits of bundles, their messages and the time that they wait.

use bofuss_agent::{ConnId, Request};
use bofuss_datapath::Engine;
use bofuss_oflib::error::BundleFailed;
use bofuss_oflib::message::bundle::BundleControlType as T;
use bofuss_oflib::message::{BundleAdd, BundleControl, FlowModCommand as C, PortMod};
use bofuss_oflib::{Message, Version};

use super::{BOTH, BUNDLER, add, ask, control, errors, flow, lab};
use crate::common::Lab;

#[test]
fn bundles_and_their_messages_are_limited() {
    let mut lab = lab(Engine::default());
    let open = |lab: &mut Lab, bundle_id| {
        let control = BundleControl {
            bundle_id,
            ty: T::OPEN_REQUEST,
            flags: BOTH,
            ..BundleControl::default()
        };
        errors(&ask(lab, 1, Message::BundleControl(control)))
    };
    for id in 10..26 {
        assert_eq!(open(&mut lab, id), []);
    }
    assert_eq!(open(&mut lab, 26), [BundleFailed::OUT_OF_BUNDLES]);
    let message = flow(&lab, C::ADD, "actions=drop");
    let more = add(&mut lab, 2, message);
    assert_eq!(errors(&more), [BundleFailed::OUT_OF_BUNDLES]);
    lab.switch.disconnected(lab.now, BUNDLER);
    lab.switch.connected(lab.now, BUNDLER, Version::V1_4, false);
    let port_mod = Message::PortMod(PortMod::default());
    for _ in 0..256 {
        assert_eq!(add(&mut lab, 2, port_mod.clone()), []);
    }
    let more = add(&mut lab, 2, port_mod);
    assert_eq!(errors(&more), [BundleFailed::MSG_TOO_MANY]);
}

#[test]
fn one_connection_leaves_memory_for_the_bundles_of_others() {
    let mut lab = lab(Engine::default());
    let other = ConnId(3);
    lab.switch.connected(lab.now, other, Version::V1_4, false);
    // According to their headers these messages have the greatest length.
    let head = [5, 34, 0xff, 0xff, 0, 0, 0, 2];
    let count = |lab: &mut Lab, conn| {
        let mut n = 0;
        loop {
            let message = flow(lab, C::ADD, "actions=drop");
            let add = BundleAdd {
                bundle_id: 5,
                flags: BOTH,
                xid: 2,
                message: Box::new(message),
                experimenters: Vec::new(),
            };
            let request = Request {
                xid: 2,
                head: &head,
                message: Ok(Message::BundleAdd(add)),
            };
            lab.switch.message(lab.now, conn, request, &mut lab.io);
            if let Some(Message::Error(error)) = lab.io.messages.pop() {
                assert_eq!(error.error, BundleFailed::MSG_TOO_MANY);
                return n;
            }
            n += 1;
        }
    };
    let first = count(&mut lab, BUNDLER);
    let second = count(&mut lab, other);
    assert!((400..600).contains(&first), "{first}");
    assert!((200..300).contains(&second), "{second}");
}

#[test]
fn a_bundle_that_nobody_touches_for_ten_seconds_is_given_up() {
    let mut lab = lab(Engine::default());
    ask(&mut lab, 1, control(T::OPEN_REQUEST, BOTH));
    lab.advance(9_000);
    let message = flow(&lab, C::ADD, "actions=drop");
    assert_eq!(add(&mut lab, 2, message), []);
    lab.advance(9_900);
    assert_eq!(lab.io.messages, []);
    lab.advance(200);
    assert_eq!(errors(&lab.io.messages), [BundleFailed::TIMEOUT]);
    lab.io.messages.clear();
    let left = ask(&mut lab, 3, control(T::COMMIT_REQUEST, BOTH));
    assert_eq!(errors(&left), [BundleFailed::BAD_ID]);
}
