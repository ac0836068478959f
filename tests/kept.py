"""A service manager that keeps descriptors: kept.py BOFUSS DPCTL NAME. Prints `passed` at the end."""

import atexit
import os
import socket
import subprocess
import sys

bofuss, dpctl, name = sys.argv[1:]
tap = "kp0"
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.bind(f"\0{name}")
manager.settimeout(20)
store = {}
running = []
atexit.register(lambda: [os.kill(child, 9) for child in running])


def start(*options):
    """Starts the switch with all that is kept, and waits until it is ready."""
    names, descriptors = list(store), list(store.values())

    def pass_on():
        high = [os.dup2(fd, 100 + n) for n, fd in enumerate(descriptors)]
        for n, fd in enumerate(high):
            os.dup2(fd, 3 + n, inheritable=True)
        os.environ.update(
            LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(high)), LISTEN_FDNAMES=":".join(names)
        )

    child = os.fork()
    if child == 0:
        os.environ["NOTIFY_SOCKET"] = f"@{name}"
        pass_on()
        os.execv(bofuss, [bofuss, "run", "--name", name, *options])
    running.append(child)
    follow("READY=1")
    return child


def follow(until):
    """Does what the switch says, until it says this."""
    while True:
        text, descriptors, _, _ = socket.recv_fds(manager, 4096, 4)
        lines = text.decode().split("\n")
        kept = next((line[7:] for line in lines if line.startswith("FDNAME=")), None)
        if "FDSTORE=1" in lines:
            assert ":" not in kept, kept
            for fd in descriptors:
                if kept in store:
                    os.close(fd)
                else:
                    store[kept] = fd
        if "FDSTOREREMOVE=1" in lines and kept in store:
            os.close(store.pop(kept))
        if until in lines:
            return


def end(child, signal):
    os.kill(child, signal)
    os.waitpid(child, 0)
    running.remove(child)


def index(interface):
    return socket.if_nametoindex(interface)


listen = "ptcp:16631:127.0.0.1"
options = ("--port", f"tap:{tap}", "--listen", listen)
child = start(*options)
assert sorted(store) == ["listen-" + listen.replace(":", "+"), f"port-{tap}"], store
first = index(tap)
for signal in (15, 9, 15):
    end(child, signal)
    assert index(tap) == first, "it stays without a switch"
    # A peer waits for the next one, and is not refused.
    waiting = socket.create_connection(("127.0.0.1", 16631))
    child = start(*options)
    assert index(tap) == first
    assert waiting.recv(8)[1] == 0, "HELLO"
    waiting.close()
    shown = subprocess.run([dpctl, "show", name], capture_output=True, text=True, check=True)
    assert f"({tap})" in shown.stdout, shown.stdout
# What another configuration does not have is let go, and what is no TAP interface is opened anew.
end(child, 15)
child = start("--port", f"tap:{tap}")
assert list(store) == [f"port-{tap}"], store
subprocess.run(["ip", "link", "del", tap], check=True)
follow("FDSTOREREMOVE=1")
end(child, 15)
store[f"port-{tap}"] = os.open("/dev/null", os.O_RDWR)
child = start("--port", f"tap:{tap}")
assert index(tap) != first
end(child, 15)
print("passed")
