//! The header rewrites, a row each: what is sent, what the rule does, what is to arrive.

use std::net::Ipv4Addr;

use crate::subject::template::{A_ADDRESS6, B_ADDRESS6, FrameHeaders};

/// One rewrite.
pub struct RewriteRow {
    /// Its name.
    pub name: &'static str,
    /// The fields that the rule matches besides the port.
    pub fields: &'static str,
    /// The actions before the output.
    pub actions: &'static str,
    /// The headers of what is sent.
    pub sent: fn() -> FrameHeaders,
    /// The headers of what is to arrive.
    pub arriving: fn() -> FrameHeaders,
}

/// The Ethernet addresses, the IPv4 addresses and the UDP ports that rewrites set.
const NEW_MACS: [[u8; 6]; 2] = [[2, 0, 0, 0, 0, 0x2a], [2, 0, 0, 0, 0, 0x2b]];
const NEW_IPS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 8, 0, 1), Ipv4Addr::new(10, 8, 0, 2)];
const NEW_UDP: (u16, u16) = (8_000, 8_001);

/// Frames with a UDP checksum, which a rewrite of what it covers must keep right.
fn checked() -> FrameHeaders {
    FrameHeaders {
        has_checksum: true,
        ..FrameHeaders::default()
    }
}

fn tagged(tci: u16) -> FrameHeaders {
    FrameHeaders {
        vlan: Some((0x8100, tci)),
        ..checked()
    }
}

fn labelled() -> FrameHeaders {
    FrameHeaders {
        mpls: Some((100, 0, 64)),
        ..checked()
    }
}

fn six() -> FrameHeaders {
    FrameHeaders {
        ip6: Some([A_ADDRESS6, B_ADDRESS6]),
        ..checked()
    }
}

/// All rewrites: those of the paper first.
pub const REWRITES: &[RewriteRow] = &[
    RewriteRow {
        name: "none",
        fields: "",
        actions: "",
        sent: checked,
        arriving: checked,
    },
    RewriteRow {
        name: "mac",
        fields: "",
        actions: "mod_dl_src:02:00:00:00:00:2a,mod_dl_dst:02:00:00:00:00:2b",
        sent: checked,
        arriving: || FrameHeaders {
            eth_src: NEW_MACS[0],
            eth_dst: NEW_MACS[1],
            ..checked()
        },
    },
    RewriteRow {
        name: "ip",
        fields: "ip",
        actions: "mod_nw_src:10.8.0.1,mod_nw_dst:10.8.0.2",
        sent: checked,
        arriving: || FrameHeaders {
            ip: NEW_IPS,
            ..checked()
        },
    },
    RewriteRow {
        name: "vlan-priority",
        fields: "dl_vlan=5",
        actions: "mod_vlan_pcp:3",
        sent: || tagged(5),
        arriving: || tagged(3 << 13 | 5),
    },
    RewriteRow {
        name: "tos",
        fields: "ip",
        actions: "mod_nw_tos:32",
        sent: checked,
        arriving: || FrameHeaders {
            tos: 32,
            ..checked()
        },
    },
    RewriteRow {
        name: "udp",
        fields: "udp",
        actions: "mod_tp_src:8000,mod_tp_dst:8001",
        sent: checked,
        arriving: || FrameHeaders {
            udp: NEW_UDP,
            ..checked()
        },
    },
    RewriteRow {
        name: "vlan-push",
        fields: "",
        actions: "push_vlan:0x8100,mod_vlan_vid:6",
        sent: checked,
        arriving: || tagged(6),
    },
    RewriteRow {
        name: "vlan-pop",
        fields: "dl_vlan=5",
        actions: "strip_vlan",
        sent: || tagged(5),
        arriving: checked,
    },
    RewriteRow {
        name: "vlan-vid",
        fields: "dl_vlan=5",
        actions: "mod_vlan_vid:6",
        sent: || tagged(5),
        arriving: || tagged(6),
    },
    RewriteRow {
        name: "qinq",
        fields: "dl_vlan=5",
        actions: "push_vlan:0x88a8,mod_vlan_vid:6",
        sent: || tagged(5),
        arriving: || FrameHeaders {
            outer_vlan: Some((0x88a8, 6)),
            ..tagged(5)
        },
    },
    RewriteRow {
        name: "mpls-push",
        fields: "ip",
        actions: "push_mpls:0x8847,set_field:100->mpls_label",
        sent: checked,
        arriving: labelled,
    },
    RewriteRow {
        name: "mpls-pop",
        fields: "mpls",
        actions: "pop_mpls:0x0800",
        sent: labelled,
        arriving: checked,
    },
    RewriteRow {
        name: "ttl",
        fields: "ip",
        actions: "dec_ttl",
        sent: checked,
        arriving: || FrameHeaders {
            ttl: 63,
            ..checked()
        },
    },
    RewriteRow {
        name: "ipv6",
        fields: "ipv6",
        actions: "set_field:2001:db8::2->ipv6_src,set_field:2001:db8::1->ipv6_dst",
        sent: six,
        arriving: || FrameHeaders {
            ip6: Some([B_ADDRESS6, A_ADDRESS6]),
            ..checked()
        },
    },
    RewriteRow {
        name: "all",
        fields: "udp",
        actions: "mod_dl_src:02:00:00:00:00:2a,mod_dl_dst:02:00:00:00:00:2b,mod_nw_src:10.8.0.1,\
                  mod_nw_dst:10.8.0.2,mod_nw_tos:32,mod_tp_src:8000,mod_tp_dst:8001",
        sent: checked,
        arriving: || FrameHeaders {
            eth_src: NEW_MACS[0],
            eth_dst: NEW_MACS[1],
            ip: NEW_IPS,
            tos: 32,
            udp: NEW_UDP,
            ..checked()
        },
    },
];
