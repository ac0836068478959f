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
    MAX = 0xfe
    ALL = 0xff

class GroupId(IntEnum):
    MAX = 0xffffff00
    ALL = 0xfffffffc
    ANY = 0xffffffff

class BucketId(IntEnum):
    MAX = 0xffffff00
    FIRST = 0xfffffffd
    LAST = 0xfffffffe
    ALL = 0xffffffff

class MeterId(IntEnum):
    MAX = 0xffff0000
    SLOWPATH = 0xfffffffd
    CONTROLLER = 0xfffffffe
    ALL = 0xffffffff

class QueueId(IntEnum):
    ALL = 0xffffffff

class BufferId(IntEnum):
    NO_BUFFER = 0xffffffff

class MaxLen(IntEnum):
    NO_BUFFER = 0xffff

class FlowModCommand(IntEnum):
    ADD = 0x0
    MODIFY = 0x1
    MODIFY_STRICT = 0x2
    DELETE = 0x3
    DELETE_STRICT = 0x4

class FlowRemovedReason(IntEnum):
    IDLE_TIMEOUT = 0x0
    HARD_TIMEOUT = 0x1
    DELETE = 0x2
    GROUP_DELETE = 0x3
    METER_DELETE = 0x4
    EVICTION = 0x5

class GroupModCommand(IntEnum):
    ADD = 0x0
    MODIFY = 0x1
    DELETE = 0x2
    INSERT_BUCKET = 0x3
    REMOVE_BUCKET = 0x5
    ADD_OR_MOD = 0x8000

class GroupType(IntEnum):
    ALL = 0x0
    SELECT = 0x1
    INDIRECT = 0x2
    FF = 0x3

class MeterModCommand(IntEnum):
    ADD = 0x0
    MODIFY = 0x1
    DELETE = 0x2

class PacketInReason(IntEnum):
    NO_MATCH = 0x0
    ACTION = 0x1
    INVALID_TTL = 0x2
    ACTION_SET = 0x3
    GROUP = 0x4
    PACKET_OUT = 0x5

class PortStatusReason(IntEnum):
    ADD = 0x0
    DELETE = 0x1
    MODIFY = 0x2

class ControllerRole(IntEnum):
    NOCHANGE = 0x0
    EQUAL = 0x1
    MASTER = 0x2
    SLAVE = 0x3

class TableMiss(IntEnum):
    ENTRY = 0x0
    CONTROLLER = 0x1
    CONTINUE = 0x2
    DROP = 0x3

class RoleStatusReason(IntEnum):
    MASTER_REQUEST = 0x0
    CONFIG = 0x1
    EXPERIMENTER = 0x2

class TableStatusReason(IntEnum):
    VACANCY_DOWN = 0x3
    VACANCY_UP = 0x4

class BundleControlType(IntEnum):
    OPEN_REQUEST = 0x0
    OPEN_REPLY = 0x1
    CLOSE_REQUEST = 0x2
    CLOSE_REPLY = 0x3
    COMMIT_REQUEST = 0x4
    COMMIT_REPLY = 0x5
    DISCARD_REQUEST = 0x6
    DISCARD_REPLY = 0x7

class FlowMonitorCommand(IntEnum):
    ADD = 0x0
    MODIFY = 0x1
    DELETE = 0x2

class FlowUpdateEvent(IntEnum):
    INITIAL = 0x0
    ADDED = 0x1
    REMOVED = 0x2
    MODIFIED = 0x3
    ABBREV = 0x4
    PAUSED = 0x5
    RESUMED = 0x6

class FlowStatsReason(IntEnum):
    STATS_REQUEST = 0x0
    STAT_TRIGGER = 0x1

class ControllerStatusReason(IntEnum):
    REQUEST = 0x0
    CHANNEL_STATUS = 0x1
    ROLE = 0x2
    CONTROLLER_ADDED = 0x3
    CONTROLLER_REMOVED = 0x4
    SHORT_ID = 0x5
    EXPERIMENTER = 0x6

class ChannelStatus(IntEnum):
    UP = 0x0
    DOWN = 0x1

