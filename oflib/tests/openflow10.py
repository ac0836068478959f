"""Reads OpenFlow 1.0 with os-ken and scapy, and compares what each reads with what we read.

  make           prints messages that os-ken encodes, in hexadecimal, one a line
  check          reads lines of hexadecimal, a tab, and our reading (Rust's debug form); prints differences

A message becomes a table of name -> numbers in the words of 1.0: our debug form is put into them, so that what
is compared is the meaning of the model's fields and actions, too.

Known limits of the two. os-ken does not read what only a controller sends but FLOW_MOD, so what it encodes is
compared with what it was told to encode. scapy reads the first of several actions only and packets as Ethernet
whatever their length, and fails on FLOW replies, queues and errors: such messages it does not get.
"""
import collections, random, re, signal, sys

import differential
from differential import value
from os_ken.ofproto import ofproto_parser, ofproto_protocol, ofproto_v1_0 as ofp
from os_ken.ofproto import ofproto_v1_0_parser as parser
from scapy.contrib import openflow
from scapy.packet import Packet

DATAPATH = ofproto_protocol.ProtocolDesc(ofp.OFP_VERSION)
# our fields, as 1.0 calls them
MATCH = dict(in_port='in_port', eth_src='dl_src', eth_dst='dl_dst', vlan_vid='dl_vlan', vlan_pcp='dl_vlan_pcp',
             eth_type='dl_type', ip_dscp='nw_tos', ip_proto='nw_proto', arp_op='nw_proto', ipv4_src='nw_src',
             arp_spa='nw_src', ipv4_dst='nw_dst', arp_tpa='nw_dst')
for one in 'tcp', 'udp', 'sctp':
    MATCH |= {one + '_src': 'tp_src', one + '_dst': 'tp_dst'}
MATCH |= dict(icmpv4_type='tp_src', icmpv4_code='tp_dst', icmpv6_type='tp_src', icmpv6_code='tp_dst')
SET = dict(vlan_vid='vlan_vid', vlan_pcp='vlan_pcp', eth_src='dl_src', eth_dst='dl_dst', ipv4_src='nw_src',
           ipv4_dst='nw_dst', ip_dscp='nw_tos', tcp_src='tp_src', tcp_dst='tp_dst')
# the other names that are compared, ours first
NAMES = """cookie command idle_timeout hard_timeout priority buffer_id out_port duration_sec duration_nsec
packet_count byte_count flow_count table_id total_len miss_send_len datapath_id n_buffers n_tables port_no port
queue_id rx_packets tx_packets rx_bytes tx_bytes rx_dropped tx_dropped rx_errors tx_errors rx_frame_err
rx_over_err rx_crc_err collisions active_count lookup_count matched_count max_entries rate hw_addr names""".split()
ALIASES = dict(cmd='command', name='names', port_name='names', mfr_desc='names', hw_desc='names', sw_desc='names',
               serial_num='names', dp_desc='names')
# what stands for all ports or none in the model, and in 1.0, is not the same everywhere
NO_PORT = {0xfffc, 0xfffd, 0xffff}
PORTS = {'port_no', 'port', 'out_port'}


def normal(name, v):
    if name in PORTS and isinstance(v, int):
        v &= 0xffff
        return 0xffff if v in NO_PORT else v
    return v


class Table(collections.defaultdict):
    def __init__(self):
        super().__init__(list)

    def put(self, name, v):
        name, v = ALIASES.get(name, name), value(v)
        if v is not None and name in NAMES:
            self[name].append(normal(name, v))

    def match(self, fields, wildcards):
        """Adds what a 1.0 match says: fields by name, wildcards as one number."""
        bits = dict(in_port=0, dl_vlan=1, dl_src=2, dl_dst=3, dl_type=4, nw_proto=5, tp_src=6, tp_dst=7,
                    dl_vlan_pcp=20, nw_tos=21)
        for name, bit in bits.items():
            if not wildcards >> bit & 1:
                self['match'].append((name, value(fields[name])))
        for name, bit in ('nw_src', 8), ('nw_dst', 14):
            length = 32 - min(32, wildcards >> bit & 0x3f)
            if length:
                v = value(fields[name])
                self['match'].append((name, v >> 32 - length, length))


