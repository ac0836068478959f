//! The switch that is shown, and how it is asked.

use std::path::PathBuf;

use serde_json::Value;

use crate::ctl;
use crate::error::{Result, context};

/// The switch that is asked, over its control socket.
pub struct AskedSwitch {
    /// The path of that socket.
    pub control: PathBuf,
}

impl AskedSwitch {
    /// Its name.
    pub fn name(&self) -> String {
        let stem = self.control.file_stem().unwrap_or_default();
        stem.to_string_lossy().into_owned()
    }

    /// The answer to a command. Errors: the switch's, or it does not run.
    pub fn ask(&self, words: &[&str]) -> Result<String> {
        let words: Vec<String> = words.iter().copied().map(String::from).collect();
        ctl::send_command(self.control.clone(), &words)
    }

    /// The answer to a command as JSON.
    pub fn list(&self, words: &[&str]) -> Result<Value> {
        let text = self.ask(words)?;
        serde_json::from_str(&text).map_err(context("the switch's answer"))
    }
}
