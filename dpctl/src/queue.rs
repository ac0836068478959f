//! The verbs about queues: what they send, and replies as text in the shape of ovs-ofctl.

use bofuss_ext::queues;
use bofuss_oflib::error::QueueOpFailed;
use bofuss_oflib::message::QueueConfigRequest;
use bofuss_oflib::message::multipart::{QueueStats, QueueStatsRequest, RequestBody};
use bofuss_oflib::message::queue::PacketQueue;
use bofuss_oflib::text::parse_port;
use bofuss_oflib::types::QueueId;
use bofuss_oflib::wire::Text;
use bofuss_oflib::{ErrorCode, Message, PortNo};

use crate::Failure;
use crate::verbs::Requests;

/// What a queue that is refused mostly lacks.
const HINT: &str = ": a minimum or a share needs a port whose rate is known (bofuss run \
     --port-rate) and not promised yet; queue 0 goes last";

/// What to do about an error of the switch, as the end of a sentence.
pub(crate) fn hint(error: ErrorCode) -> &'static str {
    if error == QueueOpFailed::EPERM {
        HINT
    } else {
        ""
    }
}

/// What a verb about queues with these arguments sends; `None` for another. Errors: which argument
/// is wrong.
pub(crate) fn requests(verb: &str, arguments: &[&str]) -> Result<Option<Requests>, Failure> {
    let change = |request| Requests::Change(vec![Message::Experimenter(request)]);
    Ok(Some(match (verb, arguments) {
        ("queue-mod", [port, queue, spec]) => {
            let (port, id) = (parse_port(port)?, number(queue)?);
            let spec = queues::parse(spec).map_err(Failure::Usage)?;
            change(queues::modify(port, id, &spec))
        }
        ("queue-del", [port, queue]) => change(queues::delete(parse_port(port)?, number(queue)?)),
        ("set-desc", [text]) => change(queues::set_desc(text)),
        ("queue-get-config", [] | [_]) => {
            let port = arguments
                .first()
                .map_or(Ok(PortNo::ANY), |port| parse_port(port))?;
            let request = Message::QueueGetConfigRequest(QueueConfigRequest { port });
            Requests::Ask(vec![request])
        }
        ("queue-stats", [] | [_] | [_, _]) => {
            let (port, queue) = (arguments.first(), arguments.get(1));
            let request = RequestBody::Queue(QueueStatsRequest {
                port_no: port.map_or(Ok(PortNo::ANY), |port| parse_port(port))?,
                queue_id: queue.map_or(Ok(QueueId::ALL), |queue| number(queue))?,
            });
            Requests::Ask(vec![Message::MultipartRequest(request.into())])
        }
        _ => return Ok(None),
    }))
}

fn number(text: &str) -> Result<QueueId, Failure> {
    let number = text.parse().map(QueueId);
    number.map_err(|_| Failure::Usage(format!("'{text}' is no queue number")))
}

/// Prints a queue.
pub(crate) fn show(queue: &PacketQueue) {
    // Properties of others are shown as they are.
    let properties = queues::spec(&queue.properties).map_or_else(
        |_| Text(&queue.properties).to_string(),
        |spec| queues::text(&spec),
    );
    println!(
        "  port {} queue {}: {properties}",
        queue.port, queue.queue_id
    );
}

/// Prints a queue's counters.
pub(crate) fn show_stats(queue: &QueueStats) {
    println!(
        "  port {} queue {}: bytes={}, pkts={}, errors={}, duration={}.{:09}s",
        queue.port_no,
        queue.queue_id,
        queue.tx_bytes,
        queue.tx_packets,
        queue.tx_errors,
        queue.duration_sec,
        queue.duration_nsec
    );
}
