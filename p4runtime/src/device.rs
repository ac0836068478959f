//! The switch as requests see it: its pipeline, its entities, and what it reports.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bofuss_p4::Switch;
use tokio::sync::{Mutex as Turns, MutexGuard as TurnGuard};
use tokio::task::spawn_blocking;
use tonic::Code;

use crate::change::{commit, refused};
use crate::digests::{data, nanoseconds};
use crate::entities::{Step, Target, steps};
use crate::error::{Refusal, Result};
use crate::job::{Change, Link, Report};
use crate::pipeline::Pipeline;
use crate::side::Side;
use crate::streams::Streams;
use crate::wire::entities::{Entity, TableEntry};
use crate::wire::messages::{
    DigestListAck, ForwardingPipelineConfig, IdleTimeoutNotification, PacketOut,
    SetForwardingPipelineConfigRequestAction as Action, StreamMessageResponseUpdate, Update,
};

/// The updates of one job.
const UPDATES_AT_ONCE: usize = 128;

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
    fn running(&self) -> Result<Pipeline> {
        let running = self.pipelines().running.clone();
        // Controllers look for these words to tell it from other failures.
        running.ok_or_else(|| Refusal::precondition("no forwarding pipeline config is set"))
    }

    /// The configuration of the pipeline. Errors: there is none.
    pub fn config(&self) -> Result<Arc<ForwardingPipelineConfig>> {
        self.running().map(|pipeline| pipeline.config)
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
                let absent = || Refusal::precondition("no pipeline was saved");
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
            let some: Vec<Update> = updates.by_ref().take(UPDATES_AT_ONCE).collect();
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

    /// The pipeline that these entities are read from. Errors: there is none, or what is asked for
    /// is not there.
    pub fn plan(&self, asked: &[Entity]) -> Result<Pipeline> {
        let pipeline = self.running()?;
        for entity in asked {
            steps(&pipeline.info, entity)?;
        }
        Ok(pipeline)
    }

    /// Does a step. Errors: what is asked for does not fit; the pipeline is another now.
    pub async fn read(
        &self,
        pipeline: &Pipeline,
        step: Step,
    ) -> Result<(Vec<Entity>, Option<Step>)> {
        let _turn = self.turn(pipeline).await?;
        self.act(pipeline, move |target| target.view().read(&step))
            .await?
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
    /// without a packet.
    pub async fn send_idle(&self, time: u64) -> Result<()> {
        let timeouts = {
            let side = self.side.lock().unwrap_or_else(PoisonError::into_inner);
            side.timeouts
        };
        if !timeouts || !self.streams.has_primary() {
            return Ok(());
        }
        let pipeline = self.running()?;
        let table_entry = {
            // Another pipeline must not come before this job.
            let _turn = self.turn(&pipeline).await?;
            self.act(&pipeline, idle_entries).await?
        };
        for some in table_entry.chunks(UPDATES_AT_ONCE) {
            let notification = IdleTimeoutNotification {
                table_entry: some.to_vec(),
                timestamp: nanoseconds(time),
            };
            let update = StreamMessageResponseUpdate::IdleTimeoutNotification(notification);
            self.streams.publish(&update);
        }
        Ok(())
    }
}

/// The entries that have been idle for their timeout since they were last told of.
fn idle_entries(target: &mut Target<'_>) -> Vec<TableEntry> {
    let mut found = Vec::new();
    for (id, table) in &target.info.tables {
        if !table.has_timeout {
            continue;
        }
        let idle: Vec<_> = target.switch.idle(table.index, target.now).collect();
        for handle in idle {
            let Some(entry) = target.switch.entry(table.index, handle) else {
                continue;
            };
            let side = target.side.entries.entry((table.index, handle));
            let told = &mut side.or_default().idle_told;
            // What found no room at a controller comes again, too.
            if told.is_some_and(|(used, at)| {
                used == entry.used && target.now.saturating_sub(at) < entry.idle_timeout
            }) {
                continue;
            }
            *told = Some((entry.used, target.now));
            found.push(
                target
                    .view()
                    .show(*id, table, handle, &TableEntry::default()),
            );
        }
    }
    found
}
