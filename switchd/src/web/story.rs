//! The path of a packet that a form describes.

use bofuss_ext::openstate::drawing;
use bofuss_ext::trace::{Escaped, Trace};

use super::asked::AskedSwitch;
use super::form::Form;
use super::html::refused;
use crate::error::{Result, context};
use crate::trace::states;

/// The page: the form, and the path of its packet or what is wrong with it.
pub fn body(switch: &AskedSwitch, form: &Form) -> Result<String> {
    let packet = form.get("packet");
    let asked = format!(
        "<form><label for=\"packet\">Packet</label> <input id=\"packet\" name=\"packet\" \
         value=\"{}\" placeholder=\"in_port=1,tcp,nw_dst=10.0.0.2,tcp_dst=80\"> \
         <button>Explain</button></form>\n<p class=\"soft\">Fields as text, or a frame as IN_PORT \
         HEX. The packet is not sent, and the switch does not change.</p>\n",
        Escaped(packet)
    );
    if packet.is_empty() {
        return Ok(asked);
    }
    Ok(asked + &explained(switch, packet).unwrap_or_else(refused))
}

fn explained(switch: &AskedSwitch, packet: &str) -> Result<String> {
    let text = switch.ask(&["trace", "--json", "--names", packet])?;
    let trace: Trace = serde_json::from_str(&text).map_err(context("the switch's answer"))?;
    let asked = if drawing::marked_states(&trace).is_empty() {
        Default::default()
    } else {
        states(&switch.control)?
    };
    Ok(trace.story(&drawing::of_trace(&trace, &asked)))
}
