//! The options of extensions; each extension checks its own.

use bofuss_datapath::Hook;
use bofuss_oflib::Catalogue;

/// Makes the hooks of all extensions, and sets `options`, each written as `EXTENSION.NAME=VALUE`.
///
/// Errors: a sentence with what would be right.
pub fn hooks(catalogue: &Catalogue, options: &[String]) -> Result<Vec<Box<dyn Hook>>, String> {
    let mut hooks = bofuss_ext::hooks(catalogue);
    for text in options {
        let parts = text
            .split_once('=')
            .and_then(|(name, value)| Some((name.split_once('.')?, value)));
        let Some(((extension, name), value)) = parts else {
            return Err(format!(
                "--extension {text}: write EXTENSION.NAME=VALUE, as openstate.dialect=opp"
            ));
        };
        let Some(hook) = hooks.iter_mut().find(|hook| hook.name() == extension) else {
            let names: Vec<_> = hooks.iter().map(|hook| hook.name()).collect();
            return Err(format!(
                "--extension {text}: '{extension}' is not {}",
                names.join(", ")
            ));
        };
        let done = hook.set_option(name, value);
        done.map_err(|error| format!("--extension {text}: {error}"))?;
    }
    Ok(hooks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(option: &str) -> String {
        let made = hooks(&bofuss_ext::catalogue(), &[option.into()]);
        made.map(|_| ()).expect_err(option)
    }

    #[test]
    fn options_of_extensions_are_checked_by_these() {
        let right = ["openstate.dialect=opp", "openstate.refuse-reset=on"];
        let made = hooks(&bofuss_ext::catalogue(), &right.map(String::from));
        assert!(made.is_ok());
        assert_eq!(
            refusal("openstate"),
            "--extension openstate: write EXTENSION.NAME=VALUE, as openstate.dialect=opp"
        );
        assert!(refusal("closed.dialect=opp").contains("'closed' is not "));
        assert_eq!(
            refusal("insp.dialect=opp"),
            "--extension insp.dialect=opp: insp has no options"
        );
        assert_eq!(
            refusal("openstate.dialect=p4"),
            "--extension openstate.dialect=p4: 'p4' is not one of openstate, beba, opp"
        );
        assert!(refusal("openstate.refuse-reset=1").ends_with("'1' is not on or off"));
        assert!(refusal("openstate.refuse=on").contains("'refuse' is not dialect"));
    }
}
