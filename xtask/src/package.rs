//! The common properties of all kinds of packages: version, machines, and how they are built.

/// The machine that runs this, by Rust's name.
pub(crate) const HERE: &str = std::env::consts::ARCH;
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
pub(crate) const SUMMARY: &str = "user-space OpenFlow software switch";

/// The packages that are built.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum BuildKind {
    /// For all machines, optimised.
    Release,
    /// For this machine alone, not optimised, for tests.
    Debug,
}

impl BuildKind {
    /// cargo's profile of the programs, and the name of its folder.
    pub(crate) fn profile(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Debug => "demo",
        }
    }

    /// The folder of the Python module: for tests, that of all other tests.
    pub(crate) fn module_folder(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Debug => "debug",
        }
    }
}

/// The name of a tool of binutils or gcc for a machine.
pub(crate) fn tool(machine: &str, name: &str) -> String {
    if machine == HERE {
        name.to_owned()
    } else {
        format!("{machine}-linux-gnu-{name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_same_wherever_it_stands() {
        let citation = include_str!("../../CITATION.cff");
        assert!(citation.contains(&format!("\nversion: {VERSION}\n")));
        let topology = include_str!("../../contrib/containerlab/ring.clab.yml");
        assert_eq!(
            topology
                .matches(&format!("image: bofuss:{VERSION}\n"))
                .count(),
            3
        );
        for text in [
            topology,
            include_str!("../../contrib/kathara/lab.conf"),
            include_str!("../../docs/several-machines.md"),
        ] {
            assert!(text.contains(&format!(" bofuss-{VERSION}-")), "{text}");
        }
    }
}
