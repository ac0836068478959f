//! Finds the running switch that another one replaces.

use tracing::info;

use crate::config::Config;
use crate::ctl;
use crate::error::Result;
use crate::successor::Predecessor;

/// Asks the switch that `config` replaces to hand over, and gives `config` its name; `None` if none
/// runs.
///
/// Errors: it refuses, or several run and none is named.
pub(super) fn predecessor(config: &mut Config) -> Result<Option<Predecessor>> {
    if !config.replaces {
        return Ok(None);
    }
    let name = config.is_named.then_some(config.name.as_str());
    let Some((name, path)) = ctl::running(name)? else {
        let name = &config.name;
        info!("switch {name}: there is none to replace, it starts anew");
        return Ok(None);
    };
    config.rename(name);
    Predecessor::ask(&path).map(Some)
}
