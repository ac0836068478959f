//! The server with TLS.

#[path = "common/controller.rs"]
mod controller;

use bofuss_p4runtime::{Server, Settings, TlsFiles};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};

/// A server that trusts controllers of `authority`. Returns its address.
async fn start(tls: TlsFiles) -> String {
    let (jobs, waiting) = mpsc::channel(1);
    let settings = Settings {
        device_id: 1,
        cpu_port: None,
        tls: Some(tls),
    };
    let (server, _) = Server::new(settings, jobs, None);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(async move {
        let served = server.serve(listener, std::future::pending()).await;
        drop(waiting);
        served.expect("the certificate is right");
    });
    format!("https://{address}")
}

async fn is_answered(address: &str, tls: ClientTlsConfig) -> bool {
    let endpoint = Endpoint::from_shared(address.to_owned()).expect("an address");
    let endpoint = endpoint.tls_config(tls).expect("the certificate is right");
    let Ok(channel) = endpoint.connect().await else {
        return false;
    };
    controller::Controller::is_served(channel).await
}

#[tokio::test(flavor = "multi_thread")]
async fn controllers_show_a_certificate_where_an_authority_is_given() {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let authority = CertifiedIssuer::self_signed(params, key).expect("an authority");
    let made = |name: &str| {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        let certificate = params.signed_by(&key, &authority).expect("a certificate");
        (certificate.pem(), key.serialize_pem())
    };
    let (certificate, key) = made("localhost");
    let address = start(TlsFiles {
        certificate: certificate.into_bytes(),
        key: key.into_bytes(),
        authorities: Some(authority.pem().into_bytes()),
    });
    let address = address.await;
    let tls = ClientTlsConfig::new()
        .ca_certificate(Certificate::from_pem(authority.pem()))
        .domain_name("localhost");
    assert!(!is_answered(&address, tls.clone()).await);
    let (certificate, key) = made("controller");
    let tls = tls.identity(Identity::from_pem(certificate, key));
    assert!(is_answered(&address, tls).await);
}
