//! The table of verbs, and the parsing of a command line into address, verb and arguments.

use bofuss_channel::ActiveAddress;

use crate::verb::{Command, Made, Make, TextStyle, Verb};
use crate::{Failure, bofuss, extension, find, help, monitor, ofctl, own, states, trace};

macro_rules! verbs {
    ($($name:literal $arguments:literal $style:ident $make:path: $help:literal;)*) => {
        /// The verbs, except those of extensions. A name that BOFUSS's dpctl and ovs-ofctl share is
        /// the verb of BOFUSS's dpctl.
        const VERBS: &[Verb] = &[$(Verb {
            name: $name,
            arguments: $arguments,
            style: TextStyle::$style,
            help: $help,
            make: Make::Function($make),
        }),*];
    };
}

verbs! {
    "features" "" Bofuss bofuss::features: "the switch's id and capabilities";
    "get-config" "" Bofuss bofuss::get_config: "print how fragments and misses are handled";
    "set-config" "flags=N,miss=N" Bofuss bofuss::set_config: "change how fragments and misses are \
         handled";
    "stats-desc" "" Bofuss bofuss::stats_desc: "manufacturer, hardware and software";
    "set-desc" "TEXT" Bofuss bofuss::set_desc: "describe the switch";
    "port-desc" "" Bofuss bofuss::port_desc: "the ports";
    "port-mod" "port=N,conf=N,mask=N[,adv=N][,addr=MAC]" Bofuss bofuss::port_mod: "change a port";
    "stats-port" "[PORT]" Bofuss bofuss::stats_port: "port counters";
    "flow-mod" "cmd=add,table=N,KEY=VALUE... [MATCH] [INSTRUCTION...]" Bofuss bofuss::flow_mod:
        "change flow entries";
    "stats-flow" "[table=N,KEY=VALUE...] [MATCH]" Bofuss bofuss::stats_flow: "flow entries";
    "stats-aggr" "[table=N,KEY=VALUE...] [MATCH]" Bofuss bofuss::stats_aggr:
        "sums over flow entries";
    "stats-table" "" Bofuss bofuss::stats_table: "table counters";
    "table-features" "" Bofuss bofuss::table_features: "print what each table can do";
    "table-mod" "table=N,conf=N" Bofuss bofuss::table_mod: "configure a table";
    "set-table-match" "[FIELD,...]" Bofuss bofuss::set_table_match:
        "restrict the fields that all tables match, or print them";
    "group-mod" "cmd=add,type=TYPE,group=N [weight=N,port=N,group=N ACTIONS]..." Bofuss
        bofuss::group_mod: "change groups";
    "group-features" "" Bofuss bofuss::group_features: "print what groups can do";
    "stats-group" "[GROUP]" Bofuss bofuss::stats_group: "group counters";
    "stats-group-desc" "[GROUP]" Bofuss bofuss::stats_group_desc: "the groups";
    "meter-mod" "cmd=add,flags=N,meter=N [drop:rate=N,burst=N | dscp_remark:...]..." Bofuss
        bofuss::meter_mod: "change meters";
    "meter-features" "" Bofuss bofuss::meter_features: "print what meters can do";
    "meter-config" "[METER]" Bofuss bofuss::meter_config: "the meters";
    "stats-meter" "[METER]" Bofuss bofuss::stats_meter: "meter counters";
    "bundle-features" "" Bofuss bofuss::bundle_features:
        "print what bundles can do, and how exactly they keep a time";
    "controller-status" "" Bofuss bofuss::controller_status:
        "the controllers that are connected, and their roles (since OpenFlow 1.5)";
    "first-egress" "TABLE|none" Bofuss bofuss::first_egress:
        "let packets that are to leave pass the tables from this one (since OpenFlow 1.5)";
    "queue-mod" "PORT QUEUE SPEC" Bofuss bofuss::queue_mod:
        "create or change a queue: 200 or min=200,max=10M,priority=1,weight=2";
    "queue-del" "PORT QUEUE" Bofuss bofuss::queue_del: "delete a queue";
    "set-discipline" "PORT NAME" Bofuss bofuss::set_discipline:
        "order the frames that wait at a port as weighted-priority, hfair or another discipline";
    "queue-get-config" "[PORT]" Bofuss bofuss::queue_get_config: "the queues";
    "stats-queue" "[PORT [QUEUE]]" Bofuss bofuss::stats_queue: "queue counters";
    "get-async" "" Bofuss bofuss::get_async:
        "print which asynchronous messages this connection gets";
    "ping" "[COUNT [BYTES]]" Bofuss bofuss::ping: "measure the round-trip time of echo requests";
    "monitor" "[MISS_LEN] [watch:[FLOW]]... [MESSAGE]..." Bofuss monitor::monitor:
        "print every message until Ctrl-C; watch: follows entries, MESSAGEs subscribe: \
         notify_states(wanted=1)";
    "show" "" Ofctl ofctl::show: "the switch and its ports";
    "dump-desc" "" Ofctl ofctl::dump_desc: "manufacturer, hardware and software";
    "dump-flows" "[FLOW]" Ofctl ofctl::dump_flows: "flow entries, or only those that FLOW covers";
    "dump-aggregate" "[FLOW]" Ofctl ofctl::dump_aggregate: "sums over flow entries";
    "dump-tables" "" Ofctl ofctl::dump_tables: "table counters";
    "dump-table-features" "" Ofctl ofctl::dump_table_features: "print what each table can do";
    "dump-table-desc" "" Ofctl ofctl::dump_table_desc:
        "print how tables evict entries and say how full they are";
    "mod-table" "TABLE evict|noevict|vacancy:LOW,HIGH|novacancy|controller|continue|drop" Ofctl
        ofctl::mod_table:
        "let a full table evict entries, or have it say when its free share passes LOW or HIGH %; \
         in OpenFlow 1.1 and 1.2, say what becomes of a miss";
    "dump-ports" "[PORT]" Ofctl ofctl::dump_ports: "port counters";
    "dump-ports-desc" "[PORT]" Ofctl ofctl::dump_ports_desc: "the ports";
    "mod-port" "PORT up|down|[no-]receive|[no-]forward|[no-]packet-in" Ofctl ofctl::mod_port:
        "change a port";
    "get-frags" "" Ofctl ofctl::get_frags: "print how fragments are handled";
    "set-frags" "normal|drop|reassemble" Ofctl ofctl::set_frags: "change how fragments are handled";
    "add-flow" "FLOW" Ofctl ofctl::add_flow:
        "add an entry: priority=10,in_port=1,ip,actions=output:2";
    "add-flows" "FILE" Ofctl ofctl::add_flows:
        "add the entries of a file (-: stdin); a line may begin with add, modify or delete";
    "mod-flows" "FLOW" Ofctl ofctl::mod_flows: "change the actions of entries";
    "del-flows" "[FLOW]" Ofctl ofctl::del_flows: "delete entries";
    "replace-flows" "FILE" Ofctl ofctl::difference::replace_flows:
        "replace the entries by a file's; equal ones keep their counters (unless --readd)";
    "diff-flows" "SOURCE1 SOURCE2" Ofctl ofctl::difference::diff_flows:
        "print how the entries of two files or switches differ; exit code 2 if they do";
    "add-group" "GROUP" Ofctl ofctl::add_group:
        "add a group: group_id=1,type=all,bucket=output:1,bucket=output:2";
    "add-groups" "FILE" Ofctl ofctl::add_groups:
        "add the groups of a file (-: stdin); a line may begin with add, modify, delete, \
         insert_bucket or remove_bucket";
    "mod-group" "GROUP" Ofctl ofctl::mod_group: "change a group's type and buckets";
    "insert-buckets" "GROUP" Ofctl ofctl::insert_buckets:
        "add buckets to a group: group_id=1,command_bucket_id=last,bucket=bucket_id:5,actions=2 \
         (since OpenFlow 1.5)";
    "remove-buckets" "GROUP" Ofctl ofctl::remove_buckets:
        "remove a bucket, or all: group_id=1,command_bucket_id=5 (since OpenFlow 1.5)";
    "del-groups" "[group_id=N]" Ofctl ofctl::del_groups: "delete a group, or all";
    "dump-groups" "[group_id=N]" Ofctl ofctl::dump_groups: "the groups";
    "dump-group-stats" "[group_id=N]" Ofctl ofctl::dump_group_stats: "group counters";
    "dump-group-features" "" Ofctl ofctl::dump_group_features: "print what groups can do";
    "add-meter" "METER" Ofctl ofctl::add_meter:
        "add a meter: meter=1,pktps,burst,band=type=drop,rate=100,burst_size=10";
    "mod-meter" "METER" Ofctl ofctl::mod_meter: "change a meter's unit and bands";
    "del-meters" "[meter=N]" Ofctl ofctl::del_meters: "delete a meter, or all";
    "dump-meters" "[meter=N]" Ofctl ofctl::dump_meters: "the meters";
    "meter-stats" "[meter=N]" Ofctl ofctl::meter_stats: "meter counters";
    "queue-stats" "[PORT [QUEUE]]" Ofctl ofctl::queue_stats: "queue counters";
    "packet-out" "IN_PORT ACTIONS HEX... | PACKET" Ofctl ofctl::packet_out:
        "send packets through the switch; PACKET: in_port=1,metadata=5,packet=HEX,actions=2";
    "snoop" "" Ofctl ofctl::snoop:
        "print the messages between the switch and its controllers until Ctrl-C";
    "role" "[equal|master|slave [GENERATION]]" Own own::role:
        "print this connection's role, or request another";
    "status" "[KEY]" Own own::status: "print whether switch and controllers are connected";
    "trace" "PACKET" Own trace::make:
        "explain what happens to a packet: HEX (port 1), IN_PORT HEX or in_port=1,tcp,tcp_dst=80";
    "draw-states" "TABLE" Own states::draw:
        "print a drawing (SVG) of a table's state machine, with the flows in each state";
    "watch" "[SECONDS [COUNT]]" Own own::watch: "print ports and tables periodically, with rates";
    "switches" "" Own own::switches: "the running switches";
}