ACTION = re.compile(r'SetField\(SetField\((\w+)=0x([0-9a-f]+)/0x[0-9a-f]+\)\)'
                    r'|Output\(Output { port: PortNo\((\d+)\), max_len: MaxLen\((\d+)\) }\)'
                    r'|SetQueue\(QueueId\((\d+)\)\)|(PopVlan)|PushVlan\([^)]*\)+|Experimenter\(tag_vlan\(\)\)')


def ours(debug):
    table, queue, last = Table(), 0, None
    for action in ACTION.finditer(debug):
        field, v, port, max_len, chosen, pop = action.groups()
        if field in SET:
            number = int(v, 16)
            number = number & 0xfff if field == 'vlan_vid' else number << 2 if field == 'ip_dscp' else number
            table['action'].append((SET[field], number))
        elif field:
            # UDP's port behind TCP's is the same action; alone it is one.
            name = field.replace('udp', 'tp')
            if last != (field.replace('udp', 'tcp'), v):
                table['action'].append((name, int(v, 16)))
        elif port and queue and port != str(0xfffffffd):
            table['action'].append(('enqueue', normal('port', int(port)), queue))
        elif port:
            table['action'].append(('output', normal('port', int(port)), int(max_len)))
        elif chosen:
            queue = int(chosen)
        elif pop:
            table['action'].append(('strip_vlan',))
        last = field, v
    rest = ACTION.sub('', debug)
    for name, v, mask in re.findall(r'(\w+)=0x([0-9a-f]+)/0x([0-9a-f]+)', rest):
        v, mask, name10 = int(v, 16), int(mask, 16), MATCH[name]
        if name10 in ('nw_src', 'nw_dst'):
            length = bin(mask).count('1')
            table['match'].append((name10, v >> 32 - length, length))
        elif name == 'vlan_vid':
            if mask & 0xfff:
                table['match'].append((name10, v & 0xfff if v else 0xffff))
        else:
            v = v & 0xffff if name == 'in_port' else v << 2 if name == 'ip_dscp' else v
            table['match'].append((name10, v))
    # Each of our queues says its port, too.
    rest = re.sub(r'(queue_id: \S+) port: PortNo\(\d+\), properties', r'\1', rest)
    for name, v in re.findall(r'(\w+): (?:\w+\()?(\d+)', rest):
        table.put(name, int(v))
    for name, v in re.findall(r'MinRate\((\d+)\)()', rest):
        table.put('rate', int(name))
    for name, v in re.findall(r'(hw_addr): Mac\(\[(\d[\d, ]*)\]', rest):
        table['hw_addr'].append(int.from_bytes(bytes(int(n) for n in v.split(', ')), 'big'))
    table['names'] = re.findall(r'\w+: FixedStr\("(.*?)"\)', rest)
    return table


def osken_action(action):
    kind = type(action).__name__
    if kind == 'OFPActionOutput':
        return 'output', normal('port', action.port), action.max_len
    if kind == 'OFPActionEnqueue':
        return 'enqueue', normal('port', action.port), action.queue_id
    return {
        'OFPActionVlanVid': lambda a: ('vlan_vid', a.vlan_vid),
        'OFPActionVlanPcp': lambda a: ('vlan_pcp', a.vlan_pcp),
        'OFPActionStripVlan': lambda a: ('strip_vlan',),
        'OFPActionSetDlSrc': lambda a: ('dl_src', value(haddr(a.dl_addr))),
        'OFPActionSetDlDst': lambda a: ('dl_dst', value(haddr(a.dl_addr))),
        'OFPActionSetNwSrc': lambda a: ('nw_src', value(a.nw_addr)),
        'OFPActionSetNwDst': lambda a: ('nw_dst', value(a.nw_addr)),
        'OFPActionSetNwTos': lambda a: ('nw_tos', a.tos),
        'OFPActionSetTpSrc': lambda a: ('tp_src', a.tp),
        'OFPActionSetTpDst': lambda a: ('tp_dst', a.tp),
    }[kind](action)


def haddr(v):
    return ':'.join(f'{b:02x}' for b in v) if isinstance(v, bytes) else v


