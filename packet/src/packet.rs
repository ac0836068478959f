//! A packet in the pipeline: a frame with its key and layout.

use bofuss_frame::Frame;
use bofuss_oflib::PortNo;
use bofuss_oflib::catalogue::Additions;
use bofuss_oflib::field::{ACTSET_OUTPUT, Header, IN_PHY_PORT, IN_PORT, METADATA, TUNNEL_ID};

use crate::key::Key;
use crate::packet_type::FRONT_BYTES;
use crate::parse::{Fragment, Layout, parse, survey};
use crate::rows::{SUPPLIED, write};

/// A frame, its match key, and its layout.
///
/// Invariant: key and layout are those of the bytes, except for what set-field wrote: it changes
/// the field's bytes and its slot in the key only, so that a changed type or length is not
/// followed.
///
/// ```
/// use bofuss_frame::Pool;
/// use bofuss_oflib::field::{IPV4_DST, VLAN_VID};
/// use bofuss_oflib::{Mac, PortNo};
/// use bofuss_packet::Packet;
/// use bofuss_packet::craft::{ethernet, ipv4, udp};
///
/// let ip = ipv4([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 64, udp(1000, 53, b"hello"));
/// let bytes = ethernet(Mac([2; 6]), Mac([4; 6]), ip);
/// let frame = Pool::new(1 << 20).frame(&bytes).expect("the pool is unused");
/// let mut packet = Packet::new(frame, PortNo(1));
/// assert_eq!(packet.key().get(IPV4_DST, &mut ()), Some(0x0a00_0002));
/// packet.push_vlan(0x8100).expect("the frame has room for a tag");
/// assert_eq!(packet.frame.len(), bytes.len() + 4);
/// assert!(packet.key().get(VLAN_VID, &mut ()).is_some());
/// ```
#[derive(Debug)]
pub struct Packet {
    /// The bytes, and what remains to be done to them. After changing headers here, call
    /// [`Packet::reparse`].
    pub frame: Frame,
    pub(crate) key: Key,
    pub(crate) layout: Layout,
}

/// The key of a packet that came in through a port, without what its headers say.
#[inline]
pub fn arrival(in_port: PortNo, additions: &Additions) -> Key {
    let mut key = Key::EMPTY;
    key.set(IN_PORT, u128::from(in_port.0));
    key.set(IN_PHY_PORT, u128::from(in_port.0));
    key.set(METADATA, 0);
    key.set(TUNNEL_ID, 0);
    key.set(ACTSET_OUTPUT, u128::from(PortNo::UNSET.0));
    for field in &additions.registers {
        key.set(field, field.initial.unwrap_or(0).into());
    }
    key
}

impl Packet {
    /// Reads a frame that came in through port `in_port`.
    ///
    /// Metadata begins as 0, the tunnel id as the frame's. Spec: OpenFlow 1.3.5 section 7.2.3.7.
    /// Choice: IN_PHY_PORT is `in_port`, also of a logical one.
    #[inline]
    pub fn new(frame: Frame, in_port: PortNo) -> Self {
        Self::with_additions(frame, in_port, Additions::NONE)
    }

    /// The same with what a catalogue has added: fields in headers, and registers.
    #[inline]
    pub fn with_additions(frame: Frame, in_port: PortNo, additions: &'static Additions) -> Self {
        let mut layout = Layout::seeking(additions);
        survey(frame.bytes(), &mut layout);
        Self::with_layout(frame, &arrival(in_port, additions), &layout)
    }

    /// Reads a frame with a packet that has no Ethernet header, after the bytes of
    /// [`crate::packet_type::front`], that arrived on port `in_port`.
    pub fn without_ethernet(frame: Frame, in_port: PortNo, additions: &'static Additions) -> Self {
        let mut layout = Layout::seeking(additions);
        survey(frame.bytes(), &mut layout);
        let mut key = arrival(in_port, additions);
        key.leave_ethernet();
        Self::with_layout(frame, &key, &layout)
    }

