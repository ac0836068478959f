//! Builds the switch of a configuration, with its ports, in the data-plane thread.

use std::fmt::Display;
use std::mem::take;
use std::sync::Arc;
use std::time::Instant;

use bofuss_agent::Identity;
use bofuss_channel::Event;
use bofuss_datapath::Time;
use bofuss_embed::record::{RecordError, RecordedConfig};
use bofuss_embed::saved::SavedState;
use bofuss_ext::Switch;
use bofuss_fastpath::Datapath;
use bofuss_frame::Pool;
use bofuss_oflib::message::multipart::TableFeatures;
use bofuss_ports::{LinkMonitor, restore_settings_left};
use tokio::sync::mpsc;
use tracing::{info, warn};

use super::sockets::PREDECESSOR_TIMEOUT;
use super::take_over::Gate;
use crate::config::{Config, extensions, from_line};
use crate::dataplane::{BundleClock, DataPlane, DataPlaneParts, Input};
use crate::error::{Result, context};
use crate::past::PastMoment;
use crate::port::{self, OpenPort};
use crate::recent::RecentMessages;
use crate::record::{self, RecordFile, RecordWriter, SwitchRecorder};
use crate::rights::{self, Lock};
use crate::runtime::POOL_BYTES;
use crate::state_dir::StateFolder;
use crate::successor::Predecessor;

/// Runs in the data-plane thread before the ports are opened, for example to enter a network
/// namespace.
pub type Enter = Box<dyn FnOnce() -> Result<()> + Send>;

/// Opens the ports, builds the switch, takes the ports over from the predecessor if there is one,
/// and gives up rights. Runs in the data-plane thread.
pub(super) fn build(
    config: Config,
    lock: Option<&Lock>,
    enter: Option<Enter>,
    (predecessor, gate): (&mut Option<Predecessor>, &mut Gate),
    (events, inputs): (mpsc::Receiver<Event>, mpsc::Receiver<Input>),
) -> Result<(DataPlane, u64)> {
    enter.map_or(Ok(()), |enter| enter())?;
    let monitor = LinkMonitor::open().map_err(context("watching links"))?;
    let end = Instant::now() + PREDECESSOR_TIMEOUT;
    let mut ports = Vec::new();
    for spec in &config.ports {
        let opened = port::open_until(spec, config.workers, end, predecessor.as_mut());
        ports.push(opened?);
    }
    let datapath_id = datapath_id(&config, ports.iter().find_map(OpenPort::mac));
    let pool = Pool::new(POOL_BYTES);
    let folder = config.state.folder.as_deref();
    let left = predecessor
        .as_mut()
        .and_then(Predecessor::take_state_folder);
    let folder = folder
        .map(|path| StateFolder::open(path, end, left))
        .transpose()?;
    let bytes = match predecessor {
        Some(predecessor) => Ok(Some(take(&mut predecessor.state))),
        None => folder.as_ref().map_or(Ok(None), StateFolder::read),
    };
    let of_folder = folder.as_ref().filter(|_| predecessor.is_none());
    let bytes = or_set_aside(of_folder, bytes)?;
    let state = bytes.as_deref().map(SavedState::read);
    let state = or_set_aside(of_folder, state.transpose())?;
    let now = state.map_or(Time(0), |state| {
        state.resumed_at(BundleClock::Realtime.nanos())
    });
    let switch = make_switch_at(now, &config, &pool, datapath_id)?;
    let file = config.record.as_deref().map(RecordFile::open).transpose()?;
    let (recorder, writer) = file
        .map(|file| SwitchRecorder::new(file, &config, &switch, pool.clone()))
        .unzip();
    let parts = DataPlaneParts {
        switch,
        now,
        pool,
        ports,
        config,
        recorder,
        events,
        inputs,
        monitor,
    };
    let mut plane = DataPlane::new(parts)?;
    plane.load_accelerator()?;
    if let Some(state) = &state {
        plane.restore(state, predecessor.is_none());
    }
    // Behind the predecessor's programs, as the kernel takes some 10 ms to attach one.
    plane.begin_acceleration();
    if let Some(running) = predecessor {
        gate.pass(running.take_listeners())?;
    }
    let begun = Instant::now();
    if let Some(running) = predecessor {
        plane.take_over(running)?;
    }
    if let Err(error) = restore_settings_left() {
        warn!("settings that killed switches have left: {error}");
    }
    rights::give_up(lock)?;
    begin_threads(&mut plane, folder, writer)?;
    if let Some(predecessor) = predecessor {
        let took = begun.elapsed();
        plane.forward_alone(predecessor)?;
        info!("the ports are taken over, after {took:?} without them");
        // What happened since will be told by the difference to it.
        predecessor.state = bytes.unwrap_or_default();
    }
    Ok((plane, datapath_id))
}

