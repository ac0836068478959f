//! The effects of scenarios as connections of OpenFlow 1.4 see them.

/// An effect as a connection of 1.4 sees it: errors of properties have a type of their own, and
/// `config` in a table's features is the configurations that the table can have.
pub(super) fn in_1_4(effect: &str) -> String {
    let mut effect = effect.to_string();
    if let Some((table, rest)) = effect.split_once(" config=")
        && let Some((_, abilities)) = rest.split_once(" metadata=")
    {
        effect = format!("{table} config=12 metadata={abilities}");
    }
    effect
        .replace(
            "TABLE_FEATURES_FAILED/BAD_ARGUMENT",
            "BAD_PROPERTY/BAD_VALUE",
        )
        .replace("TABLE_FEATURES_FAILED/BAD_TYPE", "BAD_PROPERTY/BAD_TYPE")
        .replace("TABLE_FEATURES_FAILED/BAD_LEN", "BAD_PROPERTY/BAD_LEN")
}