class TableFeaturesCommand(IntEnum):
    REPLACE = 0x0
    MODIFY = 0x1
    ENABLE = 0x2
    DISABLE = 0x3

class FlowModFlags(IntFlag):
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
    PORT_DOWN = 0x1
    NO_RECV = 0x4
    NO_FWD = 0x20
    NO_PACKET_IN = 0x40
    NO_FLOOD = 0x100000000

class PortState(IntFlag):
    LINK_DOWN = 0x1
    BLOCKED = 0x2
    LIVE = 0x4

class PortFeatures(IntFlag):
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
    FRAG_DROP = 0x1
    FRAG_REASM = 0x2
    INVALID_TTL_TO_CONTROLLER = 0x10000

class GroupCapabilities(IntFlag):
    SELECT_WEIGHT = 0x1
    SELECT_LIVENESS = 0x2
    CHAINING = 0x4
    CHAINING_CHECKS = 0x8

class MeterFlags(IntFlag):
    KBPS = 0x1
    PKTPS = 0x2
    BURST = 0x4
    STATS = 0x8

class AsyncMasks(IntFlag):
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
    ATOMIC = 0x1
    ORDERED = 0x2
    TIME = 0x4

class TableConfig(IntFlag):
    EVICTION = 0x4
    VACANCY_EVENTS = 0x8

class EvictionFlags(IntFlag):
    OTHER = 0x1
    IMPORTANCE = 0x2
    LIFETIME = 0x4

class OpticalPortFeatures(IntFlag):
    RX_TUNE = 0x1
    TX_TUNE = 0x2
    TX_PWR = 0x4
    USE_FREQ = 0x8

class OpticalStatsFlags(IntFlag):
    RX_TUNE = 0x1
    TX_TUNE = 0x2
    TX_PWR = 0x4
    RX_PWR = 0x10
    TX_BIAS = 0x20
    TX_TEMP = 0x40

class FlowMonitorFlags(IntFlag):
    INITIAL = 0x1
    ADD = 0x2
    REMOVED = 0x4
    MODIFY = 0x8
    INSTRUCTIONS = 0x10
    NO_ABBREV = 0x20
    ONLY_OWN = 0x40

class BundleFeatureFlags(IntFlag):
    TIMESTAMP = 0x1
    TIME_SET_SCHED = 0x2

class MeterFeatureFlags(IntFlag):
    ACTION_SET = 0x1
    ANY_POSITION = 0x2
    MULTI_LIST = 0x4

class TableFeatureFlags(IntFlag):
    INGRESS_TABLE = 0x1
    EGRESS_TABLE = 0x2
    FIRST_EGRESS = 0x10

class StatTriggerFlags(IntFlag):
    PERIODIC = 0x1
    ONLY_FIRST = 0x2

class ErrorType(IntEnum):
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
    port_no: int
    hw_addr: str
    name: str
    config: int
    state: int
    curr: int
    advertised: int
    supported: int
    peer: int
    curr_speed: int
    max_speed: int
    optical: OpticalPort | None
    pipeline_input: list[str] | None
    pipeline_output: list[str] | None
    recirculate: list[int] | None
    experimenters: list[ExperimenterProperty]
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
    experimenter: int
    exp_type: int
    data: bytes
    def __init__(
        self,
        experimenter: int = ...,
        exp_type: int = ...,
        data: Buffer | str = ...,
    ) -> None: ...

class OpticalPort(Record):
    supported: int
    tx_min_freq_lmda: int
    tx_max_freq_lmda: int
    tx_grid_freq_lmda: int
    rx_min_freq_lmda: int
    rx_max_freq_lmda: int
    rx_grid_freq_lmda: int
    tx_pwr_min: int
    tx_pwr_max: int
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
    configure: int
    freq_lmda: int
    fl_offset: int
    grid_span: int
    tx_pwr: int
    def __init__(
        self,
        configure: int | str = ...,
        freq_lmda: int = ...,
        fl_offset: int = ...,
        grid_span: int = ...,
        tx_pwr: int = ...,
    ) -> None: ...

