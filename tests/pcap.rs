//! Captures in the classic format, for tools that read them.

/// A capture of these frames.
pub fn capture_of(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 262_144, 1] {
        file.extend(word.to_le_bytes());
    }
    for frame in frames {
        for word in [0, 0, frame.len() as u32, frame.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend(frame);
    }
    file
}

/// A capture with a TCP segment to OpenFlow's port for each message.
pub fn capture<'a>(messages: impl IntoIterator<Item = &'a Vec<u8>>) -> Vec<u8> {
    let mut frames = Vec::new();
    let mut sequence = 1u32;
    for message in messages {
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0];
        // Without a length, as of a frame that its sender's card cuts, it goes to the frame's end.
        let length = u16::try_from(40 + message.len()).unwrap_or(0);
        frame.extend(length.to_be_bytes());
        frame.extend([0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        frame.extend([0x9c, 0x40, 0x19, 0xfd]);
        frame.extend(sequence.to_be_bytes());
        frame.extend([0, 0, 0, 1, 0x50, 0x18, 0x20, 0, 0, 0, 0, 0]);
        frame.extend(message);
        sequence += message.len() as u32;
        frames.push(frame);
    }
    capture_of(&frames)
}
