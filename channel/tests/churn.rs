//! Peers that come and go a thousand times leave nothing behind. A process of its own, to count.

use std::sync::Arc;
use std::time::Duration;

use bofuss_channel::{Endpoint, Event, Hub, Settings};
use bofuss_oflib::message::Hello;
use bofuss_oflib::{Codec, Message, Version};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::sleep;

fn open_files() -> usize {
    let files = std::fs::read_dir("/proc/self/fd");
    files.expect("the process has a list of files").count()
}

#[tokio::test]
async fn a_thousand_peers_leave_nothing_behind() {
    let (events, mut taken) = mpsc::channel(16);
    let hub = Hub::new(Settings::new(Arc::default()), events);
    let address = "ptcp:0:[::1]".parse().unwrap();
    let listener = hub.listen(&address).await.unwrap();
    let Endpoint::Tcp { port, .. } = listener.address().0 else {
        panic!("a TCP port was asked for");
    };
    let mut hello = Vec::new();
    let message = Message::Hello(Hello::offering(Version::SPOKEN));
    let codec = Codec::new(Version::V1_3, Arc::default());
    codec.encode(0, &message, &mut hello).unwrap();
    let before = open_files();
    let (mut ups, mut downs, mut failures) = (0, 0, 0);
    for round in 0..1000 {
        let mut peer = TcpStream::connect(("::1", port)).await.unwrap();
        // Whole HELLOs, halves of one, and nothing at all.
        let sent = [hello.len(), 5, 0][round % 3];
        peer.write_all(&hello[..sent]).await.unwrap();
        drop(peer);
        loop {
            match taken.recv().await.expect("the hub lives") {
                Event::Up { .. } => ups += 1,
                Event::Down { .. } => {
                    downs += 1;
                    break;
                }
                Event::Failed { .. } => {
                    failures += 1;
                    break;
                }
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!((ups, downs, failures), (334, 334, 666));
    assert_eq!(listener.refused(), 0);
    // The last tasks end by themselves.
    for _ in 0..100 {
        if open_files() == before {
            break;
        }
        sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(open_files(), before);
}
