//! The options of a switch: those of the command line are also the keys of the file.

use std::path::PathBuf;

use clap::value_parser;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::workers::WorkerCount;

/// How many tables there may be.
pub(super) const TABLE_COUNTS: &str = "OpenFlow numbers tables 0 to 253, so 1 to 254";

/// The numbers by which controllers of P4Runtime name a switch: one of TOML has not more bits.
pub fn device_ids() -> clap::builder::RangedU64ValueParser {
    value_parser!(u64).range(..=i64::MAX as u64)
}

/// Reads the number of tables in a file, which is checked later. Errors: it is above 255.
fn table_count<'de, D: Deserializer<'de>>(value: D) -> Result<Option<u8>, D::Error> {
    let count = i64::deserialize(value)?;
    let wrong = |_| D::Error::custom(format!("{count} tables: {TABLE_COUNTS}"));
    u8::try_from(count).map(Some).map_err(wrong)
}

/// Options of `bofuss run`. Each is also a key of the TOML file, where a list is an array.
#[derive(Clone, Debug, Default, clap::Args, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Options {
    /// Read these options from a TOML file; those of the command line count before it.
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    pub config: Option<PathBuf>,
    /// The switches of the file, if it has several: each with its own keys over those of all.
    #[arg(skip)]
    #[serde(rename = "switch", skip_serializing)]
    pub switches: Vec<Self>,
    /// Name of the switch, and of its socket in the run-time directory [default: s0, or the next
    /// one that is free].
    #[arg(long)]
    pub name: Option<String>,
    /// Datapath id, 64 bits, as 0x1 or 000000000001 [default: the first port's address, or
    /// 1 if it starts without ports].
    #[arg(long, value_name = "ID")]
    pub dpid: Option<String>,
    /// A port: [NUMBER=]INTERFACE, tap:NAME, tun:NAME, pcap:IN[,OUT]; NUMBER may be `local`. Repeat
    /// for more; ports without a number get their place in the list.
    #[arg(long = "port", value_name = "PORT")]
    #[serde(rename = "port")]
    pub ports: Vec<String>,
    /// The rate of a port instead of its interface's: PORT=RATE, RATE as 500k, 10M or 1G bits a
    /// second. Repeat for more.
    #[arg(long = "port-rate", value_name = "PORT=RATE")]
    #[serde(rename = "port-rate")]
    pub port_rates: Vec<String>,
    /// The most slots of a port's receive ring, of 2 KiB each: [PORT=]SLOTS, 0 to receive by system
    /// calls alone [default: 8192]. Repeat for more.
    #[arg(long = "ring", value_name = "RING")]
    #[serde(rename = "ring")]
    pub rings: Vec<String>,
    /// A queue: PORT:QUEUE:min=RATE,max=RATE,priority=N,weight=N; RATE is in bits a second, as 10M,
    /// or in thousandths of the port's. Repeat for more.
    #[arg(long = "queue", value_name = "QUEUE")]
    #[serde(rename = "queue")]
    pub queues: Vec<String>,
    /// A controller to connect to: tcp:HOST[:PORT], ssl:HOST[:PORT] or unix:FILE. Repeat for more.
    #[arg(long = "controller", value_name = "ADDRESS")]
    #[serde(rename = "controller")]
    pub controllers: Vec<String>,
    /// An auxiliary connection beside each one to a controller's HOST: tcp, ssl or udp, as udp:6654
    /// if the port is another. Repeat for more; the first has auxiliary id 1.
    #[arg(long = "aux", value_name = "KIND[:PORT]")]
    #[serde(rename = "aux")]
    pub auxiliaries: Vec<String>,
    /// An address to wait at for controllers and tools: ptcp:[PORT][:HOST], pssl:[PORT][:HOST] or
    /// punix:FILE. Repeat for more.
    #[arg(long = "listen", value_name = "ADDRESS")]
    pub listen: Vec<String>,
    /// Let members of this group control the switch through its socket in the run-time directory
    /// [default: only the user who runs it, or calls sudo to run it].
    #[arg(long, value_name = "GROUP")]
    pub socket_group: Option<String>,
    /// For ssl: and pssl:, the switch's private key (PEM). It, the certificates and the CAs' are
    /// read again when the files change; connections that are up stay.
    #[arg(short, long, value_name = "FILE")]
    pub private_key: Option<PathBuf>,
    /// For ssl: and pssl:, the switch's certificate (PEM).
    #[arg(short, long, value_name = "FILE")]
    pub certificate: Option<PathBuf>,
    /// For ssl: and pssl:, the certificates of the CAs that sign the peers' (PEM).
    #[arg(short = 'C', long, value_name = "FILE")]
    pub ca_cert: Option<PathBuf>,
    /// Accept a controller's certificate, if a CA signed it, although it is not for the HOST of
    /// ssl:HOST; those that ovs-pki makes are for no host.
    #[arg(long)]
    pub any_peer_name: bool,
    /// The behaviour without a controller: secure, standalone or arp-path [default: standalone if
    /// none is named; if a reload names the first, secure once one has connected]. In the last two,
    /// table 0 has an entry of the switch's own then, with the cookie 0x7374616e64616c6f
    /// ("standalo" in ASCII).
    #[arg(long, value_name = "MODE")]
    pub fail_mode: Option<String>,
    /// Flow tables, 1 to 254 [default: 64, or those of the profile].
    #[arg(long, value_name = "COUNT")]
    #[serde(deserialize_with = "table_count")]
    pub tables: Option<u8>,
    /// The most entries of one table [default: 1000000].
    #[arg(long, value_name = "COUNT")]
    pub max_entries: Option<u32>,
    /// The most entries of all tables together; long lists of actions count as further ones
    /// [default: 4000000].
    #[arg(long, value_name = "COUNT")]
    pub max_total_entries: Option<u32>,
    /// The algorithm by which select groups choose a bucket: hash, round-robin or random [default:
    /// hash].
    #[arg(long, value_name = "ALGORITHM")]
    pub select: Option<String>,
    /// The algorithm of one group: GROUP=ALGORITHM, as 7=round-robin. Repeat for more.
    #[arg(long = "group-select", value_name = "GROUP=ALGORITHM")]
    pub group_select: Vec<String>,
    /// The most addresses that NORMAL learns on a port: [PORT=]COUNT; with one more, the port's
    /// oldest is forgotten [default: 8192, of all ports together]. Repeat for more.
    #[arg(long = "mac-limit", value_name = "LIMIT")]
    #[serde(rename = "mac-limit")]
    pub mac_limits: Vec<String>,
    /// An address that NORMAL knows at a port without learning it, and that does not move:
    /// PORT=MAC[,VLAN], as 2=02:00:00:00:00:01,7. Repeat for more.
    #[arg(long = "mac", value_name = "STATION")]
    #[serde(rename = "mac")]
    pub macs: Vec<String>,
    /// The VLAN of a port for NORMAL, where frames have no tag: PORT=VLAN, as 2=10; with a VLAN
    /// mode of native-tagged or native-untagged, its native VLAN [default: none]. Repeat for more.
    #[arg(long = "tag", value_name = "PORT=VLAN")]
    #[serde(rename = "tag")]
    pub tags: Vec<String>,
    /// The VLANs that a port carries for NORMAL: PORT=VLAN[,VLAN...], as 3=10,20; 0 is that of
    /// frames without a tag [default: all]. Repeat for more.
    #[arg(long = "trunks", value_name = "PORT=VLAN,...")]
    pub trunks: Vec<String>,
    /// How a port carries VLANs for NORMAL: PORT=MODE, which is access, trunk, native-tagged or
    /// native-untagged, as Open vSwitch has them [default: access with a tag, else trunk]. Repeat
    /// for more.
    #[arg(long = "vlan-mode", value_name = "PORT=MODE")]
    #[serde(rename = "vlan-mode")]
    pub vlan_modes: Vec<String>,
    /// The discipline that orders the frames of a port with queues: [PORT=]DISCIPLINE, as 2=fifo
    /// [default: weighted-priority]. Repeat for more.
    #[arg(long = "discipline", value_name = "DISCIPLINE")]
    #[serde(rename = "discipline")]
    pub disciplines: Vec<String>,
    /// A match field of your own: NAME=HEADER:BIT:BITS,number=N, then as needed mask, set, shared,
    /// hex, mac, ip4, ip6, experimenter=N or a prerequisite FIELD=VALUE. Repeat for more.
    #[arg(long = "field", value_name = "FIELD")]
    #[serde(rename = "field")]
    pub fields: Vec<String>,
    /// An extension whose experimenter ids table features list (without it they are served, and not
    /// listed), or an option of one: EXTENSION.NAME=VALUE, as openstate.dialect=opp. Repeat for
    /// more.
    #[arg(long = "extension", value_name = "OPTION")]
    #[serde(rename = "extension")]
    pub extensions: Vec<String>,
    /// Seed of the switch's random choices [default: 0].
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u32>,
    /// The engine by which packets find their entries: reference (a plain scan), tables (hashed) or
    /// cache (hashed, and the paths of flows through the tables cached) [default: cache].
    #[arg(long, value_name = "ENGINE")]
    pub datapath: Option<String>,
    /// Take the shape of a given pipeline from a TOML file: its tables, and what each can do.
    #[arg(long, value_name = "FILE")]
    pub profile: Option<PathBuf>,
    /// The OpenFlow versions to offer, as 1.0,1.3; the highest common one is spoken [default: all].
    #[arg(long, value_name = "VERSION,...", value_delimiter = ',')]
    pub versions: Vec<String>,
    /// Seconds of silence after which a peer is asked whether it lives; 0 never asks [default: 5].
    #[arg(long, value_name = "SECONDS")]
    pub inactivity_probe: Option<u32>,
    /// The longest wait between two tries to reach a controller, in seconds [default: 8].
    #[arg(long, value_name = "SECONDS")]
    pub max_backoff: Option<u32>,
    /// The most messages of each connection that are served a second; more wait unread [default:
    /// as many as come].
    #[arg(long, value_name = "COUNT")]
    pub message_rate: Option<u32>,
    /// The most packet-ins that each connection gets a second; more are dropped and counted
    /// [default: as many as it takes].
    #[arg(long, value_name = "COUNT")]
    pub packet_in_rate: Option<u32>,
    /// The number of packet-ins that may come at once after a pause, half of them from one port
    /// [default: a quarter of the rate].
    #[arg(long, value_name = "COUNT")]
    pub packet_in_burst: Option<u32>,
    /// Answer HTTP requests for /metrics here, of all switches: [IP:]PORT, without IP on loopback
    /// alone.
    #[arg(long, value_name = "ADDRESS")]
    pub metrics: Option<String>,
    /// Copy a port's frames into a capture file: PORT FILE [FLOW], or `openflow FILE` for the
    /// messages of all connections. FILE is pcapng, or pcap if it ends so. Repeat for more.
    #[arg(long = "capture", value_name = "PORT FILE")]
    #[serde(rename = "capture")]
    pub captures: Vec<String>,
    /// Send copies of a port's frames out of the port TO as well: PORT TO [FLOW]. Repeat for more.
    #[arg(long = "mirror", value_name = "PORT TO")]
    #[serde(rename = "mirror")]
    pub mirrors: Vec<String>,
    /// Send samples of what ports receive to a collector of sFlow version 5: HOST[:PORT], then as
    /// needed rate=N (one in N packets, 512), poll=SECONDS (counters, 20), header=BYTES (128),
    /// ports=PORT,..., agent=IP or sub-agent=N. Repeat for more.
    #[arg(long = "sflow", value_name = "COLLECTOR")]
    #[serde(rename = "sflow")]
    pub sflows: Vec<String>,
    /// Send the flows that ports receive to a collector of IPFIX: HOST[:PORT], then as needed
    /// active=SECONDS (60), idle=SECONDS (15), flows=N (65536), templates=SECONDS (60), rate=N (one
    /// in N packets is counted, 1), ports=PORT,... or domain=N. Repeat for more.
    #[arg(long = "ipfix", value_name = "COLLECTOR")]
    #[serde(rename = "ipfix")]
    pub ipfixes: Vec<String>,
    /// Go on with the state that is in FOLDER, and save it there: entries with counters and the
    /// time that is left, groups, meters, queues, features of tables, the generation id, addresses
    /// of NORMAL. See docs/restart.md.
    #[arg(long, value_name = "FOLDER")]
    pub state_dir: Option<PathBuf>,
    /// The seconds from one saved state to the next; 0 saves it only when the switch ends [default:
    /// 60].
    #[arg(long, value_name = "SECONDS")]
    pub state_interval: Option<u32>,
    /// Take the place of the running switch of this name, or of the only one: its state, its ports
    /// and its sockets. If the new one cannot start, the old one goes on. See docs/restart.md.
    #[arg(long)]
    #[serde(skip)]
    pub replace: bool,
    /// Append all that the switch is given, and what it does, to FILE, which `bofuss replay` plays
    /// again. It has frames and messages: only its owner may read it.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// The part of frames that a record has: `whole`, or `headers` and no payload [default: whole].
    #[arg(long, value_name = "DETAIL")]
    pub record_frames: Option<String>,
    /// The log level; the command line has it for all commands.
    #[arg(skip)]
    pub log: Option<String>,
    /// Take interfaces although they carry an IP address or the default route.
    #[arg(long)]
    pub take_over: bool,
    /// Forward frames of known flows in the kernel: auto, where that can be had; on, or do not
    /// start; off [default: auto].
    #[arg(long, value_name = "WHEN")]
    pub accelerate: Option<String>,
    /// The number of flows that the kernel has room for, of 160 bytes each [default: 16384].
    #[arg(long, value_name = "COUNT")]
    pub accelerated_flows: Option<u32>,
    /// The number of threads that forward packets, 1 to 64, or auto for as many as the processors
    /// that the switch may use; with several, `bofuss ctl workers` says how flows are divided among
    /// them [default: 1].
    #[arg(long, value_name = "COUNT")]
    pub workers: Option<WorkerCount>,
    /// By what frames are divided among workers: auto, which is by flow, or by what the states of
    /// stateful tables need; five-tuple; port; fields=FIELD,... of eth_src, eth_dst, ipv4_src and
    /// so on. All are with one worker if the pipeline does not allow that [default: auto].
    #[arg(long, value_name = "BY")]
    pub dispatch: Option<String>,
    /// Run this P4 program instead of OpenFlow tables: the JSON that `p4c-bm2-ss` writes for
    /// v1model. See docs/p4.md.
    #[arg(long, value_name = "PROGRAM")]
    pub p4: Option<PathBuf>,
    /// Entries, multicast groups and clone sessions of the P4 program: JSON, in the form of the P4
    /// tutorials' runtime files.
    #[arg(long, value_name = "FILE")]
    pub p4_entries: Option<PathBuf>,
    /// Let controllers of P4Runtime set the program and its entries, at this address and port: 9559
    /// is usual. Without --p4, frames are dropped until one has set it. Whoever reaches it can do
    /// so, or with --private-key, --certificate and --ca-cert who has a certificate of that CA.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub p4runtime: Option<String>,
    /// The P4Info of the program as text, as p4c writes it for P4Runtime: with it, controllers need
    /// not set the program first.
    #[arg(long, value_name = "FILE")]
    pub p4info: Option<PathBuf>,
    /// By what number controllers of P4Runtime name the switch, below 2^63 [default: 1].
    #[arg(long, value_name = "ID", value_parser = device_ids())]
    pub p4_device_id: Option<u64>,
    /// The port of the program whose frames are packet-ins and packet-outs of P4Runtime, 0 to 510
    /// [default: none].
    #[arg(long, value_name = "PORT")]
    pub p4_cpu_port: Option<u32>,
    /// The clock by which bundles are committed at a time: realtime or tai [default: realtime].
    #[arg(long, value_name = "CLOCK")]
    pub bundle_clock: Option<String>,
    /// Once everything is open, give up all rights, root's user, and all files but those that are
    /// named here: see docs/security.md. Needs a kernel with Landlock.
    #[arg(long)]
    pub lock_down: bool,
    /// The one folder for captures that --capture names [default: any, and none with --lock-down].
    #[arg(long, value_name = "FOLDER")]
    pub capture_folder: Option<PathBuf>,
    /// Send frames shorter than 60 bytes as they are.
    #[arg(long)]
    pub no_pad: bool,
}