/// Builds a switch that stands still at a past moment, without ports, and gives up rights;
/// `recent` gets its messages. Runs in the data-plane thread.
pub(super) fn build_past(
    config: Config,
    moment: &dyn PastMoment,
    recent: &RecentMessages,
    lock: Option<&Lock>,
    (events, inputs): (mpsc::Receiver<Event>, mpsc::Receiver<Input>),
) -> Result<(DataPlane, u64)> {
    let (now, switch) = moment.reached(&mut |message| recent.keep_past(&message))?;
    let datapath_id = datapath_id(&config, None);
    let mut plane = DataPlane::new(DataPlaneParts {
        switch,
        now,
        pool: Pool::new(POOL_BYTES),
        ports: Vec::new(),
        config,
        recorder: None,
        events,
        inputs,
        monitor: LinkMonitor::open().map_err(context("watching links"))?,
    })?;
    plane.stop_time();
    rights::give_up(lock)?;
    Ok((plane, datapath_id))
}

/// Begins states, workers, captures, exports and the record, whose threads start after rights are
/// given up. Errors: a sentence for the user.
fn begin_threads(
    plane: &mut DataPlane,
    folder: Option<StateFolder>,
    writer: Option<RecordWriter>,
) -> Result<()> {
    if let Some(folder) = folder {
        plane.begin_saving(folder)?;
    }
    plane.begin_followers(remake_switch)?;
    plane.begin_copiers()?;
    plane.begin_exports()?;
    writer.map_or(Ok(()), |writer| plane.begin_record(writer))
}

/// The configured datapath id, or else the MAC address `mac`, or else 1.
pub fn datapath_id(config: &Config, mac: Option<[u8; 6]>) -> u64 {
    let from_mac = mac.map(|[a, b, c, d, e, f]| u64::from_be_bytes([0, 0, a, b, c, d, e, f]));
    config.datapath_id.or(from_mac).unwrap_or(1)
}

/// Builds the switch of a configuration, without its ports; its time 0 is now.
///
/// Errors: a wrong profile, or a wrong option of an extension.
pub fn make_switch(config: &Config, pool: &Pool, datapath_id: u64) -> Result<Switch> {
    make_switch_at(Time(0), config, pool, datapath_id)
}

/// The same, where the time is `now` now.
fn make_switch_at(now: Time, config: &Config, pool: &Pool, datapath_id: u64) -> Result<Switch> {
    let tables = bofuss_datapath::Config {
        epoch_ns: BundleClock::Realtime.nanos().saturating_sub(now.0),
        datapath_id,
        ..config.tables.clone()
    };
    let mut datapath = make_datapath(config, pool, tables);
    if let Some(profile) = &config.profile {
        let tables = profile.tables(&datapath.shape().features());
        set_profile(&mut datapath, &tables)?;
    }
    complete(now, config, datapath, datapath_id)
}

/// What was read of a state. One in a folder that is wrong is set aside, and is none.
///
/// Errors: it cannot be, or the predecessor's is wrong.
fn or_set_aside<T>(
    folder: Option<&StateFolder>,
    read: Result<Option<T>, impl Display>,
) -> Result<Option<T>> {
    read.or_else(|why| match folder {
        Some(folder) => folder.set_aside(&why).map(|()| None),
        None => Err(format!("--replace: {why}").into()),
    })
}

/// Builds the switch of a record again, without its ports: with the time 0 and the hash secret that
/// it had.
///
/// Errors: what is wrong with its configuration.
pub fn remake_switch(recorded: &RecordedConfig) -> Result<Switch, RecordError> {
    let config = from_line(&recorded.options)?.check()?;
    let pool = Pool::new(POOL_BYTES);
    let tables = bofuss_datapath::Config {
        secret: recorded.secret,
        epoch_ns: recorded.epoch_ns,
        datapath_id: recorded.datapath_id,
        ..config.tables.clone()
    };
    let mut datapath = make_datapath(&config, &pool, tables);
    if !recorded.profile.is_empty() {
        let tables = record::read_profile(&recorded.profile, datapath.catalogue())?;
        set_profile(&mut datapath, &tables)?;
    }
    Ok(complete(Time(0), &config, datapath, recorded.datapath_id)?)
}

fn make_datapath(config: &Config, pool: &Pool, tables: bofuss_datapath::Config) -> Datapath {
    Datapath::new(tables, Arc::clone(&config.catalogue), pool.clone())
}

fn set_profile(datapath: &mut Datapath, tables: &[TableFeatures]) -> Result<()> {
    let done = datapath.set_profile(tables);
    done.map_err(|error| format!("--profile: {error}").into())
}

/// Adds extensions, identity and fail mode. Errors: a wrong option of an extension.
fn complete(
    now: Time,
    config: &Config,
    mut datapath: Datapath,
    datapath_id: u64,
) -> Result<Switch> {
    for hook in extensions::hooks(datapath.catalogue(), &config.extensions)? {
        datapath.add_hook(hook);
    }
    let identity = Identity {
        datapath_id,
        desc: config.desc.clone(),
    };
    Ok(Switch::new(now, datapath, identity, config.fail_mode))
}
