//! Adding single buckets to a group and removing them, by bucket id. Spec: OpenFlow 1.5.1 section
//! 7.3.4.3.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use bofuss_oflib::ErrorCode;
use bofuss_oflib::error::GroupModFailed;
use bofuss_oflib::message::GroupMod;
use bofuss_oflib::message::group_mod::{Bucket, GroupModCommand};
use bofuss_oflib::types::BucketId;

use crate::groups::Group;

/// The most buckets that a group may get by single additions: somewhat more than fit into one
/// message.
const MAX_BUCKETS: usize = 1 << 13;

/// Returns true if a command adds or removes single buckets. The other buckets keep their counters
/// and their flows.
pub(super) fn is_about_buckets(command: GroupModCommand) -> bool {
    [
        GroupModCommand::INSERT_BUCKET,
        GroupModCommand::REMOVE_BUCKET,
    ]
    .contains(&command)
}

/// Checks the ids of buckets.
///
/// Errors: GROUP_MOD_FAILED/BAD_BUCKET for a reserved one, GROUP_MOD_FAILED/BUCKET_EXISTS for one
/// that occurs twice.
pub(super) fn check_numbers(buckets: &[Bucket]) -> Result<(), ErrorCode> {
    let mut seen = BTreeSet::new();
    for bucket in buckets {
        if bucket.bucket_id > BucketId::MAX {
            return Err(GroupModFailed::BAD_BUCKET);
        }
        if !seen.insert(bucket.bucket_id) {
            return Err(GroupModFailed::BUCKET_EXISTS);
        }
    }
    Ok(())
}

impl<B, G> Group<B, G> {
    /// The group-mod that replaces the group by what a command about single buckets makes of it;
    /// the type stays.
    ///
    /// Errors: GROUP_MOD_FAILED/UNKNOWN_BUCKET for an id that no bucket has, or for ALL in an
    /// insertion; GROUP_MOD_FAILED/BAD_BUCKET if a command that removes buckets contains some.
    /// Choice: a group without buckets has no first and no last one to remove, and that is no
    /// error.
    pub(super) fn with_buckets(&self, group_mod: &GroupMod) -> Result<GroupMod, ErrorCode> {
        let mut buckets: Vec<Bucket> = self.plans.iter().map(|p| p.bucket.clone()).collect();
        let named = group_mod.command_bucket_id;
        let found = buckets.iter().position(|bucket| bucket.bucket_id == named);
        let unknown = GroupModFailed::UNKNOWN_BUCKET;
        if group_mod.command == GroupModCommand::INSERT_BUCKET {
            let at = match named {
                BucketId::FIRST => 0,
                BucketId::LAST => buckets.len(),
                _ => found.ok_or(unknown)? + 1,
            };
            buckets.splice(at..at, group_mod.buckets.iter().cloned());
        } else {
            if !group_mod.buckets.is_empty() {
                return Err(GroupModFailed::BAD_BUCKET);
            }
            match named {
                BucketId::ALL => buckets.clear(),
                BucketId::FIRST => drop(buckets.drain(..buckets.len().min(1))),
                BucketId::LAST => drop(buckets.pop()),
                _ => drop(buckets.remove(found.ok_or(unknown)?)),
            }
        }
        if buckets.len() > MAX_BUCKETS {
            return Err(GroupModFailed::OUT_OF_BUCKETS);
        }
        Ok(GroupMod {
            ty: self.ty,
            buckets,
            ..group_mod.clone()
        })
    }

