//! The options of extensions; each extension checks its own.

use bofuss_datapath::Hook;
use bofuss_oflib::Catalogue;

use crate::error::Result;

/// Makes the hooks of all extensions, and sets `options`, each written as `EXTENSION.NAME=VALUE`.
/// An extension's name alone sets nothing.
///
/// Errors: a sentence with what would be right.
pub fn hooks(catalogue: &Catalogue, options: &[String]) -> Result<Vec<Box<dyn Hook>>> {
    let mut hooks = bofuss_ext::hooks(catalogue);
    for text in options {
        let extension = name(text);
        let names: Vec<_> = hooks.iter().map(|hook| hook.name()).collect();
        let Some(hook) = hooks.iter_mut().find(|hook| hook.name() == extension) else {
            return Err(format!(
                "--extension {text}: '{extension}' is not {}",
                names.join(", ")
            )
            .into());
        };
        if text == extension {
            continue;
        }
        let option = text[extension.len()..].strip_prefix('.');
        let Some((name, value)) = option.and_then(|option| option.split_once('=')) else {
            return Err(format!(
                "--extension {text}: write EXTENSION or EXTENSION.NAME=VALUE, \
                 as openstate.dialect=opp"
            )
            .into());
        };
        let done = hook.set_option(name, value);
        done.map_err(|error| format!("--extension {text}: {error}"))?;
    }
    Ok(hooks)
}

/// The catalogue, with which table features list the experimenter ids of the extensions that
/// `options` name.
///
/// Errors: as [`hooks`].
pub fn announced(mut catalogue: Catalogue, options: &[String]) -> Result<Catalogue> {
    hooks(&catalogue, options)?;
    options
        .iter()
        .for_each(|text| catalogue.announce(name(text)));
    Ok(catalogue)
}

/// The extension that an option names.
fn name(option: &str) -> &str {
    option.split(['.', '=']).next().unwrap_or(option)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(option: &str) -> String {
        let made = hooks(&bofuss_ext::catalogue(), &[option.into()]);
        made.map(|_| ()).expect_err(option).text
    }

    #[test]
    fn options_of_extensions_are_checked_by_these() {
        let right = ["insp", "openstate.dialect=opp", "openstate.refuse-reset=on"];
        let made = hooks(&bofuss_ext::catalogue(), &right.map(String::from));
        assert!(made.is_ok());
        assert_eq!(
            refusal("openstate=x"),
            "--extension openstate=x: write EXTENSION or EXTENSION.NAME=VALUE, \
             as openstate.dialect=opp"
        );
        assert!(refusal("closed.dialect=opp").contains("'closed' is not "));
        assert_eq!(
            refusal("insp.dialect=opp"),
            "--extension insp.dialect=opp: insp has no options"
        );
        assert_eq!(
            refusal("openstate.dialect=p4"),
            "--extension openstate.dialect=p4: 'p4' is not openstate, beba or opp"
        );
        assert!(refusal("openstate.refuse-reset=1").ends_with("'1' is not on or off"));
        assert!(refusal("openstate.refuse=on").contains("'refuse' is not dialect"));
    }
}
