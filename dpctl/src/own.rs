//! The verbs that neither of the other tools has: the requests of each.

use bofuss_oflib::Message;
use bofuss_oflib::message::{ControllerRole, Role};

use crate::find;
use crate::verbs::{Command, Made, Requests, ask, misused};
use crate::words::Argument;

pub(crate) fn role(_: &Command, arguments: &[&str]) -> Made {
    let names: Vec<&str> = ControllerRole::NAMES.iter().map(|row| row.1).collect();
    let named = |word: &str| {
        let role = ControllerRole::named(word);
        role.ok_or_else(|| Argument(word).unknown(word, "role", &names))
    };
    let (role, generation_id) = match arguments {
        [] => (ControllerRole::NOCHANGE, 0),
        [word] => (named(word)?, 0),
        [word, number] => (named(word)?, Argument(number).number(number)?),
        _ => return misused(),
    };
    ask([Message::RoleRequest(Role {
        role,
        generation_id,
    })])
}

pub(crate) fn status(_: &Command, arguments: &[&str]) -> Made {
    match arguments {
        [] => Ok(Requests::Status(String::new())),
        [key] => Ok(Requests::Status((*key).into())),
        _ => misused(),
    }
}

pub(crate) fn watch(_: &Command, arguments: &[&str]) -> Made {
    let number = |word: &str| Argument(word).number::<u32>(word).map(u64::from);
    let (seconds, count) = match arguments {
        [] => (1, 0),
        [seconds] => (number(seconds)?, 0),
        [seconds, count] => (number(seconds)?, number(count)?),
        _ => return misused(),
    };
    if seconds == 0 {
        return Err(Argument(arguments[0]).wrong(arguments[0], "at least a second"));
    }
    Ok(Requests::Watch { seconds, count })
}

pub(crate) fn switches(_: &Command, arguments: &[&str]) -> Made {
    match arguments {
        [] => Ok(Requests::Text(
            find::running()
                .iter()
                .map(|socket| format!("{}\tunix:{}\n", socket.name, socket.path.display()))
                .collect(),
        )),
        _ => misused(),
    }
}
