//! The options of several workers: how many, and by what frames are divided among them.

use bofuss_datapath::{DispatchBy, DispatchFields};

use crate::error::Result;

/// The most threads that forward packets.
const MOST_WORKERS: u32 = 64;

/// The number of workers. Errors: there are no so many, or a record is made.
pub(super) fn count(count: Option<u32>, has_record: bool) -> Result<usize> {
    match count.unwrap_or(1) {
        2.. if has_record => Err("--record is for one worker: leave --workers out".into()),
        count @ 1..=MOST_WORKERS => Ok(count as usize),
        _ => Err(format!("--workers: write 1 to {MOST_WORKERS}").into()),
    }
}

/// By what frames are divided. Errors: what is wrong with the words.
pub(super) fn dispatch(words: Option<&str>) -> Result<DispatchBy> {
    let words = words.unwrap_or("auto");
    match words {
        "auto" => return Ok(DispatchBy::Auto),
        "five-tuple" => return Ok(DispatchBy::FiveTuple),
        "port" => return Ok(DispatchBy::Port),
        _ => {}
    }
    let Some(names) = words.strip_prefix("fields=") else {
        let choices = "write auto, five-tuple, port, or fields=FIELD,...";
        return Err(format!("--dispatch {words}: {choices}").into());
    };
    let mut all = DispatchFields::default();
    for name in names.split(',') {
        let Some(field) = DispatchFields::named(name) else {
            let fields = DispatchFields::PAIRS.iter().flatten();
            let known: Vec<&str> = fields.map(|field| field.name).collect();
            let known = known.join(", ");
            return Err(format!("--dispatch {words}: '{name}' is none of {known}").into());
        };
        all = all.or(field);
    }
    Ok(DispatchBy::Fields(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_by_what_frames_are_divided() {
        let named = |name| DispatchFields::named(name).unwrap();
        let both = named("ipv4_src").or(named("eth_dst"));
        for (words, by) in [
            (None, DispatchBy::Auto),
            (Some("auto"), DispatchBy::Auto),
            (Some("five-tuple"), DispatchBy::FiveTuple),
            (Some("port"), DispatchBy::Port),
            (Some("fields=ipv4_src,eth_dst"), DispatchBy::Fields(both)),
        ] {
            assert_eq!(dispatch(words).unwrap(), by);
        }
        for (words, said) in [
            ("flows", "write auto, five-tuple, port, or fields="),
            ("fields=", "'' is none of eth_src, eth_dst, ipv4_src"),
            ("fields=tcp_src", "'tcp_src' is none of"),
        ] {
            let error = dispatch(Some(words)).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
