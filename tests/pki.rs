//! Keys and certificates made by OpenSSL, in a directory that is removed when dropped.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::process::Command;

use bofuss_tests::ok;

/// A directory of keys and certificates, removed when dropped.
pub struct Pki(pub PathBuf);

impl Pki {
    /// An empty directory.
    pub fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("bofuss-pki-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }

    /// Runs a program with arguments separated by blanks, in the directory.
    pub fn run(&self, program: &str, arguments: &str) {
        let mut command = Command::new(program);
        ok(command.args(arguments.split(' ')).current_dir(&self.0));
    }

    /// Makes the CA `ca`.
    pub fn ca(&self, ca: &str) {
        let files = format!("-keyout {ca}-privkey.pem -out {ca}-cert.pem");
        let kind = "req -x509 -newkey rsa:2048 -nodes -days 2";
        self.run("openssl", &format!("{kind} -subj /CN={ca} {files}"));
    }

    /// Makes a key, and a certificate signed by `ca`, for a name in OpenSSL's form: IP:127.0.0.1.
    pub fn sign(&self, ca: &str, who: &str, name: &str) {
        let kind = "req -newkey rsa:2048 -nodes -subj /CN=x";
        let files = format!("-keyout {who}-privkey.pem -out {who}-req.pem");
        self.run("openssl", &format!("{kind} {files}"));
        std::fs::write(self.0.join("names"), format!("subjectAltName={name}")).unwrap();
        let by = format!("-CA {ca}-cert.pem -CAkey {ca}-privkey.pem -CAcreateserial");
        let files = format!("-in {who}-req.pem -out {who}-cert.pem -extfile names");
        self.run("openssl", &format!("x509 -req -days 2 {by} {files}"));
    }

    /// A file of the directory.
    pub fn path(&self, file: &str) -> String {
        self.0.join(file).display().to_string()
    }

    /// The three options for one side, with the certificates of `ca` to be trusted.
    pub fn options(&self, who: &str, ca: &str) -> Vec<String> {
        let key = self.path(&format!("{who}-privkey.pem"));
        let certificate = self.path(&format!("{who}-cert.pem"));
        let words = ["--private-key", &key, "--certificate", &certificate];
        let words = words.map(String::from).into_iter();
        words.chain(["--ca-cert".into(), self.path(ca)]).collect()
    }
}

impl Drop for Pki {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
