-- A Wireshark dissector of OpenQFlow on OpenFlow 1.3: the instructions, messages, multiparts and errors of
-- experimenter 0x00626f66 with the numbers from 32 on, and the message that chooses a port's discipline.
--
--   wireshark -X lua_script:openqflow.lua CAPTURE
--
-- Filters begin with "openqflow.", as openqflow.sport == 53.

local BOFUSS, FIRST, SET_DISCIPLINE = 0x00626f66, 32, 3
local proto = Proto("openqflow", "OpenQFlow")

local INSTRUCTIONS = { [32] = "QFLOW_FORWARD", [33] = "QFLOW_QOS" }
local MESSAGES = { [SET_DISCIPLINE] = "SET_DISCIPLINE", [34] = "QFLOW_KEY_MOD", [35] = "QFLOW_WRITE",
  [36] = "QFLOW_NOTIFY", [37] = "QFLOW_LIMITS", [38] = "QFLOW_REPORT", [39] = "QFLOW_COPY",
  [40] = "QFLOW_SIGNATURE_MOD", [41] = "QFLOW_LINKS_MOD" }
local MULTIPARTS = { [32] = "QFLOW_FLOWS", [33] = "QFLOW_AGGREGATES", [34] = "QFLOW_KEYS",
  [35] = "QFLOW_SIGNATURES", [36] = "QFLOW_LINKS" }
local COMMANDS = { [0] = "SET", "DELETE", "PORT" }
local REASONS = { [0] = "periodic", "threshold", "idle", "evicted" }
local STATES = { [0] = "unresolved", "pending", "resolved" }
local CAUSES = { [0] = "none", "pending", "rule", "no rule", "too early", "queue full", "port", "other" }
local SERVICES = { [0] = "best effort", "guaranteed" }
local SCOPES = { [0] = "aggregate", "flow" }
local ERRORS = { [32] = "BAD_VALUE", [33] = "BAD_COMMAND", [34] = "NO_FLOW", [35] = "NO_KEY", [36] = "TOO_MANY",
  [37] = "BAD_TABLE", [38] = "NO_SIGNATURE", [39] = "NOT_ADMITTED" }

local f = proto.fields
local function number(name, bytes, title, names)
  local make = ({ ProtoField.uint8, ProtoField.uint16, [4] = ProtoField.uint32, [8] = ProtoField.uint64 })[bytes]
  f[name] = make("openqflow." .. name, title, base.DEC, names)
  return { f[name], bytes }
end
local function address(name, title)
  f[name] = ProtoField.bytes("openqflow." .. name, title)
  return { f[name], 16 }
end
local function pad(bytes) return { nil, bytes } end

number("instruction", 4, "Instruction", INSTRUCTIONS)
number("message", 4, "Message", MESSAGES)
number("multipart", 4, "Multipart", MULTIPARTS)
number("error", 2, "Error", ERRORS)
number("length", 2, "Length")
f.actions = ProtoField.bytes("openqflow.actions", "Actions")
f.frame = ProtoField.bytes("openqflow.frame", "Packet")
f.discipline = ProtoField.string("openqflow.discipline", "Discipline")

local KEY = number("key", 1, "Aggregate key")
local PORTS = { number("sport", 2, "Source port"), number("dport", 2, "Destination port") }
local VLAN = number("vlan", 2, "VLAN_VID")
local IP_PROTO = number("ip_proto", 1, "IP protocol")
local TUPLE = { address("src", "Source"), address("dst", "Destination"), number("in_port", 4, "In port"), VLAN,
  number("eth_type", 2, "Ethernet type"), PORTS[1], PORTS[2], IP_PROTO, pad(3) }
local FORWARD = { number("port", 4, "Port"), number("failover", 4, "Failover port"), pad(4) }
local QOS = { number("type", 1, "Service", SERVICES), number("priority", 1, "Priority"), KEY,
  number("of", 1, "Of", SCOPES), number("weight", 2, "Weight"), pad(2), number("rate", 4, "Rate (kb/s)"),
  number("cap", 4, "Cap (kb/s)") }
local KEY_MOD = { number("command", 1, "Command", COMMANDS), KEY, IP_PROTO, pad(1), FORWARD[1], VLAN, PORTS[1],
  PORTS[2], pad(2), number("ipv4_src", 4, "Source mask"), number("ipv4_dst", 4, "Destination mask"),
  address("ipv6_src", "IPv6 source mask"), address("ipv6_dst", "IPv6 destination mask") }