    /// For each bucket its place among `buckets`, if it is one of them.
    pub(super) fn places_among<'a>(
        &self,
        buckets: impl Iterator<Item = &'a Bucket>,
    ) -> Vec<Option<u16>> {
        let mut ids = Vec::new();
        for (place, bucket) in (0..).zip(buckets) {
            ids.push((bucket.bucket_id, place));
        }
        ids.sort_unstable();
        let mut places = Vec::with_capacity(self.plans.len());
        for plan in self.plans.iter() {
            let found = ids.binary_search_by_key(&plan.bucket.bucket_id, |row| row.0);
            places.push(found.ok().map(|at| ids[at].1));
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use alloc::{format, vec, vec::Vec};

    use bofuss_oflib::message::FlowModCommand;
    use bofuss_oflib::text::{parse_flow, parse_group};
    use bofuss_oflib::types::{GroupId, QueueId};
    use bofuss_oflib::{Catalogue, Mac, PortNo};
    use bofuss_packet::craft;

    use super::*;
    use crate::control::queues::tests::switch;
    use crate::{Datapath, Engine, PacketInEvent, Sink, Time};

    /// Records the ports that frames are sent out of.
    #[derive(Default)]
    struct Ports(Vec<u32>);

    impl Sink for Ports {
        fn transmit(&mut self, port: PortNo, _: QueueId, _: bofuss_frame::Frame) {
            self.0.push(port.0);
        }
        fn packet_in(&mut self, _: &PacketInEvent<'_>) {}
        fn flow_removed(&mut self, _: bofuss_oflib::message::FlowRemoved) {}
        fn port_status(
            &mut self,
            _: bofuss_oflib::message::PortStatusReason,
            _: &bofuss_oflib::message::PortDesc,
        ) {
        }
        fn set_link(&mut self, _: PortNo, _: bool) {}
    }

    fn change(
        datapath: &mut Datapath,
        command: GroupModCommand,
        text: &str,
    ) -> Result<(), ErrorCode> {
        let group = parse_group(text, command, &Catalogue::default()).expect(text);
        datapath
            .control(Time(0), &mut Ports::default())
            .group_mod(&group)
    }

    fn insert(datapath: &mut Datapath, text: &str) -> Result<(), ErrorCode> {
        change(datapath, GroupModCommand::INSERT_BUCKET, text)
    }

    fn remove(datapath: &mut Datapath, text: &str) -> Result<(), ErrorCode> {
        change(datapath, GroupModCommand::REMOVE_BUCKET, text)
    }

    /// The ids of the buckets of group 1, in order.
    fn ids(datapath: &Datapath) -> Vec<u32> {
        let mut all = datapath.groups().descs(GroupId(1)..=GroupId(1));
        let buckets = all.next().expect("it is there").buckets;
        buckets.iter().map(|bucket| bucket.bucket_id.0).collect()
    }

    fn with_group(engine: Engine, buckets: &str) -> Datapath {
        let mut datapath = switch(0, 9);
        datapath
            .control(Time(0), &mut Ports::default())
            .change_engine(engine);
        let group = format!("group_id=1,type=select{buckets}");
        change(&mut datapath, GroupModCommand::ADD, &group).expect("a right group");
        let flow = parse_flow("actions=group:1", FlowModCommand::ADD, datapath.catalogue());
        let flow = flow.expect("a right flow");
        let added = datapath
            .control(Time(0), &mut Ports::default())
            .flow_mod(&flow);
        added.expect("it is right");
        datapath
    }

    /// The port that a packet of each of several flows is sent out of.
    fn outputs(datapath: &mut Datapath) -> Vec<u32> {
        let mut out = Ports::default();
        for flow in 0..500 {
            let layer = craft::udp(flow, 2, b"x");
            let ip = craft::ipv4([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 64, layer);
            let bytes = craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip);
            let frame = datapath.pool().frame(&bytes).expect("within the limit");
            datapath.receive(Time(1), PortNo(1), &mut vec![frame], &mut out);
        }
        assert_eq!(out.0.len(), 500, "each goes to one bucket");
        out.0
    }

    #[test]
    fn buckets_are_inserted_and_removed_where_the_command_says() {
        let two = ",bucket=bucket_id:5,output:2,bucket=bucket_id:6,output:3";
        let mut datapath = with_group(Engine::Cache, two);
        let steps: [(&str, &str, &[u32]); 8] = [
            ("first", ",bucket=bucket_id:1,output:4", &[1, 5, 6]),
            ("last", ",bucket=bucket_id:9,output:4", &[1, 5, 6, 9]),
            (
                "5",
                ",bucket=bucket_id:2,output:4,bucket=bucket_id:3,output:5",
                &[1, 5, 2, 3, 6, 9],
            ),
            ("first", "", &[5, 2, 3, 6, 9]),
            ("last", "", &[5, 2, 3, 6]),
            ("3", "", &[5, 2, 6]),
            ("all", "", &[]),
            ("first", "", &[]),
        ];
        for (place, buckets, left) in steps {
            let text = format!("group_id=1,type=select,command_bucket_id={place}{buckets}");
            let done = match buckets {
                "" => remove(&mut datapath, &text),
                _ => insert(&mut datapath, &text),
            };
            assert_eq!((done, ids(&datapath)), (Ok(()), left.to_vec()), "{text}");
        }
    }

    #[test]
    fn a_wrong_command_about_buckets_changes_nothing() {
        let two = ",bucket=bucket_id:5,output:2,bucket=bucket_id:6,output:3";
        let mut datapath = with_group(Engine::Cache, two);
        let new = "bucket=bucket_id:7,output:4";
        for (text, error) in [
            (
                format!("group_id=2,command_bucket_id=last,{new}"),
                GroupModFailed::UNKNOWN_GROUP,
            ),
            (
                format!("group_id=1,command_bucket_id=7,{new}"),
                GroupModFailed::UNKNOWN_BUCKET,
            ),
            (
                format!("group_id=1,command_bucket_id=all,{new}"),
                GroupModFailed::UNKNOWN_BUCKET,
            ),
            (
                "group_id=1,command_bucket_id=last,bucket=bucket_id:5,output:4".into(),
                GroupModFailed::BUCKET_EXISTS,
            ),
            (
                "group_id=1,command_bucket_id=last,bucket=bucket_id:0xfffffffe,output:4".into(),
                GroupModFailed::BAD_BUCKET,
            ),
            (
                "group_id=1,command_bucket_id=last,bucket=bucket_id:8,group:1".into(),
                GroupModFailed::LOOP,
            ),
        ] {
            assert_eq!(insert(&mut datapath, &text), Err(error), "{text}");
        }
        for (text, error) in [
            (
                "group_id=2,command_bucket_id=all",
                GroupModFailed::UNKNOWN_GROUP,
            ),
            (
                "group_id=1,command_bucket_id=7",
                GroupModFailed::UNKNOWN_BUCKET,
            ),
            (
                "group_id=1,command_bucket_id=5,bucket=output:2",
                GroupModFailed::BAD_BUCKET,
            ),
        ] {
            assert_eq!(remove(&mut datapath, text), Err(error), "{text}");
        }
        assert_eq!(ids(&datapath), [5, 6]);
    }

    #[test]
    fn flows_and_counters_of_buckets_that_stay_are_left_alone() {
        for (name, engine) in Engine::ALL {
            let three = ",bucket=bucket_id:2,output:2,bucket=bucket_id:3,output:3,\
                         bucket=bucket_id:4,output:4";
            let mut datapath = with_group(engine, three);
            let before = outputs(&mut datapath);
            remove(&mut datapath, "group_id=1,command_bucket_id=3").expect("it is there");
            let after = outputs(&mut datapath);
            for (then, now) in before.iter().zip(&after) {
                assert!(then == now || *then == 3, "{name}: {then} {now}");
            }
            let new = "group_id=1,type=select,command_bucket_id=first,bucket=bucket_id:5,output:5";
            insert(&mut datapath, new).expect("it is right");
            let last = outputs(&mut datapath);
            for (then, now) in after.iter().zip(&last) {
                assert!(then == now || *now == 5, "{name}: {then} {now}");
            }
            assert!(last.contains(&5) && !last.contains(&3), "{name}");
            datapath.settled();
            let all = datapath.groups().stats(Time(1), GroupId(1)..=GroupId(1));
            let counters: Vec<_> = all.flat_map(|group| group.0.bucket_stats).collect();
            for (counter, port) in counters.iter().zip([5, 2, 4]) {
                let rounds = [&before, &after, &last].into_iter().flatten();
                let sent = rounds.filter(|one| **one == port).count();
                assert_eq!(counter.packet_count, sent as u64, "{name}: {port}");
            }
        }
    }
    #[test]
    fn counters_of_buckets_that_stay_outlive_a_bundle() {
        let two = ",bucket=bucket_id:5,output:2,bucket=bucket_id:6,output:3";
        let mut datapath = with_group(Engine::Cache, two);
        let before = outputs(&mut datapath);
        datapath.bundle().begin(true);
        while datapath.bundle().copy_groups() {}
        datapath.bundle().swap_groups();
        let text = "group_id=1,command_bucket_id=first,bucket=bucket_id:7,output:4";
        let insert = GroupModCommand::INSERT_BUCKET;
        let group = parse_group(text, insert, &Catalogue::default()).expect(text);
        let staged = datapath
            .control(Time(0), &mut Ports::default())
            .group_mod(&group);
        staged.expect("it is right");
        datapath.bundle().swap_groups();
        datapath.bundle().commit(Time(1));
        while datapath.changes().in_progress() {
            datapath.control(Time(1), &mut Ports::default()).work();
        }
        datapath.settled();
        let all = datapath.groups().stats(Time(1), GroupId(1)..=GroupId(1));
        let counters = all.flat_map(|group| group.0.bucket_stats);
        let counted: Vec<_> = counters.map(|counter| counter.packet_count).collect();
        let sent = [4, 2, 3].map(|port| before.iter().filter(|one| **one == port).count() as u64);
        assert_eq!(counted, sent);
    }
}
