//! Builds a flow-mod, from text or from its parts, and prints its bytes in hexadecimal.
//!
//! `cargo run -p bofuss-oflib --example build -- 'ip,nw_dst=10.0.0.0/8,actions=output:2'`

use std::error::Error;
use std::sync::Arc;

use bofuss_oflib::field::{ETH_TYPE, IPV4_DST};
use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::message::{FlowMod, FlowModCommand};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::{Action, Codec, FieldMatch, Match, Message, PortNo, Version};

/// The flow-mod of that text, out of its parts, with a priority.
fn built() -> FlowMod {
    let fields = [
        FieldMatch::exact(ETH_TYPE, 0x0800),
        FieldMatch::masked(IPV4_DST, 0x0a00_0000, 0xff00_0000),
    ];
    FlowMod {
        priority: 10,
        instructions: Instructions::apply(vec![Action::output(PortNo(2))]),
        ..FlowMod::add(Match::new(&fields).expect("the type stands beside the address"))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let codec = Codec::new(Version::V1_3, Arc::default());
    let flow = match std::env::args().nth(1) {
        Some(text) => parse_flow(&text, FlowModCommand::ADD, &codec.catalogue)?,
        None => built(),
    };
    let mut bytes = Vec::new();
    codec.encode(1, &Message::FlowMod(flow), &mut bytes)?;
    for byte in bytes {
        print!("{byte:02x}");
    }
    println!();
    Ok(())
}
