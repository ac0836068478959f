//! A capture for each link of a simulation.

use std::path::Path;
use std::time::{Duration, SystemTime};

use bofuss_frame::Frame;
use bofuss_ports::{CaptureFile, CaptureSource, Direction, LinkType};
use bofuss_sim::scenario::Scenario;
use bofuss_sim::{EventKind, LinkDirection, LinkId, LogEvent};

use crate::error::{Result, context};

/// Most links: each has an open file, and a process has 1,024 unless it asks for more.
const MAX_LINKS: usize = 1000;

/// Captures by link. Each has two interfaces, the link's ends; a frame that arrives is there twice:
/// as sent by one end, and as received by the other. Time 0 is the start of 1970.
pub struct LinkCaptures {
    files: Vec<CaptureFile>,
}

impl LinkCaptures {
    /// Begins the captures. Errors: a sentence for the user.
    pub fn create(directory: &Path, scenario: &mut Scenario) -> Result<Self> {
        let names = scenario.names().links.clone();
        if names.len() > MAX_LINKS {
            return Err(format!("--pcap: more than {MAX_LINKS} links").into());
        }
        std::fs::create_dir_all(directory).map_err(context(directory.display()))?;
        let mut files = Vec::new();
        for (name, number) in names.iter().zip(0..) {
            let path = directory.join(format!("{name}.pcapng"));
            let created = CaptureFile::create(&path, LinkType::Ethernet);
            let mut file = created.map_err(context(path.display()))?;
            let (first, second) = scenario.network().ends(LinkId(number));
            for end in [first, second] {
                let node = scenario.network().name(end.node);
                let source = CaptureSource {
                    name: format!("{node}:{}", end.port),
                    link_type: LinkType::Ethernet,
                    comment: "simulated; time 0 is the start".into(),
                };
                file.add_source(&source).map_err(context(path.display()))?;
            }
            files.push(file);
        }
        Ok(Self { files })
    }

    /// Writes the frame of an event, if a link carried one. Errors: the system's, as a sentence.
    pub fn write(&mut self, event: &LogEvent<'_>) -> Result<()> {
        if let EventKind::Sent(direction, frame) = event.kind {
            return self.frame(event, direction, frame, Direction::Out);
        }
        if let EventKind::Arrived(direction, frame) = event.kind {
            return self.frame(event, direction, frame, Direction::In);
        }
        Ok(())
    }

    fn frame(
        &mut self,
        event: &LogEvent<'_>,
        of: LinkDirection,
        frame: &Frame,
        seen: Direction,
    ) -> Result<()> {
        let at_first_end = of.back == (seen == Direction::In);
        let source = u32::from(!at_first_end);
        let at = SystemTime::UNIX_EPOCH + Duration::from_nanos(event.at.0);
        let file = &mut self.files[of.link.0 as usize];
        let written = file.write(source, at, seen, frame.bytes());
        written.map_err(context("--pcap"))
    }

    /// Ends the captures. Errors: the system's, as a sentence.
    pub fn finish(&mut self) -> Result<()> {
        self.files
            .iter_mut()
            .try_for_each(|file| file.flush().map_err(context("--pcap")))
    }
}
