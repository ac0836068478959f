//! Which fields entries read and write; a super-frame whose segments differ in one of them cannot
//! stay whole.
//!
//! Counters and not sets, because a field stays in use until its last user goes. They cost a
//! flow-mod little, and spare each super-frame a look at the entries.

use alloc::boxed::Box;

use bofuss_oflib::field::{Differs, Field};
use bofuss_oflib::{Action, Catalogue, FieldSet};
use bofuss_packet::KeyMatch;
use bofuss_packet::offload::Use;

use crate::references::count_use;

/// The number of uses of a field.
#[derive(Clone, Copy, Debug, Default)]
struct UseCount {
    /// The number of masks of entries that contain it, counted once for each table.
    reads: u32,
    /// The number of these that have bits that differ in the first segment, and in the last one.
    first: u32,
    last: u32,
    /// The number of actions that set or copy it.
    sets: u32,
}

/// The uses of all fields, by entries of all tables and by groups.
#[derive(Debug)]
pub struct FieldUses {
    /// By the field's id.
    counts: Box<[UseCount; FieldSet::MAX_FIELDS]>,
    /// The fields that are read or set at all.
    used: FieldSet,
    /// The uses of what one replica has to do alone.
    #[cfg(feature = "replicas")]
    pub(crate) alone: crate::tables::replicated::AloneUses,
}

impl Default for FieldUses {
    fn default() -> Self {
        Self {
            counts: Box::new([UseCount::default(); FieldSet::MAX_FIELDS]),
            used: FieldSet::default(),
            #[cfg(feature = "replicas")]
            alone: Default::default(),
        }
    }
}

impl FieldUses {
    /// Notes that a table got its first entry with the mask of this rule, or lost its last one.
    ///
    /// Only a field whose segments differ in some bits needs the mask itself.
    pub(crate) fn mask_of(&mut self, rule: &KeyMatch, catalogue: &Catalogue, adds: bool) {
        for id in rule.fields().ids() {
            let field = catalogue.by_id(id);
            let uses = &mut self.counts[id];
            count_use(&mut uses.reads, adds);
            if let Differs::Ends { first, last } = field.differs {
                let all = rule.to_match(catalogue);
                let one = all.fields().iter().find(|one| one.field == field);
                let mask = one.map_or(0, |one| one.mask_number() as u64);
                if mask & first != 0 {
                    count_use(&mut uses.first, adds);
                }
                if mask & last != 0 {
                    count_use(&mut uses.last, adds);
                }
            }
            self.note(field);
        }
    }