def osken(message):
    table = Table()

    def walk(name, v):
        if isinstance(v, (list, dict)) and not isinstance(v, tuple):
            for one in v.values() if isinstance(v, dict) else v:
                walk(name, one)
        elif isinstance(v, parser.OFPMatch):
            fields = dict(v.__dict__, dl_src=haddr(v.dl_src), dl_dst=haddr(v.dl_dst))
            table.match(fields, v.wildcards)
        elif isinstance(v, parser.OFPAction):
            table['action'].append(osken_action(v))
        elif hasattr(v, '_fields') or hasattr(v, '__dict__'):
            named = v._asdict() if hasattr(v, '_fields') else vars(v)
            for key, one in named.items():
                if key not in ('datapath', 'buf', 'data', 'version', 'len', 'type', 'properties_len'):
                    walk(key, one)
        else:
            if name == 'hw_addr':
                v = haddr(v)
            table.put(name, v)

    walk('', message)
    if isinstance(message, parser.OFPPacketIn):
        table['match'].append(('in_port', message.in_port))
    return table


def scapy_action(action):
    kind = type(action).__name__[5:]
    get = lambda name: value(action.getfieldval(name))
    if kind == 'Output':
        return 'output', normal('port', get('port')), get('max_len')
    if kind == 'Enqueue':
        return 'enqueue', normal('port', get('port')), get('queue_id')
    if kind == 'StripVLAN':
        return 'strip_vlan',
    ours, theirs = dict(SetVLANVID=('vlan_vid', 'vlan_vid'), SetVLANPCP=('vlan_pcp', 'vlan_pcp'),
                        SetDlSrc=('dl_src', 'dl_addr'), SetDlDst=('dl_dst', 'dl_addr'),
                        SetNwSrc=('nw_src', 'nw_addr'), SetNwDst=('nw_dst', 'nw_addr'),
                        SetNwToS=('nw_tos', 'nw_tos'), SetTpSrc=('tp_src', 'tp_port'),
                        SetTpDst=('tp_dst', 'tp_port'))[kind]
    return ours, get(theirs)


def scapy(message):
    table = Table()

    def walk(packet):
        kind = type(packet).__name__
        if kind == 'OFPMatch':
            get = lambda name: int(packet.getfieldval(name) or 0)
            wildcards = get('wildcards1') << 20 | get('nw_dst_mask') << 14 | get('nw_src_mask') << 8
            table.match(packet.fields, wildcards | get('wildcards2'))
            return
        if kind.startswith('OFPAT'):
            table['action'].append(scapy_action(packet))
            return
        for field in packet.fields_desc:
            v = packet.getfieldval(field.name)
            for one in v if isinstance(v, list) else [v]:
                if isinstance(one, Packet):
                    walk(one)
                else:
                    table.put(field.name, one)

    walk(message)
    return table


# what scapy does not read, or gets wrong
SCAPY_CANNOT = re.compile(r'^Packet(?:In|Out)|^QueueGetConfigReply|^Error|body: Flow\(\[')


def differences(who, mine, theirs):
    for name in NAMES + ['match', 'action']:
        # A name that only one of them has says something that the other calls otherwise.
        if mine.get(name) and theirs.get(name) or name in ('match', 'action'):
            one, other = mine.get(name, []), theirs.get(name, [])
            if name != 'action':
                one, other = sorted(map(str, one)), sorted(map(str, other))
            if one != other:
                yield f'{who} {name}: we {one}, they {other}'