local REGISTER = number("register", 8, "Register")
local REGISTERS = { REGISTER, REGISTER, REGISTER, REGISTER }
local WRITE = { number("parts", 1, "Parts"), pad(3), number("gap_us", 4, "Gap (us)"),
  number("copy_bytes", 4, "Bytes to copy"), pad(4) }
local COUNTERS = { number("packets", 8, "Packets"), number("bytes", 8, "Bytes") }
local DROPPED = { number("dropped_packets", 8, "Dropped packets"), number("dropped_bytes", 8, "Dropped bytes") }
local RECORD = { number("out_port", 4, "Out port"), number("reason", 1, "Reason", REASONS),
  number("state", 1, "State", STATES), KEY, number("drop_cause", 1, "Drop cause", CAUSES), number("age_ms", 8, "Age (ms)"),
  number("idle_ms", 4, "Idle (ms)"), number("rate_kbps", 4, "Rate (kb/s)"), COUNTERS[1], COUNTERS[2],
  DROPPED[1], DROPPED[2], number("share_kbps", 4, "Share (kb/s)"), number("guaranteed_kbps", 4, "Guaranteed (kb/s)"),
  number("eta_us", 4, "Until ETA (us)"), number("waiting", 4, "Bytes that wait") }
local AGGREGATE = { RECORD[1], KEY, pad(3), number("flows", 4, "Flows"), COUNTERS[1], COUNTERS[2], DROPPED[1],
  DROPPED[2] }
local PARTS = WRITE[1]
f.pattern = ProtoField.bytes("openqflow.pattern", "Pattern")
local SIGNATURE = { KEY_MOD[1], number("id", 1, "Signature"), PARTS, number("pattern_len", 1, "Bytes of the pattern"),
  number("offset", 2, "Offset"), pad(2), number("after_bytes", 8, "After bytes"),
  number("inspect_bytes", 4, "Bytes to inspect"), pad(4), { f.pattern, 32 } }
local LINKS = { WRITE[3], pad(4) }
local NOTIFY = { number("wanted", 1, "Wanted") }
local LIMITS = { number("push_ms", 4, "Between reports (ms)"), number("report_bytes", 8, "Bytes to report"),
  number("report_kbps", 4, "Rate to report (kb/s)"), number("report_share", 4, "Rate to report (1/1000 of the port)") }

-- The places of the experimenter's number in what Wireshark has dissected.
local messages = Field.new("openflow_v4.experimenter.experimenter")
local instructions = Field.new("openflow_v4.instruction_experimenter.experimenter")
local requests = Field.new("openflow_v4.multipart_request.experimenter.experimenter")
local replies = Field.new("openflow_v4.multipart_reply.experimenter.experimenter")
local errors = Field.new("openflow_v4.error.experimenter")

-- Adds the fields of some structures, as far as they are there. The place after them.
local function add(tree, tvb, at, stop, ...)
  for _, rows in ipairs { ... } do
    for _, row in ipairs(rows) do
      if at + row[2] > stop then return stop end
      if row[1] then tree:add(row[1], tvb(at, row[2])) end
      at = at + row[2]
    end
  end
  return at
end

local function add_rest(tree, tvb, at, stop, field)
  if stop > at then tree:add(field, tvb(at, stop - at)) end
end

-- A list of structures, each after its length.
local function add_list(tree, tvb, at, stop, ...)
  while at + 2 <= stop do
    local length = tvb(at, 2):uint()
    if length < 2 or at + length > stop then return end
    local item = tree:add(proto, tvb(at, length), "Item")
    item:add(f.length, tvb(at, 2))
    add(item, tvb, at + 2, at + length, ...)
    at = at + length
  end
end

-- The records that some parts say.
local function add_records(tree, tvb, at, stop, parts)
  if parts % 4 >= 2 then at = add(tree, tvb, at, stop, QOS) end
  if parts % 2 == 1 then
    at = add(tree, tvb, at, stop, FORWARD)
    add_rest(tree, tvb, at, stop, f.actions)
  end
end

local function write(tree, tvb, at, stop)
  local parts = at + 48 < stop and tvb(at + 48, 1):uint() or 0
  add_records(tree, tvb, add(tree, tvb, at, stop, TUPLE, WRITE, REGISTERS), stop, parts)
end

local function signature(tree, tvb, at, stop)
  local parts = at + 2 < stop and tvb(at + 2, 1):uint() or 0
  add_records(tree, tvb, add(tree, tvb, at, stop, SIGNATURE), stop, parts)
