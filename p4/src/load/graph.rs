//! Checks that no control runs in a circle.

use alloc::vec;
use alloc::vec::Vec;

use crate::json::{Node as Place, Result};
use crate::program::{Next, Node, Program};

/// Where a search is with a node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    New,
    Open,
    Done,
}

/// Searches both controls. Errors: a circle.
pub(super) fn check(program: &Program, root: &Place<'_>) -> Result<()> {
    let tables = program.tables.len();
    let mut marks = vec![Mark::New; tables + program.conditions.len()];
    let index = |node| match node {
        Node::Table(id) => Some(id),
        Node::Condition(id) => Some(tables + id),
        Node::End => None,
    };
    let mut open: Vec<(usize, Vec<Node>)> = Vec::new();
    for start in [program.ingress, program.egress] {
        let mut next = vec![start];
        loop {
            let Some(node) = next.pop() else {
                let Some((done, rest)) = open.pop() else {
                    break;
                };
                marks[done] = Mark::Done;
                next = rest;
                continue;
            };
            let Some(id) = index(node) else {
                continue;
            };
            match marks[id] {
                Mark::Done => {}
                Mark::Open => {
                    let pipelines = root.get("pipelines")?;
                    return pipelines.refuse("a control runs in a circle");
                }
                Mark::New => {
                    marks[id] = Mark::Open;
                    open.push((id, core::mem::replace(&mut next, after(program, node))));
                }
            }
        }
    }
    Ok(())
}

/// All nodes that may follow.
fn after(program: &Program, node: Node) -> Vec<Node> {
    match node {
        Node::End => Vec::new(),
        Node::Condition(id) => {
            let condition = &program.conditions[id];
            vec![condition.yes, condition.no]
        }
        Node::Table(id) => {
            let table = &program.tables[id];
            let mut all = match &table.next {
                Next::Hit(hit, miss) => vec![*hit, *miss],
                Next::Action(nodes) => nodes.clone(),
            };
            all.push(table.base_next);
            all
        }
    }
}
