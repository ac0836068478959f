//! Files are read in threads of their own: on a slow file system nothing else waits for them.

use std::time::Duration;
use std::{io, thread};

use tokio::sync::oneshot;
use tokio::time::timeout;

/// The time that a command waits for its files.
const FILES_TIMEOUT: Duration = Duration::from_secs(10);

/// The reason for which a thread did not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadingError {
    /// The system has no thread.
    #[error("a thread that reads files: {0}")]
    NoThread(io::Error),
    /// The thread panicked.
    #[error("the thread that reads files died")]
    Died,
    /// The files are on a slow file system.
    #[error("its files could not be read within {} s", FILES_TIMEOUT.as_secs())]
    TooSlow,
}

/// The result of a reading thread: a value, or an error of the reader.
#[derive(Debug)]
pub struct Reading<T, E>(oneshot::Receiver<Result<T, E>>);

impl<T: Send + 'static, E: From<ReadingError> + Send + 'static> Reading<T, E> {
    /// Starts a thread that reads. Errors: the system has no thread.
    pub fn begin(
        read: impl FnOnce() -> Result<T, E> + Send + 'static,
    ) -> Result<Self, ReadingError> {
        let (done, waits) = oneshot::channel();
        // Nobody may wait any more.
        let work = move || drop(done.send(read()));
        let started = thread::Builder::new().name("reading".into()).spawn(work);
        started.map_err(ReadingError::NoThread)?;
        Ok(Self(waits))
    }

    /// Waits for what is read. If this is dropped before, nothing is lost.
    ///
    /// Errors: why it could not be read.
    pub async fn end(&mut self) -> Result<T, E> {
        let read = (&mut self.0).await;
        read.unwrap_or_else(|_| Err(ReadingError::Died.into()))
    }

    /// The same, for a limited time.
    pub async fn end_in_time(mut self) -> Result<T, E> {
        let read = timeout(FILES_TIMEOUT, self.end()).await;
        read.unwrap_or_else(|_| Err(ReadingError::TooSlow.into()))
    }
}
