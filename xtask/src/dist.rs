//! `cargo xtask dist`: tarballs, Debian packages, images of containers, Python wheels; into
//! target/dist.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{self, sh};
use crate::package::{BuildKind, HERE, SUMMARY, VERSION, tool};
use crate::tree::{copy, folder_at, write};
use crate::{licenses, wheel};

/// Rust's name of a machine, and the one that Debian and containers have.
const MACHINES: [(&str, &str); 2] = [("x86_64", "amd64"), ("aarch64", "arm64")];
const PACKAGES: &str =
    "--locked --package bofuss-switchd --package bofuss-dpctl --package bofuss-measure";
/// Installs programs, links, files of the tree, and what the programs print, below a folder `usr`.
const INSTALL: &str = r#"
usr=$1 programs=$2 share=$3
for name in bofuss dpctl ofmeter; do install -D -t "$usr/bin" "$programs/$name"; done
for name in ofdatapath ofprotocol; do ln -s bofuss "$usr/bin/$name"; done
mkdir -p "$usr/share/bofuss/bmv2"
for name in simple_switch simple_switch_grpc; do
    ln -s ../../../bin/bofuss "$usr/share/bofuss/bmv2/$name"
done
put() { install -D -m 644 -t "$usr/$1" "$2"; }
for file in contrib/*.py contrib/wireshark/*.lua; do put share/bofuss "$file"; done
for folder in prometheus containerlab kathara; do
    for file in contrib/$folder/*.*; do put "share/bofuss/$folder" "$file"; done
done
(cd examples && find . -type f -regextype egrep -regex '.*[.](py|md|toml|p4|json|txtpb|stf|c|h)') \
    | while read -r file; do
    install -D -m 644 "examples/$file" "$usr/share/bofuss/examples/$file"
done
put share/doc/bofuss/examples contrib/bofuss.toml
put lib/systemd/system contrib/bofuss@.service
install -D -m 644 contrib/bofuss.sysusers "$usr/lib/sysusers.d/bofuss.conf"
install -m 644 CHANGELOG.md "$usr/share/doc/bofuss/NEWS"
printed() { mkdir -p "$usr/share/$2" && cp -r "$share/$1/." "$usr/share/$2"; }
printed man man
printed completions/bash bash-completion/completions
printed completions/zsh zsh/vendor-completions
printed completions/fish fish/vendor_completions.d
gzip -9nr "$usr/share/man" "$usr/share/doc/bofuss/NEWS"
"#;
const MAINTAINER: &str = "The bofuss developers";
const ABOUT: &str = " It speaks OpenFlow 1.0 to 1.5 and runs as an ordinary process. It\n \
    takes the place of BOFUSS (ofsoftswitch13): ofdatapath, ofprotocol and dpctl are\n \
    there, and /usr/share/bofuss has examples, and modules for Mininet and\n \
    controllers.\n";

/// The folder of the packages.
pub(crate) fn folder(target: &Path, kind: BuildKind) -> PathBuf {
    match kind {
        BuildKind::Release => target.join("dist"),
        BuildKind::Debug => target.join("dist-debug"),
    }
}

/// Builds the packages. The build is reproducible: the same sources give the same bytes.
///
/// Errors: the command that failed, or the file that could not be written.
pub(crate) fn run(root: &Path, target: &Path, kind: BuildKind) -> Result<(), String> {
    let machines = prepare(kind)?;
    build(&machines, kind)?;
    let out = folder(target, kind);
    let stages = out.with_extension("stage");
    for folder in [&out, &stages] {
        let _ = fs::remove_dir_all(folder);
        folder_at(folder)?;
    }
    let profile = kind.profile();
    let share = stages.join("share");
    let mut pages = Command::new("sh");
    pages.arg(root.join("xtask/man.sh"));
    command::succeed(pages.arg(programs(target, HERE, profile)).arg(&share))?;
    for (machine, debian) in machines {
        let stage = stages.join(machine);
        let usr = stage.join("usr");
        let mut install = Command::new("sh");
        install.args(["-euc", INSTALL, "sh"]).current_dir(root);
        install.args([&usr, &programs(target, machine, profile), &share]);
        command::succeed(&mut install)?;
        let notice = licenses::notice(PACKAGES, &triple(machine))?;
        write(&usr.join("share/doc/bofuss/copyright"), notice.as_bytes())?;
        let strip = tool(machine, "strip -R .comment bofuss dpctl ofmeter");
        sh(&usr.join("bin"), &strip)?;
        let name = format!("bofuss-{VERSION}-{machine}-linux.tar.gz");
        let folder = format!("--transform=s,^usr,bofuss-{VERSION},");
        tar(&stage, "usr", &out.join(name), &["--gzip", &folder])?;
        image(&stage, debian, &out)?;
        package(root, &stage, debian, &out)?;
        wheel::build(machine, kind)?;
        let built = wheel::folder(target, machine).join(kind.module_folder());
        wheel::pack(root, machine, &built, &stage.join("wheel"), &out)?;
    }
    let _ = fs::remove_dir_all(&stages);
    sh(&out, "sha256sum *.* >SHA256SUMS; ls -l")
}

/// The machines to make packages for.
///
/// Errors: one that the compiler cannot make programs for, and what to type; or no `dpkg-deb`.
pub(crate) fn prepare(kind: BuildKind) -> Result<Vec<(&'static str, &'static str)>, String> {
    command::output(Command::new("dpkg-deb").arg("--version"))?;
    let mut machines = MACHINES.to_vec();
    if kind == BuildKind::Debug {
        machines.retain(|(name, _)| *name == HERE);
    }
    let mut triples = Vec::new();
    for (machine, _) in &machines {
        triples.push(triple(machine));
        if *machine != HERE {
            triples.push(wheel::triple(machine));
        }
    }
    for triple in triples {
        // This fails without rustup, but the compiler may have the target nevertheless.
        let _ = Command::new("rustup")
            .args(["target", "add", &triple])
            .output();
        let mut rustc = Command::new("rustc");
        let library =
            command::output(rustc.args(["--print", "target-libdir", "--target", &triple]))?;
        if !Path::new(library.trim()).exists() {
            return Err(format!(
                "no Rust for {triple}; type: rustup target add {triple}"
            ));
        }
    }
    Ok(machines)
}

/// The folder of the programs that are built for a machine.
fn programs(target: &Path, machine: &str, profile: &str) -> PathBuf {
    target.join(triple(machine)).join(profile)
}

fn triple(machine: &str) -> String {
    format!("{machine}-unknown-linux-musl")
}

/// Builds static programs.
fn build(machines: &[(&str, &str)], kind: BuildKind) -> Result<(), String> {
    command::cargo_with(&format!("build {PACKAGES}"), |cargo| {
        cargo.args(["--profile", kind.profile()]);
        for (machine, _) in machines {
            let triple = triple(machine);
            cargo.args(["--target", &triple]);
            // Assembler files and the allocator need a C compiler; the C library is musl.
            let name = triple.replace('-', "_");
            cargo.env(format!("CC_{name}"), tool(machine, "gcc"));
            // The headers are glibc's. Fortified ones call functions that musl does not have.
            cargo.env(format!("CFLAGS_{name}"), "-U_FORTIFY_SOURCE");
            if *machine != HERE {
                let linker = format!("CARGO_TARGET_{}_LINKER", name.to_uppercase());
                cargo.env(linker, "rust-lld");
            }
        }
    })
}

/// Makes a Debian package.
fn package(root: &Path, stage: &Path, debian: &str, out: &Path) -> Result<(), String> {
    let control = stage.join("DEBIAN");
    copy(
        &root.join("contrib/bofuss.toml"),
        &stage.join("etc/bofuss/bofuss.toml"),
    )?;
    write(&control.join("conffiles"), b"/etc/bofuss/bofuss.toml\n")?;
    let changes = format!(
        "bofuss ({VERSION}) unstable; urgency=medium\n\n  * See NEWS.gz.\n\n -- {MAINTAINER}  "
    );
    let history = "usr/share/doc/bofuss/changelog";
    write(&stage.join(history), changes.as_bytes())?;
    let text = format!(
        "Package: bofuss\nVersion: {VERSION}\nArchitecture: {debian}\nMaintainer: {MAINTAINER}\n\
         Suggests: mininet\nSection: net\nPriority: optional\n\
         Description: {SUMMARY}\n{ABOUT}"
    );
    write(&control.join("control"), text.as_bytes())?;
    let time = time();
    let pack = format!(
        "cp '{}'/contrib/debian/p* DEBIAN
        date -Rud @{time} >>{history} && gzip -9n {history}
        sed -i \"4a Installed-Size: $(du -ks usr | cut -f1)\" DEBIAN/control
        find usr etc -type f | LC_ALL=C sort | xargs md5sum >DEBIAN/md5sums
        chmod -R go=rX . && chmod 755 DEBIAN/p*
        mkdir deb && mv DEBIAN usr etc deb
        SOURCE_DATE_EPOCH={time} dpkg-deb --root-owner-group -Zgzip --build deb '{}'",
        root.display(),
        out.join(format!("bofuss_{VERSION}_{debian}.deb")).display()
    );
    sh(stage, &pack)
}

/// Writes an image with only the programs, as `docker save` does, for `podman load` and others.
fn image(stage: &Path, machine: &str, out: &Path) -> Result<(), String> {
    let folder = &stage.join("image");
    folder_at(folder)?;
    let layer = folder.join("layer.tar");
    let files = "usr/bin usr/share/doc/bofuss/copyright";
    tar(stage, files, &layer, &[])?;
    let hash = command::output(Command::new("sha256sum").arg(&layer))?;
    let hash = hash.split(' ').next().unwrap_or_default();
    let config = format!(
        r#"{{"architecture":"{machine}","os":"linux",
        "config":{{"Entrypoint":["/usr/bin/bofuss"],"Env":["PATH=/usr/bin"]}},
        "rootfs":{{"type":"layers","diff_ids":["sha256:{hash}"]}}}}"#
    );
    write(&folder.join("config.json"), config.as_bytes())?;
    let manifest = format!(
        r#"[{{"Config":"config.json","RepoTags":["bofuss:{VERSION}"],"Layers":["layer.tar"]}}]"#
    );
    write(&folder.join("manifest.json"), manifest.as_bytes())?;
    let name = format!("bofuss-{VERSION}-image-{machine}.tar");
    let files = "manifest.json config.json layer.tar";
    tar(folder, files, &out.join(name), &[])
}

/// Writes a tar archive of `what` in a folder; its bytes depend only on the files.
fn tar(folder: &Path, what: &str, file: &Path, more: &[&str]) -> Result<(), String> {
    let fixed = "--sort=name --owner=0 --group=0 --numeric-owner --mode=go=rX";
    let mut tar = Command::new("tar");
    tar.arg("--create")
        .args(fixed.split(' '))
        .arg(format!("--mtime=@{}", time()))
        .args(more);
    command::succeed(
        tar.arg("--file")
            .arg(file)
            .arg("-C")
            .arg(folder)
            .args(what.split(' ')),
    )
}

/// The date of the sources, in Unix seconds.
fn time() -> String {
    let time = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(time) => Ok(time),
        Err(_) => command::output(Command::new("git").args(["log", "-1", "--format=%ct"])),
    };
    time.map_or("0".into(), |time| time.trim().into())
}
