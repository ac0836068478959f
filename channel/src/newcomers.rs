//! Peers that have not identified themselves yet: a pool that drops its oldest, so that silent
//! peers do not keep others out.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::select;
use tokio::sync::oneshot;
use tokio::time::sleep;

/// The most peers of a listener that have not said who they are; a further one drives out the
/// oldest.
pub const MAX_NEWCOMERS: usize = 128;
/// The most of them from one source; a further one drives out the oldest of its own.
pub const MAX_NEWCOMERS_PER_SOURCE: usize = 64;

/// The wait after a failure of accept, as when there are no file descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The source by which peers are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerSource {
    /// An IP address; of IPv6 the first 64 bits, since a host may have all that begin so.
    Ip(IpAddr),
    /// A user of this machine, by number; `None` if the system does not say whose a peer is.
    User(Option<u32>),
}

impl From<IpAddr> for PeerSource {
    fn from(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self::Ip(address.into()),
            IpAddr::V6(address) => {
                let prefix = u128::from(address) >> 64 << 64;
                Self::Ip(IpAddr::V6(prefix.into()))
            }
        }
    }
}

/// The newcomers of one listener.
#[derive(Clone, Debug, Default)]
pub struct Newcomers(Arc<Mutex<List>>);

#[derive(Debug, Default)]
struct List {
    next_id: u64,
    /// The oldest first.
    waiting: Vec<PendingPeer>,
}

#[derive(Debug)]
struct PendingPeer {
    id: u64,
    source: PeerSource,
    /// When dropped, the newcomer is disconnected.
    _stays: oneshot::Sender<()>,
}

impl Newcomers {
    /// Waits for the next peer of a unix socket, and takes it in as one of its user's.
    pub async fn accept_user(&self, listener: &UnixListener) -> (UnixStream, Newcomer) {
        loop {
            if let Ok((stream, _)) = listener.accept().await {
                let user = stream.peer_cred().ok().map(|cred| cred.uid());
                return (stream, self.admit(PeerSource::User(user)));
            }
            sleep(ACCEPT_PAUSE).await;
        }
    }

    /// Waits for the next peer of a TCP listener, and takes it in as one of its host's.
    pub async fn accept_host(&self, listener: &TcpListener) -> (TcpStream, Newcomer) {
        loop {
            if let Ok((stream, peer)) = listener.accept().await {
                return (stream, self.admit(peer.ip().into()));
            }
            sleep(ACCEPT_PAUSE).await;
        }
    }

    /// Takes in a peer, in place of the oldest if there are too many.
    pub fn admit(&self, source: PeerSource) -> Newcomer {
        let (stays, displaced) = oneshot::channel();
        let mut list = self.list();
        let of_source = list.waiting.iter().filter(|one| one.source == source);
        if of_source.count() >= MAX_NEWCOMERS_PER_SOURCE {
            let oldest = list.waiting.iter().position(|one| one.source == source);
            list.waiting.remove(oldest.expect("some were counted"));
        } else if list.waiting.len() >= MAX_NEWCOMERS {
            list.waiting.remove(0);
        }
        let id = list.next_id;
        list.next_id += 1;
        list.waiting.push(PendingPeer {
            id,
            source,
            _stays: stays,
        });
        drop(list);
        Newcomer {
            pool: self.clone(),
            id,
            source,
            displaced,
        }
    }

    fn list(&self) -> MutexGuard<'_, List> {
        self.0.lock().expect("nobody panics who has it")
    }
}

/// A peer in the pool; it leaves when this is dropped.
#[derive(Debug)]
pub struct Newcomer {
    pool: Newcomers,
    id: u64,
    /// The source by which it is counted.
    pub source: PeerSource,
    displaced: oneshot::Receiver<()>,
}

impl Newcomer {
    /// Runs `work`, which identifies the peer, and leaves the pool. `None` if the peer was dropped
    /// before that.
    pub async fn finish<T>(mut self, work: impl Future<Output = T>) -> Option<T> {
        select! {
            biased;
            done = work => Some(done),
            _ = &mut self.displaced => None,
        }
    }
}

impl Drop for Newcomer {
    fn drop(&mut self) {
        self.pool.list().waiting.retain(|one| one.id != self.id);
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    fn source(text: &str) -> PeerSource {
        let address: IpAddr = text.parse().unwrap();
        address.into()
    }

    async fn gave_way(newcomer: Newcomer) -> bool {
        let never = pending::<()>();
        let finished = newcomer.finish(async {
            tokio::time::timeout(std::time::Duration::from_millis(1), never)
                .await
                .is_ok()
        });
        finished.await.is_none()
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_of_a_source_gives_way_and_then_the_oldest_of_all() {
        let pool = Newcomers::default();
        let mut first: Vec<_> = (0..MAX_NEWCOMERS_PER_SOURCE)
            .map(|_| pool.admit(source("10.0.0.1")))
            .collect();
        // One more of the same source, however its address is written, costs its own oldest.
        let more = pool.admit(source("::ffff:10.0.0.1"));
        assert!(gave_way(first.remove(0)).await);
        // Others fill the pool, a whole prefix of IPv6 as one source.
        let others = MAX_NEWCOMERS - MAX_NEWCOMERS_PER_SOURCE;
        let mut others: Vec<_> = (0..others)
            .map(|host| pool.admit(source(&format!("2001:db8::{host:x}"))))
            .collect();
        let last = pool.admit(PeerSource::User(Some(0)));
        assert!(gave_way(first.remove(0)).await, "the oldest of all");
        assert!(!gave_way(more).await);
        assert!(!gave_way(others.remove(0)).await);
        // A peer that is done leaves room for others.
        assert_eq!(last.finish(ready(7)).await, Some(7));
        assert_eq!(pool.list().waiting.len(), first.len() + others.len());
        drop((first, others));
        assert!(pool.list().waiting.is_empty());
    }
}
