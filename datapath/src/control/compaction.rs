//! Compaction of tables that have lost most of their entries: the remaining ones are moved into
//! adjacent slots.
//!
//! The allocator returns a page to the system when nothing in it is used, so a few scattered
//! entries would retain the memory of all those that were between them.

use alloc::sync::Arc;

use bofuss_oflib::types::TableId;

use crate::control::entries::{EntryEdit, EntryEditor};
use crate::frame_engine::FrameEngine;
use crate::pipeline::context::Pipeline;

/// The number of entries that one tick moves: each is removed and inserted again, and may empty a
/// page of each size, which takes up to 30 us in total.
const ENTRIES_MOVED: usize = 2;

/// A table whose entries should be moved and may be: no walk is in it, because a walk would
/// miss entries that move to before its position.
pub(crate) fn table_to_compact(pipeline: &Pipeline<impl FrameEngine>) -> Option<TableId> {
    let mut sparse = pipeline.sparse_tables.iter().copied();
    sparse.find(|number| {
        let table = pipeline.tables.get(usize::from(number.0));
        table.is_some_and(|table| Arc::strong_count(&table.walks) == 1)
    })
}

/// Moves the last entries of a sparse table into free slots further ahead.
pub(crate) fn compact(editor: &mut EntryEditor<'_, impl FrameEngine>) {
    let Some(number) = table_to_compact(editor.pipeline) else {
        return;
    };
    for _ in 0..ENTRIES_MOVED {
        let entries = &editor.pipeline.tables[usize::from(number.0)].entries;
        let last = entries.last().filter(|_| !entries.is_dense());
        let Some(slot) = last else {
            editor.pipeline.sparse_tables.remove(&number);
            return;
        };
        let key = entries[slot].key;
        editor.edit(number, EntryEdit::Move(key));
    }
}

#[cfg(test)]
mod tests {
    use alloc::{format, string::String, sync::Arc, vec, vec::Vec};
    use core::net::Ipv4Addr;

    use bofuss_frame::{Frame, OffloadCapabilities, Pool};
    use bofuss_oflib::message::{FlowModCommand, PortDesc};
    use bofuss_oflib::text::parse_flow;
    use bofuss_oflib::{Catalogue, Mac, PortNo};
    use bofuss_packet::craft;

    use super::*;
    use crate::{Config, Cursor, Datapath, Engine, EntryKey, Time};

    const ENTRIES: u32 = 4000;
    /// One entry in so many stays.
    const SCATTER: u32 = 40;

    fn change(datapath: &mut Datapath, command: FlowModCommand, text: &str) {
        let catalogue = Arc::clone(datapath.catalogue());
        let flow = parse_flow(text, command, &catalogue).expect("is right");
        let sink = &mut Vec::<Frame>::new();
        datapath
            .control(Time(0), sink)
            .flow_mod(&flow)
            .expect("is right");
        while datapath.changes().in_progress() {
            assert_eq!(
                datapath.control(Time(0), sink).work().unwrap_or(Ok(())),
                Ok(())
            );
        }
    }

    /// A switch with entries, most of which have the cookie 1. Each has a mask and a port of its
    /// own, and two share a priority.
    fn full(engine: Engine) -> Datapath {
        let config = Config {
            engine,
            ..Config::default()
        };
        let catalogue = Arc::new(Catalogue::default());
        let mut datapath = Datapath::new(config, catalogue, Pool::new(1 << 20));
        let desc = PortDesc {
            port_no: PortNo(1_000_000),
            ..PortDesc::default()
        };
        let sink = &mut Vec::<Frame>::new();
        datapath
            .port_control(Time(0), sink)
            .changed(desc, OffloadCapabilities::default());
        for n in 0..ENTRIES {
            let stays = n % SCATTER == 0;
            let cookie = if stays { 2 } else { 1 };
            let priority = n / SCATTER / 2;
            let (address, mask) = (Ipv4Addr::from(n << 12), Ipv4Addr::from(!(n & 0xff)));
            let text = format!(
                "priority={priority},cookie={cookie},hard_timeout=9,ip,nw_src={address}/{mask},\
                 actions=stat_trigger(duration=5),output:{}",
                n + 1,
            );
            change(&mut datapath, FlowModCommand::ADD, &text);
        }
        for n in (0..ENTRIES).step_by(SCATTER as usize) {
            send(&mut datapath, n);
        }
        ticks(&mut datapath);
        datapath
    }

