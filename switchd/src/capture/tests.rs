//! Capture files: their limits, losses and ends, and who shares them.

use std::fs;
use std::process::Command;
use std::time::Duration;

use super::*;

#[test]
fn as_many_packets_wait_to_be_written_as_there_is_room_and_one_more_is_missing() {
    let (to, records) = sync_channel(MAX_WAITING);
    let file = OpenFile {
        link_type: LinkType::Ethernet,
        is_pcap: false,
        to,
        pending: Mutex::new(None),
        packets: AtomicU64::new(0),
        bytes: AtomicU64::new(0),
    };
    let mut recorder = CaptureWriter::into(Arc::new(file), source("veth1", LinkType::Ethernet));
    let mut record = || recorder.record(Direction::In, b"x");
    assert!((0..MAX_WAITING).all(|_| record()));
    assert!(!record());
    records.recv().expect("they are there");
    assert!(record());
    assert_eq!(recorder.source.lost.load(Relaxed), 1);
}

fn source(name: &str, link_type: LinkType) -> CaptureSource {
    CaptureSource {
        name: name.into(),
        link_type,
        comment: "a test".into(),
    }
}

/// Checks that tshark, if it is installed, reads `expected` packets from a file.
fn packets_are(path: &str, expected: usize) {
    for _ in 0..100 {
        let Ok(read) = Command::new("tshark").args(["-r", path]).output() else {
            return;
        };
        let packets = read.stdout.iter().filter(|byte| **byte == b'\n').count();
        if read.status.success() && packets == expected {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("tshark does not read {expected} packets");
}

#[test]
fn a_link_is_not_followed_even_to_a_file_that_is_open() {
    let path = |kind| {
        let name = format!("bofuss-link-{}.{kind}", std::process::id());
        let path = std::env::temp_dir().join(name);
        path.display().to_string()
    };
    let (file, link) = (path("file"), path("link"));
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let create =
        |path: &str| CaptureWriter::create(path, None, source("veth1", LinkType::Ethernet));
    let refused = |path: &str| {
        create(path)
            .err()
            .is_some_and(|e| e.text.contains("error 40"))
    };
    assert!(refused(&link));
    assert!(!Path::new(&file).exists());
    let _open = create(&file).unwrap();
    assert!(refused(&link));
    fs::remove_file(link).unwrap();
    fs::remove_file(file).unwrap();
}

#[test]
fn captures_with_the_same_file_share_it_and_its_limit() {
    let path = |kind| {
        let name = format!("bofuss-share-{}.{kind}", std::process::id());
        let path = std::env::temp_dir().join(name);
        path.display().to_string()
    };
    let (old, new) = (path("pcap"), path("pcapng"));
    let frames =
        |path: &str| CaptureWriter::create(path, None, source("veth1", LinkType::Ethernet));
    let messages =
        |path: &str| CaptureWriter::create(path, None, source("openflow", LinkType::UpperPdu));
    let _old_frames = frames(&old).expect("it can be made");
    let refused = messages(&old).err().expect("it has another link type");
    assert!(
        refused.text.contains("holds either frames or messages"),
        "{refused}"
    );
    let mut first = frames(&new).expect("it can be made");
    let mut second = messages(&new).expect("it is shared");
    first
        .begin()
        .and(second.begin())
        .expect("it can be written");
    assert!(Arc::ptr_eq(&first.file, &second.file));
    first.file.packets.store(MAX_PACKETS - 2, Relaxed);
    assert!(first.record(Direction::In, &[0; 60]) && !first.is_full());
    assert!(second.record(Direction::Out, &[0; 8]) && first.is_full() && second.is_full());
    second.file.packets.store(0, Relaxed);
    second.file.bytes.store(MAX_BYTES - 1, Relaxed);
    assert!(!second.is_full());
    assert!(second.record(Direction::Out, &[0]) && first.is_full());
    drop((first, second));
    packets_are(&new, 3);
    for path in [old, new] {
        fs::remove_file(path).expect("it was made");
    }
}

#[test]
fn a_capture_waits_for_the_one_before_and_empties_the_file_when_it_begins() {
    let path = std::env::temp_dir().join(format!("bofuss-again-{}.pcapng", std::process::id()));
    let name = path.display().to_string();
    fs::write(&path, "as it was").unwrap();
    let create = || CaptureWriter::create(&name, None, source("veth1", LinkType::Ethernet));
    let refused = create().unwrap();
    drop(refused);
    assert_eq!(fs::read(&path).unwrap(), b"as it was");
    for _ in 0..20 {
        let mut capture = create().unwrap();
        // What comes before it begins is not lost.
        assert!(capture.record(Direction::In, &[0; 60]));
        capture.begin().unwrap();
        assert!((1..MAX_WAITING).all(|_| capture.record(Direction::In, &[0; 60])));
        drop(capture);
    }
    assert!(are_written(None));
    let mut packets = 0;
    let mut file = bofuss_ports::PcapFile::open(Some(&path), None).unwrap();
    let pool = bofuss_frame::Pool::new(1 << 20);
    let mut frames = Vec::new();
    while let Ok(1..) = bofuss_ports::PortDriver::recv(&mut file, &pool, &mut frames, 64) {
        packets += frames.drain(..).len();
    }
    assert_eq!(packets, MAX_WAITING);
    fs::remove_file(&path).unwrap();
}

#[test]
fn captures_go_where_their_folder_is_and_nowhere_else() {
    let folder = std::env::temp_dir().canonicalize().expect("it is there");
    let inside = folder.join("a.pcap").display().to_string();
    let around = folder.join("../a.pcap").display().to_string();
    assert!(check_place(&inside, Some(&folder)).is_ok());
    for outside in ["/a.pcap", "a.pcap", "", "/nosuch/a.pcap", &around] {
        assert!(check_place(outside, Some(&folder)).is_err(), "{outside}");
        assert!(check_place(outside, None).is_ok());
    }
}
