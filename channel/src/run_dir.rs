//! Where running switches have their control sockets, so that tools find them.

use std::os::unix::fs::MetadataExt;
use std::{env, fs, path::PathBuf};

/// The directories where a switch may have its control socket, to be tried in this order: the
/// system's, then the user's.
pub fn run_directories() -> Vec<PathBuf> {
    let mut directories = vec![PathBuf::from("/run/bofuss")];
    if let Some(user) = env::var_os("XDG_RUNTIME_DIR").filter(|dir| !dir.is_empty()) {
        directories.push(PathBuf::from(user).join("bofuss"));
    } else if let Ok(process) = fs::metadata("/proc/self") {
        let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
        let user = outside(process.uid(), &map);
        directories.push(env::temp_dir().join(format!("bofuss-{user}")));
    }
    directories
}

/// Who a user of this user namespace is outside of it: its root is not everybody's.
fn outside(user: u32, map: &str) -> u32 {
    let ranges = map.lines().filter_map(|line| {
        let numbers = line.split_whitespace().map(|word| word.parse().ok());
        numbers.collect::<Option<Vec<u32>>>()
    });
    let found = ranges.into_iter().find_map(|range| match range[..] {
        [first, outside, count] if (first..first.saturating_add(count)).contains(&user) => {
            Some(outside.saturating_add(user - first))
        }
        _ => None,
    });
    found.unwrap_or(user)
}

#[cfg(test)]
mod tests {
    use super::outside;

    #[test]
    fn a_user_is_who_it_is_outside_of_its_namespace() {
        let everybody = "         0          0 4294967295\n";
        assert_eq!(outside(1000, everybody), 1000);
        assert_eq!(outside(0, "         0       1000          1\n"), 1000);
        assert_eq!(outside(7, "0 1000 1\n1 100000 65536\n"), 100_006);
        assert_eq!(outside(7, "0 1000 1\n"), 7);
        assert_eq!(outside(7, "what"), 7);
    }
}
