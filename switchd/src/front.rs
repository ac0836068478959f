//! The command lines of BOFUSS, `ofdatapath` and `ofprotocol`: what both have in common.

pub mod ofdatapath;
pub mod ofprotocol;

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf, absolute};
use std::process::{Command, ExitCode, Stdio};

use bofuss_channel::Endpoint;

use crate::config::Options;
use crate::{log, rundir};

/// Set in the environment of the process that goes on when a program detaches.
const DETACHED: &str = "BOFUSS_DETACHED";
/// What that process says when it works.
const READY: &str = "ready";

/// Options of both programs.
#[derive(clap::Args)]
struct Common {
    /// Our private key (PEM), for pssl: or ssl:.
    #[arg(short, long, value_name = "FILE")]
    private_key: Option<PathBuf>,
    /// Our certificate (PEM).
    #[arg(short, long, value_name = "FILE")]
    certificate: Option<PathBuf>,
    /// The certificates of the CAs that sign the peers' (PEM).
    #[arg(short = 'C', long, value_name = "FILE")]
    ca_cert: Option<PathBuf>,
    /// Refused: a CA that the peer itself brings proves nothing.
    #[arg(long, value_name = "FILE")]
    bootstrap_ca_cert: Option<PathBuf>,
    /// Go on in the background once everything works.
    #[arg(short = 'D', long)]
    detach: bool,
    /// Write the process id to a file [default: PROGRAM.pid in the run-time directory].
    #[arg(short = 'P', long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pidfile: Option<Option<PathBuf>>,
    /// Start although the process of the pidfile runs.
    #[arg(short, long)]
    force: bool,
    /// Log to a file instead of standard error [default: PROGRAM.log in /var/log].
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    log_file: Option<Option<PathBuf>>,
    /// Log more, or from LEVEL on: emer, err, warn, info or dbg, as in ANY:ANY:DBG. Modules and
    /// facilities are not told apart.
    #[arg(
        short,
        long,
        value_name = "MODULE[:FACILITY[:LEVEL]]",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = ""
    )]
    verbose: Vec<String>,
}

/// A pidfile that goes when dropped.
struct PidFile(PathBuf);

impl Drop for PidFile {
    fn drop(&mut self) {
        // It may be gone already, with its directory.
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Common {
    /// Refuses what must not be ignored, starts the log, and detaches if that is asked for: what
    /// comes back is the first process's end, or `None` in the one that goes on.
    ///
    /// Errors: a sentence, before anything was done.
    fn begin(&self, program: &str) -> Result<Option<ExitCode>, String> {
        if self.bootstrap_ca_cert.is_some() {
            return Err(
                "--bootstrap-ca-cert: a CA that the peer itself brings proves \
                        nothing; name the CA's file with --ca-cert"
                    .into(),
            );
        }
        let level = self
            .verbose
            .iter()
            .map(|words| log_level(words))
            .next_back();
        if let Some(file) = &self.log_file {
            let default = || Path::new("/var/log").join(format!("{program}.log"));
            let path = file.clone().unwrap_or_else(default);
            let file = File::options().append(true).create(true).open(&path);
            let file = file.map_err(|e| format!("--log-file {}: {e}", path.display()))?;
            rustix::stdio::dup2_stderr(file).map_err(|e| format!("--log-file: {e}"))?;
        }
        if self.detach && std::env::var_os(DETACHED).is_none() {
            return detach().map(Some).map_err(|e| format!("--detach: {e}"));
        }
        log::start(level.unwrap_or(Ok("info"))?, log::Format::Text)?;
        Ok(None)
    }

    /// Says that everything works: writes the pidfile and lets go of who started the program.
    ///
    /// Errors: the pidfile cannot be written, or its process runs.
    fn ready(&self, program: &str) -> Result<Option<PidFile>, String> {
        let written = self.pidfile.as_ref().map(|file| {
            let directory = rundir::directory().map_err(|e| format!("--pidfile: {e}"))?;
            let default = || PathBuf::from(format!("{program}.pid"));
            write_pid(
                directory.join(file.clone().unwrap_or_else(default)),
                self.force,
            )
        });
        let pid_file = written.transpose()?;
        if self.detach {
            println!("{READY}");
            let failed = |e| format!("--detach: {e}");
            let null = || File::options().write(true).open("/dev/null");
            rustix::stdio::dup2_stdout(null().map_err(failed)?).map_err(|e| failed(e.into()))?;
            if self.log_file.is_none() {
                rustix::stdio::dup2_stderr(null().map_err(failed)?)
                    .map_err(|e| failed(e.into()))?;
            }
        }
        Ok(pid_file)
    }

    /// The files of TLS, as the switch has them.
    fn tls(&self) -> Options {
        // The switch may have another working directory.
        let file = |path: &Option<PathBuf>| path.as_ref().and_then(|p| absolute(p).ok());
        Options {
            private_key: file(&self.private_key),
            certificate: file(&self.certificate),
            ca_cert: file(&self.ca_cert),
            // Those that ovs-pki and ofp-pki make are for no host.
            any_peer_name: true,
            ..Options::default()
        }
    }
}

/// What `--verbose=WORDS` means as a level of ours. Errors: there is no such level.
fn log_level(words: &str) -> Result<&'static str, String> {
    match words
        .split(':')
        .nth(2)
        .map(str::to_ascii_lowercase)
        .as_deref()
    {
        Some("emer" | "err") => Ok("error"),
        Some("warn") => Ok("warn"),
        Some("info") => Ok("info"),
        Some("dbg") | None => Ok("debug"),
        Some(other) => Err(format!(
            "--verbose={words}: '{other}' is no level; there are emer, err, warn, info and dbg"
        )),
    }
}

/// Starts this program once more, in a session of its own, and waits until it works.
fn detach() -> std::io::Result<ExitCode> {
    let mut arguments = std::env::args_os();
    // Under the name by which it was started, so that it can be found by it.
    let mut command = Command::new(arguments.next().unwrap_or_default());
    command.args(arguments).env(DETACHED, "1").process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let mut line = String::new();
    if let Some(said) = child.stdout.take() {
        BufReader::new(said).read_line(&mut line)?;
    }
    if line.trim() == READY {
        return Ok(ExitCode::SUCCESS);
    }
    let code = child
        .wait()?
        .code()
        .and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(1)))
}

