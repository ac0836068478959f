"""Reads OpenFlow 1.3 with os-ken and scapy, and 1.2, 1.4 and 1.5 with os-ken, and compares what each reads with what
we read.

  make VERSION   prints messages that os-ken encodes, in hexadecimal, one a line; VERSION is 1_2 to 1_5
  check VERSION  reads lines of hexadecimal, a tab, and our reading (Rust's debug form); prints differences

A message becomes a table of name -> numbers, whatever the nesting: names are the specification's in all three.

Known limits of the two. os-ken is a controller's codec: it reads what a switch sends and FLOW_MOD, nothing
else, so what it encodes is compared with what it was told to encode. scapy fails on a PORT_DESC request, on
fields of experimenters, on most set-fields, on empty action lists, on the padding in FLOW replies, on lists of
tables in a table's features, on queues and meter bands, on error types that the specification has not, and it
reads packets as Ethernet whatever their length: such messages it does not get, and none of 1.4 and 1.5. Of several
buckets, groups and controllers in 1.5 os-ken takes the second for properties of the first, and it has none of the
masks that 1.5 brought.
"""
import collections, importlib, ipaddress, logging, random, re, signal, sys

logging.disable(logging.CRITICAL)
from os_ken.ofproto import ofproto_parser, ofproto_protocol
from scapy.contrib import openflow3
from scapy.packet import Packet, Raw

VERSION = sys.argv[2]
ofp = importlib.import_module('os_ken.ofproto.ofproto_v' + VERSION)
parser = importlib.import_module(f'os_ken.ofproto.ofproto_v{VERSION}_parser')
IS_1_2 = VERSION == '1_2'
HAS_PROPERTIES = VERSION in ('1_4', '1_5')
IS_1_5 = VERSION == '1_5'
DATAPATH = ofproto_protocol.ProtocolDesc(ofp.OFP_VERSION)
FIELDS = {t.name: t.num & 0x7f for t in ofp.oxm_types if type(t.num) is int}
FIELDS['tcp_flags'] = 42
for n in range(8):
    FIELDS[f'xreg{n}'] = FIELDS[f'pkt_reg{n}'] = 128 + n
ACTIONS = """Output CopyTtlOut CopyTtlIn SetMplsTtl DecMplsTtl PushVlan PopVlan PushMpls PopMpls SetQueue Group
SetNwTtl DecNwTtl SetField PushPbb PopPbb""".split()
# our arguments without a name of their own
UNNAMED = dict(GotoTable='table_id', Meter='meter_id', SetMplsTtl='mpls_ttl', SetNwTtl='nw_ttl',
               PushVlan='ethertype', PushMpls='ethertype', PopMpls='ethertype', PushPbb='ethertype',
               SetQueue='queue_id', Group='group_id', DscpRemark='prec_level', MinRate='rate', MaxRate='rate')


def value(v):
    """A number from any form of one, else None."""
    if isinstance(v, bytes):
        v = v.rstrip(b'\0').decode('ascii', 'replace')
    if isinstance(v, str):
        if re.fullmatch(r'(\w\w:){5}\w\w', v):
            return int(v.replace(':', ''), 16)
        try:
            return int(ipaddress.ip_address(v))
        except ValueError:
            return v
    try:
        return int(v)
    except (TypeError, ValueError):
        return None


# one name for what has several
ALIASES = dict(cmd='command', errcode='code', errtype='ty', group_type='ty', exp_type='code',
               monitor_flags='flags')
ALIASES |= dict.fromkeys('name mfr_desc hw_desc sw_desc serial_num dp_desc port_name table_name'.split(), 'names')
for one in 'packet_in', 'port_status', 'flow_removed':
    ALIASES |= dict.fromkeys([one, one + '_slave', one + '_mask_master', one + '_mask_slave'], one + '_mask')
if HAS_PROPERTIES:
    for one in 'packet_in', 'port_status', 'flow_removed', 'role_status', 'table_status', 'request_forward':
        ALIASES |= dict.fromkeys([one, one + '_slave'], 'mask')