class OpticalStats(Record):
    flags: int
    tx_freq_lmda: int
    tx_offset: int
    tx_grid_span: int
    rx_freq_lmda: int
    rx_offset: int
    rx_grid_span: int
    tx_pwr: int
    rx_pwr: int
    bias_current: int
    temperature: int
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
    seconds: int
    nanoseconds: int
    def __init__(
        self,
        seconds: int = ...,
        nanoseconds: int = ...,
    ) -> None: ...

class TimeCapability(Record):
    sched_accuracy: Timestamp
    sched_max_future: Timestamp
    sched_max_past: Timestamp
    timestamp: Timestamp
    def __init__(
        self,
        sched_accuracy: Timestamp | Mapping[str, Any] = ...,
        sched_max_future: Timestamp | Mapping[str, Any] = ...,
        sched_max_past: Timestamp | Mapping[str, Any] = ...,
        timestamp: Timestamp | Mapping[str, Any] = ...,
    ) -> None: ...

class BundleFeaturesRequest(Record):
    flags: int
    time_capability: TimeCapability | None
    experimenters: list[ExperimenterProperty]
    def __init__(
        self,
        flags: int | str = ...,
        time_capability: TimeCapability | Mapping[str, Any] | None = ...,
        experimenters: Sequence[ExperimenterProperty | Mapping[str, Any]] = ...,
    ) -> None: ...

class BundleFeatures(Record):
    capabilities: int
    time_capability: TimeCapability | None
    experimenters: list[ExperimenterProperty]
    def __init__(
        self,
        capabilities: int | str = ...,
        time_capability: TimeCapability | Mapping[str, Any] | None = ...,
        experimenters: Sequence[ExperimenterProperty | Mapping[str, Any]] = ...,
    ) -> None: ...

class Vacancy(Record):
    vacancy_down: int
    vacancy_up: int
    vacancy: int
    def __init__(
        self,
        vacancy_down: int = ...,
        vacancy_up: int = ...,
        vacancy: int = ...,
    ) -> None: ...

class TableDesc(Record):
    table_id: int
    config: int
    eviction: int | None
    vacancy: Vacancy | None
    experimenters: list[ExperimenterProperty]
    def __init__(
        self,
        table_id: int | str = ...,
        config: int | str = ...,
        eviction: int | str | None = ...,
        vacancy: Vacancy | Mapping[str, Any] | None = ...,
        experimenters: Sequence[ExperimenterProperty | Mapping[str, Any]] = ...,
    ) -> None: ...

class QueueDesc(Record):
    port_no: int
    queue_id: int
    properties: list[QueueProp]
    def __init__(
        self,
        port_no: int | str = ...,
        queue_id: int | str = ...,
        properties: Sequence[QueueProp | Mapping[str, Any]] = ...,
    ) -> None: ...

class FlowMonitorRequest(Record):
    monitor_id: int
    out_port: int
    out_group: int
    flags: int
    table_id: int
    command: int
    match: Match
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
    table_id: int
    reason: int
    idle_timeout: int
    hard_timeout: int
    priority: int
    cookie: int
    match: Match
    instructions: list[Instruction]
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
    event: int
    flow: MonitoredFlow
    def __init__(
        self,
        event: int | str = ...,
        flow: MonitoredFlow | Mapping[str, Any] = ...,
    ) -> None: ...

class FlowUpdateAbbrev(FlowUpdate):
    xid: int
    def __init__(
        self,
        xid: int = ...,
    ) -> None: ...

class FlowUpdateStream(FlowUpdate):
    event: int
    def __init__(
        self,
        event: int | str = ...,
    ) -> None: ...

class Bucket(Record):
    actions: list[Action]
    weight: int
    watch_port: int
    watch_group: int
    bucket_id: int
    experimenters: list[ExperimenterProperty]
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
    queue_id: int
    port: int
    properties: list[QueueProp]
    def __init__(
        self,
        queue_id: int | str = ...,
        port: int | str = ...,
        properties: Sequence[QueueProp | Mapping[str, Any]] = ...,
    ) -> None: ...

class TypeId(Record):
    type: int
    experimenter: int
    def __init__(
        self,
        type: int = ...,
        experimenter: int = ...,
    ) -> None: ...

