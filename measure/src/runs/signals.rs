//! Tells whether the user wants an end: Ctrl-C and SIGTERM set a flag, so that all is put back
//! before the program ends. The second one ends it at once.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use tokio::signal::unix::{SignalKind, signal};

use crate::tell::tell;

static OVER: AtomicBool = AtomicBool::new(false);
/// The exit code after the second signal: that of a shell for SIGINT.
const INTERRUPTED: i32 = 130;

/// Returns true if the user wants an end.
pub fn is_over() -> bool {
    OVER.load(Relaxed)
}

/// Begins to listen for signals; further calls do nothing.
pub fn listen() {
    static LISTENING: Once = Once::new();
    LISTENING.call_once(|| drop(std::thread::spawn(wait)));
}

/// Waits for signals.
fn wait() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let Ok(runtime) = runtime else {
        return; // without it, a signal ends the program at once
    };
    runtime.block_on(async {
        let (Ok(mut interrupt), Ok(mut terminate)) = (
            signal(SignalKind::interrupt()),
            signal(SignalKind::terminate()),
        ) else {
            return;
        };
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            if OVER.swap(true, Relaxed) {
                std::process::exit(INTERRUPTED);
            }
            tell!("ending; once more to end at once");
        }
    });
}
