//! Tags packets without a tag in OpenFlow 1.0, which has no action that pushes one.

use bofuss_oflib::action::SetField;
use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::types::EtherType;
use bofuss_oflib::{Action, Instruction, Match, Message, field};

const C_TAG: EtherType = EtherType(0x8100);

/// A change as OpenFlow 1.0 has it. There, a setting of the VLAN adds a tag to packets without one.
/// So a push before it becomes our action that does so, where the match does not say whether there
/// is a tag; the codec knows what both together are on the wire.
pub(crate) fn in_openflow10(mut message: Message) -> Message {
    if let Message::FlowMod(flow) = &mut message {
        if let [Instruction::ApplyActions(list)] = flow.instructions.list() {
            flow.instructions = Instructions::apply(tagging(list, &flow.fields));
        }
    } else if let Message::PacketOut(packet) = &mut message {
        packet.actions = tagging(&packet.actions, &Match::ANY);
    }
    message
}

fn tagging(list: &[Action], fields: &Match) -> Vec<Action> {
    let mut is_tagged = fields.is_tagged();
    let mut changed = Vec::new();
    for (place, action) in list.iter().enumerate() {
        let is_push = *action == Action::PushVlan(C_TAG);
        if is_push && is_tagged.is_none() && list.get(place + 1).is_some_and(sets_tag) {
            changed.push(Action::tag_vlan());
        } else {
            changed.push(action.clone());
        }
        if is_push || sets_tag(action) {
            is_tagged = Some(true);
        } else if *action == Action::PopVlan {
            is_tagged = is_tagged.filter(|is_tagged| !is_tagged);
        }
    }
    changed
}

fn sets_tag(action: &Action) -> bool {
    let fields = [field::VLAN_VID, field::VLAN_PCP];
    matches!(action, Action::SetField(SetField(one)) if fields.contains(&one.field))
}
