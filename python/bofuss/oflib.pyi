"""The types of `bofuss.oflib`; printed by python/tools/stubs.py."""

from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum, IntFlag
from typing import Any, ClassVar, NamedTuple

from typing_extensions import Buffer, Self

Value = int | str | tuple[int, int] | tuple[str, str]

class DecodeError(ValueError):
    type: int
    code: int
    experimenter: int
    offset: int
    field: str

class EncodeError(ValueError): ...

class TextError(ValueError):
    word: str
    offset: int

class ErrorRow(NamedTuple):
    type: int
    code: int
    experimenter: int
    type_name: str
    code_name: str
    meaning: str

class FieldRow(NamedTuple):
    name: str
    bits: int
    maskable: bool
    settable: bool
    aliases: list[str]

ERRORS: dict[tuple[int, int, int], ErrorRow]
FIELDS: dict[str, FieldRow]

class Match:
    def __init__(
        self, text: Match | str | Mapping[str, Any] = ..., /, **fields: Value | Sequence[Any]
    ) -> None: ...
    def __len__(self) -> int: ...
    def __contains__(self, name: str) -> bool: ...
    def __getitem__(self, name: str) -> Value: ...
    def __iter__(self) -> Iterator[str]: ...
    def get(self, name: str, default: Any = None) -> Any: ...
    def keys(self) -> list[str]: ...
    def items(self) -> list[tuple[str, Value]]: ...
    def values(self) -> list[Value]: ...
    def to_dict(self) -> dict[str, Any]: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

class ExperimenterValue:
    @staticmethod
    def from_text(kind: str, text: str) -> ExperimenterValue: ...
    @staticmethod
    def from_bytes(kind: str, bytes: Buffer) -> ExperimenterValue: ...
    @property
    def kind(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def experimenter(self) -> int: ...
    @property
    def exp_type(self) -> int: ...
    @property
    def args(self) -> dict[str, int]: ...
    @property
    def data(self) -> bytes: ...
    def __bytes__(self) -> bytes: ...

class Framer:
    def __init__(self) -> None: ...
    def feed(self, data: Buffer) -> Framer: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Message]: ...
    def __next__(self) -> Message: ...

class Record:
    @classmethod
    def from_dict(cls, members: Mapping[str, Any]) -> Self: ...
    def to_dict(self) -> dict[str, Any]: ...
    def to_text(self) -> str: ...

class Message(Record):
    name: ClassVar[str]
    xid: int
    version: int
    def encode(self) -> bytes: ...

class Action(Record): ...
class Instruction(Record): ...
class MeterBand(Record): ...
class FlowUpdate(Record): ...
class QueueProp(Record): ...
class TableFeatureProp(Record): ...

def decode(data: Buffer) -> Message: ...
def encode(message: Message) -> bytes: ...
def flow_from_text(text: str, command: int | str = ...) -> FlowMod: ...
def flow_to_text(flow: FlowMod) -> str: ...
def group_from_text(text: str, command: int | str = ...) -> GroupMod: ...
def meter_from_text(text: str, command: int | str = ...) -> MeterMod: ...
def actions_from_text(text: str) -> list[Action]: ...
def instructions_from_text(text: str) -> list[Instruction]: ...
def packet_from_text(text: str) -> tuple[int, bytes]: ...

class PortNo(IntEnum):
    """A port number; the names are the reserved ports."""
    MAX = 0xffffff00
    UNSET = 0xfffffff7
    IN_PORT = 0xfffffff8
    TABLE = 0xfffffff9
    NORMAL = 0xfffffffa
    FLOOD = 0xfffffffb
    ALL = 0xfffffffc
    CONTROLLER = 0xfffffffd
    LOCAL = 0xfffffffe
    ANY = 0xffffffff

class TableId(IntEnum):
    """A table number."""
    MAX = 0xfe
    ALL = 0xff

class GroupId(IntEnum):
    """A group number."""
    MAX = 0xffffff00
    ALL = 0xfffffffc
    ANY = 0xffffffff

class BucketId(IntEnum):
    """The number of a bucket in its group (since OpenFlow 1.5)."""
    MAX = 0xffffff00
    FIRST = 0xfffffffd
    LAST = 0xfffffffe
    ALL = 0xffffffff

class MeterId(IntEnum):
    """A meter number; 0 is none."""
    MAX = 0xffff0000
    SLOWPATH = 0xfffffffd
    CONTROLLER = 0xfffffffe
    ALL = 0xffffffff

class QueueId(IntEnum):
    """A queue number."""
    ALL = 0xffffffff

class BufferId(IntEnum):
    """The number of a buffered packet."""
    NO_BUFFER = 0xffffffff

class MaxLen(IntEnum):
    """The number of a packet's bytes that go to the controller."""
    NO_BUFFER = 0xffff

class FlowModCommand(IntEnum):
    """The commands of a flow-mod (`OFPFC_*`)."""
    ADD = 0x0
    MODIFY = 0x1
    MODIFY_STRICT = 0x2
    DELETE = 0x3
    DELETE_STRICT = 0x4

class FlowRemovedReason(IntEnum):
    """The reason for which the entry was removed (`OFPRR_*`)."""
    IDLE_TIMEOUT = 0x0
    HARD_TIMEOUT = 0x1
    DELETE = 0x2
    GROUP_DELETE = 0x3
    METER_DELETE = 0x4
    EVICTION = 0x5

class GroupModCommand(IntEnum):
    """The commands of a group-mod (`OFPGC_*`)."""
    ADD = 0x0
    MODIFY = 0x1
    DELETE = 0x2
    INSERT_BUCKET = 0x3
    REMOVE_BUCKET = 0x5
    ADD_OR_MOD = 0x8000

class GroupType(IntEnum):
    """The way in which a group uses its buckets (`OFPGT_*`)."""
    ALL = 0x0
    SELECT = 0x1
    INDIRECT = 0x2
    FF = 0x3

class MeterModCommand(IntEnum):
    """The commands of a meter-mod (`OFPMC_*`)."""
    ADD = 0x0
    MODIFY = 0x1
    DELETE = 0x2

class PacketInReason(IntEnum):
    """The reason for which the packet was sent (`OFPR_*`)."""
    NO_MATCH = 0x0
    ACTION = 0x1
    INVALID_TTL = 0x2
    ACTION_SET = 0x3
    GROUP = 0x4
    PACKET_OUT = 0x5

class PortStatusReason(IntEnum):
    """The events of a port (`OFPPR_*`)."""
    ADD = 0x0
    DELETE = 0x1
    MODIFY = 0x2

class ControllerRole(IntEnum):
    """The role of a controller (`OFPCR_ROLE_*`)."""
    NOCHANGE = 0x0
    EQUAL = 0x1
    MASTER = 0x2
    SLAVE = 0x3

class TableMiss(IntEnum):
    """The treatment of packets that no entry of a table matches, in the versions that say so of the table (`OFPTC_TABLE_MISS_*`; OpenFlow 1.1 and 1.2)."""
    ENTRY = 0x0
    CONTROLLER = 0x1
    CONTINUE = 0x2
    DROP = 0x3

class RoleStatusReason(IntEnum):
    """The reason for which a role changed that its controller did not change (`OFPCRR_*`)."""
    MASTER_REQUEST = 0x0
    CONFIG = 0x1
    EXPERIMENTER = 0x2

class TableStatusReason(IntEnum):
    """The events of a table (`OFPTR_*`)."""
    VACANCY_DOWN = 0x3
    VACANCY_UP = 0x4

class BundleControlType(IntEnum):
    """The step of a bundle that is asked for or confirmed (`OFPBCT_*`)."""
    OPEN_REQUEST = 0x0
    OPEN_REPLY = 0x1
    CLOSE_REQUEST = 0x2
    CLOSE_REPLY = 0x3
    COMMIT_REQUEST = 0x4
    COMMIT_REPLY = 0x5
    DISCARD_REQUEST = 0x6
    DISCARD_REPLY = 0x7

class FlowMonitorCommand(IntEnum):
    """The commands for a monitor (`OFPFMC_*`)."""
    ADD = 0x0
    MODIFY = 0x1
    DELETE = 0x2

class FlowUpdateEvent(IntEnum):
    """The events of a monitor (`OFPFME_*`)."""
    INITIAL = 0x0
    ADDED = 0x1
    REMOVED = 0x2
    MODIFIED = 0x3
    ABBREV = 0x4
    PAUSED = 0x5
    RESUMED = 0x6

class FlowStatsReason(IntEnum):
    """The reason for which statistics of an entry are sent (`OFPFSR_*`)."""
    STATS_REQUEST = 0x0
    STAT_TRIGGER = 0x1

class ControllerStatusReason(IntEnum):
    """The reason for which the status of a controller is sent (`OFPCSR_*`)."""
    REQUEST = 0x0
    CHANNEL_STATUS = 0x1
    ROLE = 0x2
    CONTROLLER_ADDED = 0x3
    CONTROLLER_REMOVED = 0x4
    SHORT_ID = 0x5
    EXPERIMENTER = 0x6

class ChannelStatus(IntEnum):
    """The state of the channel to a controller (`OFPCT_*`)."""
    UP = 0x0
    DOWN = 0x1

class TableFeaturesCommand(IntEnum):
    """The effect of a request on the tables that it has (`OFPTFC_*`)."""
    REPLACE = 0x0
    MODIFY = 0x1
    ENABLE = 0x2
    DISABLE = 0x3

class FlowModFlags(IntFlag):
    """Options of an entry (`OFPFF_*`)."""
    SEND_FLOW_REM = 0x1
    CHECK_OVERLAP = 0x2
    RESET_COUNTS = 0x4
    NO_PKT_COUNTS = 0x8
    NO_BYT_COUNTS = 0x10
    OR_ADD = 0x10000
    ANY_HEADER = 0x20000
    FIRST = 0x40000
    ONE_TAG = 0x80000

class Capabilities(IntFlag):
    """The capabilities of the switch (`OFPC_*`)."""
    FLOW_STATS = 0x1
    TABLE_STATS = 0x2
    PORT_STATS = 0x4
    GROUP_STATS = 0x8
    IP_REASM = 0x20
    QUEUE_STATS = 0x40
    PORT_BLOCKED = 0x100
    ARP_MATCH_IP = 0x100000000
    BUNDLES = 0x200000000
    FLOW_MONITORING = 0x400000000

