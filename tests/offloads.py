"""Sends or receives what the kernel is to segment: offloads.py KIND send|receive ADDRESS; KIND: udp-gso, udp6, tcp6-options"""
import socket
import sys

UDP_SEGMENT = 103
COUNT, SIZE = 20, 1000
kind, role, address = sys.argv[1:]
family = socket.AF_INET6 if ":" in address else socket.AF_INET
data = bytes(i % 251 for i in range(COUNT * SIZE))
# A destination options header of eight bytes: next header, length 0, PadN of four.
OPTIONS = bytes([0, 0, 1, 4, 0, 0, 0, 0])
IPV6_DSTOPTS = 59


def tcp():
    s = socket.socket(family, socket.SOCK_STREAM)
    s.settimeout(15)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if role == "receive":
        s.bind((address, 5002))
        s.listen()
        print("ready", flush=True)
        peer, _ = s.accept()
        got = bytearray()
        while block := peer.recv(1 << 16):
            got += block
        assert bytes(got) == data * 500, len(got)
    else:
        s.setsockopt(socket.IPPROTO_IPV6, IPV6_DSTOPTS, OPTIONS)
        s.connect((address, 5002))
        s.sendall(data * 500)
        s.close()


def udp():
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.settimeout(15)
    if role == "receive":
        s.bind((address, 5002))
        print("ready", flush=True)
        got = [s.recv(1 << 16) for _ in range(COUNT)]
        assert all(len(one) == SIZE for one in got), [len(one) for one in got]
        assert b"".join(got) == data
    else:
        s.setsockopt(socket.SOL_UDP if hasattr(socket, "SOL_UDP") else 17, UDP_SEGMENT, SIZE)
        if family == socket.AF_INET6:
            s.setsockopt(socket.IPPROTO_IPV6, IPV6_DSTOPTS, OPTIONS if kind == "udp6" else b"")
        s.sendto(data, (address, 5002))


{"udp-gso": udp, "udp6": udp, "tcp6-options": tcp}[kind]()