    /// Sends a frame that the entry of this number matches.
    fn send(datapath: &mut Datapath, n: u32) {
        let (from, to) = (Ipv4Addr::from(n << 12), Ipv4Addr::from(9));
        let ip = craft::ipv4(from, to, 64, craft::udp(1, 2, b"x"));
        let bytes = craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip);
        let frame = datapath.pool().frame(&bytes).expect("within the limit");
        let out = &mut Vec::<Frame>::new();
        datapath.receive(Time(1), PortNo(1_000_000), &mut vec![frame], out);
    }

    /// The description of each entry, in order of age.
    fn told(datapath: &mut Datapath) -> Vec<String> {
        datapath.settled();
        let table = &datapath.tables()[0];
        let mut told: Vec<_> = table
            .entries(EntryKey::FIRST)
            .map(|(key, entry)| {
                let fields = table.fields_of(entry, datapath.catalogue());
                let text = format!(
                    "{:?} {fields} {} {:?} {} {:?} {:?}",
                    entry.instructions,
                    entry.cookie,
                    entry.key.priority,
                    entry.packets,
                    entry.deadline(),
                    entry.due
                );
                (key.serial, text)
            })
            .collect();
        told.sort_unstable();
        told.into_iter().map(|(_, text)| text).collect()
    }

    fn delete_most(datapath: &mut Datapath) {
        change(datapath, FlowModCommand::DELETE, "cookie=1/-1");
    }

    fn entry_places(datapath: &mut Datapath) -> usize {
        let sink = &mut Vec::<Frame>::new();
        datapath.context(Time(0), sink).pipeline.entry_places
    }

    /// Returns how many ticks are due at once.
    fn ticks(datapath: &mut Datapath) -> usize {
        let mut ticks = 0;
        while datapath.next_tick() == Some(Time(0)) {
            datapath.tick(Time(1), &mut Vec::<Frame>::new());
            ticks += 1;
        }
        ticks
    }

    #[test]
    fn scattered_entries_are_compacted_and_stay_the_same() {
        let left = (ENTRIES / SCATTER) as usize;
        for (name, engine) in Engine::ALL {
            let mut datapath = full(engine);
            delete_most(&mut datapath);
            let before = told(&mut datapath);
            assert_eq!(before.len(), left, "{name}");
            let places = entry_places(&mut datapath);
            assert!(!datapath.tables()[0].entries.is_dense(), "{name}");
            assert!(ticks(&mut datapath) > left / 2 / ENTRIES_MOVED, "{name}");
            assert!(datapath.tables()[0].entries.is_dense(), "{name}");
            assert_eq!(told(&mut datapath), before, "{name}");
            assert_eq!(entry_places(&mut datapath), places, "{name}");
            // They are found by packets of known flows and by requests, and they expire.
            (0..ENTRIES)
                .step_by(SCATTER as usize)
                .for_each(|n| send(&mut datapath, n));
            let twice = told(&mut datapath);
            assert!(
                twice.iter().zip(&before).all(|(now, then)| now != then),
                "{name}"
            );
            change(&mut datapath, FlowModCommand::DELETE, "out_port=1");
            assert_eq!(datapath.tables()[0].len(), left - 1, "{name}");
            while !datapath.tables()[0].is_empty() {
                let at = datapath.next_tick().expect("entries have timeouts");
                datapath.tick(at, &mut Vec::<Frame>::new());
            }
            assert_eq!(entry_places(&mut datapath), 0, "{name}");
        }
    }

    #[test]
    fn entries_do_not_move_while_a_walk_is_in_their_table() {
        for (name, engine) in Engine::ALL {
            let mut datapath = full(engine);
            let mut walks = [(); 2].map(|()| Cursor::new(TableId(0)));
            let mut seen = Vec::new();
            datapath.settled().slice(&mut walks[0], |_, entry| {
                seen.extend((entry.cookie == 2).then_some(entry.key.serial))
            });
            datapath.settled().slice(&mut walks[1], |_, _| {});
            delete_most(&mut datapath);
            assert_eq!(ticks(&mut datapath), 0, "{name}");
            while !datapath
                .settled()
                .slice(&mut walks[0], |_, entry| seen.push(entry.key.serial))
            {}
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), (ENTRIES / SCATTER) as usize, "{name}");
            assert_eq!(ticks(&mut datapath), 0, "{name}");
            // An abandoned walk ends when its cursor is dropped.
            let [_, abandoned] = walks;
            drop(abandoned);
            assert!(ticks(&mut datapath) > 0, "{name}");
        }
    }

    #[test]
    fn entries_do_not_move_while_a_bundle_is_in_progress() {
        let mut datapath = full(Engine::default());
        delete_most(&mut datapath);
        datapath.bundle().begin(false);
        change(&mut datapath, FlowModCommand::DELETE, "cookie=2/-1");
        change(
            &mut datapath,
            FlowModCommand::ADD,
            "priority=7,actions=drop",
        );
        assert_eq!(ticks(&mut datapath), 0);
        datapath.bundle().commit(Time(1));
        while datapath.changes().in_progress() {
            assert_eq!(ticks(&mut datapath), 0);
            datapath.control(Time(1), &mut Vec::<Frame>::new()).work();
        }
        assert_eq!(datapath.tables()[0].len(), 1);
    }
}
