//! The pages by their addresses, and the frame that they share.

use bofuss_ext::trace::Escaped;
use hyper::StatusCode;

use super::asked::AskedSwitch;
use super::form::Form;
use super::html::refused;
use super::{ladder, lists, machines, pipeline, story};
use crate::error::Result;

/// A page.
pub struct PageRow {
    /// The last part of its address.
    pub path: &'static str,
    title: &'static str,
    /// Writes what is below the title.
    body: fn(&AskedSwitch, &Form) -> Result<String>,
}

/// A row of the table of pages.
const fn row(
    path: &'static str,
    title: &'static str,
    body: fn(&AskedSwitch, &Form) -> Result<String>,
) -> PageRow {
    PageRow { path, title, body }
}

/// The pages, in the order of the links to them.
pub const PAGES: &[PageRow] = &[
    row("", "Pipeline", pipeline::body),
    row("flows", "Flows", lists::flows),
    row("groups", "Groups and meters", lists::groups_and_meters),
    row("packet", "Packet", story::body),
    row("messages", "Messages", ladder::body),
    row("machines", "State machines", machines::body),
];

/// A page of a switch, also if it does not answer.
pub fn page(switch: &AskedSwitch, row: &PageRow, form: &Form) -> (StatusCode, String) {
    let (status, body) = match (row.body)(switch, form) {
        Ok(body) => (StatusCode::OK, body),
        Err(error) => (StatusCode::BAD_GATEWAY, refused(error)),
    };
    let title = row.title;
    let name = switch.name();
    let name = Escaped(&name);
    let mut links = String::new();
    for other in PAGES {
        let is_this = other.path == row.path;
        let current = if is_this {
            " aria-current=\"page\""
        } else {
            ""
        };
        let path = if other.path.is_empty() {
            "./"
        } else {
            other.path
        };
        links += &format!("<a href=\"{path}\"{current}>{}</a>\n", other.title);
    }
    let page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <link rel=\"icon\" href=\"data:,\">\n\
         <title>{title} of {name}</title>\n<link rel=\"stylesheet\" href=\"web.css\">\n\
         <script src=\"live.js\" defer></script>\n</head>\n<body>\n\
         <nav><b>{name}</b>\n{links}</nav>\n<main>\n<h1>{title}</h1>\n{body}</main>\n\
         </body>\n</html>\n"
    );
    (status, page)
}
