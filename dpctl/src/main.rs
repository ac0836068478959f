//! `dpctl`: asks and changes an OpenFlow switch from the command line.
#![forbid(unsafe_code)]
// The help texts of options use brackets for what may be left out.
#![allow(rustdoc::broken_intra_doc_links)]

mod find;
mod meter;
mod queue;
mod show;
mod verbs;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use bofuss_channel::{Tls, TlsFiles};
use bofuss_oflib::Version;
use clap::Parser;

/// Ask and change an OpenFlow switch.
///
/// ADDRESS is tcp:HOST[:PORT], ssl:HOST[:PORT], unix:FILE or the name of a running bofuss switch;
/// it stands before the verb or behind the arguments. Without it, the only switch running is meant.
#[derive(Parser)]
#[command(name = "dpctl", version, after_help = verbs::help(), arg_required_else_help = true)]
struct Cli {
    /// [ADDRESS] VERB [ARGUMENT...]
    #[arg(
        required = true,
        value_name = "WORD",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    words: Vec<String>,
    /// Match priority and all fields exactly, in mod-flows and del-flows.
    #[arg(long)]
    strict: bool,
    /// The OpenFlow versions to offer, of which the highest that the switch speaks is spoken:
    /// OpenFlow10, OpenFlow13.
    #[arg(short = 'O', long, value_name = "VERSION,...", value_delimiter = ',')]
    #[arg(value_parser = version)]
    protocols: Vec<Version>,
    /// The longest wait for the switch, in seconds.
    #[arg(short, long, default_value_t = 10, value_name = "SECONDS")]
    timeout: u64,
    /// For ssl:, our private key (PEM).
    #[arg(short, long, value_name = "FILE")]
    private_key: Option<PathBuf>,
    /// For ssl:, our certificate (PEM).
    #[arg(short, long, value_name = "FILE")]
    certificate: Option<PathBuf>,
    /// For ssl:, the certificates of the CAs that sign the switch's (PEM).
    #[arg(short = 'C', long, value_name = "FILE")]
    ca_cert: Option<PathBuf>,
    /// Accept the switch's certificate, if a CA signed it, although it is not for the HOST of
    /// ssl:HOST.
    #[arg(long)]
    any_peer_name: bool,
}

/// A version by the name that Open vSwitch has for it.
fn version(name: &str) -> Result<Version, String> {
    let name_of = |version: &Version| format!("OpenFlow{version}").replace('.', "");
    let found = Version::SPOKEN.iter().find(|one| name_of(one) == name);
    found
        .copied()
        .ok_or_else(|| "not OpenFlow10 or OpenFlow13".into())
}

impl Cli {
    /// The versions to offer.
    fn versions(&self) -> &[Version] {
        match self.protocols.is_empty() {
            true => Version::SPOKEN,
            false => &self.protocols,
        }
    }

    /// What TLS needs, if its files are named.
    fn tls(&self) -> Result<Option<Tls>, Failure> {
        match (&self.private_key, &self.certificate, &self.ca_cert) {
            (None, None, None) => Ok(None),
            (Some(private_key), Some(certificate), Some(ca_cert)) => {
                let tls = Tls::load(TlsFiles {
                    private_key: private_key.clone(),
                    certificate: certificate.clone(),
                    ca_cert: ca_cert.clone(),
                    any_peer_name: self.any_peer_name,
                });
                Ok(Some(tls?))
            }
            _ => Err(Failure::Usage(
                "TLS needs all of --private-key, --certificate and --ca-cert".into(),
            )),
        }
    }
}

/// Why a command failed.
pub(crate) enum Failure {
    /// The command line is wrong: exit code 2.
    Usage(String),
    /// The switch or the connection is: exit code 1.
    Failed(String),
}

impl From<String> for Failure {
    fn from(text: String) -> Self {
        Self::Usage(text)
    }
}

fn main() -> ExitCode {
    let mut cli = Cli::parse();
    // Options may also stand behind the verb, as users of ovs-ofctl write them.
    let count = cli.words.len();
    cli.words.retain(|word| word != "--strict");
    cli.strict |= cli.words.len() < count;
    let timeout = Duration::from_secs(cli.timeout.max(1));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.expect("a runtime of one thread needs two descriptors");
    let done = cli.tls().and_then(|tls| {
        let (versions, tls) = (cli.versions(), tls.as_ref());
        runtime.block_on(verbs::run(&cli.words, cli.strict, versions, tls, timeout))
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Usage(error)) => {
            eprintln!("dpctl: {error}");
            ExitCode::from(2)
        }
        Err(Failure::Failed(error)) => {
            eprintln!("dpctl: {error}");
            ExitCode::FAILURE
        }
    }
}
