//! What a browser sends of a form: names and values in an address.

/// Names and values.
#[derive(Default)]
pub struct Form(Vec<(String, String)>);

impl Form {
    /// Reads the query of an address (`application/x-www-form-urlencoded`). What is no number after
    /// a `%` stays as it is, and bytes that are no text become U+FFFD.
    pub fn of(query: &str) -> Self {
        let pairs = query.split('&').map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name), decoded(value))
        });
        Self(pairs.collect())
    }

    /// The first value of a name, without spaces around it; empty if there is none.
    pub fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|pair| pair.0 == name);
        found.map_or("", |pair| pair.1.trim())
    }

    /// The value of a name as a number; 0 if it is none.
    pub fn number(&self, name: &str) -> u64 {
        self.get(name).parse().unwrap_or(0)
    }
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        let digit = |place: usize| {
            let byte = *after.get(place)?;
            char::from(byte).to_digit(16)
        };
        let number = digit(0)
            .zip(digit(1))
            .map(|(high, low)| (high << 4 | low) as u8);
        match (first, number) {
            (b'+', _) => bytes.push(b' '),
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            (byte, _) => bytes.push(*byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A value as part of an address.
pub fn encoded(value: &str) -> String {
    let mut text = String::new();
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() {
            text.push(byte.into());
        } else {
            text += &format!("%{byte:02X}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_read_as_browsers_write_it_and_no_bytes_make_it_fail() {
        let form = Form::of("flow=in_port%3D1%2Ctcp&from=20&a+b=c+d&from=30&&x");
        assert_eq!(form.get("flow"), "in_port=1,tcp");
        assert_eq!(form.number("from"), 20);
        assert_eq!(form.get("a b"), "c d");
        assert_eq!((form.get("x"), form.number("x")), ("", 0));
        let strange = "%&=%4=%zz=%ff%00\u{e9}%";
        assert_eq!(decoded("%+4%+"), "% 4% ");
        let _ = Form::of(strange);
        assert_eq!(decoded(&encoded(strange)), strange);
    }
}
