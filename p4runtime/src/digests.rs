//! Digests on their way to controllers: collected to lists, and not sent twice before an
//! acknowledgement.

use std::collections::{BTreeMap, HashSet};

use bofuss_p4::Digest;
use prost::Message;

use crate::info::{DigestInfo, DigestShape};
use crate::value::{canonical, canonical_signed};
use crate::wire::entities::{DigestEntryConfig, P4Data, P4DataData, P4Header, P4StructLike};
use crate::wire::messages::DigestList;

/// The most digests in a list, whatever the controller wants.
const MAX_LIST: usize = 1024;
/// Digests that wait for a list, or for its acknowledgement. Further ones are lost.
const MAX_KNOWN: usize = 1 << 16;

/// The digests of one kind.
pub struct DigestQueue {
    pub config: DigestEntryConfig,
    waiting: Vec<P4Data>,
    /// When the first of them came, in µs.
    since: u64,
    next_list: u64,
    /// What waits, or was sent and is not acknowledged, encoded.
    known: HashSet<Vec<u8>>,
    /// Lists that are not acknowledged, with the time in µs when they were sent, which grows with
    /// their numbers.
    lists: BTreeMap<u64, (u64, Vec<Vec<u8>>)>,
}

impl DigestQueue {
    /// None yet.
    pub fn new(config: DigestEntryConfig) -> Self {
        Self {
            config,
            waiting: Vec::new(),
            since: 0,
            next_list: 1,
            known: HashSet::new(),
            lists: BTreeMap::new(),
        }
    }

    /// Sets another configuration. What waits stays, and what is not acknowledged, too, for as long
    /// as the new one says.
    pub fn configure(&mut self, config: DigestEntryConfig) {
        self.config = config;
        if config.ack_timeout_ns == 0 {
            let lists: Vec<u64> = self.lists.keys().copied().collect();
            for list in lists {
                self.acknowledge(list);
            }
        }
    }

    fn list_size(&self) -> usize {
        let size = usize::try_from(self.config.max_list_size).unwrap_or(0);
        if size == 0 {
            MAX_LIST
        } else {
            size.min(MAX_LIST)
        }
    }

    /// Adds a digest at `now`. Returns false if it is lost.
    pub fn add(&mut self, data: P4Data, now: u64) -> bool {
        self.expire(now);
        let bytes = data.encode_to_vec();
        if self.known.contains(&bytes) {
            return true;
        }
        if self.known.len() >= MAX_KNOWN || self.waiting.len() >= MAX_LIST {
            return false;
        }
        if self.waiting.is_empty() {
            self.since = now;
        }
        self.known.insert(bytes);
        self.waiting.push(data);
        true
    }

    /// The list to send at `now`, if one is full or waits for long enough.
    pub fn take(&mut self, digest_id: u32, now: u64) -> Option<DigestList> {
        let timeout = u64::try_from(self.config.max_timeout_ns).unwrap_or(0) / 1000;
        let full = self.waiting.len() >= self.list_size();
        let old = now.saturating_sub(self.since) >= timeout;
        if self.waiting.is_empty() || !full && !old {
            return None;
        }
        let count = self.waiting.len().min(self.list_size());
        let data: Vec<P4Data> = self.waiting.drain(..count).collect();
        let list_id = self.next_list;
        self.next_list += 1;
        let bytes = data.iter().map(Message::encode_to_vec);
        if self.config.ack_timeout_ns > 0 {
            self.lists.insert(list_id, (now, bytes.collect()));
        } else {
            // Without acknowledgements, only what waits is not to come twice.
            for digest in bytes {
                self.known.remove(&digest);
            }
        }
        Some(DigestList {
            digest_id,
            list_id,
            data,
            timestamp: nanoseconds(now),
        })
    }

    /// A list is acknowledged.
    pub fn acknowledge(&mut self, list: u64) {
        if let Some((_, bytes)) = self.lists.remove(&list) {
            for digest in bytes {
                self.known.remove(&digest);
            }
        }
    }

    /// Counts lists as acknowledged for which the controller has had time enough.
    fn expire(&mut self, now: u64) {
        let timeout = u64::try_from(self.config.ack_timeout_ns).unwrap_or(0) / 1000;
        while let Some((list, (sent, _))) = self.lists.first_key_value() {
            if sent.saturating_add(timeout) > now {
                break;
            }
            let list = *list;
            self.acknowledge(list);
        }
    }
}

/// A time in µs as the nanoseconds of messages.
pub fn nanoseconds(now: u64) -> i64 {
    i64::try_from(now.saturating_mul(1000)).unwrap_or(i64::MAX)
}

