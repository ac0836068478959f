//! Random frames.

use super::*;

pub(super) fn body(rng: &mut Rng, v6: bool) -> (u8, Body) {
    let (src, dst) = (rng.next() as u16, rng.next() as u16);
    match rng.below(5) {
        0 => {
            let mut tcp = TcpHeader::new(src, dst, rng.next() as u32, rng.next() as u16);
            let options = 4 * rng.below(11) as usize;
            tcp.set_options_raw(&vec![1; options]).unwrap();
            [tcp.syn, tcp.ack, tcp.fin, tcp.psh] = rng.array::<4>().map(|b| b & 1 == 1);
            [tcp.ns, tcp.cwr, tcp.ece, tcp.urg] = rng.array::<4>().map(|b| b & 1 == 1);
            (6, Body::Tcp(tcp))
        }
        1 => (
            17,
            Body::Udp {
                src,
                dst,
                none: rng.one_in(4),
            },
        ),
        2 => (
            132,
            Body::Sctp {
                src,
                dst,
                tag: rng.array(),
            },
        ),
        3 if v6 => {
            let ty = rng.pick(&[128, 135, 136, 135, 136, 3]);
            let option = |rng: &mut Rng| {
                let length = 8 * (1 + rng.below(2) as usize) - 2;
                let rest = (0..length).map(|_| rng.next() as u8).collect();
                (rng.pick(&[1, 2, 5]), rest)
            };
            let nd = (ty == 135 || ty == 136).then(|| Nd {
                target: rng.array(),
                options: (0..rng.below(4)).map(|_| option(rng)).collect(),
            });
            let (code, rest) = (rng.next() as u8, rng.array());
            (58, Body::Icmp6 { ty, code, rest, nd })
        }
        3 => {
            let (ty, code, rest) = (rng.next() as u8, rng.next() as u8, rng.array());
            (1, Body::Icmp4 { ty, code, rest })
        }
        // Numbers for experiments: no header will ever have them.
        _ => (rng.pick(&[253, 254]), Body::Other),
    }
}

pub(super) fn l4(rng: &mut Rng, v6: bool, part: Part) -> L4 {
    let (number, body) = body(rng, v6);
    let nd = matches!(body, Body::Icmp6 { nd: Some(_), .. });
    L4 {
        number,
        data: if nd { Vec::new() } else { rng.bytes(90) },
        hidden: if part == Part::Whole || nd {
            Vec::new()
        } else {
            rng.bytes(50)
        },
        body,
        part,
        pending: part == Part::Whole && rng.one_in(4),
    }
}

pub(super) fn part(rng: &mut Rng) -> Part {
    rng.pick(&[
        Part::Whole,
        Part::Whole,
        Part::Whole,
        Part::First,
        Part::Later,
    ])
}

pub(super) fn ipv4(rng: &mut Rng) -> Net {
    let part = part(rng);
    let mut header = Ipv4Header {
        dscp: IpDscp::try_new(rng.below(64) as u8).unwrap(),
        ecn: IpEcn::try_new(rng.below(4) as u8).unwrap(),
        identification: rng.next() as u16,
        time_to_live: rng.next() as u8,
        source: rng.array(),
        destination: rng.array(),
        more_fragments: part == Part::First || part == Part::Later && rng.one_in(2),
        ..Ipv4Header::default()
    };
    if part == Part::Later {
        header.fragment_offset = IpFragOffset::try_new(1 + rng.below(8191) as u16).unwrap();
    }
    header.dont_fragment = rng.one_in(2);
    let options = vec![1; 4 * rng.below(11) as usize];
    header.options = options.as_slice().try_into().unwrap();
    Net::V4(header, l4(rng, false, part))
}