class Desc(Record):
    mfr_desc: str
    hw_desc: str
    sw_desc: str
    serial_num: str
    dp_desc: str
    def __init__(
        self,
        mfr_desc: str = ...,
        hw_desc: str = ...,
        sw_desc: str = ...,
        serial_num: str = ...,
        dp_desc: str = ...,
    ) -> None: ...

class FlowStatsRequest(Record):
    table_id: int
    out_port: int
    out_group: int
    cookie: int
    cookie_mask: int
    match: Match
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
    table_id: int
    duration_sec: int
    duration_nsec: int
    priority: int
    idle_timeout: int
    hard_timeout: int
    flags: int
    cookie: int
    packet_count: int
    byte_count: int
    match: Match
    instructions: list[Instruction]
    importance: int
    idle_time: StatTime | None
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
    sec: int
    nsec: int
    def __init__(
        self,
        sec: int = ...,
        nsec: int = ...,
    ) -> None: ...

class Stats(Record):
    duration: StatTime | None
    idle_time: StatTime | None
    flow_count: int | None
    packet_count: int | None
    byte_count: int | None
    def __init__(
        self,
        duration: StatTime | Mapping[str, Any] | None = ...,
        idle_time: StatTime | Mapping[str, Any] | None = ...,
        flow_count: int | None = ...,
        packet_count: int | None = ...,
        byte_count: int | None = ...,
    ) -> None: ...

class FlowCounters(Record):
    table_id: int
    reason: int
    priority: int
    match: Match
    stats: Stats
    def __init__(
        self,
        table_id: int | str = ...,
        reason: int | str = ...,
        priority: int = ...,
        match: Match | str | Mapping[str, Any] = ...,
        stats: Stats | Mapping[str, Any] = ...,
    ) -> None: ...

class ControllerStatusStats(Record):
    short_id: int
    role: int
    reason: int
    channel_status: int
    uri: str | None
    experimenters: list[ExperimenterProperty]
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
    group_id: int
    def __init__(
        self,
        group_id: int | str = ...,
    ) -> None: ...

class PortDescRequest(Record):
    port_no: int
    def __init__(
        self,
        port_no: int | str = ...,
    ) -> None: ...

class AggregateStats(Record):
    packet_count: int
    byte_count: int
    flow_count: int
    def __init__(
        self,
        packet_count: int = ...,
        byte_count: int = ...,
        flow_count: int = ...,
    ) -> None: ...

class TableStats(Record):
    table_id: int
    active_count: int
    lookup_count: int
    matched_count: int
    features: TableFeatures
    def __init__(
        self,
        table_id: int | str = ...,
        active_count: int = ...,
        lookup_count: int = ...,
        matched_count: int = ...,
        features: TableFeatures | Mapping[str, Any] = ...,
    ) -> None: ...

class PortStatsRequest(Record):
    port_no: int
    def __init__(
        self,
        port_no: int | str = ...,
    ) -> None: ...

class PortStats(Record):
    port_no: int
    rx_packets: int
    tx_packets: int
    rx_bytes: int
    tx_bytes: int
    rx_dropped: int
    tx_dropped: int
    rx_errors: int
    tx_errors: int
    rx_frame_err: int
    rx_over_err: int
    rx_crc_err: int
    collisions: int
    duration_sec: int
    duration_nsec: int
    optical: OpticalStats | None
    experimenters: list[ExperimenterProperty]
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
    port_no: int
    queue_id: int
    def __init__(
        self,
        port_no: int | str = ...,
        queue_id: int | str = ...,
    ) -> None: ...

class QueueStats(Record):
    port_no: int
    queue_id: int
    tx_bytes: int
    tx_packets: int
    tx_errors: int
    duration_sec: int
    duration_nsec: int
    experimenters: list[ExperimenterProperty]
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
    group_id: int
    def __init__(
        self,
        group_id: int | str = ...,
    ) -> None: ...

class BucketCounter(Record):
    packet_count: int
    byte_count: int
    def __init__(
        self,
        packet_count: int = ...,
        byte_count: int = ...,
    ) -> None: ...