class PortConfig(IntFlag):
    """The configuration of a port by a controller (`OFPPC_*`)."""
    PORT_DOWN = 0x1
    NO_RECV = 0x4
    NO_FWD = 0x20
    NO_PACKET_IN = 0x40
    NO_FLOOD = 0x100000000

class PortState(IntFlag):
    """The state of a port (`OFPPS_*`)."""
    LINK_DOWN = 0x1
    BLOCKED = 0x2
    LIVE = 0x4

class PortFeatures(IntFlag):
    """The features of a port's medium (`OFPPF_*`)."""
    HD_10MB = 0x1
    FD_10MB = 0x2
    HD_100MB = 0x4
    FD_100MB = 0x8
    HD_1GB = 0x10
    FD_1GB = 0x20
    FD_10GB = 0x40
    FD_40GB = 0x80
    FD_100GB = 0x100
    FD_1TB = 0x200
    OTHER = 0x400
    COPPER = 0x800
    FIBER = 0x1000
    AUTONEG = 0x2000
    PAUSE = 0x4000
    PAUSE_ASYM = 0x8000

class ConfigFlags(IntFlag):
    """The treatment of IP fragments: a number in two bits."""
    FRAG_DROP = 0x1
    FRAG_REASM = 0x2
    INVALID_TTL_TO_CONTROLLER = 0x10000

class GroupCapabilities(IntFlag):
    """The capabilities of groups (`OFPGFC_*`)."""
    SELECT_WEIGHT = 0x1
    SELECT_LIVENESS = 0x2
    CHAINING = 0x4
    CHAINING_CHECKS = 0x8

class MeterFlags(IntFlag):
    """Units and options of a meter (`OFPMF_*`)."""
    KBPS = 0x1
    PKTPS = 0x2
    BURST = 0x4
    STATS = 0x8

class AsyncMasks(IntFlag):
    """The masks of an asynchronous configuration; the bits have the numbers of their properties in OpenFlow 1.4 (`OFPACPT_*`)."""
    PACKET_IN_SLAVE = 0x1
    PACKET_IN = 0x2
    PORT_STATUS_SLAVE = 0x4
    PORT_STATUS = 0x8
    FLOW_REMOVED_SLAVE = 0x10
    FLOW_REMOVED = 0x20
    ROLE_STATUS_SLAVE = 0x40
    ROLE_STATUS = 0x80
    TABLE_STATUS_SLAVE = 0x100
    TABLE_STATUS = 0x200
    REQUEST_FORWARD_SLAVE = 0x400
    REQUEST_FORWARD = 0x800
    FLOW_STATS_SLAVE = 0x1000
    FLOW_STATS = 0x2000
    CONTROLLER_STATUS_SLAVE = 0x4000
    CONTROLLER_STATUS = 0x8000

class BundleFlags(IntFlag):
    """The way in which a bundle is carried out (`OFPBF_*`)."""
    ATOMIC = 0x1
    ORDERED = 0x2
    TIME = 0x4

class TableConfig(IntFlag):
    """The configuration of a table (`OFPTC_*`)."""
    EVICTION = 0x4
    VACANCY_EVENTS = 0x8

class EvictionFlags(IntFlag):
    """The criteria by which a table chooses entries to evict (`OFPTMPEF_*`)."""
    OTHER = 0x1
    IMPORTANCE = 0x2
    LIFETIME = 0x4

class OpticalPortFeatures(IntFlag):
    """The features of an optical port, and which of them are configured (`OFPOPF_*`)."""
    RX_TUNE = 0x1
    TX_TUNE = 0x2
    TX_PWR = 0x4
    USE_FREQ = 0x8

class OpticalStatsFlags(IntFlag):
    """Flags for the numbers of an optical port that are known (`OFPOSF_*`)."""
    RX_TUNE = 0x1
    TX_TUNE = 0x2
    TX_PWR = 0x4
    RX_PWR = 0x10
    TX_BIAS = 0x20
    TX_TEMP = 0x40

class FlowMonitorFlags(IntFlag):
    """The changes that a monitor reports (`OFPFMF_*`)."""
    INITIAL = 0x1
    ADD = 0x2
    REMOVED = 0x4
    MODIFY = 0x8
    INSTRUCTIONS = 0x10
    NO_ABBREV = 0x20
    ONLY_OWN = 0x40

class BundleFeatureFlags(IntFlag):
    """The features that a request asks for (`OFPBF_*`)."""
    TIMESTAMP = 0x1
    TIME_SET_SCHED = 0x2

class MeterFeatureFlags(IntFlag):
    """The features of meters: where they may be used (`OFPMFF_*`)."""
    ACTION_SET = 0x1
    ANY_POSITION = 0x2
    MULTI_LIST = 0x4

class TableFeatureFlags(IntFlag):
    """The possible uses of a table (`OFPTFF_*`)."""
    INGRESS_TABLE = 0x1
    EGRESS_TABLE = 0x2
    FIRST_EGRESS = 0x10

class StatTriggerFlags(IntFlag):
    """The flags of a trigger: how often thresholds count (`OFPSTF_*`)."""
    PERIODIC = 0x1
    ONLY_FIRST = 0x2

class ErrorType(IntEnum):
    """The types of errors (`OFPET_*`)."""
    HELLO_FAILED = 0x0
    BAD_REQUEST = 0x1
    BAD_ACTION = 0x2
    BAD_INSTRUCTION = 0x3
    BAD_MATCH = 0x4
    FLOW_MOD_FAILED = 0x5
    GROUP_MOD_FAILED = 0x6
    PORT_MOD_FAILED = 0x7
    TABLE_MOD_FAILED = 0x8
    QUEUE_OP_FAILED = 0x9
    SWITCH_CONFIG_FAILED = 0xa
    ROLE_REQUEST_FAILED = 0xb
    METER_MOD_FAILED = 0xc
    TABLE_FEATURES_FAILED = 0xd
    BAD_PROPERTY = 0xe
    ASYNC_CONFIG_FAILED = 0xf
    FLOW_MONITOR_FAILED = 0x10
    BUNDLE_FAILED = 0x11

class PortDesc(Record):
    """A port as the controller sees it."""
    port_no: int
    """Its number."""
    hw_addr: str
    """Its Ethernet address."""
    name: str
    """Its name."""
    config: int
    """The configuration by the controller."""
    state: int
    """The state."""
    curr: int
    """The features in use."""
    advertised: int
    """The features that it advertises."""
    supported: int
    """The features that it supports."""
    peer: int
    """The features that its peer advertises."""
    curr_speed: int
    """Its present speed, kb/s."""
    max_speed: int
    """Its highest speed, kb/s."""
    optical: OpticalPort | None
    """The features of an optical port (since OpenFlow 1.4)."""
    pipeline_input: list[str] | None
    """The fields in no header that its packets have when they come (since OpenFlow 1.5)."""
    pipeline_output: list[str] | None
    """The fields in no header that it takes with packets that leave (since OpenFlow 1.5)."""
    recirculate: list[int] | None
    """The ports on which packets that are sent to it may come back (since OpenFlow 1.5)."""
    experimenters: list[ExperimenterProperty]
    """Properties of experimenters (since OpenFlow 1.4)."""
    def __init__(
        self,
        port_no: int | str = ...,
        hw_addr: str = ...,
        name: str = ...,
        config: int | str = ...,
        state: int | str = ...,
        curr: int | str = ...,
        advertised: int | str = ...,
        supported: int | str = ...,
        peer: int | str = ...,
        curr_speed: int = ...,
        max_speed: int = ...,
        optical: OpticalPort | Mapping[str, Any] | None = ...,
        pipeline_input: Sequence[str] | None = ...,
        pipeline_output: Sequence[str] | None = ...,
        recirculate: Sequence[int | str] | None = ...,
        experimenters: Sequence[ExperimenterProperty | Mapping[str, Any]] = ...,
    ) -> None: ...

class ExperimenterProperty(Record):
    """A property that an experimenter defines."""
    experimenter: int
    """The experimenter."""
    exp_type: int
    """Its type of property."""
    data: bytes
    """The content."""
    def __init__(
        self,
        experimenter: int = ...,
        exp_type: int = ...,
        data: Buffer | str = ...,
    ) -> None: ...

class OpticalPort(Record):
    """The features of an optical port. Frequencies are in MHz, wavelengths in nm * 100, powers in dBm * 10."""
    supported: int
    """The features."""
    tx_min_freq_lmda: int
    """The least frequency or wavelength sent."""
    tx_max_freq_lmda: int
    """The greatest."""
    tx_grid_freq_lmda: int
    """The spacing of those between."""
    rx_min_freq_lmda: int
    """The least frequency or wavelength received."""
    rx_max_freq_lmda: int
    """The greatest."""
    rx_grid_freq_lmda: int
    """The spacing of those between."""
    tx_pwr_min: int
    """The least power sent."""
    tx_pwr_max: int
    """The greatest power sent."""
    def __init__(
        self,
        supported: int | str = ...,
        tx_min_freq_lmda: int = ...,
        tx_max_freq_lmda: int = ...,
        tx_grid_freq_lmda: int = ...,
        rx_min_freq_lmda: int = ...,
        rx_max_freq_lmda: int = ...,
        rx_grid_freq_lmda: int = ...,
        tx_pwr_min: int = ...,
        tx_pwr_max: int = ...,
    ) -> None: ...

class OpticalPortMod(Record):
    """The settings of an optical port; units as of OpticalPort."""
    configure: int
    """The settings that count."""
    freq_lmda: int
    """The frequency or wavelength."""
    fl_offset: int
    """The offset of that."""
    grid_span: int
    """The size of its grid."""
    tx_pwr: int
    """The power."""
    def __init__(
        self,
        configure: int | str = ...,
        freq_lmda: int = ...,
        fl_offset: int = ...,
        grid_span: int = ...,
        tx_pwr: int = ...,
    ) -> None: ...

