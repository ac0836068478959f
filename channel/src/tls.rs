//! TLS: who we are, whom we trust, and the handshake. Both sides always show a certificate.

use std::fmt::{Debug, Display};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{fmt, fs, io};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, copy, sink};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::client::{Resumption, WebPkiServerVerifier};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use tokio_rustls::rustls::{
    ALL_VERSIONS, CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore,
    ServerConfig, SignatureScheme,
};
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};

use crate::stream::{AddressPair, Duplex, Stream};
use crate::timeouts::{HELLO_TIMEOUT, LINGER};
use crate::{Reading, ReadingError, Reason, TlsError, TlsFiles, read_file, shortened};

/// The identity of this side and the certificates that it trusts. Clones share it.
///
/// A new connection takes the files as they are then or, if they are wrong then, as they were;
/// those that are up stay.
#[derive(Clone)]
pub struct Tls {
    loaded: Arc<Mutex<Loaded>>,
    /// One thread reads the files at a time.
    turns: Arc<tokio::sync::Mutex<()>>,
}

/// The time that a new connection waits for the files to be read again.
const FILES_TIMEOUT: Duration = Duration::from_secs(1);

impl Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.loaded().files.fmt(f)
    }
}

/// The content of the files when they were read last.
struct Loaded {
    files: TlsFiles,
    stamps: [Stamp; 3],
    connector: TlsConnector,
    acceptor: TlsAcceptor,
    /// The result of the last change, until it is reported.
    news: Option<Result<(), TlsError>>,
}

/// Identifies a version of a file: inode, size in bytes, time of modification in s and ns.
type Stamp = Option<(u64, u64, i64, i64)>;

impl Tls {
    /// Reads the files. Errors: the wrong file, and why.
    pub fn load(files: TlsFiles) -> Result<Self, TlsError> {
        let stamps = stamps(&files);
        let (connector, acceptor) = read(&files)?;
        let loaded = Loaded {
            files,
            stamps,
            connector,
            acceptor,
            news: None,
        };
        Ok(Self {
            loaded: Arc::new(Mutex::new(loaded)),
            turns: Arc::default(),
        })
    }

    fn loaded(&self) -> MutexGuard<'_, Loaded> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the files again if one of them changed; says so, once for each change. A thread reads
    /// them: while a slow file system lets it wait, what was read before counts.
    ///
    /// Errors: as of [`Tls::load`]; what was read before still counts.
    pub async fn refresh(&self) -> Option<Result<(), TlsError>> {
        let this = self.clone();
        let refreshed = async {
            let turn = this.turns.clone().lock_owned().await;
            let read = move || {
                this.read_again();
                drop(turn);
                Ok::<_, ReadingError>(())
            };
            // Without a thread, the files are as they were.
            if let Ok(mut reading) = Reading::begin(read) {
                let _ = reading.end().await;
            }
        };
        let _ = timeout(FILES_TIMEOUT, refreshed).await;
        self.loaded().news.take()
    }

    /// Reads the files again if one of them changed.
    fn read_again(&self) {
        let (files, old) = {
            let loaded = self.loaded();
            (loaded.files.clone(), loaded.stamps)
        };
        let stamps = stamps(&files);
        if stamps == old {
            return;
        }
        let read = read(&files);
        let mut loaded = self.loaded();
        loaded.stamps = stamps;
        loaded.news = Some(read.map(|(connector, acceptor)| {
            loaded.connector = connector;
            loaded.acceptor = acceptor;
        }));
    }

    /// Makes TLS of a connection that we opened to `host`.
    pub(crate) async fn connect(&self, host: &str, stream: TcpStream) -> Result<Stream, Reason> {
        let (plain, _zone) = host.split_once('%').unwrap_or((host, ""));
        let name = ServerName::try_from(plain.to_owned())
            .map_err(|_| Reason::Tls(format!("no certificate can be for {host}")))?;
        let connector = self.loaded().connector.clone();
        shake(connector.connect(name, stream).into_fallible()).await
    }

    /// Makes TLS of a connection that a peer opened.
    pub(crate) async fn accept(&self, stream: TcpStream) -> Result<Stream, Reason> {
        let acceptor = self.loaded().acceptor.clone();
        shake(acceptor.accept(stream).into_fallible()).await
    }

