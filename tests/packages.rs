//! The packages of `cargo xtask dist`, used as their users do, in root folders made for the test.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::env::consts::ARCH;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bofuss_tests::{have, ok, program, python};
use serde_json::{Value, json};

const TOOLS: &[&str] = &["dpkg", "tar", "sha256sum", "chroot", "python3"];
/// Rust's and Debian's names of a machine.
const MACHINES: [(&str, &str); 2] = [("x86_64", "amd64"), ("aarch64", "arm64")];
/// The files of every installation below its prefix.
const INSTALLED: &[&str] = &[
    "bin/bofuss",
    "bin/dpctl",
    "bin/ofdatapath",
    "bin/ofmeter",
    "bin/ofprotocol",
    "lib/systemd/system/bofuss@.service",
    "lib/sysusers.d/bofuss.conf",
    "share/bash-completion/completions/bofuss",
    "share/bash-completion/completions/dpctl",
    "share/bash-completion/completions/ofmeter",
    "share/bofuss/arppath.lua",
    "share/bofuss/bmv2/simple_switch",
    "share/bofuss/bmv2/simple_switch_grpc",
    "share/bofuss/bofuss_driver.py",
    "share/bofuss/bofuss_machine.py",
    "share/bofuss/bofuss_mininet.py",
    "share/bofuss/bofuss_qflow.py",
    "share/bofuss/containerlab/ring.clab.yml",
    "share/bofuss/kathara/h1.startup",
    "share/bofuss/kathara/h2.startup",
    "share/bofuss/kathara/h3.startup",
    "share/bofuss/kathara/lab.conf",
    "share/bofuss/kathara/s1.startup",
    "share/bofuss/kathara/s2.startup",
    "share/bofuss/kathara/s3.startup",
    "share/bofuss/mininet.py",
    "share/bofuss/openqflow.lua",
    "share/bofuss/openstate.lua",
    "share/bofuss/prometheus/bofuss.rules.yml",
    "share/bofuss/prometheus/dashboard.json",
    "share/doc/bofuss/NEWS.gz",
    "share/doc/bofuss/copyright",
    "share/doc/bofuss/examples/bofuss.toml",
    "share/fish/vendor_completions.d/bofuss.fish",
    "share/fish/vendor_completions.d/dpctl.fish",
    "share/fish/vendor_completions.d/ofmeter.fish",
    "share/man/man5/bofuss.toml.5.gz",
    "share/man/man8/bofuss.8.gz",
    "share/man/man8/dpctl.8.gz",
    "share/man/man8/ofdatapath.8.gz",
    "share/man/man8/ofmeter.8.gz",
    "share/man/man8/ofprotocol.8.gz",
    "share/zsh/vendor-completions/_bofuss",
    "share/zsh/vendor-completions/_dpctl",
    "share/zsh/vendor-completions/_ofmeter",
];

/// [`INSTALLED`], and the examples as they are in the tree.
fn installed() -> Vec<String> {
    let said = sh(
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples")),
        "find . -type f -regextype egrep -regex '.*[.](py|md|toml|p4|json|txtpb|stf|c|h)'",
    );
    let examples = said.lines().map(|file| {
        let file = file.strip_prefix("./").unwrap();
        format!("share/bofuss/examples/{file}")
    });
    INSTALLED
        .iter()
        .map(|&file| file.to_owned())
        .chain(examples)
        .collect()
}