class OpticalStats(Record):
    """The state of an optical port. Frequencies are in MHz, wavelengths in nm * 100, powers in dBm * 10, currents in mA * 10, temperatures in degrees Celsius * 10."""
    flags: int
    """The numbers that are known."""
    tx_freq_lmda: int
    """The frequency or wavelength sent."""
    tx_offset: int
    """The offset of that."""
    tx_grid_span: int
    """The size of its grid."""
    rx_freq_lmda: int
    """The frequency or wavelength received."""
    rx_offset: int
    """The offset of that."""
    rx_grid_span: int
    """The size of its grid."""
    tx_pwr: int
    """The power sent."""
    rx_pwr: int
    """The power received."""
    bias_current: int
    """The transmitter's bias current."""
    temperature: int
    """The transmitter's temperature."""
    def __init__(
        self,
        flags: int | str = ...,
        tx_freq_lmda: int = ...,
        tx_offset: int = ...,
        tx_grid_span: int = ...,
        rx_freq_lmda: int = ...,
        rx_offset: int = ...,
        rx_grid_span: int = ...,
        tx_pwr: int = ...,
        rx_pwr: int = ...,
        bias_current: int = ...,
        temperature: int = ...,
    ) -> None: ...

class Timestamp(Record):
    """A time: since 1970, or a span."""
    seconds: int
    """Seconds."""
    nanoseconds: int
    """Nanoseconds of a second."""
    def __init__(
        self,
        seconds: int = ...,
        nanoseconds: int = ...,
    ) -> None: ...

class TimeCapability(Record):
    """The accuracy and range of commit times."""
    sched_accuracy: Timestamp
    """The largest distance of a commit's time from the one asked for."""
    sched_max_future: Timestamp
    """The furthest time in the future for which a commit may be scheduled."""
    sched_max_past: Timestamp
    """The furthest time in the past."""
    timestamp: Timestamp
    """The time of who says this."""
    def __init__(
        self,
        sched_accuracy: Timestamp | Mapping[str, Any] = ...,
        sched_max_future: Timestamp | Mapping[str, Any] = ...,
        sched_max_past: Timestamp | Mapping[str, Any] = ...,
        timestamp: Timestamp | Mapping[str, Any] = ...,
    ) -> None: ...

class BundleFeaturesRequest(Record):
    """A request for what bundles can do."""
    flags: int
    """The features that it asks for."""
    time_capability: TimeCapability | None
    """The requester's time, and the tolerances that it asks for."""
    experimenters: list[ExperimenterProperty]
    """Properties of experimenters."""
    def __init__(
        self,
        flags: int | str = ...,
        time_capability: TimeCapability | Mapping[str, Any] | None = ...,
        experimenters: Sequence[ExperimenterProperty | Mapping[str, Any]] = ...,
    ) -> None: ...

class BundleFeatures(Record):
    """The features of bundles."""
    capabilities: int
    """The flags that they may have."""
    time_capability: TimeCapability | None
    """The features of bundles about time."""
    experimenters: list[ExperimenterProperty]
    """Properties of experimenters."""
    def __init__(
        self,
        capabilities: int | str = ...,
        time_capability: TimeCapability | Mapping[str, Any] | None = ...,
        experimenters: Sequence[ExperimenterProperty | Mapping[str, Any]] = ...,
    ) -> None: ...

class Vacancy(Record):
    """The thresholds at which a table says how full it is. Vacancy is the share of its entries that are free, in per cent."""
    vacancy_down: int
    """A vacancy below this is told."""
    vacancy_up: int
    """A vacancy above this is told."""
    vacancy: int
    """The vacancy now; zero in a request."""
    def __init__(
        self,
        vacancy_down: int = ...,
        vacancy_up: int = ...,
        vacancy: int = ...,
    ) -> None: ...

class TableDesc(Record):
    """The configuration of a table."""
    table_id: int
    """The table."""
    config: int
    """Its configuration."""
    eviction: int | None
    """The criteria by which it chooses the entries that it evicts."""
    vacancy: Vacancy | None
    """The thresholds at which it says how full it is."""
    experimenters: list[ExperimenterProperty]
    """Properties of experimenters."""
    def __init__(
        self,
        table_id: int | str = ...,
        config: int | str = ...,
        eviction: int | str | None = ...,
        vacancy: Vacancy | Mapping[str, Any] | None = ...,
        experimenters: Sequence[ExperimenterProperty | Mapping[str, Any]] = ...,
    ) -> None: ...

class QueueDesc(Record):
    """A queue with its properties (since OpenFlow 1.4, in place of QUEUE_GET_CONFIG)."""
    port_no: int
    """The port."""
    queue_id: int
    """The queue."""
    properties: list[QueueProp]
    """Its properties."""
    def __init__(
        self,
        port_no: int | str = ...,
        queue_id: int | str = ...,
        properties: Sequence[QueueProp | Mapping[str, Any]] = ...,
    ) -> None: ...

class FlowMonitorRequest(Record):
    """Begins, changes or ends a monitor."""
    monitor_id: int
    """The monitor, one of its controller."""
    out_port: int
    """Only entries that output to this port."""
    out_group: int
    """Only entries that use this group."""
    flags: int
    """The changes to report."""
    table_id: int
    """The table, or ALL."""
    command: int
    """The command."""
    match: Match
    """Only entries that this match covers."""
    def __init__(
        self,
        monitor_id: int = ...,
        out_port: int | str = ...,
        out_group: int | str = ...,
        flags: int | str = ...,
        table_id: int | str = ...,
        command: int | str = ...,
        match: Match | str | Mapping[str, Any] = ...,
    ) -> None: ...

class MonitoredFlow(Record):
    """An entry as a monitor reports it."""
    table_id: int
    """Its table."""
    reason: int
    """The reason for which it was removed (`OFPRR_*`), of those that were."""
    idle_timeout: int
    """Its idle timeout, seconds."""
    hard_timeout: int
    """Its hard timeout, seconds."""
    priority: int
    """Its priority."""
    cookie: int
    """Its cookie."""
    match: Match
    """Its match."""
    instructions: list[Instruction]
    """Its instructions, if the monitor asked for them."""
    def __init__(
        self,
        table_id: int | str = ...,
        reason: int = ...,
        idle_timeout: int = ...,
        hard_timeout: int = ...,
        priority: int = ...,
        cookie: int = ...,
        match: Match | str | Mapping[str, Any] = ...,
        instructions: Sequence[Instruction | Mapping[str, Any]] | str = ...,
    ) -> None: ...

class FlowUpdateFull(FlowUpdate):
    """An entry: INITIAL, ADDED, REMOVED or MODIFIED."""
    event: int
    """What happened."""
    flow: MonitoredFlow
    """The entry."""
    def __init__(
        self,
        event: int | str,
        flow: MonitoredFlow | Mapping[str, Any],
    ) -> None: ...

class FlowUpdateAbbrev(FlowUpdate):
    """The flow-mod of this transaction id, the controller's own, changed entries."""
    xid: int
    """The transaction id."""
    def __init__(
        self,
        xid: int,
    ) -> None: ...

class FlowUpdateStream(FlowUpdate):
    """PAUSED or RESUMED."""
    event: int
    """What happened."""
    def __init__(
        self,
        event: int | str,
    ) -> None: ...

class Bucket(Record):
    """One bucket of a group."""
    actions: list[Action]
    """Its action set."""
    weight: int
    """Its share, in select groups."""
    watch_port: int
    """The port whose state makes it live."""
    watch_group: int
    """The group whose state makes it live."""
    bucket_id: int
    """Its number in the group: its place, in the versions that have none (before OpenFlow 1.5)."""
    experimenters: list[ExperimenterProperty]
    """Properties of experimenters (since OpenFlow 1.5)."""
    def __init__(
        self,
        actions: Sequence[Action | Mapping[str, Any]] | str = ...,
        weight: int = ...,
        watch_port: int | str = ...,
        watch_group: int | str = ...,
        bucket_id: int | str = ...,
        experimenters: Sequence[ExperimenterProperty | Mapping[str, Any]] = ...,
    ) -> None: ...

class PacketQueue(Record):
    """One queue with its properties."""
    queue_id: int
    """The queue."""
    port: int
    """Its port."""
    properties: list[QueueProp]
    """Its properties."""
    def __init__(
        self,
        queue_id: int | str = ...,
        port: int | str = ...,
        properties: Sequence[QueueProp | Mapping[str, Any]] = ...,
    ) -> None: ...

class TypeId(Record):
    """An instruction or action by its type, with its experimenter if that has one."""
    type: int
    """The type number."""
    experimenter: int
    """The experimenter of type `0xffff`, else 0."""
    def __init__(
        self,
        type: int = ...,
        experimenter: int = ...,
    ) -> None: ...

class Desc(Record):
    """The maker and the names of the switch."""
    mfr_desc: str
    """Manufacturer."""
    hw_desc: str
    """Hardware."""
    sw_desc: str
    """Software."""
    serial_num: str
    """Serial number."""
    dp_desc: str
    """A description for people."""
    def __init__(
        self,
        mfr_desc: str = ...,
        hw_desc: str = ...,
        sw_desc: str = ...,
        serial_num: str = ...,
        dp_desc: str = ...,
    ) -> None: ...

class FlowStatsRequest(Record):
    """A request for entries."""
    table_id: int
    """Their table, or ALL."""
    out_port: int
    """Only those that output to this port."""
    out_group: int
    """Only those that use this group."""
    cookie: int
    """The cookie that they must have."""
    cookie_mask: int
    """The bits of the cookie that count."""
    match: Match
    """Only those that this match covers."""
    def __init__(
        self,
        table_id: int | str = ...,
        out_port: int | str = ...,
        out_group: int | str = ...,
        cookie: int = ...,
        cookie_mask: int = ...,
        match: Match | str | Mapping[str, Any] = ...,
    ) -> None: ...

