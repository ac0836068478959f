//! Text, JSON and pages made from traces, and packets made from text.
extern crate std;

use alloc::string::ToString;
use alloc::vec::Vec;

use bofuss_oflib::{ParseError, PortNo};

use super::*;

const LINES: &str = "in\t1\tin_port=1,tcp,tcp_dst=80\t60\t0102\n\
    enter\t0\n\
    says\tflow_state\treads flow=(in_port=<1>,dl_dst=2),state=2\n\
    hook\tflow_state\tBranch\n\
    table\t0\tin_port=1,tcp,tcp_dst=80,flow_state=2\n\
    won\t5\t0x7\ttcp\n\
    lost\t9\ttcp,tcp_dst=81\n\
    differs\ttcp_dst=81\ttcp_dst=80\t0x51\t0xffff\t0x50\n\
    lost\t8\tudp\n\
    differs\tudp_dst=<1>\t\t0x1\t0xffff\t\n\
    lost\t0\t\n\
    do\toutput:2\n\
    says\tflow_state\tis content\n\
    action\toutput:2\n\
    out\t2\t0\t60\t0103\n\
    in\t3\tin_port=3,arp\t42\tff\n\
    set\n\
    action\tgroup:1\n\
    bucket\t1\tff\t0\n\
    meter\t3\t\n\
    drop\tno_such_port\n";

fn trace() -> Trace {
    Trace::read(LINES).expect("these are the lines of a trace")
}

