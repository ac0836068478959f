"""When each switch changes, so that no packet meets a loop and no link has two flows of packets."""

NEVER = float('inf')
# Milliseconds of packets that are looked at, from the first that meets a changed switch on.
BEFORE, AFTER = 300, 300


def hops(path):
    """The next switch of each on a path."""
    return dict(zip(path, path[1:]))


def is_free(old, new, delays, times):
    """Whether packets, one each millisecond, meet no loop and share no link at one time."""
    first, last = old[0], old[-1]
    before, after = hops(old), hops(new)
    busy = set()
    for sent in range(-BEFORE, AFTER):
        here, now, visited = first, sent, set()
        while here != last:
            if here in visited:
                return False
            visited.add(here)
            chosen = after if now >= times.get(here, NEVER) else before
            # One that is on the old path alone has no other way.
            there = chosen.get(here) or before[here]
            if (here, there, now) in busy:
                return False
            busy.add((here, there, now))
            here, now = there, now + delays[here, there]
    return True


def schedule(old, new, delays):
    """The earliest times that are found one after the other, in milliseconds, by switch.

    Raises ValueError if there are none.
    """
    before, after = hops(old), hops(new)
    waiting = [switch for switch in after if after[switch] != before.get(switch)]
    times = {}
    for now in range(0, AFTER, 10):
        for switch in list(waiting):
            if is_free(old, new, delays, {**times, switch: now}):
                times[switch] = now
                waiting.remove(switch)
    if waiting:
        raise ValueError('no time is free for %s' % waiting)
    return times