class FlowStats(Record):
    """An entry without its length."""
    table_id: int
    """Its table."""
    duration_sec: int
    """The whole seconds for which it has lived."""
    duration_nsec: int
    """The nanoseconds beyond these seconds."""
    priority: int
    """Its priority."""
    idle_timeout: int
    """Its idle timeout, seconds."""
    hard_timeout: int
    """Its hard timeout, seconds."""
    flags: int
    """Its options."""
    cookie: int
    """Its cookie."""
    packet_count: int
    """Packets that hit it; all ones if not counted."""
    byte_count: int
    """Bytes that hit it; all ones if not counted."""
    match: Match
    """Its match."""
    instructions: list[Instruction]
    """Its instructions."""
    importance: int
    """Its importance (since OpenFlow 1.4)."""
    idle_time: StatTime | None
    """The time for which it has had no packet (since OpenFlow 1.5)."""
    def __init__(
        self,
        table_id: int | str = ...,
        duration_sec: int = ...,
        duration_nsec: int = ...,
        priority: int = ...,
        idle_timeout: int = ...,
        hard_timeout: int = ...,
        flags: int | str = ...,
        cookie: int = ...,
        packet_count: int = ...,
        byte_count: int = ...,
        match: Match | str | Mapping[str, Any] = ...,
        instructions: Sequence[Instruction | Mapping[str, Any]] | str = ...,
        importance: int = ...,
        idle_time: StatTime | Mapping[str, Any] | None = ...,
    ) -> None: ...

class StatTime(Record):
    """The time for which something lasted: whole seconds, and nanoseconds beyond."""
    sec: int
    """Whole seconds."""
    nsec: int
    """Nanoseconds beyond."""
    def __init__(
        self,
        sec: int = ...,
        nsec: int = ...,
    ) -> None: ...

class Stats(Record):
    """Statistics of flow entries, or thresholds of them: those that are there."""
    duration: StatTime | None
    """The time for which an entry exists."""
    idle_time: StatTime | None
    """The time for which it has had no packet."""
    flow_count: int | None
    """Entries whose statistics these are the sums of."""
    packet_count: int | None
    """Packets."""
    byte_count: int | None
    """Bytes."""
    def __init__(
        self,
        duration: StatTime | Mapping[str, Any] | None = ...,
        idle_time: StatTime | Mapping[str, Any] | None = ...,
        flow_count: int | None = ...,
        packet_count: int | None = ...,
        byte_count: int | None = ...,
    ) -> None: ...

class FlowCounters(Record):
    """The statistics of an entry, and which it is (since OpenFlow 1.5)."""
    table_id: int
    """Its table."""
    reason: int
    """The reason for which they are sent."""
    priority: int
    """Its priority."""
    match: Match
    """Its match."""
    stats: Stats
    """Its statistics."""
    def __init__(
        self,
        table_id: int | str = ...,
        reason: int | str = ...,
        priority: int = ...,
        match: Match | str | Mapping[str, Any] = ...,
        stats: Stats | Mapping[str, Any] = ...,
    ) -> None: ...

class ControllerStatusStats(Record):
    """A controller of the switch, and how it is connected (since OpenFlow 1.5)."""
    short_id: int
    """The number that it gave itself; 0 if it gave none."""
    role: int
    """Its role."""
    reason: int
    """The reason for which this is sent."""
    channel_status: int
    """True if it is connected."""
    uri: str | None
    """The controller's address."""
    experimenters: list[ExperimenterProperty]
    """Properties of experimenters."""
    def __init__(
        self,
        short_id: int = ...,
        role: int | str = ...,
        reason: int | str = ...,
        channel_status: int | str = ...,
        uri: str | None = ...,
        experimenters: Sequence[ExperimenterProperty | Mapping[str, Any]] = ...,
    ) -> None: ...

class GroupDescRequest(Record):
    """The groups that are asked for: all, before OpenFlow 1.5."""
    group_id: int
    """The group."""
    def __init__(
        self,
        group_id: int | str = ...,
    ) -> None: ...

class PortDescRequest(Record):
    """The ports that are asked for: all, before OpenFlow 1.5."""
    port_no: int
    """The port."""
    def __init__(
        self,
        port_no: int | str = ...,
    ) -> None: ...

class AggregateStats(Record):
    """Sums over entries."""
    packet_count: int
    """Packets."""
    byte_count: int
    """Bytes."""
    flow_count: int
    """Entries."""
    def __init__(
        self,
        packet_count: int = ...,
        byte_count: int = ...,
        flow_count: int = ...,
    ) -> None: ...

class TableStats(Record):
    """The counters of a table."""
    table_id: int
    """The table."""
    active_count: int
    """Entries now."""
    lookup_count: int
    """Packets looked up."""
    matched_count: int
    """Packets that hit an entry."""
    features: TableFeatures
    """The capabilities of the table, in the versions that say so here (OpenFlow 1.0 to 1.2)."""
    def __init__(
        self,
        table_id: int | str = ...,
        active_count: int = ...,
        lookup_count: int = ...,
        matched_count: int = ...,
        features: TableFeatures | Mapping[str, Any] = ...,
    ) -> None: ...

class PortStatsRequest(Record):
    """The port that is asked for; ANY is all."""
    port_no: int
    """The port."""
    def __init__(
        self,
        port_no: int | str = ...,
    ) -> None: ...

class PortStats(Record):
    """The statistics of a port."""
    port_no: int
    """The port."""
    rx_packets: int
    """Packets received."""
    tx_packets: int
    """Packets sent."""
    rx_bytes: int
    """Bytes received."""
    tx_bytes: int
    """Bytes sent."""
    rx_dropped: int
    """Received packets dropped."""
    tx_dropped: int
    """Packets dropped instead of sent."""
    rx_errors: int
    """Receive errors."""
    tx_errors: int
    """Transmit errors."""
    rx_frame_err: int
    """Frame alignment errors."""
    rx_over_err: int
    """Overruns."""
    rx_crc_err: int
    """Checksum errors."""
    collisions: int
    """Collisions."""
    duration_sec: int
    """The whole seconds for which the port has been there."""
    duration_nsec: int
    """The nanoseconds beyond these seconds."""
    optical: OpticalStats | None
    """The state of an optical port (since OpenFlow 1.4)."""
    experimenters: list[ExperimenterProperty]
    """Properties of experimenters (since OpenFlow 1.4)."""
    def __init__(
        self,
        port_no: int | str = ...,
        rx_packets: int = ...,
        tx_packets: int = ...,
        rx_bytes: int = ...,
        tx_bytes: int = ...,
        rx_dropped: int = ...,
        tx_dropped: int = ...,
        rx_errors: int = ...,
        tx_errors: int = ...,
        rx_frame_err: int = ...,
        rx_over_err: int = ...,
        rx_crc_err: int = ...,
        collisions: int = ...,
        duration_sec: int = ...,
        duration_nsec: int = ...,
        optical: OpticalStats | Mapping[str, Any] | None = ...,
        experimenters: Sequence[ExperimenterProperty | Mapping[str, Any]] = ...,
    ) -> None: ...

class QueueStatsRequest(Record):
    """The queue that is asked for; ANY and ALL are all."""
    port_no: int
    """The port."""
    queue_id: int
    """The queue."""
    def __init__(
        self,
        port_no: int | str = ...,
        queue_id: int | str = ...,
    ) -> None: ...

class QueueStats(Record):
    """The statistics of a queue."""
    port_no: int
    """The port."""
    queue_id: int
    """The queue."""
    tx_bytes: int
    """Bytes sent."""
    tx_packets: int
    """Packets sent."""
    tx_errors: int
    """Packets dropped because the queue was full."""
    duration_sec: int
    """The whole seconds for which the queue has been there."""
    duration_nsec: int
    """The nanoseconds beyond these seconds."""
    experimenters: list[ExperimenterProperty]
    """Properties of experimenters (since OpenFlow 1.4)."""
    def __init__(
        self,
        port_no: int | str = ...,
        queue_id: int | str = ...,
        tx_bytes: int = ...,
        tx_packets: int = ...,
        tx_errors: int = ...,
        duration_sec: int = ...,
        duration_nsec: int = ...,
        experimenters: Sequence[ExperimenterProperty | Mapping[str, Any]] = ...,
    ) -> None: ...

class GroupStatsRequest(Record):
    """The group that is asked for; ALL is all."""
    group_id: int
    """The group."""
    def __init__(
        self,
        group_id: int | str = ...,
    ) -> None: ...

class BucketCounter(Record):
    """The counters of a bucket."""
    packet_count: int
    """Packets."""
    byte_count: int
    """Bytes."""
    def __init__(
        self,
        packet_count: int = ...,
        byte_count: int = ...,
    ) -> None: ...

class GroupStats(Record):
    """The statistics of a group, without its length."""
    group_id: int
    """The group."""
    ref_count: int
    """Flows and groups that refer to it."""
    packet_count: int
    """Packets."""
    byte_count: int
    """Bytes."""
    duration_sec: int
    """The whole seconds for which it has existed."""
    duration_nsec: int
    """The nanoseconds beyond these seconds."""
    bucket_stats: list[BucketCounter]
    """Its buckets."""
    def __init__(
        self,
        group_id: int | str = ...,
        ref_count: int = ...,
        packet_count: int = ...,
        byte_count: int = ...,
        duration_sec: int = ...,
        duration_nsec: int = ...,
        bucket_stats: Sequence[BucketCounter | Mapping[str, Any]] = ...,
    ) -> None: ...

class GroupDesc(Record):
    """A group as it was made."""
    type: int
    """Its type."""
    group_id: int
    """Its number."""
    buckets: list[Bucket]
    """Its buckets."""
    experimenters: list[ExperimenterProperty]
    """Properties of experimenters (since OpenFlow 1.5)."""
    def __init__(
        self,
        type: int | str = ...,
        group_id: int | str = ...,
        buckets: Sequence[Bucket | Mapping[str, Any]] = ...,
        experimenters: Sequence[ExperimenterProperty | Mapping[str, Any]] = ...,
    ) -> None: ...

class GroupFeatures(Record):
    """The features of groups, with one entry for each group type: all, select, indirect, fast failover."""
    types: int
    """A bit for each type."""
    capabilities: int
    """The capabilities."""
    max_groups: list[int]
    """The most groups of each type."""
    actions: list[int]
    """For each type, a bit for each action type."""
    def __init__(
        self,
        types: int = ...,
        capabilities: int | str = ...,
        max_groups: Sequence[int] = ...,
        actions: Sequence[int] = ...,
    ) -> None: ...

class MeterMultipartRequest(Record):
    """The meter that is asked for; ALL is all."""
    meter_id: int
    """The meter."""
    def __init__(
        self,
        meter_id: int | str = ...,
    ) -> None: ...