if IS_1_5:
    ALIASES |= dict(duration_sec='sec', duration_nsec='nsec', ref_count='flow_count')
for one in 'packet', 'byte':
    ALIASES |= dict.fromkeys([f'{one}_in_count', f'{one}_band_count'], f'{one}_count')


class Table(collections.defaultdict):
    def __init__(self):
        super().__init__(list)

    def put(self, name, v):
        v = value(v)
        if v is not None:
            self[ALIASES.get(name, name)].append(v)


def ours(debug):
    table = Table()
    for name, v, mask in re.findall(r'(\w+)=0x([0-9a-f]+)/0x([0-9a-f]+)', debug):
        table['oxm'].append((FIELDS[name], int(v, 16) & int(mask, 16)))
    table['action'] = [a.lower() for a in re.findall(
        r'(?<!body:)[\[ ](%s)(?=[],(])' % '|'.join(ACTIONS), debug)]
    for name, v in re.findall(r'(\w+)\((?:\w+\()?(\d+)\)', debug):
        if name in UNNAMED:
            table.put(UNNAMED[name], int(v))
    for v, mask in re.findall(r'WriteMetadata { value: (\d+), mask: (\d+)', debug):
        table.put('metadata', int(v))
        table.put('metadata_mask', int(mask))
    debug = re.sub(r'WriteMetadata {[^}]*}|TypeId {[^}]*}', '', debug)
    for name, v in re.findall(r'(\w+): (?:\w+\()?(-?\d+)', debug):
        table.put(name, int(v) % 2 ** (32 if v[0] == '-' else 64))
    for name, v in re.findall(r'(\w+): (?:Mac\()?\[(\d[\d, ]*)\]', debug):
        v = [int(n) for n in v.split(', ')]
        table[name] += [int.from_bytes(bytes(v), 'big')] if name == 'hw_addr' else v
    for more in re.findall(r'more: (\w+)', debug):
        table.put('flags', more == 'true')
    if table['experimenter'] == [0]:
        del table['experimenter']
    names = re.findall(r'\w+: FixedStr\((".*?[^\\]"|"")\)', debug)
    if all(re.fullmatch(r'"[\w ]*"', name) for name in names):
        table['names'] = [name.strip('"') for name in names]
    return table


def osken(message):
    table = Table()

    def walk(name, v):
        if isinstance(v, list):
            for one in v:
                walk(name, one)
        elif isinstance(v, dict):
            for key, one in v.items():
                if key == 'OXMTlv':
                    mask = value(one['mask'])
                    whole = value(one['value'])
                    table['oxm'].append((FIELDS[one['field']], whole if mask is None else whole & mask))
                    continue
                if key == 'OXSTlv':
                    if one['field'] in ('duration', 'idle_time'):
                        for part, number in zip(('sec', 'nsec'), one['value']):
                            table.put(part, number)
                    else:
                        table.put(one['field'], one['value'])
                    continue
                if key.startswith('OFPAction') and isinstance(one, dict):
                    table['action'].append(key[9:].lower())
                walk(key, one)
        else:
            table.put(name, v)

    walk('', message.to_jsondict())
    return table


def scapy(message):
    table = Table()

    def walk(packet):
        kind = type(packet).__name__
        if kind.startswith('OFB'):
            fields = [f for f in packet.fields_desc if f.name not in ('class_', 'field', 'hasmask', 'len')]
            numbers = [value(packet.getfieldval(f.name)) for f in fields]
            v = numbers[0] & numbers[1] if len(numbers) > 1 else numbers[0]
            table['oxm'].append((int(packet.field), v))
            return
        if kind.startswith('OFPAT'):
            table['action'].append(kind[5:].lower())
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
SCAPY_CANNOT = re.compile(
    r'SetField\(|tcp_flags|pkt_reg|body: Flow\(\[|Actions\(\[\]\)|MultipartRequest .*PortDesc|Queue\w+ { port|Bands? { kind|Tables\(\[|ErrorCode { ty: \d{2,}'
    r'|Packet(?:In|Out)\(.*data: Bytes\(\[(?:\d+, ){0,20}\d*\]')