class GroupStats(Record):
    group_id: int
    ref_count: int
    packet_count: int
    byte_count: int
    duration_sec: int
    duration_nsec: int
    bucket_stats: list[BucketCounter]
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
    type: int
    group_id: int
    buckets: list[Bucket]
    experimenters: list[ExperimenterProperty]
    def __init__(
        self,
        type: int | str = ...,
        group_id: int | str = ...,
        buckets: Sequence[Bucket | Mapping[str, Any]] = ...,
        experimenters: Sequence[ExperimenterProperty | Mapping[str, Any]] = ...,
    ) -> None: ...

class GroupFeatures(Record):
    types: int
    capabilities: int
    max_groups: list[int]
    actions: list[int]
    def __init__(
        self,
        types: int = ...,
        capabilities: int | str = ...,
        max_groups: Sequence[int] = ...,
        actions: Sequence[int] = ...,
    ) -> None: ...

class MeterMultipartRequest(Record):
    meter_id: int
    def __init__(
        self,
        meter_id: int | str = ...,
    ) -> None: ...

class MeterStats(Record):
    meter_id: int
    flow_count: int
    input: BucketCounter
    duration_sec: int
    duration_nsec: int
    band_stats: list[BucketCounter]
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
    flags: int
    meter_id: int
    bands: list[MeterBand]
    def __init__(
        self,
        flags: int | str = ...,
        meter_id: int | str = ...,
        bands: Sequence[MeterBand | Mapping[str, Any]] = ...,
    ) -> None: ...

class MeterFeatures(Record):
    max_meter: int
    band_types: int
    capabilities: int
    max_bands: int
    max_color: int
    features: int
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
    table_id: int
    name: str
    metadata_match: int
    metadata_write: int
    config: int
    max_entries: int
    properties: list[TableFeatureProp]
    command: int
    features: int
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
    rate: int
    burst_size: int
    def __init__(
        self,
        rate: int = ...,
        burst_size: int = ...,
    ) -> None: ...

class MeterBandDscpRemark(MeterBand):
    rate: int
    burst_size: int
    prec_level: int
    def __init__(
        self,
        rate: int = ...,
        burst_size: int = ...,
        prec_level: int = ...,
    ) -> None: ...

class MeterBandExperimenter(MeterBand):
    rate: int
    burst_size: int
    experimenter: int
    def __init__(
        self,
        rate: int = ...,
        burst_size: int = ...,
        experimenter: int = ...,
    ) -> None: ...

class QueuePropMinRate(QueueProp):
    rate: int
    def __init__(
        self,
        rate: int = ...,
    ) -> None: ...

class QueuePropMaxRate(QueueProp):
    rate: int
    def __init__(
        self,
        rate: int = ...,
    ) -> None: ...

class QueuePropExperimenter(QueueProp):
    experimenter: int
    data: bytes
    exp_type: int
    def __init__(
        self,
        experimenter: int = ...,
        data: Buffer | str = ...,
        exp_type: int = ...,
    ) -> None: ...

class TableFeaturePropTypes(TableFeatureProp):
    type: int
    ids: list[TypeId]
    def __init__(
        self,
        type: int = ...,
        ids: Sequence[TypeId | Mapping[str, Any]] = ...,
    ) -> None: ...

class TableFeaturePropNextTables(TableFeatureProp):
    type: int
    next_table_ids: list[int]
    def __init__(
        self,
        type: int = ...,
        next_table_ids: Sequence[int | str] = ...,
    ) -> None: ...

class TableFeaturePropOxm(TableFeatureProp):
    type: int
    oxm_ids: list[str]
    def __init__(
        self,
        type: int = ...,
        oxm_ids: Sequence[str] = ...,
    ) -> None: ...

class TableFeaturePropOxmValues(TableFeatureProp):
    type: int
    oxm_values: list[tuple[str, Value]]
    def __init__(
        self,
        type: int = ...,
        oxm_values: Sequence[tuple[str, Value]] = ...,
    ) -> None: ...

