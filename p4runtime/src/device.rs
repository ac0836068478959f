//! The switch as requests see it: its pipeline, its entities, and what it reports.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bofuss_p4::{Handle, Switch};
use tokio::sync::{Mutex as Turns, MutexGuard as TurnGuard};
use tokio::task::spawn_blocking;
use tonic::Code;

use crate::change::{commit, refused};
use crate::digests::{data, nanoseconds};
use crate::entities::{Step, Target};
use crate::error::{Refusal, Result};
use crate::job::{Change, Link, Report};
use crate::pipeline::Pipeline;
use crate::side::Side;
use crate::streams::Streams;
use crate::wire::entities::{Entity, EntityKind, TableEntry};
use crate::wire::messages::{
    DigestListAck, ForwardingPipelineConfig, IdleTimeoutNotification, PacketOut,
    SetForwardingPipelineConfigRequestAction as Action, StreamMessageResponseUpdate, Update,
};

/// The updates of one job.
const UPDATES_AT_ONCE: usize = 128;
/// The places of a table that one job looks at for idle entries: those of deleted ones are empty.
const PLACES_AT_ONCE: usize = 4096;

/// What is known of the pipelines.
#[derive(Default)]
struct Pipelines {
    running: Option<Pipeline>,
    /// Verified, and waits for its commit.
    saved: Option<Pipeline>,
}

/// The switch. Clones share it.
#[derive(Clone)]
pub struct Device {
    link: Link,
    cpu_port: Option<u32>,
    pub streams: Streams,
    pipelines: Arc<Mutex<Pipelines>>,
    side: Arc<Mutex<Side>>,
    /// One at a time uses the switch, for a part of what it wants, so that others wait for parts.
    turns: Arc<Turns<()>>,
    /// One program is checked at a time.
    checks: Arc<Turns<()>>,
}

impl Device {
    /// A switch that runs `pipeline`.
    pub fn new(
        link: Link,
        cpu_port: Option<u32>,
        streams: Streams,
        pipeline: Option<Pipeline>,
    ) -> Self {
        let pipelines = Pipelines {
            running: pipeline,
            saved: None,
        };
        Self {
            link,
            cpu_port,
            streams,
            pipelines: Arc::new(Mutex::new(pipelines)),
            side: Arc::default(),
            turns: Arc::default(),
            checks: Arc::default(),
        }
    }

    fn pipelines(&self) -> MutexGuard<'_, Pipelines> {
        self.pipelines
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The pipeline. Errors: there is none.
    pub fn running(&self) -> Result<Pipeline> {
        let running = self.pipelines().running.clone();
        // Controllers look for these words to tell it from other failures.
        running.ok_or_else(|| Refusal::precondition("no forwarding pipeline config is set"))
    }

    /// The configuration of the pipeline, if there is one.
    pub fn config(&self) -> Option<Arc<ForwardingPipelineConfig>> {
        let pipelines = self.pipelines();
        let running = pipelines.running.as_ref();
        running.map(|pipeline| pipeline.config.clone())
    }

    /// Does what a controller wants with a pipeline, if it `may` when its turn comes. Errors: what
    /// is wrong with it; the old one runs on.
    pub async fn configure(
        &self,
        action: Action,
        config: Option<ForwardingPipelineConfig>,
        may: impl Fn() -> Result<()> + Send + 'static,
    ) -> Result<()> {
        let _turn = self.checks.lock().await;
        let saved = self.pipelines().saved.clone();
        let check = move || match (action, config) {
            (Action::Unspecified, _) => Err(Refusal::invalid("there is no action")),
            (Action::Commit, Some(_)) => Err(Refusal::invalid("a commit has no configuration")),
            (Action::Commit, None) => {
                let absent = || Refusal::not_found("no pipeline was saved");
                let pipeline = saved.ok_or_else(absent)?;
                let program = pipeline.program()?;
                Ok((pipeline, program))
            }
            (_, Some(config)) => Pipeline::check(config),
            (_, None) => Err(Refusal::invalid("there is no configuration")),
        };
        let checked = spawn_blocking(check).await;
        let ended = |_| Refusal::unavailable("the switch is ending");
        let (pipeline, program) = checked.map_err(ended)??;
        match action {
            Action::VerifyAndSave => {
                may()?;
                self.pipelines().saved = Some(pipeline);
                Ok(())
            }
            Action::VerifyAndCommit | Action::Commit | Action::ReconcileAndCommit => {
                let keeps = action == Action::ReconcileAndCommit;
                let device = self.clone();
                // The switch changes also if the controller no longer waits for it, and then all
                // that is known here must change with it.
                let commit = async move { device.commit(pipeline, program, keeps, may).await };
                tokio::spawn(commit).await.map_err(ended)?
            }
            Action::Verify | Action::Unspecified => Ok(()),
        }
    }

