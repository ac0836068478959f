//! Serves a switch that stands still at a past moment, for all tools that look at switches.

use std::sync::Arc;

use crate::config::{Config, Options};
use crate::error::Result;
use crate::output::print;
use crate::past::PastMoment;
use crate::process::Process;
use crate::reload::ConfigSource;
use crate::runtime::stopped;

/// Serves the switch of a moment by the sockets of its name until the process is stopped. `what` is
/// where it comes from, for the user.
///
/// Errors: as of [`PastMoment::reached`]; wrong options; a name that is taken.
pub async fn serve(
    options: Options,
    datapath_id: Option<u64>,
    what: &str,
    moment: impl PastMoment + 'static,
) -> Result<()> {
    let options = Options {
        // It has no ports of its own.
        accelerate: Some("off".into()),
        ..options
    };
    let config = Config {
        datapath_id,
        past: Some(Arc::new(moment)),
        ..options.check()?
    };
    let told = format!(
        "switch {name} is as {what} left it; its time stands still\n\
         look at it: bofuss web {name}, bofuss trace, dpctl dump-flows {name}\n\
         end it: Ctrl-C\n",
        name = config.name
    );
    let source = ConfigSource::of(&config);
    let process = Process::start(vec![config], source, None).await?;
    process.run(|| print(&told), stopped()).await
}