class TableFeaturePropExperimenter(TableFeatureProp):
    type: int
    experimenter: int
    exp_type: int
    data: bytes
    def __init__(
        self,
        type: int = ...,
        experimenter: int = ...,
        exp_type: int = ...,
        data: Buffer | str = ...,
    ) -> None: ...

class ActionOutput(Action):
    port: int
    max_len: int
    def __init__(
        self,
        port: int | str = ...,
        max_len: int | str = ...,
    ) -> None: ...

class ActionCopyTtlOut(Action): ...

class ActionCopyTtlIn(Action): ...

class ActionSetMplsTtl(Action):
    mpls_ttl: int
    def __init__(
        self,
        mpls_ttl: int = ...,
    ) -> None: ...

class ActionDecMplsTtl(Action): ...

class ActionPushVlan(Action):
    ethertype: int
    def __init__(
        self,
        ethertype: int = ...,
    ) -> None: ...

class ActionPopVlan(Action): ...

class ActionPushMpls(Action):
    ethertype: int
    def __init__(
        self,
        ethertype: int = ...,
    ) -> None: ...

class ActionPopMpls(Action):
    ethertype: int
    def __init__(
        self,
        ethertype: int = ...,
    ) -> None: ...

class ActionSetQueue(Action):
    queue_id: int
    def __init__(
        self,
        queue_id: int | str = ...,
    ) -> None: ...

class ActionGroup(Action):
    group_id: int
    def __init__(
        self,
        group_id: int | str = ...,
    ) -> None: ...

class ActionSetNwTtl(Action):
    nw_ttl: int
    def __init__(
        self,
        nw_ttl: int = ...,
    ) -> None: ...

class ActionDecNwTtl(Action): ...

class ActionSetField(Action):
    field: tuple[str, Value]
    def __init__(
        self,
        field: tuple[str, Value] = ...,
    ) -> None: ...

class ActionPushPbb(Action):
    ethertype: int
    def __init__(
        self,
        ethertype: int = ...,
    ) -> None: ...

class ActionPopPbb(Action): ...

class ActionCopyField(Action):
    src: str
    dst: str
    n_bits: int
    src_offset: int
    dst_offset: int
    def __init__(
        self,
        src: str = ...,
        dst: str = ...,
        n_bits: int = ...,
        src_offset: int = ...,
        dst_offset: int = ...,
    ) -> None: ...

class ActionMeter(Action):
    meter_id: int
    def __init__(
        self,
        meter_id: int | str = ...,
    ) -> None: ...

class ActionExperimenter(Action):
    value: ExperimenterValue
    def __init__(
        self,
        value: ExperimenterValue | Mapping[str, Any] = ...,
    ) -> None: ...

class InstructionGotoTable(Instruction):
    table_id: int
    def __init__(
        self,
        table_id: int | str = ...,
    ) -> None: ...

class InstructionWriteMetadata(Instruction):
    metadata: int
    metadata_mask: int
    def __init__(
        self,
        metadata: int = ...,
        metadata_mask: int = ...,
    ) -> None: ...

class InstructionWriteActions(Instruction):
    actions: list[Action]
    def __init__(
        self,
        actions: Sequence[Action | Mapping[str, Any]] | str = ...,
    ) -> None: ...

class InstructionApplyActions(Instruction):
    actions: list[Action]
    def __init__(
        self,
        actions: Sequence[Action | Mapping[str, Any]] | str = ...,
    ) -> None: ...

class InstructionClearActions(Instruction): ...

class InstructionStatTrigger(Instruction):
    flags: int
    thresholds: Stats
    def __init__(
        self,
        flags: int | str = ...,
        thresholds: Stats | Mapping[str, Any] = ...,
    ) -> None: ...

class InstructionMeter(Instruction):
    meter_id: int
    def __init__(
        self,
        meter_id: int | str = ...,
    ) -> None: ...

class InstructionExperimenter(Instruction):
    value: ExperimenterValue
    def __init__(
        self,
        value: ExperimenterValue | Mapping[str, Any] = ...,
    ) -> None: ...

