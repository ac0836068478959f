//! Builds the switch of a configuration, with its ports, in the data-plane thread.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use bofuss_agent::Identity;
use bofuss_channel::Event;
use bofuss_datapath::Time;
use bofuss_embed::record::{RecordError, RecordedConfig};
use bofuss_ext::Switch;
use bofuss_fastpath::Datapath;
use bofuss_frame::Pool;
use bofuss_oflib::message::multipart::TableFeatures;
use bofuss_ports::{LinkMonitor, restore_settings_left};
use tokio::sync::mpsc;
use tracing::warn;

use super::{Enter, PREDECESSOR_TIMEOUT};
use crate::config::{Config, extensions, from_line};
use crate::dataplane::{DataPlane, DataPlaneParts, Input, POOL_BYTES};
use crate::error::{Result, context};
use crate::port::{self, OpenPort};
use crate::record::{self, RecordFile, SwitchRecorder};
use crate::rights::{self, Lock};

/// Opens the ports, builds the switch and gives up rights. Runs in the data-plane thread.
pub(super) fn build(
    config: Config,
    lock: Option<&Lock>,
    enter: Option<Enter>,
    events: mpsc::Receiver<Event>,
    inputs: mpsc::Receiver<Input>,
) -> Result<(DataPlane, u64)> {
    enter.map_or(Ok(()), |enter| enter())?;
    let monitor = LinkMonitor::open().map_err(context("watching links"))?;
    let end = Instant::now() + PREDECESSOR_TIMEOUT;
    let mut ports = Vec::new();
    for spec in &config.ports {
        ports.push(port::open_until(spec, end)?);
    }
    if let Err(error) = restore_settings_left() {
        warn!("settings that killed switches have left: {error}");
    }
    let datapath_id = datapath_id(&config, ports.iter().find_map(OpenPort::mac));
    let pool = Pool::new(POOL_BYTES);
    let switch = make_switch(&config, &pool, datapath_id)?;
    let file = config.record.as_deref().map(RecordFile::open).transpose()?;
    let (recorder, writer) = file
        .map(|file| SwitchRecorder::new(file, &config, &switch, pool.clone()))
        .unzip();
    let parts = DataPlaneParts {
        switch,
        pool,
        ports,
        config,
        recorder,
        events,
        inputs,
        monitor,
    };
    let mut plane = DataPlane::new(parts)?;
    plane.begin_acceleration()?;
    rights::give_up(lock)?;
    // The threads that write captures and the record start after rights are given up.
    plane.begin_copiers()?;
    if let Some(writer) = writer {
        plane.begin_record(writer)?;
    }
    Ok((plane, datapath_id))
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
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let tables = bofuss_datapath::Config {
        epoch_ns: since_1970.map_or(0, |time| time.as_nanos() as u64),
        datapath_id,
        ..config.tables.clone()
    };
    let mut datapath = make_datapath(config, pool, tables);
    if let Some(profile) = &config.profile {
        let tables = profile.tables(&datapath.shape().features());
        set_profile(&mut datapath, &tables)?;
    }
    complete(config, datapath, datapath_id)
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
    Ok(complete(&config, datapath, recorded.datapath_id)?)
}

fn make_datapath(config: &Config, pool: &Pool, tables: bofuss_datapath::Config) -> Datapath {
    Datapath::new(tables, Arc::clone(&config.catalogue), pool.clone())
}

fn set_profile(datapath: &mut Datapath, tables: &[TableFeatures]) -> Result<()> {
    let done = datapath.set_profile(tables);
    done.map_err(|error| format!("--profile: {error}").into())
}

/// Adds extensions, identity and fail mode. Errors: a wrong option of an extension.
fn complete(config: &Config, mut datapath: Datapath, datapath_id: u64) -> Result<Switch> {
    for hook in extensions::hooks(datapath.catalogue(), &config.extensions)? {
        datapath.add_hook(hook);
    }
    let identity = Identity {
        datapath_id,
        desc: config.desc.clone(),
    };
    Ok(Switch::new(Time(0), datapath, identity, config.fail_mode))
}
