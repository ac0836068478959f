"""What the classes of `bofuss.oflib` are; printed by python/tools/docs.py."""

DOCS: dict[str, tuple[str, dict[str, str]]] = {
    "PortDesc": (
        "A port as the controller sees it.",
        {
            "port_no": "Its number.",
            "hw_addr": "Its Ethernet address.",
            "name": "Its name.",
            "config": "The configuration by the controller.",
            "state": "The state.",
            "curr": "The features in use.",
            "advertised": "The features that it advertises.",
            "supported": "The features that it supports.",
            "peer": "The features that its peer advertises.",
            "curr_speed": "Its present speed, kb/s.",
            "max_speed": "Its highest speed, kb/s.",
            "optical": "The features of an optical port (since OpenFlow 1.4).",
            "pipeline_input": "The fields in no header that its packets have when they come (since OpenFlow 1.5).",
            "pipeline_output": "The fields in no header that it takes with packets that leave (since OpenFlow 1.5).",
            "recirculate": "The ports on which packets that are sent to it may come back (since OpenFlow 1.5).",
            "experimenters": "Properties of experimenters (since OpenFlow 1.4).",
        },
    ),
    "ExperimenterProperty": (
        "A property that an experimenter defines.",
        {
            "experimenter": "The experimenter.",
            "exp_type": "Its type of property.",
            "data": "The content.",
        },
    ),
    "OpticalPort": (
        "The features of an optical port. Frequencies are in MHz, wavelengths in nm * 100, powers in dBm * 10.",
        {
            "supported": "The features.",
            "tx_min_freq_lmda": "The least frequency or wavelength sent.",
            "tx_max_freq_lmda": "The greatest.",
            "tx_grid_freq_lmda": "The spacing of those between.",
            "rx_min_freq_lmda": "The least frequency or wavelength received.",
            "rx_max_freq_lmda": "The greatest.",
            "rx_grid_freq_lmda": "The spacing of those between.",
            "tx_pwr_min": "The least power sent.",
            "tx_pwr_max": "The greatest power sent.",
        },
    ),
    "OpticalPortMod": (
        "The settings of an optical port; units as of OpticalPort.",
        {
            "configure": "The settings that count.",
            "freq_lmda": "The frequency or wavelength.",
            "fl_offset": "The offset of that.",
            "grid_span": "The size of its grid.",
            "tx_pwr": "The power.",
        },
    ),
    "OpticalStats": (
        "The state of an optical port. Frequencies are in MHz, wavelengths in nm * 100, powers in dBm * 10, currents in mA * 10, temperatures in degrees Celsius * 10.",
        {
            "flags": "The numbers that are known.",
            "tx_freq_lmda": "The frequency or wavelength sent.",
            "tx_offset": "The offset of that.",
            "tx_grid_span": "The size of its grid.",
            "rx_freq_lmda": "The frequency or wavelength received.",
            "rx_offset": "The offset of that.",
            "rx_grid_span": "The size of its grid.",
            "tx_pwr": "The power sent.",
            "rx_pwr": "The power received.",
            "bias_current": "The transmitter's bias current.",
            "temperature": "The transmitter's temperature.",
        },
    ),
    "Timestamp": (
        "A time: since 1970, or a span.",
        {
            "seconds": "Seconds.",
            "nanoseconds": "Nanoseconds of a second.",
        },
    ),
    "TimeCapability": (
        "The accuracy and range of commit times.",
        {
            "sched_accuracy": "The largest distance of a commit's time from the one asked for.",
            "sched_max_future": "The furthest time in the future for which a commit may be scheduled.",
            "sched_max_past": "The furthest time in the past.",
            "timestamp": "The time of who says this.",
        },
    ),
    "BundleFeaturesRequest": (
        "A request for what bundles can do.",
        {
            "flags": "The features that it asks for.",
            "time_capability": "The requester's time, and the tolerances that it asks for.",
            "experimenters": "Properties of experimenters.",
        },
    ),
    "BundleFeatures": (
        "The features of bundles.",
        {
            "capabilities": "The flags that they may have.",
            "time_capability": "The features of bundles about time.",
            "experimenters": "Properties of experimenters.",
        },
    ),
    "Vacancy": (
        "The thresholds at which a table says how full it is. Vacancy is the share of its entries that are free, in per cent.",
        {
            "vacancy_down": "A vacancy below this is told.",
            "vacancy_up": "A vacancy above this is told.",
            "vacancy": "The vacancy now; zero in a request.",
        },
    ),
    "TableDesc": (
        "The configuration of a table.",
        {
            "table_id": "The table.",
            "config": "Its configuration.",
            "eviction": "The criteria by which it chooses the entries that it evicts.",
            "vacancy": "The thresholds at which it says how full it is.",
            "experimenters": "Properties of experimenters.",
        },
    ),
    "QueueDesc": (
        "A queue with its properties (since OpenFlow 1.4, in place of QUEUE_GET_CONFIG).",
        {
            "port_no": "The port.",
            "queue_id": "The queue.",
            "properties": "Its properties.",
        },
    ),
    "FlowMonitorRequest": (
        "Begins, changes or ends a monitor.",
        {
            "monitor_id": "The monitor, one of its controller.",
            "out_port": "Only entries that output to this port.",
            "out_group": "Only entries that use this group.",
            "flags": "The changes to report.",
            "table_id": "The table, or ALL.",
            "command": "The command.",
            "match": "Only entries that this match covers.",
        },
    ),
    "MonitoredFlow": (
        "An entry as a monitor reports it.",
        {
            "table_id": "Its table.",
            "reason": "The reason for which it was removed (`OFPRR_*`), of those that were.",
            "idle_timeout": "Its idle timeout, seconds.",
            "hard_timeout": "Its hard timeout, seconds.",
            "priority": "Its priority.",
            "cookie": "Its cookie.",
            "match": "Its match.",
            "instructions": "Its instructions, if the monitor asked for them.",
        },
    ),
    "FlowUpdateFull": (
        "An entry: INITIAL, ADDED, REMOVED or MODIFIED.",
        {
            "event": "What happened.",
            "flow": "The entry.",
        },
    ),
    "FlowUpdateAbbrev": (
        "The flow-mod of this transaction id, the controller's own, changed entries.",
        {
            "xid": "The transaction id.",
        },
    ),
    "FlowUpdateStream": (
        "PAUSED or RESUMED.",
        {
            "event": "What happened.",
        },
    ),
    "Bucket": (
        "One bucket of a group.",
        {
            "actions": "Its action set.",
            "weight": "Its share, in select groups.",
            "watch_port": "The port whose state makes it live.",
            "watch_group": "The group whose state makes it live.",
            "bucket_id": "Its number in the group: its place, in the versions that have none (before OpenFlow 1.5).",
            "experimenters": "Properties of experimenters (since OpenFlow 1.5).",
        },
    ),
    "PacketQueue": (
        "One queue with its properties.",
        {
            "queue_id": "The queue.",
            "port": "Its port.",
            "properties": "Its properties.",
        },
    ),
    "TypeId": (
        "An instruction or action by its type, with its experimenter if that has one.",
        {
            "type": "The type number.",
            "experimenter": "The experimenter of type `0xffff`, else 0.",
        },
    ),
    "Desc": (
        "The maker and the names of the switch.",
        {
            "mfr_desc": "Manufacturer.",
            "hw_desc": "Hardware.",
            "sw_desc": "Software.",
            "serial_num": "Serial number.",
            "dp_desc": "A description for people.",
        },
    ),
    "FlowStatsRequest": (
        "A request for entries.",
        {
            "table_id": "Their table, or ALL.",
            "out_port": "Only those that output to this port.",
            "out_group": "Only those that use this group.",
            "cookie": "The cookie that they must have.",
            "cookie_mask": "The bits of the cookie that count.",
            "match": "Only those that this match covers.",
        },
    ),
    "FlowStats": (
        "An entry without its length.",
        {
            "table_id": "Its table.",
            "duration_sec": "The whole seconds for which it has lived.",
            "duration_nsec": "The nanoseconds beyond these seconds.",
            "priority": "Its priority.",
            "idle_timeout": "Its idle timeout, seconds.",
            "hard_timeout": "Its hard timeout, seconds.",
            "flags": "Its options.",
            "cookie": "Its cookie.",
            "packet_count": "Packets that hit it; all ones if not counted.",
            "byte_count": "Bytes that hit it; all ones if not counted.",
            "match": "Its match.",
            "instructions": "Its instructions.",
            "importance": "Its importance (since OpenFlow 1.4).",
            "idle_time": "The time for which it has had no packet (since OpenFlow 1.5).",
        },
    ),
    "StatTime": (
        "The time for which something lasted: whole seconds, and nanoseconds beyond.",
        {
            "sec": "Whole seconds.",
            "nsec": "Nanoseconds beyond.",
        },
    ),
    "Stats": (
        "Statistics of flow entries, or thresholds of them: those that are there.",
        {
            "duration": "The time for which an entry exists.",
            "idle_time": "The time for which it has had no packet.",
            "flow_count": "Entries whose statistics these are the sums of.",
            "packet_count": "Packets.",
            "byte_count": "Bytes.",
        },
    ),
    "FlowCounters": (
        "The statistics of an entry, and which it is (since OpenFlow 1.5).",
        {
            "table_id": "Its table.",
            "reason": "The reason for which they are sent.",
            "priority": "Its priority.",
            "match": "Its match.",
            "stats": "Its statistics.",
        },
    ),
    "ControllerStatusStats": (
        "A controller of the switch, and how it is connected (since OpenFlow 1.5).",
        {
            "short_id": "The number that it gave itself; 0 if it gave none.",
            "role": "Its role.",
            "reason": "The reason for which this is sent.",
            "channel_status": "True if it is connected.",
            "uri": "The controller's address.",
            "experimenters": "Properties of experimenters.",
        },
    ),
    "GroupDescRequest": (
        "The groups that are asked for: all, before OpenFlow 1.5.",
        {
            "group_id": "The group.",
        },
    ),
    "PortDescRequest": (
        "The ports that are asked for: all, before OpenFlow 1.5.",
        {
            "port_no": "The port.",
        },
    ),
    "AggregateStats": (
        "Sums over entries.",
        {
            "packet_count": "Packets.",
            "byte_count": "Bytes.",
            "flow_count": "Entries.",
        },
    ),
    "TableStats": (
        "The counters of a table.",
        {
            "table_id": "The table.",
            "active_count": "Entries now.",
            "lookup_count": "Packets looked up.",
            "matched_count": "Packets that hit an entry.",
            "features": "The capabilities of the table, in the versions that say so here (OpenFlow 1.0 to 1.2).",
        },
    ),
    "PortStatsRequest": (
        "The port that is asked for; ANY is all.",
        {
            "port_no": "The port.",
        },
    ),
    "PortStats": (
        "The statistics of a port.",
        {
            "port_no": "The port.",
            "rx_packets": "Packets received.",
            "tx_packets": "Packets sent.",
            "rx_bytes": "Bytes received.",
            "tx_bytes": "Bytes sent.",
            "rx_dropped": "Received packets dropped.",
            "tx_dropped": "Packets dropped instead of sent.",
            "rx_errors": "Receive errors.",
            "tx_errors": "Transmit errors.",
            "rx_frame_err": "Frame alignment errors.",
            "rx_over_err": "Overruns.",
            "rx_crc_err": "Checksum errors.",
            "collisions": "Collisions.",
            "duration_sec": "The whole seconds for which the port has been there.",
            "duration_nsec": "The nanoseconds beyond these seconds.",
            "optical": "The state of an optical port (since OpenFlow 1.4).",
            "experimenters": "Properties of experimenters (since OpenFlow 1.4).",
        },
    ),
    "QueueStatsRequest": (
        "The queue that is asked for; ANY and ALL are all.",
        {
            "port_no": "The port.",
            "queue_id": "The queue.",
        },
    ),
    "QueueStats": (
        "The statistics of a queue.",
        {
            "port_no": "The port.",
            "queue_id": "The queue.",
            "tx_bytes": "Bytes sent.",
            "tx_packets": "Packets sent.",
            "tx_errors": "Packets dropped because the queue was full.",
            "duration_sec": "The whole seconds for which the queue has been there.",
            "duration_nsec": "The nanoseconds beyond these seconds.",
            "experimenters": "Properties of experimenters (since OpenFlow 1.4).",
        },
    ),
    "GroupStatsRequest": (
        "The group that is asked for; ALL is all.",
        {
            "group_id": "The group.",
        },
    ),
    "BucketCounter": (
        "The counters of a bucket.",
        {
            "packet_count": "Packets.",
            "byte_count": "Bytes.",
        },
    ),
    "GroupStats": (
        "The statistics of a group, without its length.",
        {
            "group_id": "The group.",
            "ref_count": "Flows and groups that refer to it.",
            "packet_count": "Packets.",
            "byte_count": "Bytes.",
            "duration_sec": "The whole seconds for which it has existed.",
            "duration_nsec": "The nanoseconds beyond these seconds.",
            "bucket_stats": "Its buckets.",
        },
    ),
    "GroupDesc": (
        "A group as it was made.",
        {
            "type": "Its type.",
            "group_id": "Its number.",
            "buckets": "Its buckets.",
            "experimenters": "Properties of experimenters (since OpenFlow 1.5).",
        },
    ),
    "GroupFeatures": (
        "The features of groups, with one entry for each group type: all, select, indirect, fast failover.",
        {
            "types": "A bit for each type.",
            "capabilities": "The capabilities.",
            "max_groups": "The most groups of each type.",
            "actions": "For each type, a bit for each action type.",
        },
    ),
    "MeterMultipartRequest": (
        "The meter that is asked for; ALL is all.",
        {
            "meter_id": "The meter.",
        },
    ),
    "MeterStats": (
        "The statistics of a meter.",
        {
            "meter_id": "The meter.",
            "flow_count": "Flows that use it.",
            "input": "Packets and bytes that entered it.",
            "duration_sec": "The whole seconds for which it has existed.",
            "duration_nsec": "The nanoseconds beyond these seconds.",
            "band_stats": "Packets and bytes in each band.",
        },
    ),
    "MeterConfig": (
        "A meter as it was made.",
        {
            "flags": "Units and options.",
            "meter_id": "The meter.",
            "bands": "Its bands.",
        },
    ),
    "MeterFeatures": (
        "The features of meters.",
        {
            "max_meter": "The most meters.",
            "band_types": "A bit for each band type.",
            "capabilities": "Units and options.",
            "max_bands": "The most bands of a meter.",
            "max_color": "The most colours.",
            "features": "The places where they may be used (since OpenFlow 1.5).",
        },
    ),
    "TableFeatures": (
        "A table's features, without their length.",
        {
            "table_id": "The table.",
            "name": "Its name.",
            "metadata_match": "Metadata bits that can be matched.",
            "metadata_write": "Metadata bits that can be written.",
            "config": "Configuration; zero in OpenFlow 1.3.",
            "max_entries": "The most entries.",
            "properties": "The capabilities.",
            "command": "The command, in each of its tables the same (since OpenFlow 1.5).",
            "features": "The uses of the table (since OpenFlow 1.5).",
        },
    ),
    "MeterBandDrop": (
        "Drops packets beyond the rate.",
        {
            "rate": "The rate, in the unit of the meter or queue.",
            "burst_size": "The burst, in kilobits or packets.",
        },
    ),
    "MeterBandDscpRemark": (
        "Raises the drop precedence of packets beyond the rate.",
        {
            "rate": "The rate, in the unit of the meter or queue.",
            "burst_size": "The burst, in kilobits or packets.",
            "prec_level": "How far the drop precedence is raised.",
        },
    ),
    "MeterBandExperimenter": (
        "A band of an experimenter.",
        {
            "rate": "The rate, in the unit of the meter or queue.",
            "burst_size": "The burst, in kilobits or packets.",
            "experimenter": "The experimenter's number.",
        },
    ),
    "QueuePropMinRate": (
        "Guaranteed rate, in 1/1000 of the port's; above 1000 is none.",
        {
            "rate": "The rate, in the unit of the meter or queue.",
        },
    ),
    "QueuePropMaxRate": (
        "Rate limit, in 1/1000 of the port's; above 1000 is none.",
        {
            "rate": "The rate, in the unit of the meter or queue.",
        },
    ),
    "QueuePropExperimenter": (
        "An experimenter's: its number, its type of property, which is 0 in the versions that have no such type here (up to OpenFlow 1.3), and its data.",
        {
            "experimenter": "The experimenter's number.",
            "data": "The bytes.",
            "exp_type": "The experimenter's type.",
        },
    ),
    "TableFeaturePropTypes": (
        "Instructions or actions that a table has.",
        {
            "type": "Its type.",
            "ids": "The types of instructions or actions.",
        },
    ),
    "TableFeaturePropNextTables": (
        "Tables that goto_table of a table may name.",
        {
            "type": "Its type.",
            "next_table_ids": "The tables.",
        },
    ),
    "TableFeaturePropOxm": (
        "Fields of a table, for matches or for set-field.",
        {
            "type": "Its type.",
            "oxm_ids": "The fields, each with `/mask` if it may have a mask.",
        },
    ),
    "TableFeaturePropOxmValues": (
        "Values of packet types that a table takes.",
        {
            "type": "Its type.",
            "oxm_values": "The fields with their values.",
        },
    ),
    "TableFeaturePropExperimenter": (
        "A property of an experimenter.",
        {
            "type": "Its type.",
            "experimenter": "The experimenter's number.",
            "exp_type": "The experimenter's type.",
            "data": "The bytes.",
        },
    ),
    "ActionOutput": (
        "One action.",
        {
            "port": "The port, or a reserved one such as CONTROLLER.",
            "max_len": "The most bytes of a packet that goes to the controller.",
        },
    ),
    "ActionCopyTtlOut": (
        "One action.",
        {
        },
    ),
    "ActionCopyTtlIn": (
        "One action.",
        {
        },
    ),
    "ActionSetMplsTtl": (
        "One action.",
        {
            "mpls_ttl": "The TTL of the MPLS header.",
        },
    ),
    "ActionDecMplsTtl": (
        "One action.",
        {
        },
    ),
    "ActionPushVlan": (
        "One action.",
        {
            "ethertype": "The Ethernet type of the new or remaining header.",
        },
    ),
    "ActionPopVlan": (
        "One action.",
        {
        },
    ),
    "ActionPushMpls": (
        "One action.",
        {
            "ethertype": "The Ethernet type of the new or remaining header.",
        },
    ),
    "ActionPopMpls": (
        "One action.",
        {
            "ethertype": "The Ethernet type of the new or remaining header.",
        },
    ),
    "ActionSetQueue": (
        "One action.",
        {
            "queue_id": "The queue.",
        },
    ),
    "ActionGroup": (
        "One action.",
        {
            "group_id": "The group.",
        },
    ),
    "ActionSetNwTtl": (
        "One action.",
        {
            "nw_ttl": "The TTL of the IP header.",
        },
    ),
    "ActionDecNwTtl": (
        "One action.",
        {
        },
    ),
    "ActionSetField": (
        "One action.",
        {
            "field": "The field's name, and its value.",
        },
    ),
    "ActionPushPbb": (
        "One action.",
        {
            "ethertype": "The Ethernet type of the new or remaining header.",
        },
    ),
    "ActionPopPbb": (
        "One action.",
        {
        },
    ),
    "ActionCopyField": (
        "One action.",
        {
            "src": "The field to copy from.",
            "dst": "The field to copy to.",
            "n_bits": "How many bits are copied.",
            "src_offset": "The first bit to copy, from the lowest.",
            "dst_offset": "The first bit to write, from the lowest.",
        },
    ),
    "ActionMeter": (
        "One action.",
        {
            "meter_id": "The meter.",
        },
    ),
    "ActionExperimenter": (
        "An action of an experimenter.",
        {
            "value": "The experimenter's value.",
        },
    ),
    "InstructionGotoTable": (
        "Goes on in a later table.",
        {
            "table_id": "The table.",
        },
    ),
    "InstructionWriteMetadata": (
        "Writes the bits of the metadata that the mask selects.",
        {
            "metadata": "The bits to write.",
            "metadata_mask": "Which bits are written.",
        },
    ),
    "InstructionWriteActions": (
        "Merges actions into the action set.",
        {
            "actions": "The actions, in order.",
        },
    ),
    "InstructionApplyActions": (
        "Applies actions at once, in their order.",
        {
            "actions": "The actions, in order.",
        },
    ),
    "InstructionClearActions": (
        "Empties the action set.",
        {
        },
    ),
    "InstructionStatTrigger": (
        "Says when the entry's statistics are sent (since OpenFlow 1.5). Packets do not notice.",
        {
            "flags": "Its options.",
            "thresholds": "The counts at which the controller is told.",
        },
    ),
    "InstructionMeter": (
        "Directs the packet to a meter, which may drop it.",
        {
            "meter_id": "The meter.",
        },
    ),
    "InstructionExperimenter": (
        "An instruction of an experimenter.",
        {
            "value": "The experimenter's value.",
        },
    ),
    "Hello": (
        "The version bitmap of a hello: bit `n % 32` of word `n / 32` says that wire version `n` is spoken.  Empty where the hello has no bitmap; then the header's version is the highest one spoken.",
        {
            "bitmap": "The bitmap's words.",
            "xid": "The transaction id.",
            "version": "The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5.",
        },
    ),
    "ErrorMsg": (
        "An error, with the beginning of the request that caused it (or a text, for HELLO_FAILED).",
        {
            "type": "Its type.",
            "code": "The code of the error within its type.",
            "data": "The request's first bytes, or a text.",
            "experimenter": "The experimenter's number.",
            "xid": "The transaction id.",
            "version": "The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5.",
        },
    ),
    "EchoRequest": (
        "Asks the peer to answer with the same bytes.",
        {
            "data": "The bytes.",
            "xid": "The transaction id.",
            "version": "The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5.",
        },
    ),
    "EchoReply": (
        "The answer to an ECHO_REQUEST, with its bytes.",
        {
            "data": "The bytes.",
            "xid": "The transaction id.",
            "version": "The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5.",
        },
    ),
    "Experimenter": (
        "A message of an experimenter.",
        {
            "value": "The experimenter's value.",
            "xid": "The transaction id.",
            "version": "The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5.",
        },
    ),
    "FeaturesRequest": (
        "Asks a switch for its features.",
        {
            "xid": "The transaction id.",
            "version": "The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5.",
        },
    ),
    "FeaturesReply": (
        "The body of FEATURES_REPLY.",
        {
            "datapath_id": "Identifies the switch.",
            "n_buffers": "Packets that the switch can hold.",
            "n_tables": "Tables.",
            "auxiliary_id": "The number of this connection among the controller's; 0 for the main one.",
            "capabilities": "The capabilities of the switch.",
            "reserved": "The last word of the message, which the text keeps for later use: written as it was read, zero otherwise.",
            "actions": "The types of action that the switch has, one bit each as 1.0 numbers them (OpenFlow 1.0).",
            "ports": "The switch's ports, in the versions that list them here (OpenFlow 1.0 to 1.2).",
            "xid": "The transaction id.",
            "version": "The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5.",
        },
    ),
    "GetConfigRequest": (
        "Asks a switch for its configuration.",
        {
            "xid": "The transaction id.",
            "version": "The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5.",
        },
    ),
    "GetConfigReply": (
        "The configuration of a switch.",
        {
            "flags": "Fragment handling.",
            "miss_send_len": "Bytes of a packet that go to the controller, where no output action says how many.",
            "xid": "The transaction id.",
            "version": "The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5.",
        },
    ),
    "SetConfig": (
        "Sets the configuration of a switch.",
        {
            "flags": "Fragment handling.",
            "miss_send_len": "Bytes of a packet that go to the controller, where no output action says how many.",
            "xid": "The transaction id.",
            "version": "The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5.",
        },
    ),
    "PacketIn": (
        "A packet for the controller.",
        {
            "buffer_id": "The buffer in which the switch holds the packet.",
            "total_len": "Bytes of the whole packet.",
            "reason": "The reason.",
            "table_id": "The table that was looked up.",
            "cookie": "The cookie of the entry that was looked up; all ones if there is none.",
            "match": "Ingress port, metadata and tunnel id, those that are not zero.",
            "data": "The packet, or its beginning.",
            "xid": "The transaction id.",
            "version": "The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5.",
        },
    ),
    "FlowRemoved": (
        "A removed entry with its last counters.",
        {
            "cookie": "Its cookie.",
            "priority": "Its priority.",
            "reason": "The reason for which it was removed.",
            "table_id": "Its table.",
            "duration_sec": "The time for which it lived: whole seconds.",
            "duration_nsec": "And nanoseconds beyond.",
            "idle_timeout": "Its idle timeout, seconds.",
            "hard_timeout": "Its hard timeout, seconds.",
            "packet_count": "Packets that hit it.",
            "byte_count": "Bytes that hit it.",
            "match": "Its match.",
            "idle_time": "The time for which it had no packet (since OpenFlow 1.5).",
            "xid": "The transaction id.",
            "version": "The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5.",
        },
    ),
    "PortStatus": (
        "A port came, went or changed.",
        {
            "reason": "The event.",
            "desc": "The port afterwards.",
            "xid": "The transaction id.",
            "version": "The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5.",
        },
    ),
    "PacketOut": (
        "A packet that the controller sends through the switch.",
        {
            "buffer_id": "A packet that the switch holds, or NO_BUFFER.",
            "in_port": "The port that the packet counts as received on, or CONTROLLER.",
            "actions": "The actions for the packet.",
            "data": "The packet, if not buffered.",
            "match": "The values of fields that are in no header, besides the ingress port (since OpenFlow 1.5).",
            "xid": "The transaction id.",
            "version": "The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5.",
        },
    ),
    "FlowMod": (
        "A change of flow entries.",
        {
            "cookie": "The entry's cookie.",
            "cookie_mask": "For modify and delete: the bits of the cookie that must be equal.",
            "table_id": "The table.",
            "command": "The command.",
            "idle_timeout": "Seconds without a packet until the entry goes; 0 is never.",
            "hard_timeout": "Seconds until the entry goes; 0 is never.",
            "priority": "The entry's priority.",
            "buffer_id": "A held packet to process with the entry.",
            "out_port": "For delete: only entries that output to this port.",
            "out_group": "For delete: only entries that use this group.",
            "flags": "Options.",
            "match": "The packets of the entry.",
            "instructions": "The instructions for these packets.",
            "importance": "The importance: where a full table makes room, entries of more importance stay (since OpenFlow 1.4).",
            "xid": "The transaction id.",
            "version": "The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5.",
        },
    ),
    "GroupMod": (
        "A change of groups.",
        {
            "command": "The command.",
            "type": "The group's type.",
            "group_id": "The group.",
            "buckets": "Its buckets.",
            "command_bucket_id": "Before or after which bucket others are inserted, or which is removed (since OpenFlow 1.5).",
            "experimenters": "Properties of experimenters (since OpenFlow 1.5).",
            "xid": "The transaction id.",
            "version": "The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5.",
        },
    ),
    "PortMod": (
        "A change of a port's configuration.",
        {
            "port_no": "The port.",
            "hw_addr": "Its address, as a check.",
            "config": "New values of the bits in `mask`.",
            "mask": "The bits to change.",
            "advertise": "The features to advertise; 0 leaves them.",
            "optical": "The settings of an optical port (since OpenFlow 1.4).",
            "experimenters": "Properties of experimenters (since OpenFlow 1.4).",
            "xid": "The transaction id.",
            "version": "The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5.",
        },
    ),
    "TableMod": (
        "A change of a table's configuration.",
        {
            "table_id": "The table, or ALL.",
            "config": "The configuration; OpenFlow 1.3 defines no bits (`OFPTC_DEPRECATED_MASK` is ignored).",
            "miss": "The treatment of packets without an entry (OpenFlow 1.1 and 1.2).",
            "eviction": "The criteria by which the table chooses entries to evict (since OpenFlow 1.4).",
            "vacancy": "The thresholds at which the table says how full it is (since OpenFlow 1.4).",
            "experimenters": "Properties of experimenters (since OpenFlow 1.4).",
            "xid": "The transaction id.",
            "version": "The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5.",
        },
    ),
    "MultipartRequest": (
        "Asks for statistics or descriptions.",
        {
            "type": "Its type.",
            "body": "What is asked, or the answer: a structure, a list of them, or None, by the type.",
            "more": "True if another part of the same multipart follows.",
            "xid": "The transaction id.",
            "version": "The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5.",
        },
    ),
    "MultipartReply": (
        "An answer to a MULTIPART_REQUEST, or a part of it.",
        {
            "type": "Its type.",
            "body": "What is asked, or the answer: a structure, a list of them, or None, by the type.",
            "more": "True if another part of the same multipart follows.",
            "xid": "The transaction id.",
            "version": "The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5.",
        },
    ),
    "BarrierRequest": (
        "Asks a switch to finish all messages before it, and then to answer.",
        {
            "xid": "The transaction id.",
            "version": "The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5.",
        },
    ),
    "BarrierReply": (
        "The answer to a BARRIER_REQUEST: all messages before it are finished.",
        {
            "xid": "The transaction id.",
            "version": "The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5.",
        },
    ),
    "QueueGetConfigRequest": (
        "Asks for the queues of a port, or of ANY.",
        {
            "port": "The port.",
            "xid": "The transaction id.",
            "version": "The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5.",
        },
    ),
    "QueueGetConfigReply": (
        "The queues of a port.",
        {
            "port": "The port asked for.",
            "queues": "Its queues.",
            "xid": "The transaction id.",
            "version": "The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5.",
        },
    ),
    "RoleRequest": (
        "Asks for a role of this connection.",
        {
            "role": "The role.",
            "generation_id": "The master election's number.",
            "short_id": "The number that the controller gives itself; 0 is none (since OpenFlow 1.5).",
            "xid": "The transaction id.",
            "version": "The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5.",
        },
    ),
    "RoleReply": (
        "The role of this connection.",
        {
            "role": "The role.",
            "generation_id": "The master election's number.",
            "short_id": "The number that the controller gives itself; 0 is none (since OpenFlow 1.5).",
            "xid": "The transaction id.",
            "version": "The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5.",
        },
    ),
    "GetAsyncRequest": (
        "Asks a switch which asynchronous messages this connection gets.",
        {
            "xid": "The transaction id.",
            "version": "The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5.",
        },
    ),
    "GetAsyncReply": (
        "The asynchronous messages that this connection gets.",
        {
            "packet_in": "PACKET_IN reasons as master or equal.",
            "packet_in_slave": "PACKET_IN reasons as slave.",
            "port_status": "PORT_STATUS reasons as master or equal.",
            "port_status_slave": "PORT_STATUS reasons as slave.",
            "flow_removed": "FLOW_REMOVED reasons as master or equal.",
            "flow_removed_slave": "FLOW_REMOVED reasons as slave.",
            "role_status": "ROLE_STATUS reasons as master or equal (this and what follows since OpenFlow 1.4).",
            "role_status_slave": "ROLE_STATUS reasons as slave.",
            "table_status": "TABLE_STATUS reasons as master or equal.",
            "table_status_slave": "TABLE_STATUS reasons as slave.",
            "request_forward": "REQUESTFORWARD reasons as master or equal.",
            "request_forward_slave": "REQUESTFORWARD reasons as slave.",
            "flow_stats": "FLOW_STATS reasons as master or equal (this and what follows since OpenFlow 1.5).",
            "flow_stats_slave": "FLOW_STATS reasons as slave.",
            "controller_status": "CONTROLLER_STATUS reasons as master or equal.",
            "controller_status_slave": "CONTROLLER_STATUS reasons as slave.",
            "omitted": "The masks that the message leaves out: these stay as they are.",
            "experimenters": "Properties of experimenters, as master or equal.",
            "experimenters_slave": "Properties of experimenters, as slave.",
            "xid": "The transaction id.",
            "version": "The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5.",
        },
    ),
    "SetAsync": (
        "Sets which asynchronous messages this connection gets.",
        {
            "packet_in": "PACKET_IN reasons as master or equal.",
            "packet_in_slave": "PACKET_IN reasons as slave.",
            "port_status": "PORT_STATUS reasons as master or equal.",
            "port_status_slave": "PORT_STATUS reasons as slave.",
            "flow_removed": "FLOW_REMOVED reasons as master or equal.",
            "flow_removed_slave": "FLOW_REMOVED reasons as slave.",
            "role_status": "ROLE_STATUS reasons as master or equal (this and what follows since OpenFlow 1.4).",
            "role_status_slave": "ROLE_STATUS reasons as slave.",
            "table_status": "TABLE_STATUS reasons as master or equal.",
            "table_status_slave": "TABLE_STATUS reasons as slave.",
            "request_forward": "REQUESTFORWARD reasons as master or equal.",
            "request_forward_slave": "REQUESTFORWARD reasons as slave.",
            "flow_stats": "FLOW_STATS reasons as master or equal (this and what follows since OpenFlow 1.5).",
            "flow_stats_slave": "FLOW_STATS reasons as slave.",
            "controller_status": "CONTROLLER_STATUS reasons as master or equal.",
            "controller_status_slave": "CONTROLLER_STATUS reasons as slave.",
            "omitted": "The masks that the message leaves out: these stay as they are.",
            "experimenters": "Properties of experimenters, as master or equal.",
            "experimenters_slave": "Properties of experimenters, as slave.",
            "xid": "The transaction id.",
            "version": "The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5.",
        },
    ),
    "MeterMod": (
        "A change of meters.",
        {
            "command": "The command.",
            "flags": "Units and options.",
            "meter_id": "The meter.",
            "bands": "Its bands.",
            "xid": "The transaction id.",
            "version": "The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5.",
        },
    ),
    "RoleStatus": (
        "A controller's role changed, and not at its own request (since OpenFlow 1.4).",
        {
            "role": "The role now.",
            "reason": "The reason for which it changed.",
            "generation_id": "The master election's number.",
            "experimenters": "Properties of experimenters.",
            "xid": "The transaction id.",
            "version": "The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5.",
        },
    ),
    "TableStatus": (
        "Something happened to a table.",
        {
            "reason": "The event.",
            "table": "The table as it is configured.",
            "xid": "The transaction id.",
            "version": "The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5.",
        },
    ),
    "Requestforward": (
        "A request of another controller that changed the switch.",
        {
            "request": "The request.",
            "xid": "The request's transaction id.",
            "version": "The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5.",
        },
    ),
    "BundleControl": (
        "Begins, ends or carries out a bundle, or says that this is done.",
        {
            "bundle_id": "The bundle, one of its connection.",
            "type": "The step.",
            "flags": "The way in which it is carried out.",
            "scheduled": "The time at which it is carried out, if a time is named.",
            "experimenters": "Properties of experimenters.",
            "xid": "The transaction id.",
            "version": "The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5.",
        },
    ),
    "BundleAddMessage": (
        "Adds a message to a bundle.",
        {
            "bundle_id": "The bundle.",
            "flags": "The way in which it is carried out.",
            "message": "The message.",
            "experimenters": "Properties of experimenters.",
            "xid": "The transaction id of the message in it.",
            "version": "The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5.",
        },
    ),
    "ControllerStatus": (
        "A controller of the switch, and how it is connected (since OpenFlow 1.5).",
        {
            "short_id": "The number that it gave itself; 0 if it gave none.",
            "role": "Its role.",
            "reason": "The reason for which this is sent.",
            "channel_status": "True if it is connected.",
            "uri": "The controller's address.",
            "experimenters": "Properties of experimenters.",
            "xid": "The transaction id.",
            "version": "The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5.",
        },
    ),
    "PortNo": (
        "A port number; the names are the reserved ports.",
        {
            "MAX": "The highest number of a physical or logical port.",
            "UNSET": "None: what ACTSET_OUTPUT has of packets that are to go nowhere (since OpenFlow 1.5).",
            "IN_PORT": "Back to the port that the packet came from.",
            "TABLE": "To the first table (packet-out only).",
            "NORMAL": "To the switch's own forwarding.",
            "FLOOD": "To all ports but the ingress and those with NO_FLOOD. As with each output, a port with NO_FWD sends nothing.",
            "ALL": "To all ports but the ingress.",
            "CONTROLLER": "To the controllers.",
            "LOCAL": "The switch's own port.",
            "ANY": "No port, or any.",
        },
    ),
    "TableId": (
        "A table number.",
        {
            "MAX": "The highest table number.",
            "ALL": "All tables.",
        },
    ),
    "GroupId": (
        "A group number.",
        {
            "MAX": "The highest group number.",
            "ALL": "All groups, in a delete.",
            "ANY": "No group, or any.",
        },
    ),
    "BucketId": (
        "The number of a bucket in its group (since OpenFlow 1.5).",
        {
            "MAX": "The highest number of a bucket.",
            "FIRST": "The first bucket of the group.",
            "LAST": "The last bucket of the group.",
            "ALL": "All buckets of the group.",
        },
    ),
    "MeterId": (
        "A meter number; 0 is none.",
        {
            "MAX": "The highest meter number.",
            "SLOWPATH": "The virtual meter of the slow path.",
            "CONTROLLER": "The virtual meter of the controller connections.",
            "ALL": "All meters.",
        },
    ),
    "QueueId": (
        "A queue number.",
        {
            "ALL": "All queues.",
        },
    ),
    "BufferId": (
        "The number of a buffered packet.",
        {
            "NO_BUFFER": "The packet is in the message.",
        },
    ),
    "MaxLen": (
        "The number of a packet's bytes that go to the controller.",
        {
            "NO_BUFFER": "The whole packet, not buffered.",
        },
    ),
    "FlowModCommand": (
        "The commands of a flow-mod (`OFPFC_*`).",
        {
            "ADD": "Adds an entry, or replaces the entry of the same match and priority.",
            "MODIFY": "Changes the instructions of all entries that the match covers.",
            "MODIFY_STRICT": "Changes the instructions of the entry of this match and priority.",
            "DELETE": "Removes all entries that the match covers.",
            "DELETE_STRICT": "Removes the entry of this match and priority.",
        },
    ),
    "FlowRemovedReason": (
        "The reason for which the entry was removed (`OFPRR_*`).",
        {
            "IDLE_TIMEOUT": "No packet for its idle time.",
            "HARD_TIMEOUT": "Its hard time is over.",
            "DELETE": "A flow-mod deleted it.",
            "GROUP_DELETE": "Its group was deleted.",
            "METER_DELETE": "Its meter was deleted (since OpenFlow 1.4).",
            "EVICTION": "Its table made room for another (since OpenFlow 1.4).",
        },
    ),
    "GroupModCommand": (
        "The commands of a group-mod (`OFPGC_*`).",
        {
            "ADD": "Adds a group.",
            "MODIFY": "Replaces a group's type and buckets.",
            "DELETE": "Removes a group.",
            "INSERT_BUCKET": "Adds buckets to a group (since OpenFlow 1.5).",
            "REMOVE_BUCKET": "Removes buckets from a group (since OpenFlow 1.5).",
            "ADD_OR_MOD": "Adds a group, or replaces it: Open vSwitch's command for its users' `--may-create`.",
        },
    ),
    "GroupType": (
        "The way in which a group uses its buckets (`OFPGT_*`).",
        {
            "ALL": "All of them.",
            "SELECT": "One, chosen by the switch.",
            "INDIRECT": "The only one.",
            "FF": "The first that is live.",
        },
    ),
    "MeterModCommand": (
        "The commands of a meter-mod (`OFPMC_*`).",
        {
            "ADD": "Adds a meter.",
            "MODIFY": "Replaces a meter's flags and bands.",
            "DELETE": "Removes a meter.",
        },
    ),
    "PacketInReason": (
        "The reason for which the packet was sent (`OFPR_*`).",
        {
            "NO_MATCH": "The table-miss entry sent it.",
            "ACTION": "An output action sent it.",
            "INVALID_TTL": "Its TTL is invalid.",
            "ACTION_SET": "An output action of its action set sent it (since OpenFlow 1.4).",
            "GROUP": "An output action of a group's bucket sent it (since OpenFlow 1.4).",
            "PACKET_OUT": "A packet-out sent it (since OpenFlow 1.4).",
        },
    ),
    "PortStatusReason": (
        "The events of a port (`OFPPR_*`).",
        {
            "ADD": "It was added.",
            "DELETE": "It was removed.",
            "MODIFY": "It changed.",
        },
    ),
    "ControllerRole": (
        "The role of a controller (`OFPCR_ROLE_*`).",
        {
            "NOCHANGE": "Asks for the role without a change.",
            "EQUAL": "Full access, beside others.",
            "MASTER": "Full access, alone.",
            "SLAVE": "Reads only.",
        },
    ),
    "TableMiss": (
        "The treatment of packets that no entry of a table matches, in the versions that say so of the table (`OFPTC_TABLE_MISS_*`; OpenFlow 1.1 and 1.2).",
        {
            "ENTRY": "As the version has it: dropped, unless a table-miss entry says otherwise.",
            "CONTROLLER": "They go to the controllers.",
            "CONTINUE": "They go on in the next table.",
            "DROP": "They are dropped.",
        },
    ),
    "RoleStatusReason": (
        "The reason for which a role changed that its controller did not change (`OFPCRR_*`).",
        {
            "MASTER_REQUEST": "Another controller asked to be master.",
            "CONFIG": "The switch's configuration changed.",
            "EXPERIMENTER": "An experimenter's reason.",
        },
    ),
    "TableStatusReason": (
        "The events of a table (`OFPTR_*`).",
        {
            "VACANCY_DOWN": "Its vacancy fell below the lower threshold.",
            "VACANCY_UP": "Its vacancy rose above the upper threshold.",
        },
    ),
    "BundleControlType": (
        "The step of a bundle that is asked for or confirmed (`OFPBCT_*`).",
        {
            "OPEN_REQUEST": "Begin one.",
            "OPEN_REPLY": "It is begun.",
            "CLOSE_REQUEST": "No message is added any more.",
            "CLOSE_REPLY": "It is closed.",
            "COMMIT_REQUEST": "Carry it out.",
            "COMMIT_REPLY": "It is carried out.",
            "DISCARD_REQUEST": "Forget it.",
            "DISCARD_REPLY": "It is forgotten.",
        },
    ),
    "FlowMonitorCommand": (
        "The commands for a monitor (`OFPFMC_*`).",
        {
            "ADD": "Begins one.",
            "MODIFY": "Changes one.",
            "DELETE": "Ends one.",
        },
    ),
    "FlowUpdateEvent": (
        "The events of a monitor (`OFPFME_*`).",
        {
            "INITIAL": "An entry that was there when the monitor began.",
            "ADDED": "An entry was added.",
            "REMOVED": "An entry was removed.",
            "MODIFIED": "An entry's instructions were changed.",
            "ABBREV": "The controller's own flow-mod changed entries.",
            "PAUSED": "Reports are left out from here on, for want of room.",
            "RESUMED": "Reports go on.",
        },
    ),
    "FlowStatsReason": (
        "The reason for which statistics of an entry are sent (`OFPFSR_*`).",
        {
            "STATS_REQUEST": "They were asked for.",
            "STAT_TRIGGER": "One of them reached a threshold.",
        },
    ),
    "ControllerStatusReason": (
        "The reason for which the status of a controller is sent (`OFPCSR_*`).",
        {
            "REQUEST": "It was asked for.",
            "CHANNEL_STATUS": "Its connection came or went.",
            "ROLE": "Its role changed.",
            "CONTROLLER_ADDED": "It was added.",
            "CONTROLLER_REMOVED": "It was removed.",
            "SHORT_ID": "Its short id changed.",
            "EXPERIMENTER": "An experimenter's data changed.",
        },
    ),
    "ChannelStatus": (
        "The state of the channel to a controller (`OFPCT_*`).",
        {
            "UP": "It is.",
            "DOWN": "It is not.",
        },
    ),
    "TableFeaturesCommand": (
        "The effect of a request on the tables that it has (`OFPTFC_*`).",
        {
            "REPLACE": "Replaces all tables.",
            "MODIFY": "Changes what tables can do.",
            "ENABLE": "Puts tables into the pipeline.",
            "DISABLE": "Takes tables out of the pipeline.",
        },
    ),
    "FlowModFlags": (
        "Options of an entry (`OFPFF_*`).",
        {
            "SEND_FLOW_REM": "Send FLOW_REMOVED when the entry goes.",
            "CHECK_OVERLAP": "Refuse an entry that overlaps one of the same priority.",
            "RESET_COUNTS": "Set the counters of what is changed to zero.",
            "NO_PKT_COUNTS": "Do not count packets.",
            "NO_BYT_COUNTS": "Do not count bytes.",
            "OR_ADD": "Have a modify that finds no entry add one (OpenFlow 1.0).",
            "ANY_HEADER": "Allow actions on headers that the match does not promise (OpenFlow 1.0).",
            "FIRST": "Look at the entry before all others of its priority (OpenFlow 1.0: it is exact).",
            "ONE_TAG": "Skip one VLAN tag in front of the Ethernet type, and not all: after a second tag, whose number is the type, nothing is matched (OpenFlow 1.0).",
        },
    ),
    "Capabilities": (
        "The capabilities of the switch (`OFPC_*`).",
        {
            "FLOW_STATS": "Flow statistics.",
            "TABLE_STATS": "Table statistics.",
            "PORT_STATS": "Port statistics.",
            "GROUP_STATS": "Group statistics.",
            "IP_REASM": "Can reassemble IP fragments.",
            "QUEUE_STATS": "Queue statistics.",
            "PORT_BLOCKED": "The switch blocks looping ports itself.",
            "ARP_MATCH_IP": "Can match the addresses within ARP (OpenFlow 1.0).",
            "BUNDLES": "Bundles (since OpenFlow 1.5).",
            "FLOW_MONITORING": "Flow monitors (since OpenFlow 1.5).",
        },
    ),
    "PortConfig": (
        "The configuration of a port by a controller (`OFPPC_*`).",
        {
            "PORT_DOWN": "Administratively down.",
            "NO_RECV": "Drop all received packets.",
            "NO_FWD": "Drop packets forwarded to the port.",
            "NO_PACKET_IN": "Send no packet-in for the port's packets.",
            "NO_FLOOD": "Leave the port out when flooding (OpenFlow 1.0).",
        },
    ),
    "PortState": (
        "The state of a port (`OFPPS_*`).",
        {
            "LINK_DOWN": "No physical link.",
            "BLOCKED": "Blocked by a protocol of the switch.",
            "LIVE": "Live for fast failover.",
        },
    ),
    "PortFeatures": (
        "The features of a port's medium (`OFPPF_*`).",
        {
            "HD_10MB": "10 Mb/s half duplex.",
            "FD_10MB": "10 Mb/s full duplex.",
            "HD_100MB": "100 Mb/s half duplex.",
            "FD_100MB": "100 Mb/s full duplex.",
            "HD_1GB": "1 Gb/s half duplex.",
            "FD_1GB": "1 Gb/s full duplex.",
            "FD_10GB": "10 Gb/s full duplex.",
            "FD_40GB": "40 Gb/s full duplex.",
            "FD_100GB": "100 Gb/s full duplex.",
            "FD_1TB": "1 Tb/s full duplex.",
            "OTHER": "Another rate.",
            "COPPER": "Copper.",
            "FIBER": "Fibre.",
            "AUTONEG": "Auto-negotiation.",
            "PAUSE": "Pause.",
            "PAUSE_ASYM": "Asymmetric pause.",
        },
    ),
    "ConfigFlags": (
        "The treatment of IP fragments: a number in two bits.",
        {
            "FRAG_DROP": "Fragments are dropped.",
            "FRAG_REASM": "Fragments are reassembled.",
            "INVALID_TTL_TO_CONTROLLER": "Packets with an invalid TTL go to the controller (OpenFlow 1.1 and 1.2).",
        },
    ),
    "GroupCapabilities": (
        "The capabilities of groups (`OFPGFC_*`).",
        {
            "SELECT_WEIGHT": "Select groups with weights.",
            "SELECT_LIVENESS": "Select groups with liveness.",
            "CHAINING": "Groups may forward to groups.",
            "CHAINING_CHECKS": "Loops are refused.",
        },
    ),
    "MeterFlags": (
        "Units and options of a meter (`OFPMF_*`).",
        {
            "KBPS": "Rates are in kb/s.",
            "PKTPS": "Rates are in packets/s.",
            "BURST": "Bands have a burst size.",
            "STATS": "Collect statistics.",
        },
    ),
    "AsyncMasks": (
        "The masks of an asynchronous configuration; the bits have the numbers of their properties in OpenFlow 1.4 (`OFPACPT_*`).",
        {
            "PACKET_IN_SLAVE": "PACKET_IN as slave.",
            "PACKET_IN": "PACKET_IN as master or equal.",
            "PORT_STATUS_SLAVE": "PORT_STATUS as slave.",
            "PORT_STATUS": "PORT_STATUS as master or equal.",
            "FLOW_REMOVED_SLAVE": "FLOW_REMOVED as slave.",
            "FLOW_REMOVED": "FLOW_REMOVED as master or equal.",
            "ROLE_STATUS_SLAVE": "ROLE_STATUS as slave.",
            "ROLE_STATUS": "ROLE_STATUS as master or equal.",
            "TABLE_STATUS_SLAVE": "TABLE_STATUS as slave.",
            "TABLE_STATUS": "TABLE_STATUS as master or equal.",
            "REQUEST_FORWARD_SLAVE": "REQUESTFORWARD as slave.",
            "REQUEST_FORWARD": "REQUESTFORWARD as master or equal.",
            "FLOW_STATS_SLAVE": "FLOW_STATS as slave.",
            "FLOW_STATS": "FLOW_STATS as master or equal.",
            "CONTROLLER_STATUS_SLAVE": "CONTROLLER_STATUS as slave.",
            "CONTROLLER_STATUS": "CONTROLLER_STATUS as master or equal.",
        },
    ),
    "BundleFlags": (
        "The way in which a bundle is carried out (`OFPBF_*`).",
        {
            "ATOMIC": "No packet meets a part of its changes.",
            "ORDERED": "In the order in which its messages were added.",
            "TIME": "At a time that its commit names.",
        },
    ),
    "TableConfig": (
        "The configuration of a table (`OFPTC_*`).",
        {
            "EVICTION": "A full table makes room for new entries (since OpenFlow 1.4).",
            "VACANCY_EVENTS": "The table says how full it is (since OpenFlow 1.4).",
        },
    ),
    "EvictionFlags": (
        "The criteria by which a table chooses entries to evict (`OFPTMPEF_*`).",
        {
            "OTHER": "Something else.",
            "IMPORTANCE": "The entries' importance.",
            "LIFETIME": "The time that they have still to live.",
        },
    ),
    "OpticalPortFeatures": (
        "The features of an optical port, and which of them are configured (`OFPOPF_*`).",
        {
            "RX_TUNE": "The receiver can be tuned.",
            "TX_TUNE": "The transmitter can be tuned.",
            "TX_PWR": "The power can be set.",
            "USE_FREQ": "Numbers are frequencies, not wavelengths.",
        },
    ),
    "OpticalStatsFlags": (
        "Flags for the numbers of an optical port that are known (`OFPOSF_*`).",
        {
            "RX_TUNE": "The receiver's frequency.",
            "TX_TUNE": "The transmitter's frequency.",
            "TX_PWR": "The power sent.",
            "RX_PWR": "The power received.",
            "TX_BIAS": "The transmitter's bias.",
            "TX_TEMP": "The transmitter's temperature.",
        },
    ),
    "FlowMonitorFlags": (
        "The changes that a monitor reports (`OFPFMF_*`).",
        {
            "INITIAL": "The entries that are there when it begins.",
            "ADD": "Entries that are added.",
            "REMOVED": "Entries that are removed.",
            "MODIFY": "Entries that are changed.",
            "INSTRUCTIONS": "Their instructions, too.",
            "NO_ABBREV": "Changes of the same controller in full.",
            "ONLY_OWN": "Only changes of the same controller.",
        },
    ),
    "BundleFeatureFlags": (
        "The features that a request asks for (`OFPBF_*`).",
        {
            "TIMESTAMP": "The switch's time.",
            "TIME_SET_SCHED": "Other tolerances: those of the request.",
        },
    ),
    "MeterFeatureFlags": (
        "The features of meters: where they may be used (`OFPMFF_*`).",
        {
            "ACTION_SET": "In the action set.",
            "ANY_POSITION": "Anywhere in a list of actions, and not only at its beginning.",
            "MULTI_LIST": "Several in a list of actions.",
        },
    ),
    "TableFeatureFlags": (
        "The possible uses of a table (`OFPTFF_*`).",
        {
            "INGRESS_TABLE": "Packets that came.",
            "EGRESS_TABLE": "Packets that are to leave.",
            "FIRST_EGRESS": "It is the first of those for packets that are to leave.",
        },
    ),
    "StatTriggerFlags": (
        "The flags of a trigger: how often thresholds count (`OFPSTF_*`).",
        {
            "PERIODIC": "At each multiple of them.",
            "ONLY_FIRST": "Only the threshold that is reached first.",
        },
    ),
    "ErrorType": (
        "The types of errors (`OFPET_*`).",
        {
        },
    ),
}
