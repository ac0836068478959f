//! The verb `draw-states`, and the state machines for the page of a trace.

use bofuss_ext::openstate::AskedStates;

use crate::Failure;
use crate::verb::{Command, Made, Requests, misused};
use crate::words::Argument;

/// The attribute that an SVG drawing needs in a file of its own.
const NAMESPACE: &str = "xmlns=\"http://www.w3.org/2000/svg\"";

/// Draws the state machine that a table's flow entries define.
pub(crate) fn draw(_: &Command, arguments: &[&str]) -> Made {
    let [table] = arguments else {
        return misused();
    };
    let number: u8 = Argument(table).number(table)?;
    with_states(move |asked| {
        let graph = asked.graph(number);
        if graph.is_empty() {
            let what = format!("draw-states: no entry and no flow has a state of table {number}");
            return Err(Failure::Failed(what));
        }
        Ok(Requests::Text(graph.svg(NAMESPACE, &[])))
    })
}

/// Requests all flow entries and all states, and passes them to `then`.
pub(crate) fn with_states(then: impl FnOnce(&AskedStates) -> Made + 'static) -> Made {
    let [entries, states] = AskedStates::questions();
    Ok(Requests::First(
        entries,
        Box::new(move |reply| {
            let mut asked = AskedStates::default();
            asked.add(reply);
            Ok(Requests::First(
                states,
                Box::new(move |reply| {
                    asked.add(reply);
                    then(&asked)
                }),
            ))
        }),
    ))
}
