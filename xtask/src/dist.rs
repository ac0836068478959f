//! `cargo xtask dist`: tarballs, Debian packages, an OCI images, a Python wheel; into target/dist.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{ci, man, tree};

/// Rust's, Debian's and OCI's names of a machine.
const MACHINES: [(&str, &str); 2] = [("x86_64", "amd64"), ("aarch64", "arm64")];
const VERSION: &str = env!("CARGO_PKG_VERSION");
const LINKS: [&str; 2] = ["ofdatapath", "ofprotocol"];
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "bash-completion/completions"),
    ("zsh", "zsh/vendor-completions"),
    ("fish", "fish/vendor_completions.d"),
];
const MAINTAINER: &str = "The bofuss authors <bofuss@localhost>";
const SUMMARY: &str = "A user-space OpenFlow software switch";

/// Makes all of them. The same sources give the same bytes.
///
/// Errors: the command that failed, or the file that could not be written.
pub(crate) fn run(root: &Path, target: &Path) -> Result<(), String> {
    build()?;
    let out = target.join("dist");
    let stages = target.join("dist-stage");
    for folder in [&out, &stages] {
        let _ = fs::remove_dir_all(folder);
        folder_at(folder)?;
    }
    let runs_here = format!("{}-unknown-linux-musl/release", std::env::consts::ARCH);
    man::print(&target.join(runs_here), &stages.join("share"))?;
    for (machine, debian) in MACHINES {
        let stage = stages.join(machine);
        let programs = target.join(format!("{machine}-unknown-linux-musl/release"));
        install(root, &programs, &stages.join("share"), &stage.join("usr"))?;
        let strip = format!("{machine}-linux-gnu-strip bofuss dpctl");
        sh(&stage.join("usr/bin"), &strip)?;
        let name = format!("bofuss-{VERSION}-{machine}-linux.tar.gz");
        tar(
            &stage,
            "usr",
            &out.join(name),
            &["--gzip", &format!("--transform=s,^usr,bofuss-{VERSION},")],
        )?;
        image(&stage, debian, &out)?;
        package(root, &stage, debian, &out)?;
    }
    wheel(root, &stages.join("wheel"), &out)?;
    sh(&out, "sha256sum *.* >SHA256SUMS; ls -l")
}

/// Builds the programs so that they need nothing of the system.
fn build() -> Result<(), String> {
    let triples = MACHINES.map(|(machine, _)| format!("{machine}-unknown-linux-musl"));
    let _ = ci::succeed(
        Command::new("rustup")
            .args(["target", "add"])
            .args(&triples),
    );
    ci::cargo(
        "build --locked --release -p bofuss-switchd -p bofuss-dpctl",
        |cargo| {
            for (triple, (machine, _)) in triples.iter().zip(MACHINES) {
                cargo.args(["--target", triple]);
                // Assembler wants a C compiler, and no C library.
                let name = triple.replace('-', "_");
                cargo.env(format!("CC_{name}"), format!("{machine}-linux-gnu-gcc"));
                if machine != std::env::consts::ARCH {
                    let linker = format!("CARGO_TARGET_{}_LINKER", name.to_uppercase());
                    cargo.env(linker, "rust-lld");
                }
            }
        },
    )
}

/// Installs the programs and what belongs to them below `usr`.
fn install(root: &Path, programs: &Path, share: &Path, usr: &Path) -> Result<(), String> {
    for name in ["bofuss", "dpctl"] {
        copy(&programs.join(name), &usr.join("bin").join(name))?;
    }
    for name in LINKS {
        let link = std::os::unix::fs::symlink("bofuss", usr.join("bin").join(name));
        link.map_err(|e| format!("{name}: {e}"))?;
    }
    for page in tree::files(&share.join("man"))? {
        copy(
            &share.join("man").join(&page),
            &usr.join("share/man").join(&page),
        )?;
    }
    for (shell, folder) in COMPLETIONS {
        let from = share.join("completions").join(shell);
        for file in tree::files(&from)? {
            copy(
                &from.join(&file),
                &usr.join("share").join(folder).join(&file),
            )?;
        }
    }
    copy(
        &root.join("contrib/mininet.py"),
        &usr.join("share/bofuss/mininet.py"),
    )?;
    copy(
        &root.join("LICENSE"),
        &usr.join("share/doc/bofuss/copyright"),
    )?;
    copy(
        &root.join("CHANGELOG.md"),
        &usr.join("share/doc/bofuss/changelog"),
    )?;
    sh(usr, "gzip -9nr share/man share/doc/bofuss/changelog")
}