    /// Gives the switch another program; with what controllers wrote, if that is to stay.
    async fn commit(
        &self,
        pipeline: Pipeline,
        program: bofuss_p4::Program,
        keeps: bool,
        may: impl Fn() -> Result<()>,
    ) -> Result<()> {
        let _turn = self.turns.lock().await;
        may()?;
        let old = self.pipelines().running.clone();
        let info = pipeline.info.clone();
        let side = self.side.clone();
        let change = Change::Pipeline {
            config: pipeline.config.clone(),
            keeps,
        };
        let act = move |switch: &mut Switch, now| {
            let mut side = side.lock().unwrap_or_else(PoisonError::into_inner);
            let old = old.as_ref().map(|old| &*old.info).filter(|_| keeps);
            let mut target = Target {
                switch,
                side: &mut side,
                info: &info,
                now,
            };
            commit(&mut target, Switch::new(program, now), old)
        };
        let done = self.link.change(change, act, |done| refused([done]));
        done.await?.map_err(|refusal| {
            let what = format!("what was written does not fit the new pipeline: {refusal}");
            Refusal::new(Code::InvalidArgument, what)
        })?;
        let mut pipelines = self.pipelines();
        pipelines.running = Some(pipeline);
        pipelines.saved = None;
        Ok(())
    }

    /// Makes updates, some in each turn, as long as their controller `may`. Returns one result for
    /// each. Errors: there is no pipeline, or it gave its place to another before all updates were
    /// made.
    pub async fn write(
        &self,
        updates: Vec<Update>,
        may: impl Fn() -> Result<()>,
    ) -> Result<Vec<Result<()>>> {
        let pipeline = self.running()?;
        let mut results = Vec::with_capacity(updates.len());
        let mut updates = updates.into_iter();
        loop {
            let some = part(&mut updates);
            if some.is_empty() {
                return Ok(results);
            }
            let _turn = self.turn(&pipeline).await?;
            if let Err(refusal) = may() {
                results.extend(some.iter().map(|_| Err(refusal.clone())));
                continue;
            }
            let some: Arc<[Update]> = some.into();
            let change = Change::Write(some.clone());
            let job = self.job(&pipeline, move |target| target.write_all(&some));
            results.extend(self.link.change(change, job, |done| refused(done)).await?);
        }
    }

    /// Does a step. Returns what it read and the step that reads the rest, or why what is asked for
    /// does not fit. Errors: the pipeline is another now.
    pub async fn read(
        &self,
        pipeline: &Pipeline,
        step: Step,
    ) -> Result<Result<(Vec<Entity>, Option<Step>)>> {
        let _turn = self.turn(pipeline).await?;
        self.act(pipeline, move |target| target.view().read(&step))
            .await
    }