def made(count=400):
    """Messages that os-ken encodes, by their bytes."""
    r = random.Random(7)
    u = lambda bits: r.getrandbits(bits)
    p, d = parser, DATAPATH
    mac = lambda: r.randbytes(6)

    def match():
        fields = dict(in_port=u(16), dl_src=mac(), dl_dst=mac(), dl_vlan=r.choice([0xffff, u(12)]), dl_vlan_pcp=u(3),
                      dl_type=r.choice([0x800, 0x806, 0x88cc]), nw_tos=u(6) << 2, nw_proto=r.choice([1, 6, 17, 47]),
                      nw_src=u(32), nw_dst=u(32), tp_src=u(8), tp_dst=u(8))
        some = {name: v for name, v in fields.items() if u(2)}
        # Fields outside of their prerequisites would be ignored, and then written as wildcards.
        if some.get('dl_type') not in (0x800, 0x806):
            some = {name: v for name, v in some.items() if name[:2] not in ('nw', 'tp')}
        if some.get('dl_type') != 0x800:
            some.pop('nw_tos', 0)
        if some.get('dl_type') != 0x800 or some.get('nw_proto') not in (1, 6, 17):
            some = {name: v for name, v in some.items() if name[:2] != 'tp'}
        if some.get('dl_vlan') == 0xffff:
            some.pop('dl_vlan_pcp', 0)
        for name in 'nw_src', 'nw_dst':
            if name in some and u(1):
                some[name + '_mask'] = length = 1 + u(5)
                some[name] &= (0xffffffff << 32 - length) & 0xffffffff
        return p.OFPMatch(**some)

    def actions():
        one = [lambda: p.OFPActionOutput(u(15), u(16)), lambda: p.OFPActionOutput(ofp.OFPP_CONTROLLER, u(16)),
               lambda: p.OFPActionVlanVid(u(12)), lambda: p.OFPActionVlanPcp(u(3)), p.OFPActionStripVlan,
               lambda: p.OFPActionSetDlSrc(mac()), lambda: p.OFPActionSetDlDst(mac()),
               lambda: p.OFPActionSetNwSrc(u(32)), lambda: p.OFPActionSetNwDst(u(32)),
               lambda: p.OFPActionSetNwTos(u(6) << 2), lambda: p.OFPActionSetTpSrc(u(16)),
               lambda: p.OFPActionSetTpDst(u(16)), lambda: p.OFPActionEnqueue(u(15), 1 + u(16))]
        return [r.choice(one)() for _ in range(r.randrange(5))]

    kinds = [
        lambda: p.OFPSetConfig(d, u(1), u(16)),
        lambda: p.OFPPacketOut(d, ofp.OFP_NO_BUFFER if u(1) else 0xffffffff, u(15), actions(), r.randbytes(20)),
        lambda: p.OFPFlowMod(d, match(), u(64), r.choice([0, 1, 2, 3, 4]), u(16), u(16), u(15), u(32), u(15),
                             u(2), actions()),
        lambda: p.OFPPortMod(d, u(15), ':'.join(f'{b:02x}' for b in mac()), u(7) & 0x75, u(7) & 0x75, u(12)),
        lambda: p.OFPQueueGetConfigRequest(d, u(15)),
        lambda: p.OFPFlowStatsRequest(d, 0, match(), u(8), u(15)),
        lambda: p.OFPAggregateStatsRequest(d, 0, match(), u(8), u(15)),
        lambda: p.OFPPortStatsRequest(d, 0, u(15)), lambda: p.OFPQueueStatsRequest(d, 0, u(15), u(32)),
        lambda: r.choice([p.OFPDescStatsRequest, p.OFPTableStatsRequest])(d, 0),
        lambda: r.choice([p.OFPFeaturesRequest, p.OFPGetConfigRequest, p.OFPBarrierRequest])(d),
    ]
    return differential.serialized(kinds, count)


def make():
    for raw in made():
        print(raw.hex())


def check():
    signal.signal(signal.SIGALRM, differential.timed_out)
    theirs_made, counts = made(), collections.Counter()
    for line in sys.stdin:
        digits, debug = line.rstrip('\n').split('\t')
        raw, mine = bytes.fromhex(digits), ours(debug)
        found = []
        signal.alarm(5)
        theirs = theirs_made.get(raw) or ofproto_parser.msg(DATAPATH, *ofproto_parser.header(raw), raw)
        if theirs is not None:
            counts['os-ken'] += 1
            found += differences('os-ken', mine, osken(theirs))
        if len(mine['action']) < 2 and not SCAPY_CANNOT.search(debug):
            theirs = openflow.OpenFlow(raw)
            found += differences('scapy', mine, scapy(theirs))
            counts['scapy'] += 1
        signal.alarm(0)
        differential.print_differences(found, line)
    print('read', counts['os-ken'], counts['scapy'])


if __name__ == '__main__':
    dict(make=make, check=check)[sys.argv[1]]()