#[test]
fn the_text_says_who_won_and_why_the_others_lost() {
    let text = trace().to_string();
    for part in [
        "packet of 60 bytes received on port 1",
        "flow_state: reads flow=(in_port=<1>,dl_dst=2),state=2",
        "      flow_state: is content",
        "extension flow_state prepares the packet",
        "the packet now has flow_state=2, too",
        "won: priority 5, tcp, cookie 0x7",
        "priority 9, tcp,tcp_dst=81: it wants tcp_dst=81, but tcp_dst=80: 1 bit differs (0x1)",
        "priority 8, udp: the packet has no field for udp_dst=<1>",
        "priority 0, any packet: matches, too, but comes behind",
        "arrival\n  a packet of 42 bytes, as if by port 3",
        "group 1 (ff): bucket 0, the first that is live",
        "meter 3: no rate is exceeded",
        "result\n  => 60 bytes leave by port 2\n  => dropped: the output port does not exist",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn a_word_longer_than_a_line_of_the_picture_is_cut() {
    for digits in [110, 1_000] {
        let lines = alloc::format!("{LINES}action\tnote:{}\n", "%".repeat(digits));
        let picture = Trace::read(&lines).expect("it is a trace").svg();
        assert_eq!(picture.matches('%').count(), digits, "{picture}");
        assert!(picture.lines().all(|line| line.len() < 250), "{picture}");
    }
}

#[test]
fn the_entry_of_the_fail_mode_is_called_so() {
    let own = LINES.replace("won\t5\t0x7", "won\t0\t0x7374616e64616c6f");
    let trace = Trace::read(&own).expect("these are the lines of a trace");
    let page = trace.html("a packet", &BTreeMap::new());
    for text in [trace.to_string(), page.replace("&#39;", "'")] {
        let said = "cookie 0x7374616e64616c6f (the switch's own entry while it has no controller)";
        assert!(text.contains(said), "{text}");
    }
}

#[test]
fn json_has_a_version_and_is_read_back() {
    let text = serde_json::to_string(&trace()).expect("it can be written");
    let value: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!(value["version"], VERSION);
    assert_eq!(value["stages"][0]["won"]["match"], "tcp");
    assert_eq!(value["stages"][0]["lost"][0]["differs"][0]["bits"], "0x1");
    let said = &value["stages"][0]["before"][0];
    assert_eq!(
        (&said["what"], &said["extension"]),
        (&"said".into(), &"flow_state".into())
    );
    assert_eq!(said["facts"]["flow"], "(in_port=<1>,dl_dst=2)");
    assert_eq!(said["facts"]["state"], "2");
    let sentence = &value["stages"][0]["events"][1];
    assert_eq!(
        (&sentence["text"], &sentence["facts"]),
        (&"is content".into(), &serde_json::json!({}))
    );
    assert_eq!(value["stages"][2]["events"][1]["what"], "bucket");
    assert_eq!(value["result"][0]["port"], "2");
    let again: Trace = serde_json::from_str(&text).expect("it is a trace");
    assert_eq!(again, trace());
}

#[test]
fn the_page_needs_nothing_else_and_closes_what_it_opens() {
    let drawings = BTreeMap::from([(0, "<svg><path></path></svg>".into())]);
    let page = trace().html("a <b> & \"c\"", &drawings);
    assert_eq!(page.matches("<svg>").count(), 1);
    assert!(page.contains("<title>a &lt;b&gt; &amp; &quot;c&quot;</title>"));
    assert!(page.contains("udp_dst=&lt;1&gt;"));
    for outside in ["http", "src=", "href=", "url(", "<script"] {
        assert!(!page.contains(outside), "{outside}");
    }
    let mut open = Vec::new();
    for part in page.split('<').skip(1) {
        let name = part.split([' ', '>', '\n']).next().unwrap_or("");
        match name.strip_prefix('/') {
            Some(closed) => assert_eq!(open.pop(), Some(closed), "{part}"),
            None if ["!DOCTYPE", "meta", "wbr"].contains(&name) => {}
            None => open.push(name),
        }
    }
    assert_eq!(open, [""; 0]);
}

#[test]
fn a_packet_is_painted_as_lost_only_if_nothing_of_it_leaves() {
    let back = "action\tgroup:1\ndrop\toutput_is_ingress\n";
    let gone = "action\toutput:9\ndrop\tno_such_port\n";
    let begins = "in\t1\tin_port=1\t60\t0102\ntable\t0\tin_port=1\nwon\t5\t0x7\t\n";
    let out = "action\toutput:2\nout\t2\t0\t60\t0102\n";
    for (events, red, grey) in [
        ([back, out].concat(), 0, 1),
        ([out, back].concat(), 0, 1),
        ([out, gone].concat(), 1, 0),
        (back.into(), 1, 0),
        ([back, gone].concat(), 2, 0),
    ] {
        let trace = Trace::read(&[begins, &events].concat()).expect("these are a trace's lines");
        let page = trace.html("a packet", &BTreeMap::new());
        let painted = ["\"end drop\"", "\"end skip\""].map(|class| page.matches(class).count());
        // Each stands in its stage and in the result.
        assert_eq!(painted, [2 * red, 2 * grey], "{events}");
    }
}

#[test]
fn a_title_breaks_between_fields() {
    let page = trace().html("in_port=1,tcp,tcp_dst=80", &BTreeMap::new());
    assert!(page.contains("<title>in_port=1,tcp,tcp_dst=80</title>"));
    assert!(page.contains("<h1>in_port=1,<wbr>tcp,<wbr>tcp_dst=80</h1>"));
    let heading = page.lines().find(|line| line.starts_with("h1 {"));
    assert!(heading.is_some_and(|style| !style.contains("anywhere")));
}

#[test]
fn what_was_cut_is_read_as_far_as_it_goes() {
    let ends = LINES.char_indices().map(|(at, _)| at).skip(50);
    for end in ends {
        let read = Trace::read(&LINES[..end]).expect("a beginning is enough");
        assert!(read.cut || LINES[..end].ends_with('\n'));
    }
    assert!(Trace::read("").is_err());
    assert!(Trace::read("in\t1\t\tmany\t\n").is_err());
    let wrong = Trace::read("in\t1\t\t60\t\nwhat\tis\n").expect_err("it is unknown");
    assert!(wrong.message.contains("line 2"), "{wrong}");
    assert!(
        Trace::read("in\t1\t\t60\t\nwon\t5\t0x7\ttcp\n").is_err(),
        "no table before"
    );
}

fn packet(text: &str) -> Result<(PortNo, Vec<u8>), ParseError> {
    parse_packet(text, &crate::catalogue())
}

#[test]
fn a_packet_has_the_fields_that_are_written() {
    for text in [
        "in_port=3,tcp,nw_dst=10.0.0.2,tcp_dst=80,dl_src=02:00:00:00:00:01,tcp_flags=0x12",
        "udp6,ipv6_dst=fe80::1,udp_src=53,ipv6_label=0x12345,ip_dscp=10",
        "arp,arp_op=2,arp_spa=10.0.0.1,arp_tha=02:00:00:00:00:05",
        "dl_vlan=5,dl_vlan_pcp=3,icmp,icmp_type=8",
        "icmp6,icmp_type=135,nd_target=fe80::2,nd_sll=02:00:00:00:00:09",
        "icmp6,icmp_type=136,nd_target=fe80::2,nd_tll=02:00:00:00:00:09",
        "mpls,mpls_label=17,mpls_tc=2,mpls_bos=0",
        "mplsm,mpls_label=17,mpls_bos=1",
        "sctp,sctp_dst=99,nw_src=1.2.3.4",
        "dl_type=0x88e7,pbb_isid=77",
        "dl_type=0x1234",
        "vlan_vid=0,ip,nw_proto=99,nw_ecn=1",
        "",
    ] {
        let made = packet(text);
        assert!(made.is_ok(), "{text}: {made:?}");
    }
    assert_eq!(packet("in_port=3").map(|made| made.0), Ok(PortNo(3)));
    assert_eq!(packet("7 0102"), Ok((PortNo(7), [1, 2].into())));
    assert_eq!(packet("01 02 03"), Ok((PortNo(1), [1, 2, 3].into())));
    assert_eq!(packet("99 00"), Ok((PortNo(99), [0].into())));
    assert_eq!(packet("12 010203"), Ok((PortNo(12), [1, 2, 3].into())));
    assert_eq!(packet("ff 00"), Ok((PortNo(1), [0xff, 0].into())));
    assert_eq!(packet("01:02"), Ok((PortNo(1), [1, 2].into())));
    assert_eq!(packet("tcp,nw_ttl=3").expect("it can be made").1[22], 3);
}

#[test]
fn a_packet_comes_by_the_usual_port_unless_its_text_names_one() {
    let catalogue = crate::catalogue();
    for text in ["in_port=3,tcp", "7 0102", "99 00", " 1 01 02 03"] {
        assert!(super::names_port(text, &catalogue), "{text}");
    }
    for text in ["", "0102", "01 02 03", "tcp, tcp_dst=80"] {
        assert!(!super::names_port(text, &catalogue), "{text}");
    }
}

#[test]
fn a_packet_that_cannot_be_is_refused_with_the_field() {
    for (text, part) in [
        ("metadata=5", "made from text"),
        ("in_port=1,in_phy_port=2", "it is the in_port"),
        ("ipv6,ipv6_exthdr=+auth", "made from text"),
        ("tcp,nw_ttl=300", "0 to 255"),
        ("tcp,tcp_dts=80", "tcp_dst"),
        ("xyz", "xyz"),
        ("1 zz", "'zz' after port 1"),
        ("local zz", "'zz' after port local"),
    ] {
        let error = packet(text).expect_err(text);
        assert!(error.to_string().contains(part), "{text}: {error}");
    }
}
