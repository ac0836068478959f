//! Makes the changes of controllers to a switch: those of a server, and those of a record.

use std::mem;
use std::sync::Arc;

use bofuss_p4::Switch;
use prost::Message;

use crate::entities::{Target, View};
use crate::error::{Refusal, Result};
use crate::info::Info;
use crate::job::RefusedUpdate;
use crate::pipeline::Pipeline;
use crate::side::Side;
use crate::wire::entities::{Entity, EntityKind};
use crate::wire::messages::{ForwardingPipelineConfig, Update, UpdateType, WriteRequest};

/// Gives the place of a switch to `new`, whose P4Info the target has; with what controllers wrote,
/// if `old` is the P4Info by which they did.
///
/// Errors: this does not fit the new program; then the old switch is back.
pub fn commit(target: &mut Target<'_>, mut new: Switch, old: Option<&Info>) -> Result<()> {
    new.take_links(target.switch);
    let old_switch = mem::replace(target.switch, new);
    let old_side = mem::take(target.side);
    let Some(info) = old else {
        return Ok(());
    };
    let view = View {
        switch: &old_switch,
        side: &old_side,
        info,
        now: target.now,
    };
    let result = view.written().and_then(|entities| {
        entities.into_iter().try_for_each(|entity| {
            let r#type = kept_type(&entity) as i32;
            let entity = Some(Box::new(entity));
            target.write(&Update { r#type, entity })
        })
    });
    if result.is_err() {
        *target.switch = old_switch;
        *target.side = old_side;
    }
    result
}

/// How an entity that was read is written to a new switch.
fn kept_type(entity: &Entity) -> UpdateType {
    match &entity.entity {
        Some(EntityKind::TableEntry(entry)) if entry.is_default_action => UpdateType::Modify,
        Some(
            EntityKind::ValueSetEntry(_)
            | EntityKind::MeterEntry(_)
            | EntityKind::CounterEntry(_)
            | EntityKind::RegisterEntry(_),
        ) => UpdateType::Modify,
        _ => UpdateType::Insert,
    }
}

/// What was refused of changes.
pub fn refused<'r>(results: impl IntoIterator<Item = &'r Result<()>>) -> Vec<RefusedUpdate> {
    let numbered = results.into_iter().enumerate();
    let refused = numbered.filter_map(|(number, result)| {
        let refusal = result.as_ref().err()?;
        Some((number, refusal.code as i32))
    });
    refused.collect()
}

/// Makes the changes of a record, in place of the server that made them first.
#[derive(Default)]
pub struct ChangePlayer {
    /// The P4Info of the program that runs.
    info: Arc<Info>,
    side: Side,
}

impl ChangePlayer {
    /// Sets a pipeline: P4Info as controllers encode it, and the device configuration. `seed` is
    /// that of random numbers, `now` is in microseconds; `keeps` is as for [`crate::Change`].
    ///
    /// Errors: what is wrong with the pipeline; then nothing has changed.
    pub fn set_pipeline(
        &mut self,
        switch: &mut Switch,
        (p4info, program): (&[u8], &[u8]),
        (seed, now): (u64, u64),
        keeps: bool,
    ) -> Result<Vec<RefusedUpdate>> {
        let (pipeline, program) = Pipeline::check(ForwardingPipelineConfig {
            p4info: p4info.into(),
            p4_device_config: program.into(),
            cookie: None,
        })?;
        let mut target = Target {
            switch,
            side: &mut self.side,
            info: &pipeline.info,
            now,
        };
        let old = keeps.then_some(&*self.info);
        let done = commit(&mut target, Switch::new(program, seed), old);
        if done.is_ok() {
            self.info = pipeline.info;
        }
        Ok(refused([&done]))
    }

    /// Makes the updates of a WriteRequest. Errors: the bytes are none.
    pub fn write(
        &mut self,
        switch: &mut Switch,
        request: &[u8],
        now: u64,
    ) -> Result<Vec<RefusedUpdate>> {
        let request = WriteRequest::decode(request);
        let request = request.map_err(|error| Refusal::invalid(error.to_string()))?;
        let mut target = Target {
            switch,
            side: &mut self.side,
            info: &self.info,
            now,
        };
        Ok(refused(&target.write_all(&request.updates)))
    }
}