class Hello(Message):
    bitmap: list[int]
    xid: int
    version: int
    def __init__(
        self,
        bitmap: Sequence[int] = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class ErrorMsg(Message):
    type: int
    code: int
    data: bytes
    experimenter: int
    xid: int
    version: int
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
    data: bytes
    xid: int
    version: int
    def __init__(
        self,
        data: Buffer | str = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class EchoReply(Message):
    data: bytes
    xid: int
    version: int
    def __init__(
        self,
        data: Buffer | str = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class Experimenter(Message):
    value: ExperimenterValue
    xid: int
    version: int
    def __init__(
        self,
        value: ExperimenterValue | Mapping[str, Any] = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class FeaturesRequest(Message):
    xid: int
    version: int
    def __init__(
        self,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class FeaturesReply(Message):
    datapath_id: int
    n_buffers: int
    n_tables: int
    auxiliary_id: int
    capabilities: int
    reserved: int
    actions: int
    ports: list[PortDesc]
    xid: int
    version: int
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
    xid: int
    version: int
    def __init__(
        self,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class GetConfigReply(Message):
    flags: int
    miss_send_len: int
    xid: int
    version: int
    def __init__(
        self,
        flags: int | str = ...,
        miss_send_len: int | str = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class SetConfig(Message):
    flags: int
    miss_send_len: int
    xid: int
    version: int
    def __init__(
        self,
        flags: int | str = ...,
        miss_send_len: int | str = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class PacketIn(Message):
    buffer_id: int
    total_len: int
    reason: int
    table_id: int
    cookie: int
    match: Match
    data: bytes
    xid: int
    version: int
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
    cookie: int
    priority: int
    reason: int
    table_id: int
    duration_sec: int
    duration_nsec: int
    idle_timeout: int
    hard_timeout: int
    packet_count: int
    byte_count: int
    match: Match
    idle_time: StatTime | None
    xid: int
    version: int
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
    reason: int
    desc: PortDesc
    xid: int
    version: int
    def __init__(
        self,
        reason: int | str = ...,
        desc: PortDesc | Mapping[str, Any] = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class PacketOut(Message):
    buffer_id: int
    in_port: int
    actions: list[Action]
    data: bytes
    match: Match
    xid: int
    version: int
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
    cookie: int
    cookie_mask: int
    table_id: int
    command: int
    idle_timeout: int
    hard_timeout: int
    priority: int
    buffer_id: int
    out_port: int
    out_group: int
    flags: int
    match: Match
    instructions: list[Instruction]
    importance: int
    xid: int
    version: int
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
    command: int
    type: int
    group_id: int
    buckets: list[Bucket]
    command_bucket_id: int
    experimenters: list[ExperimenterProperty]
    xid: int
    version: int
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
    port_no: int
    hw_addr: str
    config: int
    mask: int
    advertise: int
    optical: OpticalPortMod | None
    experimenters: list[ExperimenterProperty]
    xid: int
    version: int
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
    table_id: int
    config: int
    miss: int
    eviction: int | None
    vacancy: Vacancy | None
    experimenters: list[ExperimenterProperty]
    xid: int
    version: int
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
    type: str
    body: BundleFeaturesRequest | ExperimenterValue | FlowStatsRequest | GroupDescRequest | GroupStatsRequest | MeterMultipartRequest | None | PortDescRequest | PortStatsRequest | QueueStatsRequest | list[FlowMonitorRequest] | list[TableFeatures]
    more: bool
    xid: int
    version: int
    def __init__(
        self,
        type: str = ...,
        body: BundleFeaturesRequest | ExperimenterValue | FlowStatsRequest | GroupDescRequest | GroupStatsRequest | MeterMultipartRequest | None | PortDescRequest | PortStatsRequest | QueueStatsRequest | list[FlowMonitorRequest] | list[TableFeatures] = ...,
        more: bool = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class MultipartReply(Message):
    type: str
    body: AggregateStats | BundleFeatures | Desc | ExperimenterValue | GroupFeatures | MeterFeatures | list[ControllerStatusStats] | list[FlowCounters] | list[FlowStats] | list[FlowUpdate] | list[GroupDesc] | list[GroupStats] | list[MeterConfig] | list[MeterStats] | list[PortDesc] | list[PortStats] | list[QueueDesc] | list[QueueStats] | list[TableDesc] | list[TableFeatures] | list[TableStats]
    more: bool
    xid: int
    version: int
    def __init__(
        self,
        type: str = ...,
        body: AggregateStats | BundleFeatures | Desc | ExperimenterValue | GroupFeatures | MeterFeatures | list[ControllerStatusStats] | list[FlowCounters] | list[FlowStats] | list[FlowUpdate] | list[GroupDesc] | list[GroupStats] | list[MeterConfig] | list[MeterStats] | list[PortDesc] | list[PortStats] | list[QueueDesc] | list[QueueStats] | list[TableDesc] | list[TableFeatures] | list[TableStats] = ...,
        more: bool = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class BarrierRequest(Message):
    xid: int
    version: int
    def __init__(
        self,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class BarrierReply(Message):
    xid: int
    version: int
    def __init__(
        self,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class QueueGetConfigRequest(Message):
    port: int
    xid: int
    version: int
    def __init__(
        self,
        port: int | str = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class QueueGetConfigReply(Message):
    port: int
    queues: list[PacketQueue]
    xid: int
    version: int
    def __init__(
        self,
        port: int | str = ...,
        queues: Sequence[PacketQueue | Mapping[str, Any]] = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class RoleRequest(Message):
    role: int
    generation_id: int
    short_id: int
    xid: int
    version: int
    def __init__(
        self,
        role: int | str = ...,
        generation_id: int = ...,
        short_id: int = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class RoleReply(Message):
    role: int
    generation_id: int
    short_id: int
    xid: int
    version: int
    def __init__(
        self,
        role: int | str = ...,
        generation_id: int = ...,
        short_id: int = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class GetAsyncRequest(Message):
    xid: int
    version: int
    def __init__(
        self,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class GetAsyncReply(Message):
    packet_in: int
    packet_in_slave: int
    port_status: int
    port_status_slave: int
    flow_removed: int
    flow_removed_slave: int
    role_status: int
    role_status_slave: int
    table_status: int
    table_status_slave: int
    request_forward: int
    request_forward_slave: int
    flow_stats: int
    flow_stats_slave: int
    controller_status: int
    controller_status_slave: int
    omitted: int
    experimenters: list[ExperimenterProperty]
    experimenters_slave: list[ExperimenterProperty]
    xid: int
    version: int
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
    packet_in: int
    packet_in_slave: int
    port_status: int
    port_status_slave: int
    flow_removed: int
    flow_removed_slave: int
    role_status: int
    role_status_slave: int
    table_status: int
    table_status_slave: int
    request_forward: int
    request_forward_slave: int
    flow_stats: int
    flow_stats_slave: int
    controller_status: int
    controller_status_slave: int
    omitted: int
    experimenters: list[ExperimenterProperty]
    experimenters_slave: list[ExperimenterProperty]
    xid: int
    version: int
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
    command: int
    flags: int
    meter_id: int
    bands: list[MeterBand]
    xid: int
    version: int
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
    role: int
    reason: int
    generation_id: int
    experimenters: list[ExperimenterProperty]
    xid: int
    version: int
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
    reason: int
    table: TableDesc
    xid: int
    version: int
    def __init__(
        self,
        reason: int | str = ...,
        table: TableDesc | Mapping[str, Any] = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class Requestforward(Message):
    request: Message
    xid: int
    version: int
    def __init__(
        self,
        request: Message | Mapping[str, Any] = ...,
        xid: int = ...,
        version: int = ...,
    ) -> None: ...

class BundleControl(Message):
    bundle_id: int
    type: int
    flags: int
    scheduled: Timestamp | None
    experimenters: list[ExperimenterProperty]
    xid: int
    version: int
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
    bundle_id: int
    flags: int
    message: Message
    experimenters: list[ExperimenterProperty]
    xid: int
    version: int
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
    short_id: int
    role: int
    reason: int
    channel_status: int
    uri: str | None
    experimenters: list[ExperimenterProperty]
    xid: int
    version: int
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
