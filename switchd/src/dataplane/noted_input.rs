//! An input of the first worker's switch, which the switches of the others get, too, with the same
//! answers to their questions.

use std::cell::RefCell;
use std::mem::take;

use bofuss_agent::{ConnId, Request};
use bofuss_datapath::Time;
use bofuss_embed::record::{AskedQuestions, Player, Question, RecordError, RecordedInput};
use bofuss_oflib::Message;

/// A question that was answered with no, and how often it was asked before in that input.
pub(super) type DeniedQuestion = (Question, u32);

/// The answers to the questions of the first worker's switch in one input.
#[derive(Default)]
pub(super) struct NotedAnswers {
    asked: AskedQuestions,
    denied: RefCell<Vec<DeniedQuestion>>,
}

/// An input of the first worker's switch.
pub(super) enum NotedInput {
    /// As a record has it.
    Recorded(RecordedInput),
    /// A message: most inputs are, and each would be encoded here and decoded by all others.
    Message(Box<NotedMessage>),
}

/// A message that a connection has sent.
pub(super) struct NotedMessage {
    conn: ConnId,
    xid: u32,
    head: Vec<u8>,
    message: Message,
}

impl NotedAnswers {
    /// Notes the answer to a question.
    pub(super) fn note(&self, question: Question, is_granted: bool) {
        let before = self.asked.next(question);
        if !is_granted {
            self.denied.borrow_mut().push((question, before));
        }
    }

    /// Ends the input. Returns what was answered with no.
    pub(super) fn end(&mut self) -> Vec<DeniedQuestion> {
        self.asked.begin();
        take(self.denied.get_mut())
    }
}

impl NotedInput {
    /// Notes a message of a connection, whose first bytes are `head`.
    pub(super) fn message(conn: ConnId, xid: u32, head: &[u8], message: &Message) -> Self {
        Self::Message(Box::new(NotedMessage {
            conn,
            xid,
            head: head.into(),
            message: message.clone(),
        }))
    }

    /// Gives it to the switch of another worker; `denied` are the questions that were answered no.
    /// Errors: it is impossible there.
    pub(super) fn play(
        &self,
        player: &mut Player,
        at: Time,
        denied: &[DeniedQuestion],
    ) -> Result<(), RecordError> {
        // By numbers, a question that only the first worker asks would shift those after it.
        player.refuse(denied);
        match self {
            Self::Recorded(input) => player.play(at, input, &[]).map(drop),
            Self::Message(noted) => {
                let request = Request {
                    xid: noted.xid,
                    head: &noted.head,
                    message: Ok(noted.message.clone()),
                };
                drop(player.play_request(at, noted.conn, request, &[]));
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_denied_is_known_by_its_question_and_its_input() {
        let mut answers = NotedAnswers::default();
        let room = |conn| Question::Room(ConnId(conn));
        answers.note(room(1), true);
        answers.note(room(2), true);
        answers.note(room(2), false);
        assert_eq!(answers.end(), [(room(2), 1)]);
        answers.note(room(2), false);
        assert_eq!(answers.end(), [(room(2), 0)], "in the next input");
    }
}