    /// Notes that an entry or a bucket was added with these actions, or removed.
    ///
    /// A copied field is both read and written, and counts as set in either case.
    pub(crate) fn actions<'a>(&mut self, actions: impl Iterator<Item = &'a Action>, adds: bool) {
        for action in actions {
            if let Action::SetField(set) = action {
                let field = set.0.field;
                count_use(&mut self.counts[usize::from(field.id)].sets, adds);
                self.note(field);
            }
            if let Action::CopyField(copy) = action {
                for field in [copy.src, copy.dst] {
                    count_use(&mut self.counts[usize::from(field.id)].sets, adds);
                    self.note(field);
                }
            }
            #[cfg(feature = "replicas")]
            self.alone.action(action, adds);
        }
    }

    /// Returns true if a field is used.
    #[cfg(feature = "spare")]
    pub(crate) fn has(&self, field: &Field) -> bool {
        self.used.contains(field)
    }

    /// Returns how many actions set or copy a field.
    #[cfg(feature = "replicas")]
    pub(crate) fn sets(&self, field: &Field) -> u32 {
        self.counts[usize::from(field.id)].sets
    }

    /// Notes whether a field is used, after its count has changed.
    fn note(&mut self, field: &Field) {
        let uses = self.counts[usize::from(field.id)];
        let one = FieldSet::of(field);
        if uses.reads > 0 || uses.sets > 0 {
            self.used.insert(one);
        } else {
            self.used = self.used.difference(one);
        }
    }

    /// The fields that are used.
    pub fn of<'a>(&'a self, catalogue: &'a Catalogue) -> impl Iterator<Item = Use<'a>> {
        let used = self.used.ids().map(|id| catalogue.by_id(id));
        used.map(|field: &Field| {
            let uses = self.counts[usize::from(field.id)];
            // A mask that leaves out the bits in which segments differ does not make them differ.
            let mut bits = 0;
            if let Differs::Ends { first, last } = field.differs {
                bits |= if uses.first > 0 { first } else { 0 };
                bits |= if uses.last > 0 { last } else { 0 };
            }
            Use {
                field,
                is_set: uses.sets > 0,
                bits,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use alloc::{format, string::String, sync::Arc, vec, vec::Vec};

    use bofuss_frame::{Frame, OffloadCapabilities};
    use bofuss_oflib::message::{FlowMod, FlowModCommand, PortDesc};
    use bofuss_oflib::text::parse_flow;
    use bofuss_oflib::{Catalogue, PortNo};
    use bofuss_packet::offload;

    use crate::control::queues::tests::{Out, super_frame, switch};
    use crate::{Config, Datapath, Engine, EntryKey, Time};

    const PORTS: u32 = 4;
    /// Tables of entries; the last one outputs.
    const TABLES: [&[&str]; 6] = [
        &[
            "tcp,tcp_flags=+psh,actions=output:3",
            "priority=1,actions=output:2",
        ],
        &[
            "tcp,tcp_flags=+fin,actions=output:3",
            "priority=1,actions=output:2",
        ],
        &[
            "tcp,tcp_flags=+cwr,actions=output:3",
            "priority=1,actions=output:2",
        ],
        &[
            "tcp,tcp_flags=-psh-cwr+ack,actions=goto_table:1",
            "priority=1,actions=output:2",
            "table=1,tcp,tcp_flags=-fin,actions=set_field:9->tcp_src,output:3,output:4",
        ],
        &["tcp,tcp_flags=0x10,actions=drop", "priority=1,actions=all"],
        &[
            "tcp,tcp_flags=+syn-rst,actions=drop",
            "priority=1,actions=output:4",
        ],
    ];

    fn flow(text: &str, command: FlowModCommand, catalogue: &Catalogue) -> FlowMod {
        parse_flow(text, command, catalogue).expect("a right flow")
    }

    fn filled(engine: Engine, flows: &[&str]) -> Datapath {
        let pool = switch(0, 0).pool().clone();
        let config = Config {
            engine,
            ..Config::default()
        };
        let mut datapath = Datapath::new(config, Catalogue::default().into(), pool);
        let capabilities = OffloadCapabilities {
            checksum: true,
            tcp: true,
            ..OffloadCapabilities::default()
        };
        let (now, out) = (Time(0), &mut Out::default());
        for port_no in (1..=PORTS).map(PortNo) {
            let desc = PortDesc {
                port_no,
                ..PortDesc::default()
            };
            datapath.port_control(now, out).changed(desc, capabilities);
        }
        let catalogue = Arc::clone(datapath.catalogue());
        for text in flows {
            let flow = flow(text, FlowModCommand::ADD, &catalogue);
            datapath
                .control(now, out)
                .flow_mod(&flow)
                .expect("is right");
        }
        datapath
    }

    /// A super-frame of 10 segments with these flags.
    fn with_flags(datapath: &Datapath, flags: u8) -> Frame {
        let mut frame = super_frame(datapath.pool());
        frame.bytes_mut()[34 + 13] = flags;
        frame
    }

    /// The segments sent, and all counters.
    fn outcome(datapath: &mut Datapath, sent: &[Frame]) -> (Vec<Vec<u8>>, String) {
        let mut left = vec![];
        for frame in sent {
            assert!(offload::segment(frame, |s| left.push(s.bytes().to_vec())));
        }
        left.sort();
        datapath.settled();
        let mut counters = String::new();
        for table in datapath.tables() {
            let entries = table.entries(EntryKey::FIRST);
            let entries: Vec<_> = entries.map(|(_, e)| (e.packets, e.bytes)).collect();
            counters += &format!(
                "{} {} {entries:?}\n",
                table.lookup_count, table.matched_count
            );
        }
        let ports = datapath.ports().values();
        ports.for_each(|port| counters += &format!("{:?}\n", port.stats));
        (left, counters)
    }

    // I7
    #[test]
    fn flags_that_segments_do_not_share_are_matched_for_each_segment() {
        for (name, engine) in Engine::ALL {
            for flows in TABLES {
                for flags in [0x10, 0x18, 0x11, 0x19, 0x90, 0x98, 0x99, 0x12] {
                    let run = |whole: bool| {
                        let (mut datapath, mut sent) = (filled(engine, flows), Vec::new());
                        // The second frame of a kind takes a cached path.
                        for _ in 0..2 {
                            let frame = with_flags(&datapath, flags);
                            let mut frames = vec![];
                            if whole {
                                frames.push(frame)
                            } else {
                                assert!(offload::segment(&frame, |s| frames.push(s)))
                            }
                            datapath.receive(Time(0), PortNo(1), &mut frames, &mut sent);
                        }
                        outcome(&mut datapath, &sent)
                    };
                    assert_eq!(run(true), run(false), "{name} {flows:?} {flags:#x}");
                }
            }
        }
    }

    #[test]
    fn a_super_frame_is_cut_into_the_fewest_pieces_that_agree() {
        let pieces = |flows: &[&str], flags| {
            let (mut datapath, mut sent) = (filled(Engine::Cache, flows), Vec::new());
            let mut frames = vec![with_flags(&datapath, flags)];
            datapath.receive(Time(0), PortNo(1), &mut frames, &mut sent);
            let count = |frame: &Frame| offload::wire_count(frame).0;
            sent.iter().map(count).collect::<Vec<_>>()
        };
        let psh = "tcp,tcp_flags=+psh,actions=output:2";
        let rest = "priority=1,actions=output:2";
        assert_eq!(pieces(&[psh, rest], 0x10), [10], "nothing to tell apart");
        assert_eq!(pieces(&[psh, rest], 0x18), [9, 1]);
        assert_eq!(pieces(&[psh, rest], 0x90), [10], "CWR is not read");
        assert_eq!(
            pieces(&["tcp,tcp_flags=0x10,actions=output:2", rest], 0x98),
            [1, 8, 1]
        );
        assert_eq!(
            pieces(&["tcp,tcp_flags=+syn,actions=output:2", rest], 0x98),
            [10]
        );
        assert_eq!(pieces(&[rest], 0x98), [10]);
    }

    #[test]
    fn a_removed_entry_reads_nothing() {
        let psh = "tcp,tcp_flags=+psh,actions=output:2";
        let mut datapath = filled(Engine::Cache, &[psh, "priority=1,actions=output:2"]);
        let (catalogue, mut sent) = (Arc::clone(datapath.catalogue()), Vec::new());
        let change = |datapath: &mut Datapath, text, command| {
            let flow = flow(text, command, &catalogue);
            let done = datapath
                .control(Time(0), &mut Out::default())
                .flow_mod(&flow);
            done.expect("is right");
        };
        change(&mut datapath, psh, FlowModCommand::ADD);
        change(&mut datapath, psh, FlowModCommand::MODIFY);
        change(&mut datapath, psh, FlowModCommand::DELETE_STRICT);
        let mut frames = vec![with_flags(&datapath, 0x18)];
        datapath.receive(Time(0), PortNo(1), &mut frames, &mut sent);
        assert_eq!(sent.len(), 1);
        let pipeline = datapath.context(Time(0), &mut sent).pipeline;
        let uses = pipeline.field_uses.of(&pipeline.catalogue);
        assert_eq!(uses.count(), 0);
    }
}