    /// Waits for a turn. Errors: the pipeline is another now.
    async fn turn(&self, pipeline: &Pipeline) -> Result<TurnGuard<'_, ()>> {
        let turn = self.turns.lock().await;
        if Arc::ptr_eq(&pipeline.info, &self.running()?.info) {
            return Ok(turn);
        }
        Err(Refusal::new(Code::Aborted, "the pipeline is another now"))
    }

    /// Does something with the switch and all that is known of it. Errors: the switch is ending.
    async fn act<T: Send + 'static>(
        &self,
        pipeline: &Pipeline,
        act: impl FnOnce(&mut Target<'_>) -> T + Send + 'static,
    ) -> Result<T> {
        self.link.ask(self.job(pipeline, act)).await
    }

    /// What does something with the switch and all that is known of it.
    fn job<T, F: FnOnce(&mut Target<'_>) -> T + Send + 'static>(
        &self,
        pipeline: &Pipeline,
        act: F,
    ) -> impl FnOnce(&mut Switch, u64) -> T + Send + 'static + use<T, F> {
        let info = pipeline.info.clone();
        let side = self.side.clone();
        move |switch, now| {
            let mut side = side.lock().unwrap_or_else(PoisonError::into_inner);
            act(&mut Target {
                switch,
                side: &mut side,
                info: &info,
                now,
            })
        }
    }

    /// Sends a packet-out. Errors: there is no CPU port or pipeline, metadata that does not fit.
    pub async fn packet_out(&self, packet: &PacketOut) -> Result<()> {
        let absent = || Refusal::precondition("the switch has no CPU port");
        let port = self.cpu_port.ok_or_else(absent)?;
        let frame = self.running()?.info.packet_out.frame(packet)?;
        self.link.inject(port, frame).await
    }

    /// A controller has a list of digests. Errors: there is no such digest.
    pub fn acknowledge(&self, ack: &DigestListAck) -> Result<()> {
        let mut side = self.side.lock().unwrap_or_else(PoisonError::into_inner);
        let queue = side.digests.get_mut(&ack.digest_id);
        let absent = || Refusal::not_found(format!("there is no digest {}", ack.digest_id));
        queue.ok_or_else(absent)?.acknowledge(ack.list_id);
        Ok(())
    }

    /// Passes on what the switch reports. Returns how many reports were lost.
    pub fn report(&self, report: Report, now: u64) -> u64 {
        let Ok(pipeline) = self.running() else {
            return 1;
        };
        match report {
            Report::Packet(frame) => match pipeline.info.packet_in.packet_in(&frame) {
                Some(packet) => {
                    let update = StreamMessageResponseUpdate::Packet(packet);
                    self.streams.publish(&update)
                }
                None => 1,
            },
            Report::Digest(digest) => {
                let Some(info) = pipeline.info.digests.get(&digest.list) else {
                    return 1;
                };
                let mut side = self.side.lock().unwrap_or_else(PoisonError::into_inner);
                match side.digests.get_mut(&info.id) {
                    Some(queue) => u64::from(!queue.add(data(info, &digest), now)),
                    // No controller wants it.
                    None => 0,
                }
            }
        }
    }

    /// Sends the lists of digests that are due. Returns how many lists were lost.
    pub fn send_digests(&self, now: u64) -> u64 {
        if !self.streams.has_primary() {
            return 0;
        }
        let mut side = self.side.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lost = 0;
        for (id, queue) in &mut side.digests {
            while let Some(list) = queue.take(*id, now) {
                let list_id = list.list_id;
                let missed = self
                    .streams
                    .publish(&StreamMessageResponseUpdate::Digest(list));
                if missed > 0 {
                    // What nobody got may come again.
                    queue.acknowledge(list_id);
                }
                lost += missed;
            }
        }
        lost
    }

    /// Tells the primaries of entries that are idle, and again each time that their timeout passes
    /// without a packet. `time` gives that of a message.
    pub async fn send_idle(&self, time: fn() -> u64) -> Result<()> {
        let timeouts = {
            let side = self.side.lock().unwrap_or_else(PoisonError::into_inner);
            side.timeouts
        };
        if !timeouts || !self.streams.has_primary() {
            return Ok(());
        }
        let pipeline = self.running()?;
        let tables = pipeline.info.tables.iter();
        let with_timeouts = tables.filter(|(_, table)| table.has_timeout);
        let ids: Vec<u32> = with_timeouts.map(|(id, _)| *id).collect();
        for id in ids {
            let mut next = Some(0);
            while let Some(from) = next {
                let (found, rest) = {
                    // Another pipeline must not come before this job.
                    let _turn = self.turn(&pipeline).await?;
                    let look = move |target: &mut Target<'_>| idle_entries(target, id, from);
                    self.act(&pipeline, look).await?
                };
                self.tell_idle(&found, time());
                next = rest;
            }
        }
        Ok(())
    }

    /// Sends notifications of idle entries. Those that find no room come again.
    fn tell_idle(&self, entries: &[TableEntry], time: u64) {
        for some in entries.chunks(UPDATES_AT_ONCE) {
            let notification = IdleTimeoutNotification {
                table_entry: some.to_vec(),
                timestamp: nanoseconds(time),
            };
            let update = StreamMessageResponseUpdate::IdleTimeoutNotification(notification);
            self.streams.publish(&update);
        }
    }
}