/// The data of a digest, as its P4Info describes it.
pub fn data(info: &DigestInfo, digest: &Digest) -> P4Data {
    let values = digest.values.iter().zip(&info.fields);
    let bytes = values.map(|(value, (width, signed))| {
        if *signed || value.is_negative() {
            canonical_signed(value)
        } else {
            canonical(value, (value.bits() as u32).max(*width))
        }
    });
    let bits = |bytes| P4Data {
        data: Some(P4DataData::Bitstring(bytes)),
    };
    let mut bytes = bytes.peekable();
    let data = match info.shape {
        DigestShape::Bits => return bits(bytes.next().unwrap_or_else(|| vec![0])),
        DigestShape::Header => P4DataData::Header(P4Header {
            is_valid: true,
            bitstrings: bytes.collect(),
        }),
        DigestShape::Tuple => P4DataData::Tuple(P4StructLike {
            members: bytes.map(bits).collect(),
        }),
        DigestShape::Struct => P4DataData::Struct(P4StructLike {
            members: bytes.map(bits).collect(),
        }),
    };
    P4Data { data: Some(data) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bofuss_p4::Int;

    fn digest(value: u8) -> P4Data {
        let data = Some(P4DataData::Bitstring(vec![value]));
        P4Data { data }
    }

    #[test]
    fn a_digest_is_sent_again_only_after_its_acknowledgement_or_timeout() {
        let mut queue = DigestQueue::new(DigestEntryConfig {
            max_timeout_ns: 1_000_000,
            max_list_size: 2,
            ack_timeout_ns: 1_000_000_000,
        });
        assert!(queue.add(digest(1), 0) && queue.add(digest(1), 10));
        assert!(queue.take(7, 500).is_none(), "neither full nor old");
        let list = queue.take(7, 1000).expect("old");
        assert_eq!((list.digest_id, list.data.len()), (7, 1));
        assert!(queue.add(digest(1), 2000), "it is known");
        assert!(queue.take(7, 9000).is_none());
        queue.acknowledge(list.list_id);
        assert!(queue.add(digest(1), 10_000) && queue.add(digest(2), 10_000));
        let full = queue.take(7, 10_000).expect("full");
        assert_eq!(full.data.len(), 2);
        assert!(
            queue.add(digest(2), 2_000_000),
            "its list is too old to count"
        );
        assert!(queue.take(7, 2_001_000).is_some());
    }

    #[test]
    fn a_list_has_no_digest_twice_also_without_acknowledgements() {
        let mut queue = DigestQueue::new(DigestEntryConfig {
            max_timeout_ns: 1_000_000,
            max_list_size: 9,
            ack_timeout_ns: 0,
        });
        for now in [0, 2000] {
            assert!(queue.add(digest(1), now) && queue.add(digest(1), now));
            let list = queue.take(7, now + 1000).expect("old");
            assert_eq!(list.data.len(), 1);
        }
    }

    #[test]
    fn another_configuration_leaves_what_waits_and_what_is_not_acknowledged() {
        let config = |max_list_size, ack_timeout_ns| DigestEntryConfig {
            max_timeout_ns: 1_000_000_000,
            max_list_size,
            ack_timeout_ns,
        };
        let mut queue = DigestQueue::new(config(1, 1_000_000_000));
        assert!(queue.add(digest(1), 0));
        let first = queue.take(7, 0).expect("full");
        queue.configure(config(9, 1_000_000_000));
        assert!(queue.add(digest(1), 10) && queue.add(digest(2), 10));
        assert!(queue.take(7, 20).is_none(), "neither full nor old");
        queue.configure(config(1, 0));
        let second = queue.take(7, 20).expect("full");
        assert_eq!(second.data, [digest(2)]);
        assert_eq!(second.list_id, first.list_id + 1);
        assert!(queue.add(digest(1), 30));
        assert!(queue.take(7, 30).is_some(), "it is not known any more");
    }

    #[test]
    fn lists_of_a_controller_that_is_gone_wait_no_longer_than_the_next_one_says() {
        let config = |ack_timeout_ns| DigestEntryConfig {
            max_timeout_ns: 0,
            max_list_size: 1,
            ack_timeout_ns,
        };
        let mut queue = DigestQueue::new(config(i64::MAX));
        assert!(queue.add(digest(1), 0));
        assert!(queue.take(7, 0).is_some());
        queue.configure(config(1_000_000));
        assert!(queue.add(digest(1), 999), "it is known");
        assert!(queue.take(7, 999).is_none());
        assert!(queue.add(digest(1), 1_000));
        assert!(queue.take(7, 1_000).is_some());
    }

    #[test]
    fn digests_have_room_in_however_many_lists_they_are() {
        let mut queue = DigestQueue::new(DigestEntryConfig {
            max_timeout_ns: 0,
            max_list_size: 1,
            ack_timeout_ns: i64::MAX,
        });
        let numbered = |number: usize| P4Data {
            data: Some(P4DataData::Bitstring(number.to_be_bytes().to_vec())),
        };
        for number in 0..MAX_KNOWN {
            assert!(queue.add(numbered(number), 0));
            assert!(queue.take(7, 0).is_some());
        }
        assert!(!queue.add(numbered(MAX_KNOWN), 0));
        queue.acknowledge(9);
        assert!(queue.add(numbered(MAX_KNOWN), 0));
        assert!(queue.take(7, 0).is_some());
    }

    #[test]
    fn signed_fields_are_in_two_s_complement_also_above_0() {
        let shape = DigestShape::Tuple;
        let fields = vec![(8, true), (12, true), (0, false), (16, true), (16, false)];
        let info = DigestInfo {
            id: 1,
            shape,
            fields,
        };
        let values = [-2, -739, 300, 200, 200].map(Int::Small).into();
        let sent = data(&info, &Digest { list: 0, values });
        let Some(P4DataData::Tuple(sent)) = sent.data else {
            panic!("{sent:?}");
        };
        let bits = |bytes: &[u8]| P4Data {
            data: Some(P4DataData::Bitstring(bytes.to_vec())),
        };
        let wanted: [&[u8]; 5] = [&[0xfe], &[0xfd, 0x1d], &[1, 0x2c], &[0, 200], &[200]];
        assert_eq!(sent.members, wanted.map(bits));
    }
}