# what one of them does not read, or reads under a name of its own that says something else elsewhere
SKIPPED = {
    'os-ken': {'ty', 'code', 'reserved', 'masked', 'bitmap', 'kind', 'omitted', 'xid'},
    'scapy': {'kind', 'masked', 'bitmap', 'ty', 'max_groups', 'actions'},
}

# In 1.5 more than one of these in a message is read wrong.
OSKEN_CANNOT = re.compile(r'\b(Bucket|GroupDesc|ControllerStatus) {.*\b\1 {')
if IS_1_5:
    SKIPPED['os-ken'] |= {'watch_port', 'watch_group', 'config', 'uri', 'flow_stats', 'flow_stats_slave',
                          'controller_status', 'controller_status_slave'}
# of which in 1.5 a value that says nothing is also what lacks
OFTEN_LACKING = dict(sec=0, nsec=0, weight=0, flow_count=0, packet_count=2 ** 64 - 1, byte_count=2 ** 64 - 1)

# what stands in these messages only in OpenFlow 1.0
ONLY_IN_1_0 = {'max_entries', 'names', 'no_wildcards', 'ports'}


# what came with 1.3
DURATION = ['duration_sec', 'duration_nsec']
LACKING_IN_1_2 = {'FeaturesReply.': ['auxiliary_id', 'actions'], 'PacketIn.': ['cookie']}
LACKING_IN_1_2 |= dict.fromkeys(['MultipartReply.' + body for body in ('Group', 'PortStats', 'Queue')], DURATION)


def as_in_1_5(kind, mine):
    """Our reading of a message of 1.5 where the wire has it elsewhere."""
    if kind == 'PacketOut.':
        mine['oxm'].append((FIELDS['in_port'], mine.pop('in_port')[0]))
    if kind == 'FeaturesReply.':
        mine['capabilities'] = [v & 0xffffffff | v >> 32 << 8 for v in mine['capabilities']]


def as_in_1_2(kind, mine):
    """Our reading of a message of 1.2 where the model has more than the wire, or has it elsewhere."""
    if kind in ('GetConfigReply.', 'SetConfig.'):
        mine['flags'] = [v & 0xffff | v >> 16 << 2 for v in mine['flags']]
    if kind == 'TableMod.':
        mine['config'] = [mine['config'][0] | mine.pop('miss')[0] - 1]
    for body, lacking in LACKING_IN_1_2.items():
        if kind == body:
            for name in lacking:
                mine.pop(name, None)
    if kind == 'MultipartReply.Flow':
        mine['flags'] = mine['flags'][-1:]


def differences(who, mine, theirs):
    for name, numbers in mine.items():
        nothing = 0 if name == 'mask' else OFTEN_LACKING.get(name) if IS_1_5 else None
        if nothing is not None:
            numbers = [one for one in numbers if one != nothing]
            theirs[name] = [one for one in theirs.get(name, []) if one != nothing]
        if name in SKIPPED[who] or not numbers or name in ONLY_IN_1_0 and name not in theirs:
            continue
        if sorted(map(str, numbers)) != sorted(map(str, theirs.get(name, []))):
            yield f'{who} {name}: we {numbers}, they {theirs.get(name)}'


def timed_out(*_):
    raise TimeoutError


def serialized(kinds, count):
    """`count` messages of os-ken that the makers in `kinds` make in turn, by their bytes."""
    messages = {}
    for i in range(count):
        message = kinds[i % len(kinds)]()
        message.set_xid(i)
        message.serialize()
        messages[bytes(message.buf)] = message
    return messages


