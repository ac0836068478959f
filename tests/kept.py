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


def start(*options, named=True):
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
        called = ("--name", name) if named else ()
        os.execv(bofuss, [bofuss, "run", *called, *options])
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


# What is kept follows the configuration of each switch of a process.
def configure(*switches):
    with open(config, "w") as file:
        for switch, *keys in switches:
            print(f"[[switch]]\nname = '{switch}'", *keys, sep="\n", file=file)


def ctl(switch, *words):
    """Gives a command to a switch, and returns its answer. By then all is told to the manager."""
    said = subprocess.run([bofuss, "ctl", switch, *words], capture_output=True, text=True)
    manager.sendto(b"TOLD=1", f"\0{name}")
    follow("TOLD=1")
    return said.stdout + said.stderr


config = f"/tmp/{name}.toml"
atexit.register(lambda: os.path.exists(config) and os.remove(config))
one, other, third = f"{name}-1", f"{name}-2", f"{name}-3"
tap_key = f"port = ['tap:{tap}']"
other_keys = (other, "port = ['2=tap:kp1']", "listen = ['ptcp:16632:127.0.0.1']")
configure((one, tap_key), other_keys)
child = start("--config", config, named=False)
all_kept = ["listen-ptcp+16632+127.0.0.1", f"port-{tap}", "port-kp1"]
assert sorted(store) == all_kept, store
configure((one, f"port = ['7=tap:{tap}']"), other_keys)
assert "error" not in ctl(one, "reload")
assert f"7 tap:{tap}" in ctl(one, "ports")
assert sorted(store) == all_kept, "a port with another number is the same one"
configure((one, f"port = ['7=tap:{tap}', 'tap:kp2', 'nowhere']"), other_keys)
assert "nowhere" in ctl(one, "reload")
assert sorted(store) == all_kept, "the change was refused"
configure((one, "port = ['nowhere']"), other_keys, (third, "port = ['tap:kp2']"))
assert "nowhere" in ctl(one, "reload")
assert sorted(store) == all_kept, "the change was refused after a switch had started"
configure((one, f"port = ['7=tap:{tap}']"), (third, "port = ['tap:kp2']"))
assert "error" not in ctl(one, "reload")
assert sorted(store) == [f"port-{tap}", "port-kp2"], store
ctl(third, "shutdown")
while "port-kp2" in store:
    follow("FDSTOREREMOVE=1")
assert sorted(store) == [f"port-{tap}"], store
end(child, 15)
print("passed")