class MeterStats(Record):
    """The statistics of a meter."""
    meter_id: int
    """The meter."""
    flow_count: int
    """Flows that use it."""
    input: BucketCounter
    """Packets and bytes that entered it."""
    duration_sec: int
    """The whole seconds for which it has existed."""
    duration_nsec: int
    """The nanoseconds beyond these seconds."""
    band_stats: list[BucketCounter]
    """Packets and bytes in each band."""
    def __init__(
        self,
        meter_id: int | str = ...,
        flow_count: int = ...,
        input: BucketCounter | Mapping[str, Any] = ...,
        duration_sec: int = ...,
        duration_nsec: int = ...,
        band_stats: Sequence[BucketCounter | Mapping[str, Any]] = ...,
    ) -> None: ...

class MeterConfig(Record):
    """A meter as it was made."""
    flags: int
    """Units and options."""
    meter_id: int
    """The meter."""
    bands: list[MeterBand]
    """Its bands."""
    def __init__(
        self,
        flags: int | str = ...,
        meter_id: int | str = ...,
        bands: Sequence[MeterBand | Mapping[str, Any]] = ...,
    ) -> None: ...

class MeterFeatures(Record):
    """The features of meters."""
    max_meter: int
    """The most meters."""
    band_types: int
    """A bit for each band type."""
    capabilities: int
    """Units and options."""
    max_bands: int
    """The most bands of a meter."""
    max_color: int
    """The most colours."""
    features: int
    """The places where they may be used (since OpenFlow 1.5)."""
    def __init__(
        self,
        max_meter: int = ...,
        band_types: int = ...,
        capabilities: int = ...,
        max_bands: int = ...,
        max_color: int = ...,
        features: int | str = ...,
    ) -> None: ...

class TableFeatures(Record):
    """A table's features, without their length."""
    table_id: int
    """The table."""
    name: str
    """Its name."""
    metadata_match: int
    """Metadata bits that can be matched."""
    metadata_write: int
    """Metadata bits that can be written."""
    config: int
    """Configuration; zero in OpenFlow 1.3."""
    max_entries: int
    """The most entries."""
    properties: list[TableFeatureProp]
    """The capabilities."""
    command: int
    """The command, in each of its tables the same (since OpenFlow 1.5)."""
    features: int
    """The uses of the table (since OpenFlow 1.5)."""
    def __init__(
        self,
        table_id: int | str = ...,
        name: str = ...,
        metadata_match: int = ...,
        metadata_write: int = ...,
        config: int = ...,
        max_entries: int = ...,
        properties: Sequence[TableFeatureProp | Mapping[str, Any]] = ...,
        command: int | str = ...,
        features: int | str = ...,
    ) -> None: ...

class MeterBandDrop(MeterBand):
    """Drops packets beyond the rate."""
    rate: int
    """The rate, in the unit of the meter or queue."""
    burst_size: int
    """The burst, in kilobits or packets."""
    def __init__(
        self,
        rate: int,
        burst_size: int = ...,
    ) -> None: ...

class MeterBandDscpRemark(MeterBand):
    """Raises the drop precedence of packets beyond the rate."""
    rate: int
    """The rate, in the unit of the meter or queue."""
    burst_size: int
    """The burst, in kilobits or packets."""
    prec_level: int
    """How far the drop precedence is raised."""
    def __init__(
        self,
        rate: int,
        burst_size: int = ...,
        prec_level: int = ...,
    ) -> None: ...

class MeterBandExperimenter(MeterBand):
    """A band of an experimenter."""
    rate: int
    """The rate, in the unit of the meter or queue."""
    burst_size: int
    """The burst, in kilobits or packets."""
    experimenter: int
    """The experimenter's number."""
    def __init__(
        self,
        rate: int,
        burst_size: int = ...,
        experimenter: int = ...,
    ) -> None: ...

class QueuePropMinRate(QueueProp):
    """Guaranteed rate, in 1/1000 of the port's; above 1000 is none."""
    rate: int
    """The rate, in the unit of the meter or queue."""
    def __init__(
        self,
        rate: int,
    ) -> None: ...

class QueuePropMaxRate(QueueProp):
    """Rate limit, in 1/1000 of the port's; above 1000 is none."""
    rate: int
    """The rate, in the unit of the meter or queue."""
    def __init__(
        self,
        rate: int,
    ) -> None: ...

class QueuePropExperimenter(QueueProp):
    """An experimenter's: its number, its type of property, which is 0 in the versions that have no such type here (up to OpenFlow 1.3), and its data."""
    experimenter: int
    """The experimenter's number."""
    data: bytes
    """The bytes."""
    exp_type: int
    """The experimenter's type."""
    def __init__(
        self,
        experimenter: int,
        data: Buffer | str,
        exp_type: int = ...,
    ) -> None: ...

class TableFeaturePropTypes(TableFeatureProp):
    """Instructions or actions that a table has."""
    type: int
    """Its type."""
    ids: list[TypeId]
    """The types of instructions or actions."""
    def __init__(
        self,
        type: int,
        ids: Sequence[TypeId | Mapping[str, Any]],
    ) -> None: ...

class TableFeaturePropNextTables(TableFeatureProp):
    """Tables that goto_table of a table may name."""
    type: int
    """Its type."""
    next_table_ids: list[int]
    """The tables."""
    def __init__(
        self,
        type: int,
        next_table_ids: Sequence[int | str],
    ) -> None: ...

class TableFeaturePropOxm(TableFeatureProp):
    """Fields of a table, for matches or for set-field."""
    type: int
    """Its type."""
    oxm_ids: list[str]
    """The fields, each with `/mask` if it may have a mask."""
    def __init__(
        self,
        type: int,
        oxm_ids: Sequence[str],
    ) -> None: ...

class TableFeaturePropOxmValues(TableFeatureProp):
    """Values of packet types that a table takes."""
    type: int
    """Its type."""
    oxm_values: list[tuple[str, Value]]
    """The fields with their values."""
    def __init__(
        self,
        type: int,
        oxm_values: Sequence[tuple[str, Value]],
    ) -> None: ...

class TableFeaturePropExperimenter(TableFeatureProp):
    """A property of an experimenter."""
    type: int
    """Its type."""
    experimenter: int
    """The experimenter's number."""
    exp_type: int
    """The experimenter's type."""
    data: bytes
    """The bytes."""
    def __init__(
        self,
        type: int,
        experimenter: int,
        exp_type: int,
        data: Buffer | str,
    ) -> None: ...

class ActionOutput(Action):
    """One action."""
    port: int
    """The port, or a reserved one such as CONTROLLER."""
    max_len: int
    """The most bytes of a packet that goes to the controller."""
    def __init__(
        self,
        port: int | str,
        max_len: int | str = ...,
    ) -> None: ...

class ActionCopyTtlOut(Action):
    """One action."""

class ActionCopyTtlIn(Action):
    """One action."""

class ActionSetMplsTtl(Action):
    """One action."""
    mpls_ttl: int
    """The TTL of the MPLS header."""
    def __init__(
        self,
        mpls_ttl: int,
    ) -> None: ...

class ActionDecMplsTtl(Action):
    """One action."""

class ActionPushVlan(Action):
    """One action."""
    ethertype: int
    """The Ethernet type of the new or remaining header."""
    def __init__(
        self,
        ethertype: int,
    ) -> None: ...

class ActionPopVlan(Action):
    """One action."""

class ActionPushMpls(Action):
    """One action."""
    ethertype: int
    """The Ethernet type of the new or remaining header."""
    def __init__(
        self,
        ethertype: int,
    ) -> None: ...

class ActionPopMpls(Action):
    """One action."""
    ethertype: int
    """The Ethernet type of the new or remaining header."""
    def __init__(
        self,
        ethertype: int,
    ) -> None: ...

class ActionSetQueue(Action):
    """One action."""
    queue_id: int
    """The queue."""
    def __init__(
        self,
        queue_id: int | str,
    ) -> None: ...

class ActionGroup(Action):
    """One action."""
    group_id: int
    """The group."""
    def __init__(
        self,
        group_id: int | str,
    ) -> None: ...

class ActionSetNwTtl(Action):
    """One action."""
    nw_ttl: int
    """The TTL of the IP header."""
    def __init__(
        self,
        nw_ttl: int,
    ) -> None: ...

class ActionDecNwTtl(Action):
    """One action."""

class ActionSetField(Action):
    """One action."""
    field: tuple[str, Value]
    """The field's name, and its value."""
    def __init__(
        self,
        field: tuple[str, Value],
    ) -> None: ...

class ActionPushPbb(Action):
    """One action."""
    ethertype: int
    """The Ethernet type of the new or remaining header."""
    def __init__(
        self,
        ethertype: int,
    ) -> None: ...

class ActionPopPbb(Action):
    """One action."""

class ActionCopyField(Action):
    """One action."""
    src: str
    """The field to copy from."""
    dst: str
    """The field to copy to."""
    n_bits: int
    """How many bits are copied."""
    src_offset: int
    """The first bit to copy, from the lowest."""
    dst_offset: int
    """The first bit to write, from the lowest."""
    def __init__(
        self,
        src: str,
        dst: str,
        n_bits: int,
        src_offset: int = ...,
        dst_offset: int = ...,
    ) -> None: ...

class ActionMeter(Action):
    """One action."""
    meter_id: int
    """The meter."""
    def __init__(
        self,
        meter_id: int | str,
    ) -> None: ...

class ActionExperimenter(Action):
    """An action of an experimenter."""
    value: ExperimenterValue
    """The experimenter's value."""
    def __init__(
        self,
        value: ExperimenterValue | Mapping[str, Any],
    ) -> None: ...

class InstructionGotoTable(Instruction):
    """Goes on in a later table."""
    table_id: int
    """The table."""
    def __init__(
        self,
        table_id: int | str,
    ) -> None: ...

class InstructionWriteMetadata(Instruction):
    """Writes the bits of the metadata that the mask selects."""
    metadata: int
    """The bits to write."""
    metadata_mask: int
    """Which bits are written."""
    def __init__(
        self,
        metadata: int,
        metadata_mask: int = ...,
    ) -> None: ...

class InstructionWriteActions(Instruction):
    """Merges actions into the action set."""
    actions: list[Action]
    """The actions, in order."""
    def __init__(
        self,
        actions: Sequence[Action | Mapping[str, Any]] | str,
    ) -> None: ...