fn write_pid(path: PathBuf, force: bool) -> Result<PidFile, String> {
    let other = std::fs::read_to_string(&path).unwrap_or_default();
    let other = other.trim();
    if !force && !other.is_empty() && Path::new("/proc").join(other).exists() {
        let path = path.display();
        return Err(format!(
            "--pidfile {path}: process {other} runs (--force starts nevertheless)"
        ));
    }
    let write = || writeln!(File::create(&path)?, "{}", std::process::id());
    write().map_err(|error| format!("--pidfile {}: {error}", path.display()))?;
    Ok(PidFile(path))
}

/// What the name of a switch begins with that is named after its TCP port.
const PORT_NAME: &str = "dp-";

/// The name of the switch that listens, or is to be connected to, at an endpoint: that of a unix
/// socket's file, or `dp-` and the TCP port; so `ofprotocol` finds what `ofdatapath` started.
fn name_of(endpoint: &Endpoint) -> Option<String> {
    match endpoint {
        Endpoint::Unix(path) => Some(path.file_stem()?.to_string_lossy().into_owned()),
        Endpoint::Tcp { port, .. } | Endpoint::Tls { port, .. } => {
            Some(format!("{PORT_NAME}{port}"))
        }
    }
}

/// Whether a switch is named after its TCP port. Another network namespace may use the same port;
/// then the switch there has a number after that name.
fn is_by_port(name: &str) -> bool {
    let port = name.strip_prefix(PORT_NAME);
    port.is_some_and(|port| port.parse::<u16>().is_ok())
}

/// Whether an endpoint is of this machine.
fn is_here(endpoint: &Endpoint) -> bool {
    match endpoint {
        Endpoint::Unix(_) => true,
        Endpoint::Tcp { host, .. } | Endpoint::Tls { host, .. } => {
            host == "localhost" || host == "::1" || host.starts_with("127.")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bofuss_channel::DEFAULT_PORT;

    #[test]
    fn a_switch_is_named_after_where_it_listens() {
        let unix = |path: &str| name_of(&Endpoint::Unix(path.into()));
        assert_eq!(unix("/tmp/s1").as_deref(), Some("s1"));
        assert_eq!(unix("/var/run/dp0.sock").as_deref(), Some("dp0"));
        let tcp = Endpoint::Tcp {
            host: "127.0.0.1".into(),
            port: DEFAULT_PORT,
        };
        assert_eq!(name_of(&tcp).as_deref(), Some("dp-6653"));
        assert!(is_by_port("dp-6653") && !is_by_port("dp-6653-1") && !is_by_port("s1"));
        assert!(is_here(&tcp) && is_here(&Endpoint::Unix("x".into())));
    }

    #[test]
    fn levels_of_the_log_are_those_of_bofuss() {
        assert_eq!(log_level(""), Ok("debug"));
        assert_eq!(log_level("rconn"), Ok("debug"));
        assert_eq!(log_level("ANY:ANY:WARN"), Ok("warn"));
        assert_eq!(log_level("ANY:console:EMER"), Ok("error"));
        assert!(log_level("ANY:ANY:loud").is_err());
    }

    #[test]
    fn a_pidfile_is_another_process_s_unless_forced() {
        let path = std::env::temp_dir().join(format!("bofuss-pid-{}", std::process::id()));
        std::fs::write(&path, "1\n").expect("it can be written");
        assert!(write_pid(path.clone(), false).is_err());
        let file = write_pid(path.clone(), true).expect("it is forced");
        let text = std::fs::read_to_string(&path).expect("it is there");
        assert_eq!(text.trim(), std::process::id().to_string());
        drop(file);
        assert!(!path.exists());
    }
}
