//! Files are read in threads of their own: on a slow file system nothing else waits for them.

use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

/// How long a command waits for its files.
const FILES_TIMEOUT: Duration = Duration::from_secs(10);

/// What a thread is reading.
#[derive(Debug)]
pub struct Reading<T>(oneshot::Receiver<Result<T, String>>);

impl<T: Send + 'static> Reading<T> {
    /// Starts a thread that reads. Errors: the system has no thread.
    pub fn begin(
        read: impl FnOnce() -> Result<T, String> + Send + 'static,
    ) -> Result<Self, String> {
        let (done, waits) = oneshot::channel();
        // Nobody may wait any more.
        let work = move || drop(done.send(read()));
        let started = thread::Builder::new().name("reading".into()).spawn(work);
        started.map_err(|error| format!("a thread that reads files: {error}"))?;
        Ok(Self(waits))
    }

    /// Waits for what is read. If this is dropped before, nothing is lost.
    ///
    /// Errors: why it could not be read.
    pub async fn end(&mut self) -> Result<T, String> {
        let read = (&mut self.0).await;
        read.unwrap_or_else(|_| Err("the thread that reads files died".into()))
    }

    /// The same, for a limited time.
    pub async fn end_in_time(mut self) -> Result<T, String> {
        let read = timeout(FILES_TIMEOUT, self.end()).await;
        read.unwrap_or_else(|_| {
            let seconds = FILES_TIMEOUT.as_secs();
            Err(format!("its files could not be read within {seconds} s"))
        })
    }
}