/// IPv6; the IPV6_EXTHDR bits are those of a second reading of RFC 2460: a list of places.
pub(super) fn ipv6(rng: &mut Rng) -> Net {
    const PLACES: [u8; 7] = [0, 60, 43, 44, 51, 50, 60];
    let mut part = Part::Whole;
    let mut exts: Vec<(u8, Vec<u8>)> = Vec::new();
    let mut final_destination = None;
    let count = rng.pick(&[0, 0, 1, 2, 3, 5]);
    for _ in 0..count {
        let number = rng.pick(&[0, 60, 60, 43, 44, 51]);
        let units = rng.below(3) as usize;
        let mut rest: Vec<u8> = match number {
            44 => vec![0, 0, 1, 2, 3, 4],
            51 => (0..10 + 4 * units).map(|_| rng.next() as u8).collect(),
            _ => (0..6 + 8 * units).map(|_| rng.next() as u8).collect(),
        };
        if number == 43 {
            rest[1] = if rng.one_in(2) { 0 } else { 2 };
            if rest[1] != 0 {
                final_destination.get_or_insert_with(|| rng.array());
            }
        }
        let mut stop = false;
        if number == 44 {
            let (offset, more) = match self::part(rng) {
                Part::Whole => (0, 0),
                Part::First => (0, 1),
                Part::Later => (8 * (1 + rng.below(8191) as u16), rng.below(2) as u16),
            };
            rest[..2].copy_from_slice(&(offset | more).to_be_bytes());
            stop = offset != 0;
            part = match (offset, more) {
                (0, 0) => Part::Whole,
                (0, _) => Part::First,
                _ => Part::Later,
            };
        }
        exts.push((number, rest));
        if stop {
            break;
        }
    }
    let mut l4 = l4(rng, true, part);
    let end = rng.below(8);
    if end < 2 && part != Part::Later {
        (l4.number, l4.body, l4.pending) = ([59, 50][end as usize], Body::Other, false);
    }
    let mut exthdr = 0u16;
    let mut place = 0;
    let seen = |n: u8, upto: usize| exts[..upto].iter().filter(|ext| ext.0 == n).count();
    for (i, (number, _)) in exts.iter().enumerate() {
        exthdr |= match number {
            0 if i == 0 => 1 << 6,
            0 => 0,
            43 => 1 << 5,
            44 => 1 << 4,
            60 => 1 << 3,
            _ => 1 << 2,
        };
        if seen(*number, i) >= if *number == 60 { 2 } else { 1 } {
            exthdr |= 1 << 7;
        }
        // The next place that this header may take, not before the last taken; two destination
        // headers take both of theirs.
        let from = if i > 0 && *number == 60 && place == 1 {
            2
        } else {
            place
        };
        match PLACES[from..].iter().position(|n| n == number) {
            Some(ahead) => place = from + ahead,
            None => {
                exthdr |= 1 << 8;
                place = PLACES.iter().position(|n| n == number).unwrap();
            }
        }
    }
    if part != Part::Later {
        exthdr |= match l4.number {
            59 => 1,
            50 => 1 << 1,
            _ => 0,
        };
        if l4.number == 50 && place == 6 {
            exthdr |= 1 << 8;
        }
    }
    Net::V6(V6 {
        header: Ipv6Header {
            traffic_class: rng.next() as u8,
            flow_label: Ipv6FlowLabel::try_new(rng.below(1 << 20) as u32).unwrap(),
            payload_length: 0,
            next_header: IpNumber(0),
            hop_limit: rng.next() as u8,
            source: rng.array(),
            destination: rng.array(),
        },
        exts,
        exthdr,
        final_destination,
        l4,
    })
}

/// A random frame.
pub(crate) fn spec(rng: &mut Rng) -> Spec {
    let net = match rng.below(12) {
        0 => Net::Other(rng.pick(&[0x88cc, 0x0600, 0x6003]), rng.bytes(60)),
        1 if rng.one_in(2) => Net::Llc([&[0x42, 0x42, 3], &rng.bytes(60)[..]].concat()),
        1 => Net::Snap(rng.pick(&[0x88cc, 0x2000]), rng.bytes(40)),
        2 => Net::Arp(ArpEthIpv4Packet {
            operation: ArpOperation(rng.next() as u16),
            sender_mac: rng.array(),
            sender_ipv4: rng.array(),
            target_mac: rng.array(),
            target_ipv4: rng.array(),
        }),
        3 => {
            let mut labels: Vec<_> = (0..1 + rng.below(4))
                .map(|_| Label {
                    label: rng.below(1 << 20) as u32,
                    tc: rng.below(8) as u8,
                    bos: false,
                    ttl: rng.next() as u8,
                })
                .collect();
            labels.last_mut().unwrap().bos = true;
            let inner = if rng.one_in(2) { ipv4(rng) } else { ipv6(rng) };
            Net::Mpls(rng.pick(&[0x8847, 0x8848]), labels, Box::new(inner))
        }
        4 => Net::Pbb {
            flags: rng.next() as u8,
            isid: rng.below(1 << 24) as u32,
            inner: {
                let inner = Spec {
                    net: ipv4(rng),
                    ..spec(rng)
                };
                inner.build().0
            },
        },
        5..8 => ipv6(rng),
        _ => ipv4(rng),
    };
    let tag = |rng: &mut Rng| Tag {
        tpid: rng.pick(&[0x8100, 0x88a8, 0x9100]),
        pcp: rng.below(8) as u8,
        dei: rng.one_in(2),
        vid: rng.below(4096) as u16,
    };
    let tags = rng.pick(&[0, 0, 1, 1, 2, 3]);
    Spec {
        dst: rng.array(),
        src: rng.array(),
        tags: (0..tags).map(|_| tag(rng)).collect(),
        eth_type: None,
        padding: match net {
            Net::V4(..) | Net::V6(_) => rng.bytes(7),
            _ => Vec::new(),
        },
        net,
    }
}
