//! The command lines of BOFUSS, `ofdatapath` and `ofprotocol`, and of bmv2: what they share.

pub mod ofdatapath;
pub mod ofprotocol;
pub mod simple_switch;

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf, absolute};
use std::process::{Command, ExitCode, Stdio};

use bofuss_channel::Endpoint;

use crate::account::Account;
use crate::config::Options;
use crate::error::{Result, context};
use crate::{log, rundir};

/// Set in the environment of the background process when a program detaches.
const DETACHED: &str = "BOFUSS_DETACHED";
/// The text that the background process prints when it is ready.
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
    /// Refused: a CA certificate that the peer itself sends proves nothing.
    #[arg(long, value_name = "FILE")]
    bootstrap_ca_cert: Option<PathBuf>,
    /// The OpenFlow versions to offer; the highest common one is spoken. Many controllers of BOFUSS
    /// take the highest that they are offered, and speak 1.3 nevertheless.
    #[arg(
        long,
        value_name = "VERSION",
        value_delimiter = ',',
        default_value = "1.0,1.1,1.2,1.3"
    )]
    versions: Vec<String>,
    /// Continue in the background once everything works.
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
    /// Log more, or from LEVEL on: emer, err, warn, info or dbg, as in ANY:ANY:DBG. MODULE and
    /// FACILITY are ignored.
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

/// A pidfile, removed when dropped.
struct PidFile(PathBuf);

impl Drop for PidFile {
    fn drop(&mut self) {
        // The file may be gone already, together with its directory.
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Common {
    /// Refuses options that must not be ignored, starts the log and detaches if requested. Returns
    /// the exit code of the foreground process, or `None` in the process that continues.
    ///
    /// Errors: a sentence for the user.
    fn begin(&self, program: &str) -> Result<Option<ExitCode>> {
        if self.bootstrap_ca_cert.is_some() {
            return Err(
                "--bootstrap-ca-cert: a CA certificate that the peer itself sends proves \
                        nothing; give the CA's file with --ca-cert"
                    .into(),
            );
        }
        let level = self
            .verbose
            .iter()
            .map(|words| log_level(words))
            .next_back();
        if let Some(file) = &self.log_file {
            let path = file
                .clone()
                .unwrap_or_else(|| Path::new("/var/log").join(format!("{program}.log")));
            log_to(&path)?;
        }
        if self.detach && std::env::var_os(DETACHED).is_none() {
            return detach().map(Some).map_err(context("--detach"));
        }
        log::start(level.unwrap_or(Ok("info"))?, log::LogFormat::Text)?;
        Ok(None)
    }

    /// Reports that everything works: writes the pidfile and releases the process that started this
    /// one.
    ///
    /// Errors: the pidfile cannot be written, or its process runs.
    fn ready(&self, program: &str) -> Result<Option<PidFile>> {
        let written = self.pidfile.as_ref().map(|file| {
            let account = Account::instead_of_root(false);
            let directory = rundir::directory(account.as_ref()).map_err(context("--pidfile"))?;
            write_pid(
                directory.join(
                    file.clone()
                        .unwrap_or_else(|| PathBuf::from(format!("{program}.pid"))),
                ),
                self.force,
            )
        });
        let pid_file = written.transpose()?;
        if self.detach {
            println!("{READY}");
            close_output(self.log_file.is_none()).map_err(context("--detach"))?;
        }
        Ok(pid_file)
    }

    /// The TLS options, in the switch's form.
    fn options(&self) -> Options {
        Options {
            versions: self.versions.clone(),
            private_key: as_absolute(&self.private_key),
            certificate: as_absolute(&self.certificate),
            ca_cert: as_absolute(&self.ca_cert),
            // The certificates of ovs-pki and ofp-pki name no host.
            any_peer_name: true,
            ..Options::default()
        }
    }
}

/// Appends what is logged to a file. Errors: it cannot be opened.
fn log_to(path: &Path) -> Result<()> {
    let file = File::options().append(true).create(true).open(path);
    let file = file.map_err(context(format_args!("--log-file {}", path.display())))?;
    rustix::stdio::dup2_stderr(file).map_err(context("--log-file"))
}

/// Translates a sentence about an option of `bofuss run` to a program's own, by pairs of both.
fn in_our_words(error: &str, ours: &[(&str, &str)]) -> String {
    let known = ours.iter().find(|(theirs, _)| error.starts_with(theirs));
    let (theirs, own) = known.copied().unwrap_or_default();
    format!("{own}{}", &error[theirs.len()..])
}

/// Redirects standard output to /dev/null; with `errors`, standard error, too.
fn close_output(errors: bool) -> io::Result<()> {
    let null = File::options().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&null)?;
    if errors {
        rustix::stdio::dup2_stderr(&null)?;
    }
    Ok(())
}

/// The absolute path, for a switch that may have another working directory.
fn as_absolute(path: &Option<PathBuf>) -> Option<PathBuf> {
    absolute(path.as_ref()?).ok()
}

/// The log level of `--verbose=WORDS`. Errors: there is no such level.
fn log_level(words: &str) -> Result<&'static str> {
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
            "--verbose={words}: '{other}' is no level; the levels are emer, err, warn, info and dbg"
        )
        .into()),
    }
}

/// Starts this program again in a process group of its own, and waits until it is ready.
fn detach() -> std::io::Result<ExitCode> {
    let mut arguments = std::env::args_os();
    // Keeps the name under which it was started, so that it can be found by it.
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

fn write_pid(path: PathBuf, force: bool) -> Result<PidFile> {
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let other = text.trim();
    if !force && !other.is_empty() && Path::new("/proc").join(other).exists() {
        let path = path.display();
        return Err(format!(
            "--pidfile {path}: process {other} runs (--force starts nevertheless)"
        )
        .into());
    }
    std::fs::write(&path, format!("{}\n", std::process::id()))
        .map_err(context(format_args!("--pidfile {}", path.display())))?;
    Ok(PidFile(path))
}

/// The prefix of a switch that is named after its TCP port.
const PORT_NAME: &str = "dp-";

/// The name of the switch at an endpoint: the stem of a unix socket's file name, or `dp-` and the
/// TCP port. So `ofprotocol` finds the switch that `ofdatapath` started.
fn name_of(endpoint: &Endpoint) -> Option<String> {
    match endpoint {
        Endpoint::Unix(path) => Some(path.file_stem()?.to_string_lossy().into_owned()),
        Endpoint::Tcp { port, .. } | Endpoint::Tls { port, .. } => {
            Some(format!("{PORT_NAME}{port}"))
        }
    }
}

/// Returns true if a switch is named after its TCP port. Such a name may be taken by a switch with
/// the same port in another network namespace; then another number follows it.
fn is_by_port(name: &str) -> bool {
    let port = name.strip_prefix(PORT_NAME);
    port.is_some_and(|port| port.parse::<u16>().is_ok())
}

/// Returns true if an endpoint is on this machine.
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