/// A Debian package: an archive of three files, two of them archives.
fn package(root: &Path, stage: &Path, debian: &str, out: &Path) -> Result<(), String> {
    copy(
        &root.join("contrib/bofuss.toml"),
        &stage.join("etc/bofuss/bofuss.toml"),
    )?;
    let control = format!(
        "Package: bofuss\nVersion: {VERSION}\nArchitecture: {debian}\nMaintainer: {MAINTAINER}\n\
         Section: net\nPriority: optional\nSuggests: mininet\n\
         Description: {SUMMARY}\n It speaks OpenFlow 1.3 and 1.0.\n"
    );
    write(&stage.join("DEBIAN/control"), control.as_bytes())?;
    write(
        &stage.join("DEBIAN/conffiles"),
        b"/etc/bofuss/bofuss.toml\n",
    )?;
    sh(
        stage,
        "find usr etc -type f | LC_ALL=C sort | xargs md5sum >DEBIAN/md5sums",
    )?;
    tar(
        &stage.join("DEBIAN"),
        ".",
        &stage.join("control.tar.gz"),
        &["--gzip"],
    )?;
    let both = stage.join("data");
    folder_at(&both)?;
    sh(stage, "mv usr etc data")?;
    tar(&both, ".", &stage.join("data.tar.gz"), &["--gzip"])?;
    let mut archive = b"!<arch>\n".to_vec();
    write(&stage.join("debian-binary"), b"2.0\n")?;
    for name in ["debian-binary", "control.tar.gz", "data.tar.gz"] {
        let bytes = read(&stage.join(name))?;
        let size = bytes.len();
        let head = format!(
            "{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n",
            0, 0, 0, 100_644
        );
        archive.extend([head.as_bytes(), &bytes].concat());
        archive.resize(archive.len().next_multiple_of(2), b'\n');
    }
    write(
        &out.join(format!("bofuss_{VERSION}_{debian}.deb")),
        &archive,
    )
}

