//! The names of fields, as people write and read them.

use super::Field;

/// Prefixes of field names in the specification and in other tools.
const OXM_PREFIXES: &[&str] = &["oxm_of_", "ofpxmt_ofb_", "onfoxm_et_", "nxm_of_", "nxm_nx_"];

impl Field {
    /// The name that is printed.
    pub fn shown(&self) -> &'static str {
        self.aliases.first().copied().unwrap_or(self.name)
    }

    /// Returns true if the field goes by this name, in either case, with or without the
    /// specification's prefix.
    pub fn is_called(&self, name: &str) -> bool {
        let stripped = OXM_PREFIXES.iter().find_map(|prefix| {
            let (start, rest) = name.split_at_checked(prefix.len())?;
            start.eq_ignore_ascii_case(prefix).then_some(rest)
        });
        let name = stripped.unwrap_or(name);
        let mut names = self.aliases.iter().chain([&self.name]);
        names.any(|own| own.eq_ignore_ascii_case(name))
    }
}