/// The verb that is about the others.
static HELP: Verb = Verb {
    name: "help",
    arguments: "[VERB]",
    style: TextStyle::Own,
    help: "print this, or all about one verb",
    make: Make::OfAll(help::make),
};

/// The requests of the verb with these arguments. Errors: which argument is wrong, and why.
pub(crate) fn requests(verb: &Verb, command: &Command, arguments: &[&str]) -> Made {
    let made = match verb.make {
        Make::Function(make) => make(command, arguments),
        Make::OfAll(make) => make(&list(), arguments),
        Make::Row(row) => extension::make(row, command, arguments),
    };
    made.map_err(|error| match error {
        Failure::Misused => {
            let takes = match verb.arguments {
                "" => "no arguments",
                arguments => arguments,
            };
            let is_one_word = ["FLOW", "[FLOW]", "GROUP", "METER"].contains(&takes);
            let hint = if is_one_word && arguments.len() > 1 {
                " as one argument: write it in quotes"
            } else {
                ""
            };
            Failure::Usage(format!("{} takes {takes}{hint}", verb.name))
        }
        Failure::Usage(error) => Failure::Usage(format!("{}: {error}", verb.name)),
        other @ (Failure::Failed(_) | Failure::Differs) => other,
    })
}

/// All verbs, those of extensions last.
pub(crate) fn all() -> impl Iterator<Item = &'static Verb> {
    VERBS.iter().chain([&HELP]).chain(extension::VERBS.iter())
}

