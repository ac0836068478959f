//! The requests of the verbs that neither BOFUSS's dpctl nor ovs-ofctl has.

use bofuss_oflib::Message;
use bofuss_oflib::message::{ControllerRole, Role};

use crate::Failure;
use crate::find;
use crate::verb::{Command, Made, Requests, ask, misused};
use crate::words::Argument;

pub(crate) fn role(_: &Command, arguments: &[&str]) -> Made {
    let (role, generation_id) = match arguments {
        [] => (ControllerRole::NOCHANGE, 0),
        [word] => (role_named(word)?, 0),
        [word, number] => (role_named(word)?, Argument(number).number(number)?),
        _ => return misused(),
    };
    ask([Message::RoleRequest(Role {
        role,
        generation_id,
        ..Role::default()
    })])
}

fn role_named(word: &str) -> Result<ControllerRole, Failure> {
    ControllerRole::named(word).ok_or_else(|| {
        let names: Vec<&str> = ControllerRole::NAMES.iter().map(|row| row.1).collect();
        Argument(word).unknown(word, "role", &names)
    })
}

pub(crate) fn status(_: &Command, arguments: &[&str]) -> Made {
    match arguments {
        [] => Ok(Requests::Status(String::new())),
        [key] => Ok(Requests::Status((*key).into())),
        _ => misused(),
    }
}

pub(crate) fn watch(_: &Command, arguments: &[&str]) -> Made {
    let (seconds, count): (u32, u32) = match arguments {
        [] => (1, 0),
        [seconds] => (Argument(seconds).number(seconds)?, 0),
        [seconds, count] => (
            Argument(seconds).number(seconds)?,
            Argument(count).number(count)?,
        ),
        _ => return misused(),
    };
    if seconds == 0 {
        return Err(Argument(arguments[0]).wrong(arguments[0], "at least a second"));
    }
    Ok(Requests::Watch {
        seconds: seconds.into(),
        count: count.into(),
    })
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
