//! Interfaces and their changes: refusals with their words, and the monitor's events.

use bofuss_ports::{
    AfPacket, AfPacketOptions, Link, LinkEvent, LinkMonitor, OpenError, StampOffer, StampSource,
    StampedSocket, Tap, advertise, set_link,
};

use crate::common::{in_namespace, ip, open, open_with, until, veth};

/// The text with which opening an interface is refused.
fn refusal(name: &str) -> String {
    match AfPacket::open(name, AfPacketOptions::default()) {
        Ok(_) => panic!("'{name}' is opened"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_an_interface_advertises_can_be_set_where_it_has_a_say() {
    in_namespace(|| {
        let _tap = Tap::open("tap0", true).expect("the device is there");
        let modes = || Link::by_name("tap0").expect("it is there").modes();
        assert_eq!(modes().advertised, 0);
        advertise("tap0", 0x2a).expect("a TAP takes anything");
        assert_eq!(modes().advertised, 0x2a);
        veth("s1", "s2");
        let error = advertise("s1", 0x2a).expect_err("a veth has nothing to advertise");
        assert!(error.to_string().contains("advertises"), "{error}");
    });
}

#[test]
fn unsuitable_interfaces_are_refused_with_what_to_type() {
    in_namespace(|| {
        veth("s1", "s2");
        ip("link add br0 type bridge");
        ip("link set s1 master br0");
        let text = "'s1' already belongs to 'br0': ip link set dev s1 nomaster";
        assert_eq!(refusal("s1"), text);
        ip("addr add 192.0.2.7/24 dev s2");
        assert!(refusal("s2").starts_with("'s2' carries the IP address 192.0.2.7"));
        ip("addr flush dev s2");
        ip("route add default dev s2");
        assert!(refusal("s2").starts_with("'s2' carries the default route"));
        let take_over = AfPacketOptions {
            take_over: true,
            ..AfPacketOptions::default()
        };
        let taken = AfPacket::open("s2", take_over).expect("it was asked for");
        assert!(taken.host_is_kept_out());
        let text =
            "'s2' is already opened by another switch: stop that one, or remove the port there";
        let again = AfPacket::open("s2", take_over)
            .err()
            .expect("one at a time");
        assert_eq!(again.to_string(), text);
        drop(taken);
        // It is free again.
        drop(open_with("s2", take_over));
        assert!(refusal("lo").starts_with("'lo' is not an Ethernet interface"));
        assert_eq!(
            refusal("veth9"),
            "no interface named 'veth9' (ip link shows them)"
        );
        assert!(refusal("a-name-much-too-long").contains("is too long: 20 bytes, at most 15"));
    });
}

#[test]
fn an_interface_with_an_address_that_is_taken_over_keeps_its_stack() {
    in_namespace(|| {
        veth("s1", "s2");
        ip("addr add 192.0.2.7/24 dev s1");
        let take_over = AfPacketOptions {
            take_over: true,
            ..AfPacketOptions::default()
        };
        let port = open_with("s1", take_over);
        assert!(!port.host_is_kept_out());
    });
}

#[test]
fn a_tap_is_refused_where_the_name_is_taken() {
    in_namespace(|| {
        veth("s1", "s2");
        let error = Tap::open("s1", true).err().expect("it is a veth");
        assert!(matches!(error, OpenError::NotTap(_)), "{error}");
        let _tap = Tap::open("tap0", true).expect("the device is there");
        let error = Tap::open("tap0", true).err().expect("one at a time");
        assert!(matches!(error, OpenError::InUse(_)), "{error}");
    });
}

#[test]
fn a_link_tells_its_facts() {
    in_namespace(|| {
        veth("s1", "s2");
        ip("link set s1 mtu 9216 address 02:00:00:00:00:07");
        let link = Link::by_name("s1").expect("it is there");
        assert_eq!((link.mtu_bytes, link.mac), (9216, [2, 0, 0, 0, 0, 7]));
        assert!(link.admin_up && link.ethernet && link.master.is_none());
        assert_eq!(link.modes().speed_mbps, Some(10_000));
        assert_eq!(open("s1").link().index, link.index);
        set_link("s2", false).expect("it is there");
        until("the other end notices", || {
            let link = Link::by_name("s1").expect("it is there");
            link.admin_up && !link.carrier && !link.running
        });
    });
}

/// Polls until an event satisfies `wanted`, and returns all events up to that poll.
fn await_event(monitor: &mut LinkMonitor, wanted: impl Fn(&LinkEvent) -> bool) -> Vec<LinkEvent> {
    let mut all = Vec::new();
    until("the event comes", || {
        all.extend(monitor.poll().expect("the monitor works"));
        all.iter().any(&wanted)
    });
    all
}

#[test]
fn the_monitor_reports_coming_changing_and_going() {
    in_namespace(|| {
        veth("s1", "s2");
        let mut monitor = LinkMonitor::open().expect("a netlink socket");
        let is = |name: &'static str| {
            move |e: &LinkEvent| {
                let LinkEvent::New(l) = e else {
                    return false;
                };
                l.name == name
            }
        };
        let first = await_event(&mut monitor, is("s2"));
        assert_eq!(first.len(), Link::all().expect("they are there").len());
        assert_eq!(monitor.poll().expect("it works"), [], "nothing happened");

        let index = Link::by_name("s1").expect("it is there").index;
        for (change, is_there) in [("add", true), ("del", false)] {
            ip(&format!("addr {change} 192.0.2.7/24 dev s1"));
            let event = LinkEvent::Address {
                index,
                address: [192, 0, 2, 7].into(),
                is_there,
            };
            assert_eq!(monitor.poll().expect("it works"), [event]);
        }

        ip("link set s1 mtu 9000");
        await_event(
            &mut monitor,
            |event| matches!(event, LinkEvent::Changed(l) if l.name == "s1" && l.mtu_bytes == 9000),
        );
        set_link("s2", false).expect("it is there");
        await_event(&mut monitor, |event| {
            let LinkEvent::Changed(l) = event else {
                return false;
            };
            l.name == "s1" && l.admin_up && !l.carrier
        });
        // Leaving a bridge tells of a deletion, which is the bridge's and not the interface's.
        ip("link add br0 type bridge");
        ip("link set s1 master br0");
        ip("link set s1 nomaster");
        let events = await_event(
            &mut monitor,
            |event| matches!(event, LinkEvent::Changed(l) if l.name == "s1" && l.master.is_none()),
        );
        assert!(
            !events
                .iter()
                .any(|event| matches!(event, LinkEvent::Gone(_)))
        );

        let old = Link::by_name("s1").expect("it is there").index;
        ip("link del s1");
        await_event(
            &mut monitor,
            |event| matches!(event, LinkEvent::Gone(l) if l.index == old),
        );
        veth("s1", "s2");
        await_event(&mut monitor, is("s1"));
        assert_ne!(Link::by_name("s1").expect("it is there").index, old);
    });
}

#[test]
fn the_monitor_recovers_what_it_missed() {
    in_namespace(|| {
        veth("s1", "s2");
        veth("s3", "s4");
        let mut monitor = LinkMonitor::open().expect("a netlink socket");
        await_event(
            &mut monitor,
            |event| matches!(event, LinkEvent::New(l) if l.name == "s4"),
        );
        for _ in 0..400 {
            set_link("s1", false).expect("it is there");
            set_link("s1", true).expect("it is there");
        }
        // These are past what the kernel queues for a reader that sleeps.
        ip("link set s1 mtu 1400");
        ip("link del s3");
        let events = await_event(
            &mut monitor,
            |event| matches!(event, LinkEvent::Gone(l) if l.name == "s3"),
        );
        let last = events.iter().rev().find_map(|event| match event {
            LinkEvent::Changed(link) if link.name == "s1" => Some(link),
            _ => None,
        });
        assert_eq!(last, Some(&Link::by_name("s1").expect("it is there")));
        assert_eq!(monitor.poll().expect("it works"), []);
    });
}

#[test]
fn the_kernel_stamps_frames_of_a_veth_and_no_card_does() {
    in_namespace(|| {
        veth("s1", "s2");
        let offer = StampOffer::of("s1");
        assert!(offer.kernel && offer.card.is_none(), "{offer:?}");
        assert!(StampedSocket::open("s1", StampSource::Card).is_err());
        let open = |name| StampedSocket::open(name, StampSource::Kernel).expect("it offers them");
        let mut near = open("s1");
        let mut far = open("s2");
        let frame = [7; 64];
        let mut sent = Vec::new();
        let mut arrived = Vec::new();
        // The kernel begins to stamp what arrives some time after it was asked to.
        until("a frame is stamped that arrives", || {
            assert!(near.send(&frame).expect("it is up"));
            while let Some(stamped) = near.next_sent().expect("it is up") {
                assert!(stamped.bytes == frame);
                sent.push(stamped.nanos.expect("it was stamped"));
            }
            while let Some(stamped) = far.next_received().expect("it is up") {
                if stamped.bytes == frame {
                    arrived.extend(stamped.nanos);
                }
            }
            !arrived.is_empty() && !sent.is_empty()
        });
        assert!(sent[0] <= arrived[0], "{} {}", sent[0], arrived[0]);
        assert!(
            near.next_received().expect("it is up").is_none(),
            "its own frames"
        );
    });
}
