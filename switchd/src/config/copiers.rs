//! Captures and mirrors as a configuration has them.

use std::path::{Path, PathBuf};

use crate::capture::check_place;
use crate::error::{Result, context};

/// The word in place of a port for a capture of OpenFlow messages.
pub const OF_MESSAGES: &str = "openflow";

/// Whether a capture is of OpenFlow messages, and not of a port.
pub fn is_of_messages(words: &str) -> bool {
    words.split(' ').next() == Some(OF_MESSAGES)
}

/// A capture or mirror of a port, with the arguments of the command that starts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfiguredCopier {
    /// `PORT FILE [FLOW]`.
    Capture(String),
    /// `PORT TO [FLOW]`.
    Mirror(String),
}

impl ConfiguredCopier {
    /// The arguments.
    pub fn words(&self) -> &str {
        match self {
            Self::Capture(words) | Self::Mirror(words) => words,
        }
    }
}

/// Resolves the folder for captures. Errors: it does not exist.
pub(super) fn capture_folder(folder: &Path) -> Result<PathBuf> {
    let found = folder.canonicalize();
    found.map_err(context(format_args!(
        "--capture-folder {}",
        folder.display()
    )))
}

/// Files for captured messages, and captures and mirrors of ports.
type CaptureOptions = (Vec<String>, Vec<ConfiguredCopier>);

/// Separates captures of messages from captures and mirrors of ports. Errors: a capture outside the
/// folder for them.
pub(super) fn copiers(
    captures: &[String],
    mirrors: &[String],
    folder: Option<&Path>,
) -> Result<CaptureOptions> {
    let mut files = Vec::new();
    let mut copiers = Vec::new();
    for words in captures {
        let (port, rest) = words.split_once(' ').unwrap_or((words, ""));
        let file = rest.split(' ').next().unwrap_or_default();
        check_place(file, folder).map_err(context(format_args!("--capture {words}")))?;
        match port {
            OF_MESSAGES => files.push(rest.into()),
            _ => copiers.push(ConfiguredCopier::Capture(words.clone())),
        }
    }
    copiers.extend(mirrors.iter().cloned().map(ConfiguredCopier::Mirror));
    Ok((files, copiers))
}
