//! The verb `status`: whether a switch and its controllers are connected.

use bofuss_ext::status;
use bofuss_oflib::Message;

use crate::json;
use crate::talk::Talk;
use crate::{Failure, say};

/// Prints the lines of the status whose keys begin with `prefix`.
pub(crate) async fn print(talk: &mut Talk, prefix: &str) -> Result<(), Failure> {
    let text = ask(talk, prefix).await?;
    let lines: Vec<&str> = text.lines().collect();
    if talk.json {
        say(json::page(talk.verb.name, vec![json::lines(&lines)]) + "\n");
    } else {
        say(text);
    }
    Ok(())
}

/// The lines `key=value` of the switch's status whose keys begin with `prefix`. A switch that does
/// not know the request gets two lines made here: that it answers, and in which version.
async fn ask(talk: &mut Talk, prefix: &str) -> Result<String, Failure> {
    let request = Message::Experimenter(status::request(prefix));
    match talk.client.request(&request).await {
        Ok(Message::Experimenter(reply)) => Ok(String::from_utf8_lossy(&reply.data.0).into_owned()),
        Ok(_) | Err(bofuss_channel::ClientError::Refused(_)) => {
            let version = talk.client.version();
            let lines = [
                "local.is-connected=true\n".to_string(),
                format!("switch.openflow={version}\n"),
            ];
            Ok(lines
                .into_iter()
                .filter(|line| line.starts_with(prefix))
                .collect())
        }
        Err(error) => Err(talk.failed(&error)),
    }
}