end

local function links(tree, tvb, at, stop)
  at = add(tree, tvb, at, stop, LINKS)
  while at + 4 <= stop do at = add(tree, tvb, at, stop, { FORWARD[1] }) end
end

local function message(tree, tvb, at, stop)
  local kind = tvb(at, 4):uint()
  tree:add(f.message, tvb(at, 4))
  at = at + 4
  if kind == 34 then
    add(tree, tvb, at, stop, KEY_MOD)
  elseif kind == 35 then
    write(tree, tvb, at, stop)
  elseif kind == 36 then
    add(tree, tvb, at, stop, NOTIFY)
  elseif kind == 37 then
    add(tree, tvb, at, stop, LIMITS)
  elseif kind == 38 then
    add_list(tree, tvb, at, stop, TUPLE, RECORD, QOS, REGISTERS)
  elseif kind == 39 then
    at = add(tree, tvb, at, stop, TUPLE)
    add_rest(tree, tvb, at, stop, f.frame)
  elseif kind == 40 then
    signature(tree, tvb, at, stop)
  elseif kind == 41 then
    links(tree, tvb, at, stop)
  elseif kind == SET_DISCIPLINE then
    at = add(tree, tvb, at, stop, { FORWARD[1] })
    add_rest(tree, tvb, at, stop, f.discipline)
  end
  return MESSAGES[kind] or "message " .. kind
end

local function multipart(tree, tvb, at, stop)
  local kind = tvb(at, 4):uint()
  tree:add(f.multipart, tvb(at, 4))
  at = at + 4
  if kind == 32 and at + 4 <= stop and tvb(at, 2):uint() == 0 then
    add(tree, tvb, at, stop, { pad(2), KEY, pad(1) }, TUPLE, TUPLE)
  elseif kind == 32 then
    add_list(tree, tvb, at, stop, TUPLE, RECORD, QOS, REGISTERS)
  elseif kind == 33 then
    add_list(tree, tvb, at, stop, AGGREGATE, TUPLE)
  elseif kind == 34 then
    add_list(tree, tvb, at, stop, KEY_MOD)
  elseif (kind == 35 or kind == 36) and at + 2 <= stop then
    (kind == 35 and signature or links)(tree, tvb, at + 2, math.min(stop, at + tvb(at, 2):uint()))
  end
  return MULTIPARTS[kind] or "multipart " .. kind
end

local function instruction(tree, tvb, at, stop)
  local kind = tvb(at, 4):uint()
  tree:add(f.instruction, tvb(at, 4))
  at = at + 4
  if kind == 32 then
    at = add(tree, tvb, at, stop, FORWARD)
    add_rest(tree, tvb, at, stop, f.actions)
  elseif kind == 33 then
    add(tree, tvb, at, stop, QOS)
  end
  return INSTRUCTIONS[kind] or "instruction " .. kind
end

function proto.dissector(tvb, pinfo, root)
  local names = {}
  -- Calls `read` for each structure of ours: a length stands so many bytes before the number of one that
  -- begins so many bytes before it, and its type so many bytes after or before it.
  local function each(infos, length_before, begins_before, type_at, type_bytes, read)
    for _, info in ipairs(infos) do
      local bytes, at = info.source, info.offset
      local kind = bytes(at + type_at, type_bytes):uint()
      local is_ours = kind >= FIRST or kind == SET_DISCIPLINE and read == message
      if is_ours and info.range:uint() == BOFUSS then
        local stop = at - begins_before + bytes(at - length_before, 2):uint()
        local tree = root:add(proto, bytes(at, stop - at))
        local name = read(tree, bytes, at + 4, stop)
        tree:append_text(": " .. name)
        names[#names + 1] = name
      end
    end
  end
  each({ errors() }, 10, 12, -2, 2, function(tree, bytes, at)
    tree:add(f.error, bytes(at - 6, 2))
    return ERRORS[bytes(at - 6, 2):uint()] or "error"
  end)
  each({ messages() }, 6, 8, 4, 4, message)
  each({ requests() }, 14, 16, 4, 4, multipart)
  each({ replies() }, 14, 16, 4, 4, multipart)
  each({ instructions() }, 2, 4, 4, 4, instruction)
  if #names > 0 then pinfo.cols.info:append(" [" .. table.concat(names, ", ") .. "]") end
end

register_postdissector(proto)