/// An image of the programs alone, as `podman load` and `skopeo` read it.
fn image(stage: &Path, machine: &str, out: &Path) -> Result<(), String> {
    let oci = &stage.join("oci");
    let layer = stage.join("layer.tar");
    tar(stage, "usr/bin", &layer, &[])?;
    let layer = blob(oci, &read(&layer)?)?;
    let run = r#"{"Entrypoint":["/usr/bin/bofuss"],"Env":["PATH=/usr/bin"]}"#;
    let files = format!(r#""rootfs":{{"type":"layers","diff_ids":["{}"]}}"#, layer.0);
    let config = format!(r#"{{"architecture":"{machine}","os":"linux","config":{run},{files}}}"#);
    let config = blob(oci, config.as_bytes())?;
    let manifest = format!(
        r#"{{"schemaVersion":2,"mediaType":"{OCI}.manifest.v1+json","config":{},"layers":[{}]}}"#,
        config.descriptor("config.v1+json", ""),
        layer.descriptor("layer.v1.tar", "")
    );
    let platform = format!(r#","platform":{{"architecture":"{machine}","os":"linux"}}"#);
    let manifest = blob(oci, manifest.as_bytes())?;
    let index = format!(
        r#"{{"schemaVersion":2,"mediaType":"{OCI}.index.v1+json","manifests":[{}]}}"#,
        manifest.descriptor("manifest.v1+json", &platform)
    );
    write(&oci.join("index.json"), index.as_bytes())?;
    write(
        &oci.join("oci-layout"),
        br#"{"imageLayoutVersion":"1.0.0"}"#,
    )?;
    let name = format!("bofuss-{VERSION}-oci-{machine}.tar");
    tar(oci, ".", &out.join(name), &[])
}

const OCI: &str = "application/vnd.oci.image";

/// Digest and size of a blob.
struct Blob(String, usize);

impl Blob {
    fn descriptor(&self, kind: &str, more: &str) -> String {
        let Self(digest, size) = self;
        format!(r#"{{"mediaType":"{OCI}.{kind}","digest":"{digest}","size":{size}{more}}}"#)
    }
}

fn blob(oci: &Path, bytes: &[u8]) -> Result<Blob, String> {
    let path = oci.join("blobs/sha256/new");
    write(&path, bytes)?;
    let hash = sha256(&path)?;
    let named = path.with_file_name(&hash);
    fs::rename(&path, &named).map_err(|e| format!("{}: {e}", named.display()))?;
    Ok(Blob(format!("sha256:{hash}"), bytes.len()))
}

/// A wheel with the class for Mininet, as a module and as the file for `mn --custom`.
fn wheel(root: &Path, stage: &Path, out: &Path) -> Result<(), String> {
    let info = format!("bofuss-{VERSION}.dist-info");
    let data = format!("bofuss-{VERSION}.data/data/share/bofuss/mininet.py");
    let class = root.join("contrib/mininet.py");
    copy(&class, &stage.join("bofuss/mininet.py"))?;
    copy(&class, &stage.join(&data))?;
    let init = format!("\"\"\"The bofuss switch, for Python.\"\"\"\n\n__version__ = '{VERSION}'\n");
    write(&stage.join("bofuss/__init__.py"), init.as_bytes())?;
    let metadata = format!(
        "Metadata-Version: 2.1\nName: bofuss\nVersion: {VERSION}\nSummary: {SUMMARY}\n\
         License: Apache-2.0\nRequires-Python: >=3.6\n"
    );
    write(&stage.join(&info).join("METADATA"), metadata.as_bytes())?;
    let kind = b"Wheel-Version: 1.0\nGenerator: xtask\nRoot-Is-Purelib: true\nTag: py3-none-any\n";
    write(&stage.join(&info).join("WHEEL"), kind)?;
    let mut record = String::new();
    for file in tree::files(stage)? {
        let path = stage.join(&file);
        let (hash, size) = (base64(&sha256(&path)?), read(&path)?.len());
        record += &format!("{},sha256={hash},{size}\n", file.display());
    }
    record += &format!("{info}/RECORD,,\n");
    write(&stage.join(&info).join("RECORD"), record.as_bytes())?;
    let name = out.join(format!("bofuss-{VERSION}-py3-none-any.whl"));
    let zip = format!(
        "find . -exec touch -d 1980-01-02 {{}} +
         python3 -m zipfile -c '{}' bofuss {info} *.data",
        name.display()
    );
    sh(stage, &zip)
}

/// Digits of a hash in base 16, in base 64 for names.
fn base64(hex: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let bits: String = hex
        .chars()
        .map(|c| format!("{:04b}", c.to_digit(16).unwrap_or(0)))
        .collect();
    let digit = |six: &[u8]| {
        let bits = six.iter().chain(b"000000").take(6);
        let number = bits.fold(0, |n, bit| n << 1 | usize::from(bit - b'0'));
        char::from(DIGITS[number])
    };
    bits.as_bytes().chunks(6).map(digit).collect()
}

fn sha256(path: &Path) -> Result<String, String> {
    let output = Command::new("sha256sum").arg(path).output();
    let output = output.map_err(|e| format!("sha256sum: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let hash = text.split(' ').next().filter(|hash| hash.len() == 64);
    hash.map(str::to_owned)
        .ok_or_else(|| format!("sha256sum {}", path.display()))
}

/// An archive of `what` in a folder, whose bytes depend on the files alone.
fn tar(folder: &Path, what: &str, file: &Path, more: &[&str]) -> Result<(), String> {
    let fixed = "--sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=go=rX";
    let mut tar = Command::new("tar");
    tar.arg("--create").args(fixed.split(' ')).args(more);
    ci::succeed(tar.arg("--file").arg(file).arg("-C").arg(folder).arg(what))
}

fn sh(folder: &Path, script: &str) -> Result<(), String> {
    ci::succeed(
        Command::new("sh")
            .args(["-euc", script])
            .current_dir(folder),
    )
}

fn folder_at(path: &Path) -> Result<(), String> {
    fs::create_dir_all(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    folder_at(path.parent().expect("each file is in a folder"))?;
    fs::write(path, bytes).map_err(|e| format!("{}: {e}", path.display()))
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    folder_at(to.parent().expect("each file is in a folder"))?;
    let copied = fs::copy(from, to);
    copied
        .map(drop)
        .map_err(|e| format!("{}: {e}", from.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_in_base_64_has_no_padding() {
        let hex = |bytes: &[u8]| -> String { bytes.iter().map(|b| format!("{b:02x}")).collect() };
        assert_eq!(base64(&hex(b"Man")), "TWFu");
        assert_eq!(base64(&hex(&[0xff, 0xef])), "_-8");
        assert_eq!(base64(""), "");
    }

    #[test]
    fn the_version_is_the_same_wherever_it_stands() {
        let citation = include_str!("../../CITATION.cff");
        assert!(citation.contains(&format!("\nversion: {VERSION}\n")));
    }
}