/// All verbs, as a list.
pub(crate) fn list() -> Vec<&'static Verb> {
    all().collect()
}

/// The verb of this name.
pub(crate) fn named(name: &str) -> Option<&'static Verb> {
    all().find(|verb| verb.name == name)
}

/// A command line: address, verb and arguments.
pub(crate) type VerbLine<'a> = (Option<ActiveAddress>, &'static Verb, Vec<&'a str>);

/// Finds the verb and the address, which may come before the verb (BOFUSS's order), after it
/// (ovs-ofctl's), or last (Mininet's).
pub(crate) fn split(words: &[String]) -> Result<VerbLine<'_>, Failure> {
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let Some(verb) = named(words[0]) {
        words.remove(0);
        if verb.names_switches() {
            return Ok((None, verb, words));
        }
        for at in [words.len().wrapping_sub(1), 0] {
            let found = words.get(at).and_then(|word| find::address(word));
            if let Some(address) = found {
                words.remove(at);
                return Ok((Some(address?), verb, words));
            }
        }
        return Ok((None, verb, words));
    }
    let first = words.remove(0);
    let Some(address) = find::address(first) else {
        return Err(unknown(first, words.first()));
    };
    match words.split_first() {
        Some((word, arguments)) => match named(word) {
            Some(verb) => Ok((Some(address?), verb, arguments.to_vec())),
            None => Err(unknown(word, None)),
        },
        None => Err(Failure::Usage(
            "which verb? (dpctl --help lists them)".into(),
        )),
    }
}

