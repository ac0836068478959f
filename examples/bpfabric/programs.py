"""Programs as BPFabric's examples have them, in assembly: counters, a moving average, a switch that
learns; and two that do not end.

A program gets in r1 the address of its packet: ingress port, seconds and nanoseconds, 4 bytes each,
length, 2 bytes, then the frame. It returns a port or one of the numbers below.
"""

from assembler import assemble

CONTINUE, FLOOD = 0xfffffffc, 0xfffffffd
# The value of an average: volume, packets, prediction, last time, count.
AVERAGE = '<QQQII'
# Seconds of which an average takes the volume.
INTERVAL = 1
# An average moves by 1/8 of what is new.
SHARE_BITS = 3


def array(name, value, entries):
    return 'name=%s,type=array,key=4,value=%d,entries=%d' % (name, value, entries)


def hashed(name, key, value, entries):
    return 'name=%s,type=hash,key=%d,value=%d,entries=%d' % (name, key, value, entries)


# Packets and bytes of each port.
COUNT = {'counts': array('counts', 16, 8)}, """
    ldxw r3, [r1+0]             # the port is the key
    stxw [r10-4], r3
    ldxh r6, [r1+12]
    lddw r1, map counts
    mov r2, r10
    add r2, -4
    mov r3, r10
    add r3, -16
    call map_lookup
    jne r0, 0, done
    ldxdw r1, [r10-16]          # the address of the value
    ldxdw r2, [r1+0]
    add r2, 1
    stxdw [r1+0], r2
    ldxdw r2, [r1+8]
    add r2, r6
    stxdw [r1+8], r2
done:
    mov32 r0, %d
    exit
""" % CONTINUE

# The exponentially weighted moving average of each port's volume; controllers are told each value.
EWMA = {'averages': array('averages', 32, 8)}, """
    mov r6, r1
    ldxw r3, [r6+0]
    stxw [r10-4], r3
    lddw r1, map averages
    mov r2, r10
    add r2, -4
    mov r3, r10
    add r3, -16
    call map_lookup
    jne r0, 0, done
    ldxdw r7, [r10-16]
    ldxh r1, [r6+12]
    ldxdw r2, [r7+0]            # the volume
    add r2, r1
    stxdw [r7+0], r2
    ldxdw r3, [r7+8]            # packets
    add r3, 1
    stxdw [r7+8], r3
    ldxw r4, [r6+4]             # the time, and that of the last interval
    ldxw r5, [r7+24]
    mov32 r0, r4
    sub32 r0, r5
    jlt r0, %d, done
    ldxdw r1, [r7+16]           # the prediction
    mov r5, r1
    lsh r1, %d
    sub r1, r5
    add r1, r2
    rsh r1, %d
    stxdw [r7+16], r1
    stxw [r7+24], r4
    ldxw r1, [r6+0]
    mov r2, r7
    mov r3, 32
    call notify
    stdw [r7+0], 0
    stdw [r7+8], 0
    ldxw r1, [r7+28]
    add r1, 1
    stxw [r7+28], r1
done:
    mov32 r0, %d
    exit
""" % (INTERVAL, SHARE_BITS, SHARE_BITS, CONTINUE)

# Sends a frame to the port where its destination was a source.
LEARN = {'ports': hashed('ports', 6, 4, 256)}, """
    mov r6, r1
    ldxb r1, [r6+20]            # a group's address is no source
    and r1, 1
    jne r1, 0, learned
    lddw r1, map ports
    mov r2, r6
    add r2, 20
    mov r3, r6
    mov r4, 0
    call map_update
learned:
    ldxb r1, [r6+14]
    and r1, 1
    jne r1, 0, flood
    lddw r1, map ports
    mov r2, r6
    add r2, 14
    mov r3, r10
    add r3, -8
    call map_lookup
    jne r0, 0, flood
    ldxdw r1, [r10-8]
    ldxw r0, [r1+0]
    exit
flood:
    mov32 r0, %d
    exit
""" % FLOOD

# One has no way to its exit, and the other never takes it.
ENDLESS = {}, """
again:
    ja again
"""
OVERRUN = {}, """
    mov r0, 1
again:
    jne r0, 0, again
    exit
"""

PROGRAMS = {'count': COUNT, 'ewma': EWMA, 'learn': LEARN, 'endless': ENDLESS, 'overrun': OVERRUN}


def installation(name, program):
    """The words of `program_mod` that install one of the programs under a name."""
    maps, text = PROGRAMS[program]
    forms = ''.join(',map%d=(%s)' % numbered for numbered in enumerate(maps.values()))
    return 'add,name=%s%s,code=%s' % (name, forms, assemble(text, maps).hex())
