//! Ports on capture files, in both formats: what is written is read again, and what others write.

use std::{
    fs,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::SystemTime,
};

use bofuss_frame::Pool;
use bofuss_ports::{
    CaptureFile, CaptureSource, Direction, DriverDropReason, LinkType, OpenError, PcapFile,
    PortDriver,
};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::{
    common::{frame, pop, push, receive},
    frames::TAGS,
};

/// A place for a file, which goes when dropped.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("bofuss-{}-{name}", std::process::id())))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        fs::remove_file(&self.0).expect("it was made");
    }
}

fn opened(path: &Path) -> Result<PcapFile, OpenError> {
    PcapFile::open(Some(path), None)
}

/// Words in the other byte order than the machine's.
fn swapped(words: &[u32]) -> Vec<u8> {
    let swapped = words.iter().map(|word| word.swap_bytes().to_ne_bytes());
    swapped.flatten().collect()
}

#[test]
fn tags_survive_in_a_capture_file() {
    for name in ["tags.pcap", "tags.pcapng", "tags"] {
        let place = Place::new(name);
        let mut out = PcapFile::open(None, Some(&place.0)).expect("a writable place");
        let mut back = opened(&place.0).expect("it has a header");
        let pool = Pool::new(1 << 24);
        for tags in TAGS {
            let mut sent = frame(&pool, 100);
            push(&mut sent, tags);
            out.send(&mut vec![sent]).expect("the file can be written");
        }
        let format = fs::read(&place.0).expect("it is there")[0];
        assert_eq!(format == 0x0a, !name.ends_with(".pcap"));
        for (tags, mut received) in TAGS.iter().zip(receive(&mut back, &pool, TAGS.len())) {
            pop(&mut received, tags);
            assert_eq!(received.bytes(), frame(&pool, 100).bytes());
        }
        assert_eq!(back.recv(&pool, &mut Vec::new(), 1).expect("readable"), 0);
        assert!(back.at_end());
    }
}

#[test]
fn frames_that_a_file_cannot_take_are_counted_and_end_it() {
    let pool = Pool::new(1 << 20);
    let place = Place::new("pipe.pcap");
    let mode = Mode::RUSR | Mode::WUSR;
    mknodat(CWD, &place.0, FileType::Fifo, mode, 0).expect("a writable place");
    let mut options = fs::OpenOptions::new();
    options.read(true).custom_flags(libc::O_NONBLOCK);
    let reader = options.open(&place.0).expect("it was just made");
    let mut port = PcapFile::open(None, Some(&place.0)).expect("somebody reads");
    let mut send = |count| {
        let mut frames: Vec<_> = (0..count).map(|_| frame(&pool, 60)).collect();
        let sent = port.send(&mut frames).ok();
        assert!(frames.is_empty());
        (sent, port.counters())
    };
    assert_eq!(send(2).0, Some(2));
    drop(reader);
    assert_eq!(send(3).0, None);
    let (sent, counters) = send(4);
    assert_eq!((sent, counters.tx_packets), (Some(0), 2));
    assert_eq!(counters.dropped(DriverDropReason::TxRefused), 3);
    assert_eq!(counters.dropped(DriverDropReason::TxLinkDown), 4);
}

#[test]
fn capture_files_of_other_kinds_are_refused_and_cut_ones_end() {
    let place = Place::new("cut.pcap");
    let pool = Pool::new(1 << 20);
    let mut file = swapped(&[0xa1b2_c3d4, 0x0002_0004, 0, 0, 65535, 1]);
    file.extend(swapped(&[0, 0, 14, 14]));
    file.extend([7; 14]);
    file.extend(swapped(&[0, 0, 100_000, 100_000]));
    file.extend([7; 100_000]);
    file.extend(swapped(&[0, 0, u32::MAX, 0]));
    fs::write(&place.0, &file).expect("a writable place");
    let mut port = opened(&place.0).expect("the other byte order");
    let mut frames = Vec::new();
    assert_eq!(port.recv(&pool, &mut frames, 9).expect("readable"), 1);
    assert_eq!(frames[0].bytes(), [7; 14]);
    assert_eq!(port.counters().dropped(DriverDropReason::RxTooLong), 1);
    assert!(port.at_end());
    file[20..24].copy_from_slice(&swapped(&[101]));
    fs::write(&place.0, &file).expect("a writable place");
    let error = opened(&place.0).err().expect("refused").to_string();
    assert!(error.contains("not Ethernet"), "{error}");
    file[..4].copy_from_slice(&swapped(&[17]));
    fs::write(&place.0, &file).expect("a writable place");
    let error = opened(&place.0).err().expect("refused").to_string();
    assert!(error.contains("not a capture file"), "{error}");
}

/// A file with frames and messages.
fn mixed(path: &Path) {
    let mut file = CaptureFile::create(path, LinkType::Ethernet).expect("a writable place");
    let mut numbers = Vec::new();
    for (name, link_type) in [
        ("openflow", LinkType::UpperPdu),
        ("veth1", LinkType::Ethernet),
    ] {
        let source = CaptureSource {
            name: name.into(),
            link_type,
            comment: "a test".into(),
        };
        numbers.push(file.add_source(&source).expect("both fit"));
    }
    let now = SystemTime::now();
    for (number, bytes) in numbers.iter().zip([[1; 20], [2; 20]]) {
        file.write(*number, now, Direction::In, &bytes)
            .expect("it is open");
    }
    file.end_source(numbers[0], now, 3).expect("it is open");
}

#[test]
fn of_a_file_with_frames_and_messages_the_frames_are_received() {
    let place = Place::new("mixed.pcapng");
    mixed(&place.0);
    let pool = Pool::new(1 << 20);
    let mut port = opened(&place.0).expect("it is a capture");
    let mut frames = Vec::new();
    assert_eq!(port.recv(&pool, &mut frames, 9).expect("readable"), 1);
    assert_eq!(frames[0].bytes(), [2; 20]);
    assert_eq!(port.counters().dropped(DriverDropReason::RxNotEthernet), 1);
}

#[test]
fn no_byte_of_a_capture_file_makes_its_reader_panic_or_loop() {
    let place = Place::new("spoilt.pcapng");
    mixed(&place.0);
    let file = fs::read(&place.0).expect("it is there");
    let pool = Pool::new(1 << 20);
    for at in 0..file.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut spoilt = file.clone();
            spoilt[at] = value;
            spoilt.truncate(file.len() - usize::from(value == 1));
            fs::write(&place.0, &spoilt).expect("a writable place");
            // A failed test shows it.
            println!("byte {at} is {value}");
            let Ok(mut port) = opened(&place.0) else {
                continue;
            };
            let mut frames = Vec::new();
            for _ in 0..3 {
                // An error ends the file, too.
                if port.recv(&pool, &mut frames, 9).is_err() {
                    assert!(port.at_end());
                }
            }
            assert!(port.at_end() && frames.len() <= 2);
        }
    }
}
