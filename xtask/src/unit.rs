//! Runs the unit tests: each test program in the folder of its package, and the examples of the
//! documentation.

use std::net::{Ipv6Addr, TcpListener};
use std::path::Path;
use std::process::Command;

use crate::{command, e2e, setup};

/// Test programs that run at the same time: some compute on all cores, and some mostly wait.
const AT_A_TIME: usize = 2;
/// Scripts that run a program: at the priority of this process, which may be the idle one; and at
/// the usual one, where a process may choose it, if a limit of time was too short for that.
const FIRST: &str = "exec \"$@\"";
const AGAIN: &str = "chrt --other --pid 0 $$; exec \"$@\"";
/// The tests, as cargo selects them.
const TESTS: &str = "test --locked --workspace --exclude bofuss-tests";

/// Runs the unit tests, each test program with `arguments`. Some connect by IPv6: if this machine's
/// loopback has none, each program runs in a network namespace of its own.
///
/// Errors: it does not build, or the test programs that failed.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<(), String> {
    let is_isolated = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_err();
    let words = format!("{TESTS} --no-run");
    let programs = e2e::built(&mut command::cargo_command(&words))?;
    command::so_many_at_a_time(AT_A_TIME, programs, |program| {
        let mut command = Command::new("sh");
        let script = if program.has_failed() { AGAIN } else { FIRST };
        command.args(["-c", script, "sh"]);
        if is_isolated {
            command.arg("sh").arg(root.join("xtask/setup.sh"));
            command.arg("isolate");
        }
        program.add_to(&mut command, arguments);
        command.current_dir(program.folder());
        // As cargo sets it.
        command.env("CARGO_MANIFEST_DIR", program.folder());
        program.run(&mut command)
    })?;
    command::cargo_with(&format!("{TESTS} --doc"), |cargo| {
        if is_isolated {
            cargo.args(["--config", &setup::isolating(root)]);
        }
        cargo.arg("--").args(arguments);
    })
}
