"""An assembler for eBPF: lines as those of ubpf, with labels and maps by name, to bytes.

    mov r0, 7            add32 r1, r2         jeq r1, 0, done
    ldxw r2, [r1+4]      stxdw [r10-8], r2    stb [r10-9], 1
    lddw r1, map counts  call map_lookup      done: exit
"""

import re
import struct

LD_IMM64, OF_MAP = 0x18, 1
CLASSES = {'ldx': 0x61, 'st': 0x62, 'stx': 0x63}
SIZES = {'w': 0x00, 'h': 0x08, 'b': 0x10, 'dw': 0x18}
ARITHMETIC = {name: code << 4 for code, name in enumerate(
    ['add', 'sub', 'mul', 'div', 'or', 'and', 'lsh', 'rsh', 'neg', 'mod', 'xor', 'mov', 'arsh'])}
ORDERS = {'le': 0xd4, 'be': 0xdc}
JUMPS = {'ja': 0x00, 'jeq': 0x10, 'jgt': 0x20, 'jge': 0x30, 'jset': 0x40, 'jne': 0x50,
         'jsgt': 0x60, 'jsge': 0x70, 'jlt': 0xa0, 'jle': 0xb0, 'jslt': 0xc0, 'jsle': 0xd0}
CALL, EXIT, REGISTER = 0x85, 0x95, 0x08
HELPERS = {'map_lookup': 1, 'map_update': 2, 'map_delete': 3, 'time': 5, 'notify': 31}


def slot(opcode, dst=0, src=0, offset=0, imm=0):
    imm = (imm + (1 << 31)) % (1 << 32) - (1 << 31)
    return struct.pack('<BBhi', opcode, src << 4 | dst, offset, imm)


def register(text):
    found = re.fullmatch(r'r(\d+)', text)
    assert found, '%r is no register' % text
    return int(found[1])


def operand(text, opcode):
    """Opcode, source and constant of an operand."""
    if text.startswith('r'):
        return opcode | REGISTER, register(text), 0
    return opcode, 0, int(text, 0)


def place(text):
    """Register and offset of `[r10-8]`."""
    found = re.fullmatch(r'\[(r\d+)([+-]\d+)?\]', text)
    assert found, '%r is no place' % text
    return register(found[1]), int(found[2] or 0)


def one(name, args, jump, maps):
    """The bytes of an instruction; `jump` gives the distance to a label."""
    if name == 'exit':
        return slot(EXIT)
    if name == 'call':
        return slot(CALL, imm=HELPERS[args[0]])
    if name == 'lddw':
        word, _, of_map = args[1].partition(' ')
        src = OF_MAP if word == 'map' else 0
        value = maps.index(of_map) if src else int(word, 0)
        low, high = value & 0xffffffff, value >> 32
        return slot(LD_IMM64, register(args[0]), src, imm=low) + slot(0, imm=high)
    if name == 'ja':
        return slot(0x05, offset=jump(args[0]))
    load = re.fullmatch('(ldx|stx|st)(dw|w|h|b)', name)
    if load:
        opcode = CLASSES[load[1]] | SIZES[load[2]]
        if load[1] == 'ldx':
            src, offset = place(args[1])
            return slot(opcode, register(args[0]), src, offset)
        dst, offset = place(args[0])
        src, imm = (register(args[1]), 0) if load[1] == 'stx' else (0, int(args[1], 0))
        return slot(opcode, dst, src, offset, imm)
    order = re.fullmatch('(le|be)(16|32|64)', name)
    if order:
        return slot(ORDERS[order[1]], register(args[0]), imm=int(order[2]))
    is_narrow = name.endswith('32')
    word = name[:-2] if is_narrow else name
    if word in JUMPS:
        opcode, src, imm = operand(args[1], JUMPS[word] | (6 if is_narrow else 5))
        return slot(opcode, register(args[0]), src, jump(args[2]), imm)
    opcode = ARITHMETIC[word] | (4 if is_narrow else 7)
    src, imm = 0, 0
    if word != 'neg':
        opcode, src, imm = operand(args[1], opcode)
    return slot(opcode, register(args[0]), src, imm=imm)


def assemble(text, maps=()):
    """The code of a program, whose maps have these names."""
    lines, labels, at = [], {}, 0
    for line in text.splitlines():
        line = line.partition('#')[0].strip()
        found = re.match(r'(\w+):\s*', line)
        if found:
            labels[found[1]] = at
            line = line[found.end():]
        if line:
            name, _, args = line.partition(' ')
            lines.append((at, name, [arg.strip() for arg in args.split(',') if arg.strip()]))
            at += 2 if name == 'lddw' else 1
    maps = list(maps)
    return b''.join(one(name, args, lambda label: labels[label] - at - 1, maps)  # noqa: B023
                    for at, name, args in lines)