    /// The same for a door of another protocol than OpenFlow, which has this name in ALPN (RFC
    /// 7301). Peers may leave the name out.
    ///
    /// Errors: those of TLS, also a peer that offers only other protocols.
    pub async fn accept_for(
        &self,
        protocol: &str,
        stream: TcpStream,
    ) -> Result<impl AsyncRead + AsyncWrite + Send + Unpin + use<>, Reason> {
        let acceptor = self.loaded().acceptor.clone();
        let mut config = ServerConfig::clone(acceptor.config());
        config.alpn_protocols = vec![protocol.into()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        shake(acceptor.accept(stream).into_fallible()).await
    }
}

impl Duplex for client::TlsStream<TcpStream> {
    fn ends(&self) -> Option<AddressPair> {
        self.get_ref().0.ends()
    }
}

impl Duplex for server::TlsStream<TcpStream> {
    fn ends(&self) -> Option<AddressPair> {
        self.get_ref().0.ends()
    }
}

/// Waits for the handshake; on failure lets the peer read the alert that says why.
async fn shake<S: Duplex + 'static>(
    shaking: impl Future<Output = Result<S, (io::Error, TcpStream)>>,
) -> Result<Stream, Reason> {
    let (error, mut stream) = match timeout(HELLO_TIMEOUT, shaking).await {
        Ok(Ok(stream)) => return Ok(Box::new(stream)),
        Ok(Err(failed)) => failed,
        Err(_) => return Err(Reason::TlsTimeout),
    };
    let farewell = async {
        let _ = stream.shutdown().await;
        let _ = copy(&mut stream, &mut sink()).await;
    };
    let _ = timeout(LINGER, farewell).await;
    Err(error.into())
}

fn stamps(files: &TlsFiles) -> [Stamp; 3] {
    [&files.private_key, &files.certificate, &files.ca_cert].map(|path| {
        let meta = fs::metadata(path).ok()?;
        Some((meta.ino(), meta.size(), meta.mtime(), meta.mtime_nsec()))
    })
}

fn wrong(path: &Path, reason: impl Display) -> TlsError {
    TlsError::Wrong {
        path: path.into(),
        // The library quotes lines that it does not understand.
        reason: shortened(reason.to_string()),
    }
}

fn unread(path: &Path, error: io::Error) -> TlsError {
    let path = path.into();
    TlsError::Unread { path, error }
}

/// The error for a key that does not belong to the certificate.
fn mismatch(files: &TlsFiles, error: Error) -> TlsError {
    wrong(&files.private_key, format!("with the certificate: {error}"))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let text = read_file(path).map_err(|error| unread(path, error))?;
    let read = CertificateDer::pem_slice_iter(&text).collect();
    let list: Vec<_> = Result::map_err(read, |error| wrong(path, error))?;
    if list.is_empty() {
        return Err(wrong(path, "there is no certificate in it"));
    }
    Ok(list)
}

/// Both sides' configuration, without sessions that could be taken up again: each connection
/// shows its certificates anew.
fn read(files: &TlsFiles) -> Result<(TlsConnector, TlsAcceptor), TlsError> {
    let provider = Arc::new(ring::default_provider());
    let mut roots = RootCertStore::empty();
    for certificate in certificates(&files.ca_cert)? {
        let added = roots.add(certificate);
        added.map_err(|error| wrong(&files.ca_cert, error))?;
    }
    let chain = certificates(&files.certificate)?;
    let text = read_file(&files.private_key).map_err(|error| unread(&files.private_key, error))?;
    let key =
        PrivateKeyDer::from_pem_slice(&text).map_err(|error| wrong(&files.private_key, error))?;
    let roots = Arc::new(roots);
    let servers = Peers {
        inner: WebPkiServerVerifier::builder_with_provider(roots.clone(), provider.clone())
            .build()
            .map_err(|error| wrong(&files.ca_cert, error))?,
        any_name: files.any_peer_name,
    };
    let known = "the provider has what these versions need";
    let mut client = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(ALL_VERSIONS)
        .expect(known)
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(servers))
        .with_client_auth_cert(chain.clone(), key.clone_key())
        .map_err(|error| mismatch(files, error))?;
    client.resumption = Resumption::disabled();
    let clients = WebPkiClientVerifier::builder_with_provider(roots, provider.clone())
        .build()
        .map_err(|error| wrong(&files.ca_cert, error))?;
    let mut server = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(ALL_VERSIONS)
        .expect(known)
        .with_client_cert_verifier(clients)
        .with_single_cert(chain, key)
        .map_err(|error| mismatch(files, error))?;
    server.session_storage = Arc::new(NoServerSessionStorage {});
    server.send_tls13_tickets = 0;
    Ok((Arc::new(client).into(), Arc::new(server).into()))
}

/// Checks those that we connect to.
#[derive(Debug)]
struct Peers {
    inner: Arc<WebPkiServerVerifier>,
    any_name: bool,
}

impl ServerCertVerifier for Peers {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self
            .inner
            .verify_server_cert(certificate, between, name, ocsp, now);
        match verified {
            // The name is what is checked last.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.any_name => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner
            .verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner
            .verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}