def made(count=400):
    """Messages that os-ken encodes, by their bytes."""
    r = random.Random(7)
    u = lambda bits: r.getrandbits(bits)
    mac = lambda: ':'.join(f'{u(8):02x}' for _ in range(6))
    ip = lambda: str(ipaddress.IPv4Address(u(32)))
    ip6 = lambda: str(ipaddress.IPv6Address(u(128)))
    p = parser

    def match():
        kinds = [
            lambda: {},
            lambda: dict(in_port=u(31), eth_dst=mac(), eth_src=(mac(), 'ff:00:00:00:00:00')),
            lambda: dict(vlan_vid=0x1000 | u(12), vlan_pcp=u(3), metadata=(u(64), u(64))),
            lambda: dict(eth_type=0x800, ip_dscp=u(6), ip_ecn=u(2), ip_proto=6, ipv4_src=ip(),
                         ipv4_dst=(ip(), '255.255.0.0'), tcp_src=u(16), tcp_dst=u(16)),
            lambda: dict(eth_type=0x86dd, ip_proto=17, ipv6_src=ip6(), ipv6_dst=(ip6(), 'ffff:ffff::'),
                         ipv6_flabel=u(20), udp_src=u(16), udp_dst=u(16)),
            lambda: dict(eth_type=0x86dd, ip_proto=58, icmpv6_type=136, icmpv6_code=u(8),
                         ipv6_nd_target=ip6(), ipv6_nd_tll=mac()),
            lambda: dict(eth_type=0x806, arp_op=u(16), arp_spa=ip(), arp_tpa=ip(), arp_sha=mac(),
                         arp_tha=mac()),
            lambda: dict(eth_type=0x8847, mpls_label=u(20), mpls_tc=u(3)),
        ]
        if not IS_1_2:
            kinds += [
                lambda: dict(eth_type=0x800, ip_proto=6, tcp_flags=u(12)),
                lambda: dict(eth_type=0x86dd, ipv6_exthdr=(u(9), u(9))),
                lambda: dict(eth_type=0x8847, mpls_bos=u(1)),
                lambda: dict(eth_type=0x88e7, pbb_isid=u(24), tunnel_id=(u(64), u(64))),
            ]
        return p.OFPMatch(**r.choice(kinds)())

    def actions():
        one = [
            lambda: p.OFPActionOutput(u(32), u(16)), lambda: p.OFPActionGroup(u(32)),
            lambda: p.OFPActionSetQueue(u(32)), p.OFPActionCopyTtlOut, p.OFPActionCopyTtlIn,
            lambda: p.OFPActionSetMplsTtl(u(8)), p.OFPActionDecMplsTtl, lambda: p.OFPActionSetNwTtl(u(8)),
            p.OFPActionDecNwTtl, lambda: p.OFPActionPushVlan(0x88a8), p.OFPActionPopVlan,
            lambda: p.OFPActionPushMpls(0x8848), lambda: p.OFPActionPopMpls(u(16)),
            lambda: p.OFPActionSetField(eth_dst=mac()), lambda: p.OFPActionSetField(ipv4_src=ip()),
            lambda: p.OFPActionSetField(ipv6_dst=ip6()), lambda: p.OFPActionSetField(mpls_label=u(20)),
            lambda: p.OFPActionSetField(vlan_vid=0x1000 | u(12)), lambda: p.OFPActionSetField(ip_dscp=u(6))]
        if not IS_1_2:
            one += [lambda: p.OFPActionPushPbb(0x88e7), p.OFPActionPopPbb]
        return [r.choice(one)() for _ in range(r.randrange(4))]

    def instructions():
        apply, write, clear = ofp.OFPIT_APPLY_ACTIONS, ofp.OFPIT_WRITE_ACTIONS, ofp.OFPIT_CLEAR_ACTIONS
        every = [p.OFPInstructionActions(apply, actions()), p.OFPInstructionActions(clear, []),
                 p.OFPInstructionActions(write, actions()), p.OFPInstructionWriteMetadata(u(64), u(64)),
                 p.OFPInstructionGotoTable(u(8))]
        if not IS_1_2 and not IS_1_5:
            every.insert(0, p.OFPInstructionMeter(u(32)))
        return [one for one in every if u(1)]

    def bucket():
        if IS_1_5:
            properties = [p.OFPGroupBucketPropWeight(weight=u(16), type_=ofp.OFPGBPT_WEIGHT),
                          p.OFPGroupBucketPropWatch(watch=u(31), type_=ofp.OFPGBPT_WATCH_PORT),
                          p.OFPGroupBucketPropWatch(watch=u(31), type_=ofp.OFPGBPT_WATCH_GROUP)]
            return p.OFPBucket(bucket_id=u(32), actions=actions(), properties=properties)
        return p.OFPBucket(weight=u(16), watch_port=u(32), watch_group=u(32), actions=actions())

    d = DATAPATH

    def kinds_before_1_4():
        return [
            lambda: p.OFPFlowMod(d, u(64), u(64), u(8), u(8) % 5, u(16), u(16), u(16), u(32), u(32), u(32),
                                 u(3 if IS_1_2 else 5), match(), instructions()),
            lambda: p.OFPPortMod(d, u(32), mac(), u(7), u(7), u(16)),
            lambda: p.OFPTableMod(d, u(8), r.randrange(3) if IS_1_2 else u(2)),
            lambda: p.OFPQueueGetConfigRequest(d, u(31)),
        ]

    def kinds_with_properties():
        def flow_mod():
            return p.OFPFlowMod(d, u(64), u(64), u(8), u(8) % 5, u(16), u(16), u(16), u(32), u(32), u(32), u(5),
                                u(16), match(), instructions())

        def reasons():
            return [p.OFPAsyncConfigPropReasons(ty, None, u(32)) for ty in sorted(r.sample(range(12), u(3)))]

        optical = lambda: p.OFPPortModPropOptical(ofp.OFPPMPT_OPTICAL, None, u(4), u(31), u(32), u(31), u(31))
        return [
            flow_mod, lambda: p.OFPBundleAddMsg(d, u(32), u(2), flow_mod(), []),
            lambda: p.OFPPortMod(d, u(32), mac(), u(7), u(7), [
                p.OFPPortModPropEthernet(ofp.OFPPMPT_ETHERNET, None, u(16))] + [optical()] * u(1)),
            lambda: p.OFPTableMod(d, u(8), u(4), []),
            lambda: p.OFPTableMod(d, u(8), u(4), [
                p.OFPTableModPropEviction(ofp.OFPTMPT_EVICTION, None, u(3)),
                p.OFPTableModPropVacancy(ofp.OFPTMPT_VACANCY, None, u(6), u(6), u(6))]),
            lambda: p.OFPSetAsync(d, reasons()),
            lambda: p.OFPBundleCtrlMsg(d, u(32), u(3), u(2), []),
            lambda: p.OFPQueueDescStatsRequest(d, 0, u(32), u(32)),
            lambda: p.OFPTableDescStatsRequest(d, 0),
            lambda: p.OFPFlowMonitorRequest(d, 0, u(32), u(32), u(32), u(7), u(8), u(8) % 3, match()),
        ]

    def kinds_before_1_5():
        return [
            lambda: p.OFPPacketOut(d, buffer_id=ofp.OFP_NO_BUFFER, in_port=u(32), actions=actions(),
                                   data=r.randbytes(r.randrange(40))),
            lambda: p.OFPGroupMod(d, u(8) % 3, u(2), u(32), [bucket() for _ in range(u(2))]),
            lambda: p.OFPRoleRequest(d, u(2), u(64)),
            lambda: p.OFPGroupDescStatsRequest(d, flags=0),
        ]

    def kinds_since_1_3():
        return [
            lambda: p.OFPMeterMod(d, u(8) % 3, u(4), u(32), [p.OFPMeterBandDrop(u(32), u(32)),
                                                             p.OFPMeterBandDscpRemark(u(32), u(32), u(8))]),
            lambda: p.OFPMeterStatsRequest(d, 0, u(32)), lambda: p.OFPMeterFeaturesStatsRequest(d, 0),
            lambda: p.OFPGetAsyncRequest(d),
        ]

    def kinds_of_1_5():
        def pipeline():
            return p.OFPMatch(in_port=u(32), **r.choice([{}, dict(metadata=u(64)), dict(tunnel_id=u(64))]))

        return [
            lambda: p.OFPPacketOut(d, buffer_id=ofp.OFP_NO_BUFFER, match=pipeline(), actions=actions(),
                                   data=r.randbytes(r.randrange(40))),
            # Weights are said of groups of type select alone.
            lambda: p.OFPGroupMod(d, r.choice([0, 1, 2, 3, 5]), 1, u(32), u(32), [bucket() for _ in range(u(2))]),
            lambda: p.OFPRoleRequest(d, u(2), u(16), u(64)),
            lambda: p.OFPMeterDescStatsRequest(d, 0, u(32)),
            lambda: p.OFPFlowDescStatsRequest(d, 0, u(8), u(32), u(32), u(64), u(64), match()),
            lambda: p.OFPGroupDescStatsRequest(d, 0, u(32)), lambda: p.OFPPortDescStatsRequest(d, 0, u(32)),
            lambda: p.OFPControllerStatusStatsRequest(d, 0),
        ]

    def asked():
        return dict(flags=0, table_id=u(8), out_port=u(32), out_group=u(32), cookie=u(64), cookie_mask=u(64),
                    match=match())

    kinds = [
        lambda: p.OFPSetConfig(d, u(2), u(16)),
        lambda: p.OFPFlowStatsRequest(d, **asked()), lambda: p.OFPAggregateStatsRequest(d, **asked()),
        lambda: p.OFPPortStatsRequest(d, flags=0, port_no=u(32)),
        lambda: p.OFPQueueStatsRequest(d, flags=0, port_no=u(32), queue_id=u(32)),
        lambda: p.OFPGroupStatsRequest(d, flags=0, group_id=u(32)),
        lambda: r.choice([p.OFPDescStatsRequest, p.OFPTableStatsRequest, p.OFPGroupFeaturesStatsRequest])(d, flags=0),
        lambda: r.choice([p.OFPFeaturesRequest, p.OFPGetConfigRequest, p.OFPBarrierRequest])(d),
    ]
    if not IS_1_2:
        kinds += kinds_since_1_3()
    if VERSION == '1_3':
        kinds += [lambda: p.OFPSetAsync(d, *[[u(32), u(32)] for _ in range(3)])]
    if VERSION in ('1_3', '1_4'):
        kinds += [lambda: p.OFPMeterConfigStatsRequest(d, 0, u(32)), lambda: p.OFPPortDescStatsRequest(d, 0)]
    kinds += kinds_with_properties() if HAS_PROPERTIES else kinds_before_1_4()
    return serialized(kinds + (kinds_of_1_5() if IS_1_5 else kinds_before_1_5()), count)