/// The verb by which a fork of the original dpctl opens, fills and commits bundles.
pub(crate) const BUNDLE: &str = "bundle";
/// The command to write instead.
pub(crate) const BUNDLE_HINT: &str = "one command makes, fills and commits a bundle: write \
     'dpctl --bundle [--at=TIME] SWITCH add-flows FILE', with its changes in the file";

/// A suggestion for a word that is no verb, to be appended to an error; empty if none is close.
pub(crate) fn nearest_verb(word: &str) -> String {
    help::nearest_verb(&list(), word)
}

/// The error for a word that is neither a verb nor a switch.
fn unknown(word: &str, next: Option<&&str>) -> Failure {
    if next.is_some_and(|next| all().any(|verb| verb.name == *next)) {
        if word.contains([':', '.', '/']) {
            let kinds = "tcp:HOST:PORT, ssl:HOST:PORT or unix:FILE";
            return Failure::Usage(format!("'{word}' is no valid address: write {kinds}"));
        }
        return Failure::Usage(format!(
            "no switch named '{word}' runs, or it belongs to another user: use sudo, or start it \
             with --socket-group GROUP (dpctl switches lists those that you may use)"
        ));
    }
    if word == BUNDLE {
        return Failure::Usage(format!("{BUNDLE}: {BUNDLE_HINT}"));
    }
    let near = nearest_verb(word);
    Failure::Usage(format!(
        "'{word}' is neither a verb nor a switch{near} (dpctl --help lists the verbs)"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_string).collect()
    }

    #[test]
    fn the_address_may_come_before_the_verb_after_it_or_last() {
        for line in [
            "tcp:127.0.0.1:6654 dump-flows in_port=1",
            "dump-flows tcp:127.0.0.1:6654 in_port=1",
            "dump-flows in_port=1 tcp:127.0.0.1:6654",
        ] {
            let words = words(line);
            let Ok((Some(address), verb, arguments)) = split(&words) else {
                panic!("{line}")
            };
            let found = (address.to_string(), verb.name, arguments);
            let wanted = (
                "tcp:127.0.0.1:6654".to_string(),
                "dump-flows",
                vec!["in_port=1"],
            );
            assert_eq!(found, wanted, "{line}");
        }
    }

    #[test]
    fn a_misspelt_verb_is_answered_with_the_nearest() {
        for (typed, meant) in [("dump-flow", "dump-flows"), ("flow_mod", "flow-mod")] {
            let words = words(typed);
            let Err(Failure::Usage(error)) = split(&words) else {
                panic!("it is no verb")
            };
            assert!(
                error.contains(&format!("did you mean '{meant}'")),
                "{error}"
            );
        }
    }

    #[test]
    fn names_are_unique_and_bofuss_comes_first() {
        let mut names: Vec<_> = all().map(|verb| verb.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all().count());
        assert!(all().is_sorted_by_key(|verb| verb.style as u8));
    }
}