class InstructionApplyActions(Instruction):
    """Applies actions at once, in their order."""
    actions: list[Action]
    """The actions, in order."""
    def __init__(
        self,
        actions: Sequence[Action | Mapping[str, Any]] | str,
    ) -> None: ...

class InstructionClearActions(Instruction):
    """Empties the action set."""

class InstructionStatTrigger(Instruction):
    """Says when the entry's statistics are sent (since OpenFlow 1.5). Packets do not notice."""
    flags: int
    """Its options."""
    thresholds: Stats
    """The counts at which the controller is told."""
    def __init__(
        self,
        flags: int | str = ...,
        thresholds: Stats | Mapping[str, Any] = ...,
    ) -> None: ...

class InstructionMeter(Instruction):
    """Directs the packet to a meter, which may drop it."""
    meter_id: int
    """The meter."""
    def __init__(
        self,
        meter_id: int | str,
    ) -> None: ...

class InstructionExperimenter(Instruction):
    """An instruction of an experimenter."""
    value: ExperimenterValue
    """The experimenter's value."""
    def __init__(
        self,
        value: ExperimenterValue | Mapping[str, Any],
    ) -> None: ...

class Hello(Message):
    """The version bitmap of a hello: bit `n % 32` of word `n / 32` says that wire version `n` is spoken.  Empty where the hello has no bitmap; then the header's version is the highest one spoken."""
    bitmap: list[int]
    """The bitmap's words."""
    xid: int
    """The transaction id."""
    version: int
    """The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5."""
    def __init__(
        self,
        bitmap: Sequence[int] = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class ErrorMsg(Message):
    """An error, with the beginning of the request that caused it (or a text, for HELLO_FAILED)."""
    type: int
    """Its type."""
    code: int
    """The code of the error within its type."""
    data: bytes
    """The request's first bytes, or a text."""
    experimenter: int
    """The experimenter's number."""
    xid: int
    """The transaction id."""
    version: int
    """The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5."""
    def __init__(
        self,
        type: int = ...,
        code: int = ...,
        data: Buffer | str = ...,
        experimenter: int = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class EchoRequest(Message):
    """Asks the peer to answer with the same bytes."""
    data: bytes
    """The bytes."""
    xid: int
    """The transaction id."""
    version: int
    """The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5."""
    def __init__(
        self,
        data: Buffer | str = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class EchoReply(Message):
    """The answer to an ECHO_REQUEST, with its bytes."""
    data: bytes
    """The bytes."""
    xid: int
    """The transaction id."""
    version: int
    """The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5."""
    def __init__(
        self,
        data: Buffer | str = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class Experimenter(Message):
    """A message of an experimenter."""
    value: ExperimenterValue
    """The experimenter's value."""
    xid: int
    """The transaction id."""
    version: int
    """The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5."""
    def __init__(
        self,
        value: ExperimenterValue | Mapping[str, Any],
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class FeaturesRequest(Message):
    """Asks a switch for its features."""
    xid: int
    """The transaction id."""
    version: int
    """The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5."""
    def __init__(
        self,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class FeaturesReply(Message):
    """The body of FEATURES_REPLY."""
    datapath_id: int
    """Identifies the switch."""
    n_buffers: int
    """Packets that the switch can hold."""
    n_tables: int
    """Tables."""
    auxiliary_id: int
    """The number of this connection among the controller's; 0 for the main one."""
    capabilities: int
    """The capabilities of the switch."""
    reserved: int
    """The last word of the message, which the text keeps for later use: written as it was read, zero otherwise."""
    actions: int
    """The types of action that the switch has, one bit each as 1.0 numbers them (OpenFlow 1.0)."""
    ports: list[PortDesc]
    """The switch's ports, in the versions that list them here (OpenFlow 1.0 to 1.2)."""
    xid: int
    """The transaction id."""
    version: int
    """The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5."""
    def __init__(
        self,
        datapath_id: int = ...,
        n_buffers: int = ...,
        n_tables: int = ...,
        auxiliary_id: int = ...,
        capabilities: int | str = ...,
        reserved: int = ...,
        actions: int = ...,
        ports: Sequence[PortDesc | Mapping[str, Any]] = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class GetConfigRequest(Message):
    """Asks a switch for its configuration."""
    xid: int
    """The transaction id."""
    version: int
    """The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5."""
    def __init__(
        self,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class GetConfigReply(Message):
    """The configuration of a switch."""
    flags: int
    """Fragment handling."""
    miss_send_len: int
    """Bytes of a packet that go to the controller, where no output action says how many."""
    xid: int
    """The transaction id."""
    version: int
    """The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5."""
    def __init__(
        self,
        flags: int | str = ...,
        miss_send_len: int | str = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class SetConfig(Message):
    """Sets the configuration of a switch."""
    flags: int
    """Fragment handling."""
    miss_send_len: int
    """Bytes of a packet that go to the controller, where no output action says how many."""
    xid: int
    """The transaction id."""
    version: int
    """The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5."""
    def __init__(
        self,
        flags: int | str = ...,
        miss_send_len: int | str = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class PacketIn(Message):
    """A packet for the controller."""
    buffer_id: int
    """The buffer in which the switch holds the packet."""
    total_len: int
    """Bytes of the whole packet."""
    reason: int
    """The reason."""
    table_id: int
    """The table that was looked up."""
    cookie: int
    """The cookie of the entry that was looked up; all ones if there is none."""
    match: Match
    """Ingress port, metadata and tunnel id, those that are not zero."""
    data: bytes
    """The packet, or its beginning."""
    xid: int
    """The transaction id."""
    version: int
    """The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5."""
    def __init__(
        self,
        buffer_id: int | str = ...,
        total_len: int = ...,
        reason: int | str = ...,
        table_id: int | str = ...,
        cookie: int = ...,
        match: Match | str | Mapping[str, Any] = ...,
        data: Buffer | str = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class FlowRemoved(Message):
    """A removed entry with its last counters."""
    cookie: int
    """Its cookie."""
    priority: int
    """Its priority."""
    reason: int
    """The reason for which it was removed."""
    table_id: int
    """Its table."""
    duration_sec: int
    """The time for which it lived: whole seconds."""
    duration_nsec: int
    """And nanoseconds beyond."""
    idle_timeout: int
    """Its idle timeout, seconds."""
    hard_timeout: int
    """Its hard timeout, seconds."""
    packet_count: int
    """Packets that hit it."""
    byte_count: int
    """Bytes that hit it."""
    match: Match
    """Its match."""
    idle_time: StatTime | None
    """The time for which it had no packet (since OpenFlow 1.5)."""
    xid: int
    """The transaction id."""
    version: int
    """The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5."""
    def __init__(
        self,
        cookie: int = ...,
        priority: int = ...,
        reason: int | str = ...,
        table_id: int | str = ...,
        duration_sec: int = ...,
        duration_nsec: int = ...,
        idle_timeout: int = ...,
        hard_timeout: int = ...,
        packet_count: int = ...,
        byte_count: int = ...,
        match: Match | str | Mapping[str, Any] = ...,
        idle_time: StatTime | Mapping[str, Any] | None = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class PortStatus(Message):
    """A port came, went or changed."""
    reason: int
    """The event."""
    desc: PortDesc
    """The port afterwards."""
    xid: int
    """The transaction id."""
    version: int
    """The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5."""
    def __init__(
        self,
        reason: int | str = ...,
        desc: PortDesc | Mapping[str, Any] = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class PacketOut(Message):
    """A packet that the controller sends through the switch."""
    buffer_id: int
    """A packet that the switch holds, or NO_BUFFER."""
    in_port: int
    """The port that the packet counts as received on, or CONTROLLER."""
    actions: list[Action]
    """The actions for the packet."""
    data: bytes
    """The packet, if not buffered."""
    match: Match
    """The values of fields that are in no header, besides the ingress port (since OpenFlow 1.5)."""
    xid: int
    """The transaction id."""
    version: int
    """The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5."""
    def __init__(
        self,
        buffer_id: int | str = ...,
        in_port: int | str = ...,
        actions: Sequence[Action | Mapping[str, Any]] | str = ...,
        data: Buffer | str = ...,
        match: Match | str | Mapping[str, Any] = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class FlowMod(Message):
    """A change of flow entries."""
    cookie: int
    """The entry's cookie."""
    cookie_mask: int
    """For modify and delete: the bits of the cookie that must be equal."""
    table_id: int
    """The table."""
    command: int
    """The command."""
    idle_timeout: int
    """Seconds without a packet until the entry goes; 0 is never."""
    hard_timeout: int
    """Seconds until the entry goes; 0 is never."""
    priority: int
    """The entry's priority."""
    buffer_id: int
    """A held packet to process with the entry."""
    out_port: int
    """For delete: only entries that output to this port."""
    out_group: int
    """For delete: only entries that use this group."""
    flags: int
    """Options."""
    match: Match
    """The packets of the entry."""
    instructions: list[Instruction]
    """The instructions for these packets."""
    importance: int
    """The importance: where a full table makes room, entries of more importance stay (since OpenFlow 1.4)."""
    xid: int
    """The transaction id."""
    version: int
    """The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5."""
    def __init__(
        self,
        cookie: int = ...,
        cookie_mask: int = ...,
        table_id: int | str = ...,
        command: int | str = ...,
        idle_timeout: int = ...,
        hard_timeout: int = ...,
        priority: int = ...,
        buffer_id: int | str = ...,
        out_port: int | str = ...,
        out_group: int | str = ...,
        flags: int | str = ...,
        match: Match | str | Mapping[str, Any] = ...,
        instructions: Sequence[Instruction | Mapping[str, Any]] | str = ...,
        importance: int = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class GroupMod(Message):
    """A change of groups."""
    command: int
    """The command."""
    type: int
    """The group's type."""
    group_id: int
    """The group."""
    buckets: list[Bucket]
    """Its buckets."""
    command_bucket_id: int
    """Before or after which bucket others are inserted, or which is removed (since OpenFlow 1.5)."""
    experimenters: list[ExperimenterProperty]
    """Properties of experimenters (since OpenFlow 1.5)."""
    xid: int
    """The transaction id."""
    version: int
    """The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5."""
    def __init__(
        self,
        command: int | str = ...,
        type: int | str = ...,
        group_id: int | str = ...,
        buckets: Sequence[Bucket | Mapping[str, Any]] = ...,
        command_bucket_id: int | str = ...,
        experimenters: Sequence[ExperimenterProperty | Mapping[str, Any]] = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class PortMod(Message):
    """A change of a port's configuration."""
    port_no: int
    """The port."""
    hw_addr: str
    """Its address, as a check."""
    config: int
    """New values of the bits in `mask`."""
    mask: int
    """The bits to change."""
    advertise: int
    """The features to advertise; 0 leaves them."""
    optical: OpticalPortMod | None
    """The settings of an optical port (since OpenFlow 1.4)."""
    experimenters: list[ExperimenterProperty]
    """Properties of experimenters (since OpenFlow 1.4)."""
    xid: int
    """The transaction id."""
    version: int
    """The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5."""
    def __init__(
        self,
        port_no: int | str = ...,
        hw_addr: str = ...,
        config: int | str = ...,
        mask: int | str = ...,
        advertise: int | str = ...,
        optical: OpticalPortMod | Mapping[str, Any] | None = ...,
        experimenters: Sequence[ExperimenterProperty | Mapping[str, Any]] = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class TableMod(Message):
    """A change of a table's configuration."""
    table_id: int
    """The table, or ALL."""
    config: int
    """The configuration; OpenFlow 1.3 defines no bits (`OFPTC_DEPRECATED_MASK` is ignored)."""
    miss: int
    """The treatment of packets without an entry (OpenFlow 1.1 and 1.2)."""
    eviction: int | None
    """The criteria by which the table chooses entries to evict (since OpenFlow 1.4)."""
    vacancy: Vacancy | None
    """The thresholds at which the table says how full it is (since OpenFlow 1.4)."""
    experimenters: list[ExperimenterProperty]
    """Properties of experimenters (since OpenFlow 1.4)."""
    xid: int
    """The transaction id."""
    version: int
    """The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5."""
    def __init__(
        self,
        table_id: int | str = ...,
        config: int = ...,
        miss: int | str = ...,
        eviction: int | str | None = ...,
        vacancy: Vacancy | Mapping[str, Any] | None = ...,
        experimenters: Sequence[ExperimenterProperty | Mapping[str, Any]] = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class MultipartRequest(Message):
    """Asks for statistics or descriptions."""
    type: str
    """Its type."""
    body: BundleFeaturesRequest | ExperimenterValue | FlowStatsRequest | GroupDescRequest | GroupStatsRequest | MeterMultipartRequest | None | PortDescRequest | PortStatsRequest | QueueStatsRequest | list[FlowMonitorRequest] | list[TableFeatures]
    """What is asked, or the answer: a structure, a list of them, or None, by the type."""
    more: bool
    """True if another part of the same multipart follows."""
    xid: int
    """The transaction id."""
    version: int
    """The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5."""
    def __init__(
        self,
        type: str,
        body: BundleFeaturesRequest | ExperimenterValue | FlowStatsRequest | GroupDescRequest | GroupStatsRequest | MeterMultipartRequest | None | PortDescRequest | PortStatsRequest | QueueStatsRequest | list[FlowMonitorRequest] | list[TableFeatures] = ...,
        more: bool = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class MultipartReply(Message):
    """An answer to a MULTIPART_REQUEST, or a part of it."""
    type: str
    """Its type."""
    body: AggregateStats | BundleFeatures | Desc | ExperimenterValue | GroupFeatures | MeterFeatures | list[ControllerStatusStats] | list[FlowCounters] | list[FlowStats] | list[FlowUpdate] | list[GroupDesc] | list[GroupStats] | list[MeterConfig] | list[MeterStats] | list[PortDesc] | list[PortStats] | list[QueueDesc] | list[QueueStats] | list[TableDesc] | list[TableFeatures] | list[TableStats]
    """What is asked, or the answer: a structure, a list of them, or None, by the type."""
    more: bool
    """True if another part of the same multipart follows."""
    xid: int
    """The transaction id."""
    version: int
    """The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5."""
    def __init__(
        self,
        type: str,
        body: AggregateStats | BundleFeatures | Desc | ExperimenterValue | GroupFeatures | MeterFeatures | list[ControllerStatusStats] | list[FlowCounters] | list[FlowStats] | list[FlowUpdate] | list[GroupDesc] | list[GroupStats] | list[MeterConfig] | list[MeterStats] | list[PortDesc] | list[PortStats] | list[QueueDesc] | list[QueueStats] | list[TableDesc] | list[TableFeatures] | list[TableStats] = ...,
        more: bool = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class BarrierRequest(Message):
    """Asks a switch to finish all messages before it, and then to answer."""
    xid: int
    """The transaction id."""
    version: int
    """The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5."""
    def __init__(
        self,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class BarrierReply(Message):
    """The answer to a BARRIER_REQUEST: all messages before it are finished."""
    xid: int
    """The transaction id."""
    version: int
    """The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5."""
    def __init__(
        self,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class QueueGetConfigRequest(Message):
    """Asks for the queues of a port, or of ANY."""
    port: int
    """The port."""
    xid: int
    """The transaction id."""
    version: int
    """The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5."""
    def __init__(
        self,
        port: int | str = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class QueueGetConfigReply(Message):
    """The queues of a port."""
    port: int
    """The port asked for."""
    queues: list[PacketQueue]
    """Its queues."""
    xid: int
    """The transaction id."""
    version: int
    """The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5."""
    def __init__(
        self,
        port: int | str = ...,
        queues: Sequence[PacketQueue | Mapping[str, Any]] = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class RoleRequest(Message):
    """Asks for a role of this connection."""
    role: int
    """The role."""
    generation_id: int
    """The master election's number."""
    short_id: int
    """The number that the controller gives itself; 0 is none (since OpenFlow 1.5)."""
    xid: int
    """The transaction id."""
    version: int
    """The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5."""
    def __init__(
        self,
        role: int | str = ...,
        generation_id: int = ...,
        short_id: int = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class RoleReply(Message):
    """The role of this connection."""
    role: int
    """The role."""
    generation_id: int
    """The master election's number."""
    short_id: int
    """The number that the controller gives itself; 0 is none (since OpenFlow 1.5)."""
    xid: int
    """The transaction id."""
    version: int
    """The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5."""
    def __init__(
        self,
        role: int | str = ...,
        generation_id: int = ...,
        short_id: int = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class GetAsyncRequest(Message):
    """Asks a switch which asynchronous messages this connection gets."""
    xid: int
    """The transaction id."""
    version: int
    """The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5."""
    def __init__(
        self,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class GetAsyncReply(Message):
    """The asynchronous messages that this connection gets."""
    packet_in: int
    """PACKET_IN reasons as master or equal."""
    packet_in_slave: int
    """PACKET_IN reasons as slave."""
    port_status: int
    """PORT_STATUS reasons as master or equal."""
    port_status_slave: int
    """PORT_STATUS reasons as slave."""
    flow_removed: int
    """FLOW_REMOVED reasons as master or equal."""
    flow_removed_slave: int
    """FLOW_REMOVED reasons as slave."""
    role_status: int
    """ROLE_STATUS reasons as master or equal (this and what follows since OpenFlow 1.4)."""
    role_status_slave: int
    """ROLE_STATUS reasons as slave."""
    table_status: int
    """TABLE_STATUS reasons as master or equal."""
    table_status_slave: int
    """TABLE_STATUS reasons as slave."""
    request_forward: int
    """REQUESTFORWARD reasons as master or equal."""
    request_forward_slave: int
    """REQUESTFORWARD reasons as slave."""
    flow_stats: int
    """FLOW_STATS reasons as master or equal (this and what follows since OpenFlow 1.5)."""
    flow_stats_slave: int
    """FLOW_STATS reasons as slave."""
    controller_status: int
    """CONTROLLER_STATUS reasons as master or equal."""
    controller_status_slave: int
    """CONTROLLER_STATUS reasons as slave."""
    omitted: int
    """The masks that the message leaves out: these stay as they are."""
    experimenters: list[ExperimenterProperty]
    """Properties of experimenters, as master or equal."""
    experimenters_slave: list[ExperimenterProperty]
    """Properties of experimenters, as slave."""
    xid: int
    """The transaction id."""
    version: int
    """The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5."""
    def __init__(
        self,
        packet_in: int = ...,
        packet_in_slave: int = ...,
        port_status: int = ...,
        port_status_slave: int = ...,
        flow_removed: int = ...,
        flow_removed_slave: int = ...,
        role_status: int = ...,
        role_status_slave: int = ...,
        table_status: int = ...,
        table_status_slave: int = ...,
        request_forward: int = ...,
        request_forward_slave: int = ...,
        flow_stats: int = ...,
        flow_stats_slave: int = ...,
        controller_status: int = ...,
        controller_status_slave: int = ...,
        omitted: int | str = ...,
        experimenters: Sequence[ExperimenterProperty | Mapping[str, Any]] = ...,
        experimenters_slave: Sequence[ExperimenterProperty | Mapping[str, Any]] = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class SetAsync(Message):
    """Sets which asynchronous messages this connection gets."""
    packet_in: int
    """PACKET_IN reasons as master or equal."""
    packet_in_slave: int
    """PACKET_IN reasons as slave."""
    port_status: int
    """PORT_STATUS reasons as master or equal."""
    port_status_slave: int
    """PORT_STATUS reasons as slave."""
    flow_removed: int
    """FLOW_REMOVED reasons as master or equal."""
    flow_removed_slave: int
    """FLOW_REMOVED reasons as slave."""
    role_status: int
    """ROLE_STATUS reasons as master or equal (this and what follows since OpenFlow 1.4)."""
    role_status_slave: int
    """ROLE_STATUS reasons as slave."""
    table_status: int
    """TABLE_STATUS reasons as master or equal."""
    table_status_slave: int
    """TABLE_STATUS reasons as slave."""
    request_forward: int
    """REQUESTFORWARD reasons as master or equal."""
    request_forward_slave: int
    """REQUESTFORWARD reasons as slave."""
    flow_stats: int
    """FLOW_STATS reasons as master or equal (this and what follows since OpenFlow 1.5)."""
    flow_stats_slave: int
    """FLOW_STATS reasons as slave."""
    controller_status: int
    """CONTROLLER_STATUS reasons as master or equal."""
    controller_status_slave: int
    """CONTROLLER_STATUS reasons as slave."""
    omitted: int
    """The masks that the message leaves out: these stay as they are."""
    experimenters: list[ExperimenterProperty]
    """Properties of experimenters, as master or equal."""
    experimenters_slave: list[ExperimenterProperty]
    """Properties of experimenters, as slave."""
    xid: int
    """The transaction id."""
    version: int
    """The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5."""
    def __init__(
        self,
        packet_in: int = ...,
        packet_in_slave: int = ...,
        port_status: int = ...,
        port_status_slave: int = ...,
        flow_removed: int = ...,
        flow_removed_slave: int = ...,
        role_status: int = ...,
        role_status_slave: int = ...,
        table_status: int = ...,
        table_status_slave: int = ...,
        request_forward: int = ...,
        request_forward_slave: int = ...,
        flow_stats: int = ...,
        flow_stats_slave: int = ...,
        controller_status: int = ...,
        controller_status_slave: int = ...,
        omitted: int | str = ...,
        experimenters: Sequence[ExperimenterProperty | Mapping[str, Any]] = ...,
        experimenters_slave: Sequence[ExperimenterProperty | Mapping[str, Any]] = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class MeterMod(Message):
    """A change of meters."""
    command: int
    """The command."""
    flags: int
    """Units and options."""
    meter_id: int
    """The meter."""
    bands: list[MeterBand]
    """Its bands."""
    xid: int
    """The transaction id."""
    version: int
    """The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5."""
    def __init__(
        self,
        command: int | str = ...,
        flags: int | str = ...,
        meter_id: int | str = ...,
        bands: Sequence[MeterBand | Mapping[str, Any]] = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class RoleStatus(Message):
    """A controller's role changed, and not at its own request (since OpenFlow 1.4)."""
    role: int
    """The role now."""
    reason: int
    """The reason for which it changed."""
    generation_id: int
    """The master election's number."""
    experimenters: list[ExperimenterProperty]
    """Properties of experimenters."""
    xid: int
    """The transaction id."""
    version: int
    """The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5."""
    def __init__(
        self,
        role: int | str = ...,
        reason: int | str = ...,
        generation_id: int = ...,
        experimenters: Sequence[ExperimenterProperty | Mapping[str, Any]] = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class TableStatus(Message):
    """Something happened to a table."""
    reason: int
    """The event."""
    table: TableDesc
    """The table as it is configured."""
    xid: int
    """The transaction id."""
    version: int
    """The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5."""
    def __init__(
        self,
        reason: int | str = ...,
        table: TableDesc | Mapping[str, Any] = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class Requestforward(Message):
    """A request of another controller that changed the switch."""
    request: Message
    """The request."""
    xid: int
    """The request's transaction id."""
    version: int
    """The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5."""
    def __init__(
        self,
        request: Message | Mapping[str, Any],
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class BundleControl(Message):
    """Begins, ends or carries out a bundle, or says that this is done."""
    bundle_id: int
    """The bundle, one of its connection."""
    type: int
    """The step."""
    flags: int
    """The way in which it is carried out."""
    scheduled: Timestamp | None
    """The time at which it is carried out, if a time is named."""
    experimenters: list[ExperimenterProperty]
    """Properties of experimenters."""
    xid: int
    """The transaction id."""
    version: int
    """The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5."""
    def __init__(
        self,
        bundle_id: int = ...,
        type: int | str = ...,
        flags: int | str = ...,
        scheduled: Timestamp | Mapping[str, Any] | None = ...,
        experimenters: Sequence[ExperimenterProperty | Mapping[str, Any]] = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class BundleAddMessage(Message):
    """Adds a message to a bundle."""
    bundle_id: int
    """The bundle."""
    flags: int
    """The way in which it is carried out."""
    message: Message
    """The message."""
    experimenters: list[ExperimenterProperty]
    """Properties of experimenters."""
    xid: int
    """The transaction id of the message in it."""
    version: int
    """The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5."""
    def __init__(
        self,
        bundle_id: int = ...,
        flags: int | str = ...,
        message: Message | Mapping[str, Any] = ...,
        experimenters: Sequence[ExperimenterProperty | Mapping[str, Any]] = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class ControllerStatus(Message):
    """A controller of the switch, and how it is connected (since OpenFlow 1.5)."""
    short_id: int
    """The number that it gave itself; 0 if it gave none."""
    role: int
    """Its role."""
    reason: int
    """The reason for which this is sent."""
    channel_status: int
    """True if it is connected."""
    uri: str | None
    """The controller's address."""
    experimenters: list[ExperimenterProperty]
    """Properties of experimenters."""
    xid: int
    """The transaction id."""
    version: int
    """The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5."""
    def __init__(
        self,
        short_id: int = ...,
        role: int | str = ...,
        reason: int | str = ...,
        channel_status: int | str = ...,
        uri: str | None = ...,
        experimenters: Sequence[ExperimenterProperty | Mapping[str, Any]] = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

__all__ = [
    "Action",
    "ActionCopyField",
    "ActionCopyTtlIn",
    "ActionCopyTtlOut",
    "ActionDecMplsTtl",
    "ActionDecNwTtl",
    "ActionExperimenter",
    "ActionGroup",
    "ActionMeter",
    "ActionOutput",
    "ActionPopMpls",
    "ActionPopPbb",
    "ActionPopVlan",
    "ActionPushMpls",
    "ActionPushPbb",
    "ActionPushVlan",
    "ActionSetField",
    "ActionSetMplsTtl",
    "ActionSetNwTtl",
    "ActionSetQueue",
    "AggregateStats",
    "AsyncMasks",
    "BarrierReply",
    "BarrierRequest",
    "Bucket",
    "BucketCounter",
    "BucketId",
    "BufferId",
    "BundleAddMessage",
    "BundleControl",
    "BundleControlType",
    "BundleFeatureFlags",
    "BundleFeatures",
    "BundleFeaturesRequest",
    "BundleFlags",
    "Capabilities",
    "ChannelStatus",
    "ConfigFlags",
    "ControllerRole",
    "ControllerStatus",
    "ControllerStatusReason",
    "ControllerStatusStats",
    "DecodeError",
    "Desc",
    "ERRORS",
    "EchoReply",
    "EchoRequest",
    "EncodeError",
    "ErrorMsg",
    "ErrorRow",
    "ErrorType",
    "EvictionFlags",
    "Experimenter",
    "ExperimenterProperty",
    "ExperimenterValue",
    "FIELDS",
    "FeaturesReply",
    "FeaturesRequest",
    "FieldRow",
    "FlowCounters",
    "FlowMod",
    "FlowModCommand",
    "FlowModFlags",
    "FlowMonitorCommand",
    "FlowMonitorFlags",
    "FlowMonitorRequest",
    "FlowRemoved",
    "FlowRemovedReason",
    "FlowStats",
    "FlowStatsReason",
    "FlowStatsRequest",
    "FlowUpdate",
    "FlowUpdateAbbrev",
    "FlowUpdateEvent",
    "FlowUpdateFull",
    "FlowUpdateStream",
    "Framer",
    "GetAsyncReply",
    "GetAsyncRequest",
    "GetConfigReply",
    "GetConfigRequest",
    "GroupCapabilities",
    "GroupDesc",
    "GroupDescRequest",
    "GroupFeatures",
    "GroupId",
    "GroupMod",
    "GroupModCommand",
    "GroupStats",
    "GroupStatsRequest",
    "GroupType",
    "Hello",
    "Instruction",
    "InstructionApplyActions",
    "InstructionClearActions",
    "InstructionExperimenter",
    "InstructionGotoTable",
    "InstructionMeter",
    "InstructionStatTrigger",
    "InstructionWriteActions",
    "InstructionWriteMetadata",
    "Match",
    "MaxLen",
    "Message",
    "MeterBand",
    "MeterBandDrop",
    "MeterBandDscpRemark",
    "MeterBandExperimenter",
    "MeterConfig",
    "MeterFeatureFlags",
    "MeterFeatures",
    "MeterFlags",
    "MeterId",
    "MeterMod",
    "MeterModCommand",
    "MeterMultipartRequest",
    "MeterStats",
    "MonitoredFlow",
    "MultipartReply",
    "MultipartRequest",
    "OpticalPort",
    "OpticalPortFeatures",
    "OpticalPortMod",
    "OpticalStats",
    "OpticalStatsFlags",
    "PacketIn",
    "PacketInReason",
    "PacketOut",
    "PacketQueue",
    "PortConfig",
    "PortDesc",
    "PortDescRequest",
    "PortFeatures",
    "PortMod",
    "PortNo",
    "PortState",
    "PortStats",
    "PortStatsRequest",
    "PortStatus",
    "PortStatusReason",
    "QueueDesc",
    "QueueGetConfigReply",
    "QueueGetConfigRequest",
    "QueueId",
    "QueueProp",
    "QueuePropExperimenter",
    "QueuePropMaxRate",
    "QueuePropMinRate",
    "QueueStats",
    "QueueStatsRequest",
    "Record",
    "Requestforward",
    "RoleReply",
    "RoleRequest",
    "RoleStatus",
    "RoleStatusReason",
    "SetAsync",
    "SetConfig",
    "StatTime",
    "StatTriggerFlags",
    "Stats",
    "TableConfig",
    "TableDesc",
    "TableFeatureFlags",
    "TableFeatureProp",
    "TableFeaturePropExperimenter",
    "TableFeaturePropNextTables",
    "TableFeaturePropOxm",
    "TableFeaturePropOxmValues",
    "TableFeaturePropTypes",
    "TableFeatures",
    "TableFeaturesCommand",
    "TableId",
    "TableMiss",
    "TableMod",
    "TableStats",
    "TableStatus",
    "TableStatusReason",
    "TextError",
    "TimeCapability",
    "Timestamp",
    "TypeId",
    "Vacancy",
    "actions_from_text",
    "decode",
    "encode",
    "flow_from_text",
    "flow_to_text",
    "group_from_text",
    "instructions_from_text",
    "meter_from_text",
    "packet_from_text",
]
