"""Changes of entries that a switch makes together, at once or at a time of its clock."""

from bofuss import oflib

BUNDLE = 1
TOGETHER = 'atomic|ordered'
# How far from now switches are asked to take the time of a change.
TOLERANCE = {'seconds': 60}
NANOS = 1_000_000_000


def tolerance():
    """The request that has a switch take changes so far in the future."""
    return oflib.MultipartRequest('BUNDLE_FEATURES', {
        'flags': 'time_set_sched',
        'time_capability': {'sched_max_future': TOLERANCE, 'sched_max_past': {'seconds': 1}},
    })


def update(flows, at=None):
    """The messages that make these changes, at a time in nanoseconds if one is given."""
    for xid, flow in enumerate(flows, start=1):
        flow = oflib.flow_from_text(flow)
        flow.xid = xid
        yield oflib.BundleAddMessage(bundle_id=BUNDLE, flags=TOGETHER, message=flow, xid=xid)
    commit = oflib.BundleControl(bundle_id=BUNDLE, type='commit_request', flags=TOGETHER)
    if at is not None:
        commit.flags = TOGETHER + '|time'
        commit.scheduled = {'seconds': at // NANOS, 'nanoseconds': at % NANOS}
    yield commit