/// A folder that is removed with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("bofuss-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Everything in it except folders, as paths relative to it.
    fn files(&self) -> BTreeSet<String> {
        let said = sh(&self.0, "find . ! -type d -printf '%P\\n'");
        said.lines().map(str::to_owned).collect()
    }

    /// Runs a program of this root in it, for the machine that the path names last.
    fn inside(&self, machine: &str, words: &[&str]) -> String {
        let mut command = Command::new("chroot");
        command.arg(&self.0);
        if machine != std::env::consts::ARCH {
            let emulator = format!("qemu-{machine}-static");
            let from = ok(Command::new("which").arg(&emulator));
            fs::copy(from.trim(), self.0.join("emulator")).unwrap();
            command.arg("/emulator");
        }
        ok(command.args(words))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn sh(folder: &Path, script: &str) -> String {
    ok(Command::new("sh")
        .args(["-euc", script])
        .current_dir(folder))
}

/// Returns where the packages are, and for which machines; nothing if there are none.
fn packages() -> Option<(PathBuf, Vec<(&'static str, &'static str)>)> {
    let folder = std::env::var_os("BOFUSS_DIST").map(PathBuf::from);
    let found = folder.filter(|folder| folder.join("SHA256SUMS").exists());
    assert!(
        found.is_some() || std::env::var_os("CI").is_none(),
        "no packages in BOFUSS_DIST; cargo xtask dist --debug makes them"
    );
    if found.is_none() {
        println!("not run: no packages; cargo xtask dist --debug makes them");
    }
    let folder = found.filter(|_| have(TOOLS))?;
    let here = |machine: &str| machine == std::env::consts::ARCH;
    let runs = |machine: &str| here(machine) || have(&[&format!("qemu-{machine}-static")]);
    let names = sh(&folder, "ls");
    let machines = MACHINES
        .into_iter()
        .filter(|(m, _)| names.contains(&format!("-{m}-")));
    let machines = machines.filter(|(machine, _)| runs(machine)).collect();
    Some((folder, machines))
}

/// The version that the programs under test print.
fn version() -> String {
    let said = ok(Command::new(program("bofuss")).arg("--version"));
    said.trim().strip_prefix("bofuss ").unwrap().to_owned()
}

/// Checks that both programs run, under all names, in a root that has nothing else.
fn programs_run(root: &Folder, machine: &str, prefix: &str) {
    for name in ["bofuss", "dpctl", "ofdatapath", "ofmeter", "ofprotocol"] {
        let said = root.inside(machine, &[&format!("{prefix}/bin/{name}"), "--version"]);
        assert_eq!(said, format!("{name} {}\n", version()));
    }
    let file = format!("{prefix}/bin/bofuss");
    let flows = "priority=1,in_port=1,actions=output:2\n";
    fs::write(root.0.join("flows"), flows).unwrap();
    let trace = ["trace", "--flows", "/flows", "in_port=1,arp"];
    let said = root.inside(machine, &[&[file.as_str()], &trace[..]].concat());
    assert!(said.contains("output:2"), "{said}");
    for name in ["flows", "emulator"] {
        let _ = fs::remove_file(root.0.join(name));
    }
}

#[test]
fn the_sums_are_those_of_the_packages() {
    let Some((folder, _)) = packages() else {
        return;
    };
    sh(&folder, "sha256sum --check --strict SHA256SUMS");
    let count = sh(&folder, "wc -l <SHA256SUMS; ls | grep -vc SHA256SUMS");
    let (sums, files) = count.trim().split_once('\n').unwrap();
    assert_eq!(sums, files);
}

#[test]
fn the_tarballs_programs_run_where_nothing_else_is() {
    let Some((folder, machines)) = packages() else {
        return;
    };
    for (machine, _) in machines {
        let root = Folder::new("tarball");
        let name = format!("bofuss-{}", version());
        let file = folder.join(format!("{name}-{machine}-linux.tar.gz"));
        ok(Command::new("tar")
            .arg("xf")
            .arg(file)
            .arg("-C")
            .arg(&root.0));
        let wanted = installed();
        let wanted = wanted.iter().map(|file| format!("{name}/{file}"));
        assert_eq!(root.files(), wanted.collect());
        programs_run(&root, machine, &format!("/{name}"));
        let notice = sh(&root.0, "cat */share/doc/bofuss/copyright");
        for wanted in ["\ntokio ", "\nring ", "Permission is hereby granted"] {
            assert!(notice.contains(wanted), "{wanted} in {notice}");
        }
    }
}

#[test]
fn the_debian_package_leaves_nothing_when_purged() {
    let Some((folder, machines)) = packages() else {
        return;
    };
    for (machine, debian) in machines {
        let root = Folder::new("debian");
        sh(
            &root.0,
            "mkdir -p var/lib/dpkg/info var/lib/dpkg/updates && : >var/lib/dpkg/status",
        );
        let dpkg = |words: &[&str]| {
            let mut dpkg = Command::new("dpkg");
            dpkg.arg(format!("--root={}", root.0.display()))
                .arg("--log=/dev/null");
            dpkg.args(["--force-script-chrootless", "--force-architecture"]);
            // A user's PATH may lack programs that dpkg needs.
            dpkg.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
            ok(dpkg.args(words))
        };
        let user = || -> BTreeSet<String> {
            let files = root.files().into_iter();
            files
                .filter(|file| !file.starts_with("var/lib/dpkg/"))
                .collect()
        };
        let file = folder.join(format!("bofuss_{}_{debian}.deb", version()));
        dpkg(&["--install", file.to_str().unwrap()]);
        let mut wanted: BTreeSet<String> = installed()
            .iter()
            .map(|file| format!("usr/{file}"))
            .collect();
        wanted.insert("usr/share/doc/bofuss/changelog.gz".into());
        wanted.insert("etc/bofuss/bofuss.toml".into());
        assert_eq!(user(), wanted);
        assert_eq!(
            dpkg(&["--verify", "bofuss"]),
            "",
            "what is installed is what was packed"
        );
        let status = dpkg(&["--status", "bofuss"]);
        assert!(
            status.contains(&format!("\nVersion: {}\n", version())),
            "{status}"
        );
        programs_run(&root, machine, "/usr");
        // What the user changed stays until a purge, also if the package is installed again.
        let config = root.0.join("etc/bofuss/bofuss.toml");
        fs::write(&config, "name = 's7'\n").unwrap();
        dpkg(&["--install", file.to_str().unwrap()]);
        dpkg(&["--remove", "bofuss"]);
        assert_eq!(
            user(),
            BTreeSet::from(["etc/bofuss/bofuss.toml".to_owned()])
        );
        assert_eq!(fs::read_to_string(&config).unwrap(), "name = 's7'\n");
        dpkg(&["--purge", "bofuss"]);
        assert_eq!(sh(&root.0, "ls"), "var\n");
        assert!(!root.files().iter().any(|file| file.contains("bofuss")));
    }
}

#[test]
fn each_line_of_the_example_is_a_key() {
    let Some((folder, machines)) = packages() else {
        return;
    };
    let Some((machine, _)) = machines.first() else {
        return;
    };
    let root = Folder::new("example");
    let file = folder.join(format!("bofuss-{}-{machine}-linux.tar.gz", version()));
    ok(Command::new("tar")
        .arg("xf")
        .arg(file)
        .args(["--strip-components=1", "-C"])
        .arg(&root.0));
    let example = fs::read_to_string(root.0.join("share/doc/bofuss/examples/bofuss.toml")).unwrap();
    let keys = example.lines().filter_map(|line| line.strip_prefix("# "));
    let is_toml = |line: &&str| line.contains(" = ") || line.starts_with("[[");
    let keys: Vec<&str> = keys.filter(is_toml).collect();
    assert!(keys.len() >= 4, "{example}");
    fs::write(root.0.join("s1.toml"), keys.join("\n")).unwrap();
    let words = [
        "/bin/bofuss",
        "trace",
        "--config",
        "/s1.toml",
        "in_port=1,arp",
    ];
    root.inside(machine, &words);
}

#[test]
fn the_images_entry_point_runs_on_its_layers() {
    let Some((folder, machines)) = packages() else {
        return;
    };
    for (machine, debian) in machines {
        let image = Folder::new("image");
        let file = folder.join(format!("bofuss-{}-image-{debian}.tar", version()));
        ok(Command::new("tar")
            .arg("xf")
            .arg(file)
            .arg("-C")
            .arg(&image.0));
        let read = |name: &str| -> Value {
            serde_json::from_slice(&fs::read(image.0.join(name)).unwrap()).unwrap()
        };
        let manifest = &read("manifest.json")[0];
        assert_eq!(
            manifest["RepoTags"],
            json!([format!("bofuss:{}", version())])
        );
        let config = read(manifest["Config"].as_str().unwrap());
        assert_eq!(config["architecture"], debian);
        let root = Folder::new("layers");
        let layers = manifest["Layers"].as_array().unwrap();
        let ids = config["rootfs"]["diff_ids"].as_array().unwrap();
        assert_eq!(layers.len(), ids.len());
        for (layer, id) in layers.iter().zip(ids) {
            let file = image.0.join(layer.as_str().unwrap());
            let sum = ok(Command::new("sha256sum").arg(&file));
            let digest = id.as_str().unwrap().strip_prefix("sha256:");
            assert_eq!(sum.split(' ').next(), digest);
            ok(Command::new("tar")
                .arg("xf")
                .arg(file)
                .arg("-C")
                .arg(&root.0));
        }
        programs_run(&root, machine, "/usr");
        let entry = config["config"]["Entrypoint"][0].as_str().unwrap();
        let said = root.inside(machine, &[entry, "--version"]);
        assert_eq!(said, format!("bofuss {}\n", version()));
    }
}

#[test]
fn the_wheel_brings_the_class_the_file_for_mn_and_the_helper_for_machines() {
    let Some((folder, _)) = packages() else {
        return;
    };
    let venv = Folder::new("wheel");
    let bin = venv.0.join("bin");
    ok(Command::new(python()).args(["-m", "venv"]).arg(&venv.0));
    let before = venv.files();
    let name = format!("bofuss-{}-cp310-abi3-*_{}.whl", version(), ARCH);
    let wheel = folder.join(sh(&folder, &format!("echo {name}")).trim());
    let pip = |words: &[&str]| {
        let mut pip = Command::new(bin.join("python"));
        pip.args(["-m", "pip", "--disable-pip-version-check"]);
        ok(pip.args(words))
    };
    pip(&[
        "install",
        "--no-index",
        "--no-compile",
        wheel.to_str().unwrap(),
    ]);
    assert!(pip(&["show", "bofuss"]).contains(&format!("\nVersion: {}\n", version())));
    let mut python = Command::new(bin.join("python"));
    let program = "import bofuss, bofuss.oflib as of; print(bofuss.__version__)\n\
        assert of.decode(of.FlowMod(cookie=5).encode()).cookie == 5\n\
        switch = bofuss.Switch(ports=2); switch.receive(1, bytes(60))";
    let said = ok(python.args(["-Bc", program]));
    assert_eq!(said.trim(), version());
    // The file is that of the tree, with which the tests of Mininet run.
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../contrib/bofuss_mininet.py");
    let ours = fs::read(ours).unwrap();
    assert_eq!(
        fs::read(venv.0.join("share/bofuss/bofuss_mininet.py")).unwrap(),
        ours
    );
    for name in ["bofuss/mininet.py", "bofuss_mininet.py"] {
        let site = sh(&venv.0, &format!("echo lib/python3*/site-packages/{name}"));
        assert_eq!(fs::read(venv.0.join(site.trim())).unwrap(), ours);
    }
    let mut machine = Command::new(bin.join("python"));
    ok(machine.args([
        "-Bc",
        "import bofuss_machine; bofuss_machine.Machine(['ipv4_src'])",
    ]));
    pip(&["uninstall", "-y", "bofuss"]);
    assert_eq!(venv.files(), before);
}
