"""Holds contrib/bofuss_machine.py to the vectors of testdata/extensions."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / 'contrib'))
import bofuss_machine as m  # noqa: E402

XID = bytes.fromhex('11223344')
# What controllers send, as the vectors name it. What switches send is parsed below.
SENT = {
    'state_mod(table_config,table=0,stateful=1)': m.table_config(0),
    'state_mod(set_lookup_extractor,table=0,fields=ipv4_src+tcp_dst,openstate)':
        m.extractor(0, ['ipv4_src', 'tcp_dst'], dialect=m.OPENSTATE),
    'state_mod(set_lookup_extractor,table=0,fields=ipv4_src+tcp_dst)':
        m.extractor(0, ['ipv4_src', 'tcp_dst']),
    'state_mod(set_bit_update_extractor,table=0,fields=ipv4_dst+tcp_src)':
        m.extractor(0, ['ipv4_dst', 'tcp_src'], update=True, bit=1),
    'state_mod(set_flow_state,table=0,key=0a0000015000,state=5,hard_timeout=10000000,'
    'hard_rollback=2,idle_timeout=5000000,idle_rollback=1)':
        m.set_flow_state(0, m.key(ipv4_src='10.0.0.1', tcp_dst=80), 5, hard=10, hard_to=2, idle=5,
                         idle_to=1),
    'state_mod(del_flow_state,table=0,key=0a0000015000)':
        m.del_flow_state(0, m.key(ipv4_src='10.0.0.1', tcp_dst=80)),
    'state_mod(set_global_state,global_state=2863311530/0xf0f0f0f0)':
        m.global_state_mod(0xAAAAAAAA, 0xF0F0F0F0),
    'state_mod(reset_global_state)': m.reset_global_state(),
    'OFPMP_EXPERIMENTER state_stats(table=0,state=6,match={dl_dst=00:00:00:00:00:01})':
        m.states_request(0, 6, m.match(eth_dst='00:00:00:00:00:01')),
    'OFPMP_EXPERIMENTER state_stats(table=255,match={})': m.states_request(0xFF),
    'OFPMP_EXPERIMENTER global_state()': m.global_state_request(),
    'template_mod(add,id=7,packet=deadbeef)': m.add_template(7, bytes.fromhex('deadbeef')),
    'template_mod(delete,id=7)': m.del_template(7),
    'add table=0,priority=32768,in_port=1,state=6,actions=set_state(table=1,state=3/0xff,'
    'hard_timeout=10000000,hard_rollback=7,idle_timeout=5000000,idle_rollback=8)':
        m.flow_mod(m.match(in_port=1, state=6),
                   m.set_state(1, 3, 0xFF, hard=10, hard_to=7, idle=5, idle_to=8), priority=0x8000),
    'add table=0,priority=32768,global_state=1/3,state=4/12,actions='
    'set_global_state(global_state=1492/0xffff),inc_state(table=2)':
        m.flow_mod(m.match(global_state=(1, 3), state=(4, 12)), m.set_global_state(1492, 0xFFFF),
                   m.inc_state(2), priority=0x8000),
    'add table=0,priority=32768,actions=packet_gen(template=7,actions=(output:1))':
        m.flow_mod(m.match(), m.packet_gen(7, m.output(1)), priority=0x8000),
    'add table=0,priority=32768,actions=packet_gen_copy(template=7,copies=(arp_sha->eth_dst,'
    'arp_spa[0..15]->arp_tpa[16..31]),actions=(output:1))':
        m.flow_mod(m.match(),
                   m.packet_gen_copy(7, [m.Copy('arp_sha', 'eth_dst'),
                                         m.Copy('arp_spa', 'arp_tpa', 16, 0, 16)], m.output(1)),
                   priority=0x8000),
    # Open Packet Processor.
    'state_mod(set_lookup_extractor,table=0,fields=ipv4_src+ipv4_dst,biflow)':
        m.extractor(0, ['ipv4_src', 'ipv4_dst'], biflow=True),
    'state_mod(set_header_extractor,table=0,id=1,fields=timestamp)':
        m.header_extractor(1, 'timestamp'),
    'state_mod(set_condition,table=0,id=5,condition=hf0+gte+gd2)':
        m.condition(5, m.hf(0), '>=', m.gd(2)),
    'state_mod(set_global_variable,table=0,id=2,value=4)': m.set_global_variable(2, 4),
    'state_mod(set_flow_variable,table=0,id=1,key=0a000001,value=99)':
        m.set_flow_variable(1, m.key(ipv4_src='10.0.0.1'), 99),
    'OFPMP_EXPERIMENTER short_state_stats(variables,table=0)': m.global_variables_request(),
    'add table=0,priority=32768,state=1,condition0=1,condition7=0,actions=set_state(table=1,'
    'state=3/0xff,hard_timeout=10000000,hard_rollback=7,idle_timeout=5000000,idle_rollback=8,opp),'
    'set_state(table=1,state=3,fields=eth_src)':
        m.flow_mod(m.match(state=1, condition0=1, condition7=0),
                   m.set_state(1, 3, 0xFF, hard=10, hard_to=7, idle=5, idle_to=8, scope=()),
                   m.set_state(1, 3, scope=['eth_src']), priority=0x8000),
    'add table=0,priority=32768,pkt_len=1500,actions=set_data_var(table=0,output=fd1,function=sum,'
    'operands=fd1+1),set_data_var(table=0,output=fd2,function=ewma,operands=fd2+6+fd1),'
    'set_data_var(table=0,output=fd2,function=poly_sum,operands=gd2+1+gd1+gd3,'
    'coefficients=30+4+5+-6),write_context_to_field(source=gd2,fields=mpls_label)':
        m.flow_mod(m.match(pkt_len=1500), m.set_data_var(0, m.fd(1), 'sum', m.fd(1), 1),
                   m.set_data_var(0, m.fd(2), 'ewma', m.fd(2), 6, m.fd(1)),
                   m.set_data_var(0, m.fd(2), 'poly_sum', m.gd(2), 1, m.gd(1), m.gd(3),
                                  coefficients=[30, 4, 5, -6]),
                   m.write_context(m.gd(2), 'mpls_label'), priority=0x8000),
}
OPP_STATE = m.State(0, m.key(eth_src='02:00:00:00:00:01'), 3, 1.5, (1, 2, 3, 4, 5, 0xFFFFFFFF))
BEBA_STATE = m.State(0, m.key(in_port=1, eth_dst='00:00:00:00:00:01'), 9, .350032)


def vectors(path):
    """Text and bytes of each vector of a file."""
    text, data = None, b''
    for line in path.read_text().splitlines() + ['X: end']:
        if line.startswith('  '):
            data += bytes.fromhex(line)
        elif line and not line.startswith('#'):
            if text:
                yield text, data
            _, text = line.split(': ', 1)
            data = b''


def main():
    known = dict(SENT)
    for path in sorted((ROOT / 'testdata/extensions').iterdir()):
        if path.name == 'openqflow.txt':
            continue  # qflow.py holds another helper to it
        for text, data in vectors(path):
            if text in known:
                ours = known.pop(text)
                ours = ours[:4] + XID + ours[8:]
                assert ours == data, '%s\n%s\n%s' % (text, ours.hex(), data.hex())
            elif text.startswith('OFPMP_EXPERIMENTER state_stats('):
                assert m.parse_states(data[24:]) in ([BEBA_STATE], [OPP_STATE]), text
            elif text.startswith('OFPMP_EXPERIMENTER short_state_stats(table='):
                assert m.parse_short_states(data[24:]) == [(BEBA_STATE.key, 9)], text
            elif data[4:8] == XID and data[1] not in (m.MULTIPART_REPLY, m.FLOW_MOD):
                raise AssertionError('no function writes ' + text)
    assert not known, 'no vector has %s' % list(known)


if __name__ == '__main__':
    main()