/// Takes the updates of the next job, of which none follows one that sets a whole array.
fn part(updates: &mut impl Iterator<Item = Update>) -> Vec<Update> {
    let mut some = Vec::new();
    for update in updates {
        let is_long = sets_array(&update);
        some.push(update);
        if is_long || some.len() == UPDATES_AT_ONCE {
            break;
        }
    }
    some
}

/// Whether an update sets all cells of an array.
fn sets_array(update: &Update) -> bool {
    let entity = update.entity.as_ref().and_then(|e| e.entity.as_ref());
    match entity {
        Some(EntityKind::CounterEntry(entry)) => entry.index.is_none(),
        Some(EntityKind::MeterEntry(entry)) => entry.index.is_none(),
        Some(EntityKind::RegisterEntry(entry)) => entry.index.is_none(),
        _ => false,
    }
}

/// The entries of a table, of some from a number on, that have been idle for their timeout since
/// they were last told of; and the number of the next to look at, if there may be more.
fn idle_entries(
    target: &mut Target<'_>,
    id: u32,
    from: Handle,
) -> (Vec<TableEntry>, Option<Handle>) {
    let table = &target.info.tables[&id];
    let all = target.switch.entries_end(table.index);
    let end = all.min(from + PLACES_AT_ONCE);
    let next = (end < all).then_some(end);
    let mut idle = Vec::new();
    for (handle, entry) in target.switch.entries_within(table.index, from..end) {
        if !entry.is_idle(target.now) {
            continue;
        }
        let side = target.side.entries.get(&(table.index, handle));
        let told = side.and_then(|side| side.idle_told);
        // What found no room at a controller comes again, too.
        let is_told = told.is_some_and(|(used, at)| {
            used == entry.used && target.now.saturating_sub(at) < entry.idle_timeout
        });
        if !is_told {
            idle.push((handle, entry.used));
        }
    }
    let mut found = Vec::with_capacity(idle.len());
    for (handle, used) in idle {
        let side = target.side.entries.entry((table.index, handle));
        side.or_default().idle_told = Some((used, target.now));
        let view = target.view();
        found.push(view.show(id, table, handle, &TableEntry::default()));
    }
    (found, next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::entities::{CounterEntry, Index};

    #[tokio::test]
    async fn a_pipeline_is_not_saved_for_who_is_no_longer_the_primary() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/p4/controlled");
        let read = |end: &str| std::fs::read(format!("{folder}/controlled.{end}"));
        let text = read("p4info.txt").expect("it is there");
        let text = String::from_utf8(text).expect("it is text");
        let json = read("json").expect("it is there");
        let pipeline = Pipeline::new(&text, json).expect("p4c wrote both");
        let config = Some((*pipeline.config).clone());
        let (jobs, _waiting) = tokio::sync::mpsc::channel(1);
        let device = Device::new(Link(jobs), None, Streams::new(1), None);
        let denied = || Err(Refusal::denied("another is the primary"));
        let saved = device.configure(Action::VerifyAndSave, config, denied);
        let refused = saved.await.expect_err("it may not");
        assert_eq!(refused.code, Code::PermissionDenied);
        let committed = device.configure(Action::Commit, None, || Ok(()));
        let refused = committed.await.expect_err("none is saved");
        assert_eq!(refused.code, Code::NotFound);
    }

    #[test]
    fn an_update_of_a_whole_array_ends_its_job() {
        let update = |index| {
            let entry = CounterEntry {
                index,
                ..CounterEntry::default()
            };
            let entity = Some(EntityKind::CounterEntry(entry));
            Update {
                entity: Some(Box::new(Entity { entity })),
                ..Update::default()
            }
        };
        let mut all = vec![update(Some(Index { index: 1 })); UPDATES_AT_ONCE + 2];
        all.extend([update(None), update(None)]);
        let mut updates = all.into_iter();
        let counts = [(); 4].map(|()| part(&mut updates).len());
        assert_eq!(counts, [UPDATES_AT_ONCE, 3, 1, 0]);
    }
}