    /// The packet of a frame whose layout is known; `key` is one without what its headers say.
    #[inline(always)]
    pub fn with_layout(frame: Frame, key: &Key, layout: &Layout) -> Self {
        let mut this = Self {
            frame,
            key: key.clone(),
            layout: *layout,
        };
        if !key.is_of_ethernet() {
            this.layout.leave_ethernet();
        }
        write(this.frame.bytes(), &this.layout, &mut this.key);
        if this.frame.tunnel_id != 0 {
            this.key.set(TUNNEL_ID, this.frame.tunnel_id.into());
        }
        this
    }

    /// Reads the bytes again; keeps the fields that the switch supplies (IN_PORT, METADATA,
    /// TUNNEL_ID, extensions' state).
    pub fn reparse(&mut self) {
        for (byte, keep) in self.key.bytes.iter_mut().zip(SUPPLIED) {
            *byte &= keep;
        }
        for field in &self.layout.additions.placed {
            self.key.clear(field);
        }
        parse(self.frame.bytes(), &mut self.key, &mut self.layout);
    }

    /// The port that the packet came in through: what no action changes and every output depends
    /// on.
    #[inline]
    pub fn in_port(&self) -> PortNo {
        PortNo(self.key.in_port())
    }

    /// Takes the frame out, to leave by the tunnel that the key says.
    #[inline]
    pub fn take_frame(&mut self) -> Frame {
        self.frame.tunnel_id = self.key.get(TUNNEL_ID, &mut ()).unwrap_or(0) as u64;
        self.frame.take()
    }

    /// The match key.
    #[inline]
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// The match key, for setting fields that are in no header: metadata, tunnel id, extensions'
    /// fields.
    #[inline]
    pub fn key_mut(&mut self) -> &mut Key {
        &mut self.key
    }

    /// Replaces the bits of the metadata that `mask` covers.
    #[inline]
    pub fn write_metadata(&mut self, value: u64, mask: u64) {
        self.key.write_metadata(value, mask);
    }

    /// The bytes of the packet as a port or a controller has them: without the bytes that precede a
    /// packet without an Ethernet header.
    pub fn wire_bytes(&self) -> &[u8] {
        let front = if self.key.is_of_ethernet() {
            0
        } else {
            FRONT_BYTES
        };
        self.frame.bytes().get(front..).unwrap_or_default()
    }

    /// Returns the places of the headers.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// VLAN tags before the Ethernet type; [`u8::MAX`] if an MPLS label or a PBB tag is there.
    pub fn tags_before_ip(&self) -> u8 {
        let hidden = [Header::Mpls, Header::Pbb].map(|header| self.layout.offset(header));
        match hidden {
            [None, None] => self.layout.vlan_tags,
            [Some(_), _] | [None, Some(_)] => u8::MAX,
        }
    }

    /// Returns true if the frame holds a part of an IP packet only.
    #[inline]
    pub fn is_fragment(&self) -> bool {
        self.layout.fragment != Fragment::No
    }

    /// Copies the packet. Errors: `None` if the frame's pool is exhausted.
    pub fn try_clone(&self) -> Option<Self> {
        Some(Self {
            frame: self.frame.try_clone()?,
            key: self.key.clone(),
            layout: self.layout,
        })
    }

    /// Takes the frame out, with the same key, and leaves one without bytes.
    pub fn take(&mut self) -> Self {
        Self {
            frame: self.frame.take(),
            key: self.key.clone(),
            layout: self.layout,
        }
    }

    /// A segment of this packet, with the same key.
    pub fn with_frame(&self, frame: Frame) -> Self {
        let mut layout = Layout::seeking(self.layout.additions);
        survey(frame.bytes(), &mut layout);
        if !self.key.is_of_ethernet() {
            layout.leave_ethernet();
        }
        Self {
            frame,
            key: self.key.clone(),
            layout,
        }
    }
}