def make():
    for raw in made():
        print(raw.hex())


def print_differences(found, line):
    for one in found:
        print(one, line, sep='\n  ', end='')


def check():
    signal.signal(signal.SIGALRM, timed_out)
    theirs_made, counts = made(), collections.Counter()
    for line in sys.stdin:
        digits, debug = line.rstrip('\n').split('\t')
        kind = '.'.join(re.match(r'(\w+)\((?:\w+ { more: \w+, body: (\w+))?', debug).groups(''))
        raw, mine = bytes.fromhex(digits), ours(debug)
        found = []
        signal.alarm(5)
        theirs = theirs_made.get(raw)
        if theirs is None and not (IS_1_5 and OSKEN_CANNOT.search(debug)):
            theirs = ofproto_parser.msg(DATAPATH, *ofproto_parser.header(raw), raw)
        if IS_1_5:
            as_in_1_5(kind, mine)
        if IS_1_2:
            as_in_1_2(kind, mine)
        if theirs is not None:
            counts['os-ken'] += 1
            found += differences('os-ken', mine, osken(theirs))
        if VERSION != '1_3' or SCAPY_CANNOT.search(debug):
            print_differences(found, line)
            continue
        try:
            theirs = openflow3.OpenFlow3(raw)
            found += differences('scapy', mine, scapy(theirs))
            counts['scapy'] += 1
        except Exception as e:
            found.append(f'scapy {kind}: {e!r}')
        signal.alarm(0)
        print_differences(found, line)
    print('read', counts['os-ken'], counts['scapy'])


if __name__ == '__main__':
    dict(make=make, check=check)[sys.argv[1]]()
