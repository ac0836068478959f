//! Describes for the log what is wrong when TLS fails.

use std::io;

use tokio_rustls::rustls::{AlertDescription, CertificateError, Error};

/// Returns what is wrong, if the fault is TLS's; for the log.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of rustls that may grow"
)]
pub(crate) fn describe(error: &io::Error) -> Option<String> {
    use CertificateError as Wrong;
    let error = error.get_ref()?.downcast_ref::<Error>()?;
    Some(match error {
        Error::InvalidMessage(_) => format!("the peer does not speak TLS: {error}"),
        Error::NoCertificatesPresented => "the peer shows no certificate".into(),
        Error::AlertReceived(alert) => format!("the peer refuses our TLS: {}", words(*alert)),
        Error::InvalidCertificate(Wrong::Expired | Wrong::ExpiredContext { .. }) => {
            "the peer's certificate has expired".into()
        }
        Error::InvalidCertificate(Wrong::UnknownIssuer | Wrong::BadSignature) => {
            "the peer's certificate is signed by no CA of ours".into()
        }
        Error::InvalidCertificate(Wrong::NotValidForNameContext {
            expected,
            presented,
        }) => wrong_name(&expected.to_str(), presented),
        Error::InvalidCertificate(wrong) => format!("the peer's certificate is wrong: {wrong}"),
        other => other.to_string(),
    })
}

/// Returns the meaning of those alerts of RFC 8446 section 6.2 that a wrong set-up causes; of
/// another its number.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of rustls that may grow"
)]
fn words(alert: AlertDescription) -> String {
    let text = match alert {
        AlertDescription::UnknownCA => "it does not know the CA of our certificate",
        AlertDescription::BadCertificate => "our certificate is wrong",
        AlertDescription::UnsupportedCertificate => "it does not support our certificate",
        AlertDescription::CertificateRevoked => "our certificate is revoked",
        AlertDescription::CertificateExpired => "our certificate has expired or is not valid yet",
        AlertDescription::CertificateUnknown => "it does not accept our certificate",
        AlertDescription::CertificateRequired => "it wants a certificate of us",
        AlertDescription::AccessDenied => "our certificate is valid, and access is denied",
        AlertDescription::DecryptError => "a signature is wrong",
        AlertDescription::ProtocolVersion => "it speaks other versions of TLS",
        AlertDescription::HandshakeFailure => "it has no algorithms in common with us",
        other => return format!("alert {}", u8::from(other)),
    };
    text.into()
}

/// The most names of a certificate that are printed.
const MAX_NAMES: usize = 8;

/// The sentence for a wrong name: the expected one, those of the certificate, and the remedy.
fn wrong_name(expected: &str, presented: &[String]) -> String {
    let mut names: Vec<&str> = presented.iter().filter_map(|one| host(one)).collect();
    let more = names.len().saturating_sub(MAX_NAMES);
    names.truncate(MAX_NAMES);
    let mut list = names.join(", ");
    if more > 0 {
        list += &format!(" and {more} more");
    }
    let but = if list.is_empty() {
        "it names no host: accept it".to_string()
    } else {
        format!("but for {list}: connect by that name, or accept any")
    };
    format!("the peer's certificate is not for {expected}, {but} with --any-peer-name")
}

/// The host name or address in the library's text of a name, as `DnsName("c0.example")`; `None` for
/// other kinds of names, and for those that have no place in a log.
fn host(name: &str) -> Option<&str> {
    let host = if let Some(rest) = name.strip_prefix("DnsName(\"") {
        rest.strip_suffix("\")")?
    } else {
        name.strip_prefix("IpAddress(")?.strip_suffix(')')?
    };
    host.chars().all(|c| c.is_ascii_graphic()).then_some(host)
}
