//! The server with TLS, whose files change.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use bofuss_channel::{Tls, TlsError, TlsFiles};
use bofuss_p4runtime::{Server, ServerTls, Settings};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};

use crate::common::Controller;

/// How often files that changed were right, and wrong.
static CHANGES: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

fn note(read: Result<(), TlsError>) {
    CHANGES[usize::from(read.is_err())].fetch_add(1, Relaxed);
}

fn changes() -> [usize; 2] {
    [0, 1].map(|kind: usize| CHANGES[kind].load(Relaxed))
}

/// A server with this TLS. Returns its address.
async fn start(tls: Tls) -> String {
    let (jobs, waiting) = mpsc::channel(1);
    let settings = Settings {
        device_id: 1,
        cpu_port: None,
        tls: Some(ServerTls { tls, report: note }),
    };
    let (server, _) = Server::new(settings, jobs, None);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(async move {
        let served = server.serve(listener, std::future::pending()).await;
        drop(waiting);
        served.expect("it serves");
    });
    format!("https://{address}")
}

/// Whether a controller is answered. It wants HTTP/2 by ALPN.
async fn is_answered(address: &str, tls: ClientTlsConfig) -> bool {
    let endpoint = Endpoint::from_shared(address.to_owned()).expect("an address");
    let endpoint = endpoint.tls_config(tls).expect("the certificate is right");
    let Ok(channel) = endpoint.connect().await else {
        return false;
    };
    Controller::is_served(channel).await
}

/// An authority, and what it signs.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("an authority"))
    }

    /// A certificate and its key.
    fn sign(&self, name: &str) -> [String; 2] {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        let certificate = params.signed_by(&key, &self.0).expect("a certificate");
        [certificate.pem(), key.serialize_pem()]
    }

    /// The TLS of a controller that has a certificate of this authority, and knows it.
    fn controller(&self) -> ClientTlsConfig {
        let [certificate, key] = self.sign("controller");
        self.trusting()
            .identity(Identity::from_pem(certificate, key))
    }

    /// That of one without a certificate.
    fn trusting(&self) -> ClientTlsConfig {
        let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(self.0.pem()));
        tls.domain_name("localhost")
    }
}

/// The files of the server, which are removed when dropped.
struct Files(PathBuf);

impl Files {
    fn named(&self) -> TlsFiles {
        TlsFiles {
            private_key: self.0.join("key"),
            certificate: self.0.join("certificate"),
            ca_cert: self.0.join("ca"),
            any_peer_name: false,
        }
    }

    /// Writes files in which this authority has signed the server, and signs controllers.
    fn write(&self, authority: &Authority) {
        let [certificate, key] = authority.sign("localhost");
        let texts = [
            ("key", key),
            ("certificate", certificate),
            ("ca", authority.0.pem()),
        ];
        for (name, text) in texts {
            fs::write(self.0.join(name), text).expect("it is written");
        }
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn controllers_show_a_certificate_by_the_files_as_they_are_when_they_connect() {
    let folder = std::env::temp_dir().join(format!("bofuss-p4runtime-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let files = Files(folder);
    let [old, new] = [Authority::new(), Authority::new()];
    files.write(&old);
    let address = start(Tls::load(files.named()).expect("they are right")).await;
    assert!(!is_answered(&address, old.trusting()).await);
    assert!(!is_answered(&address, new.controller()).await);
    assert!(is_answered(&address, old.controller()).await);
    assert_eq!(changes(), [0, 0]);
    files.write(&new);
    assert!(!is_answered(&address, old.controller()).await);
    assert!(is_answered(&address, new.controller()).await);
    assert_eq!(changes(), [1, 0]);
    fs::write(files.0.join("certificate"), "no certificate").expect("it is written");
    assert!(is_answered(&address, new.controller()).await, "by the old");
    assert_eq!(changes(), [1, 1]);
}
