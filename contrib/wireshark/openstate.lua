-- A Wireshark dissector of the messages, actions, instructions, multiparts, match fields and errors of
-- experimenter 0xbebabeba on OpenFlow 1.3: OpenState, BEBA with packet templates, Open Packet Processor.
-- And of the instruction of experimenter 0x00626f66 that copies fields to a template's packet.
--
--   wireshark -X lua_script:openstate.lua CAPTURE
--
-- Wireshark's own dissector stops at an experimenter's number; this one goes on behind it, in a tree
-- "State tables" below the message's. Filters begin with "openstate.", as openstate.state == 3.

local EXPERIMENTER = 0xbebabeba
local BOFUSS = 0x00626f66
local PACKET_GEN_COPY = 18
local proto = Proto("openstate", "State tables (OpenState, BEBA, Open Packet Processor)")

local MESSAGES = { [0] = "STATE_MOD", "PKTTMP_MOD", "STATE_CHANGED", "FLOW_NOTIFICATION" }
local STATE_MOD = { [0] = "STATEFUL_TABLE_CONFIG", "SET_L_EXTRACTOR", "SET_U_EXTRACTOR", "SET_FLOW_STATE",
  "DEL_FLOW_STATE", "SET_GLOBAL_STATE", "RESET_GLOBAL_STATE", "SET_HEADER_FIELD_EXTRACTOR",
  "SET_CONDITION", "SET_GLOBAL_DATA_VAR", "SET_FLOW_DATA_VAR" }
local PKTTMP_MOD = { [0] = "ADD", "DEL" }
local ACTIONS = { [0] = "SET_STATE", "SET_GLOBAL_STATE", "INC_STATE", "SET_DATA_VAR",
  "WRITE_CONTEXT_TO_FIELD" }
local MULTIPARTS = { [0] = "STATE_STATS", "GLOBAL_STATE", "STATE_STATS_AND_DELETE", "STATE_STATS_SHORT",
  "STATE_STATS_SHORT_AND_DELETE" }
local CONDITIONS = { [0] = ">", "<", ">=", "<=", "==", "!=" }
local OPERANDS = { [0] = "flow variable", "global variable", "header field", "constant" }
local FUNCTIONS = { [0] = "SUM", "SUB", "MUL", "DIV", "AVG", "VAR", "EWMA", "POLY_SUM" }
local SOURCES = { [0] = "flow variable", "global variable", "state" }
local ERRORS = { [0] = "EXP_STATE_MOD_FAILED", "EXP_STATE_MOD_BAD_COMMAND", "EXP_SET_EXTRACTOR",
  "EXP_SET_FLOW_STATE", "EXP_DEL_FLOW_STATE", "BAD_EXP_MESSAGE", "BAD_EXP_ACTION", "BAD_EXP_LEN",
  "BAD_TABLE_ID", "BAD_MATCH_WILDCARD", "BAD_EXP_INSTRUCTION", "EXP_PKTTMP_MOD_FAILED",
  "EXP_PKTTMP_MOD_BAD_COMMAND", "BAD_EXTRACTOR_ID", "BAD_CONDITION_ID", "BAD_CONDITION",
  "BAD_OPERAND_TYPE", "BAD_FLOW_DATA_VAR_ID", "BAD_GLOBAL_DATA_VAR_ID", "BAD_HEADER_FIELD_SIZE",
  "BAD_OPCODE", "BAD_HEADER_EXTRACTOR", "BAD_SOURCE_TYPE" }
local FIELDS = { [0] = "global_state", "state", "condition0", "condition1", "condition2", "condition3",
  "condition4", "condition5", "condition6", "condition7", "timestamp", "random", "pkt_len" }

local f = proto.fields
local function u8(name, title, names)
  f[name] = ProtoField.uint8("openstate." .. name, title, base.DEC, names)
end
local function u32(name, title, names)
  f[name] = ProtoField.uint32("openstate." .. name, title, base.DEC, names)
end
u32("message", "Message", MESSAGES)
u8("command", "Command", STATE_MOD)
u8("template_command", "Command", PKTTMP_MOD)
u32("action", "Action", ACTIONS)
u32("instruction", "Instruction", { [0] = "IN_SWITCH_PKT_GEN", [PACKET_GEN_COPY] = "PACKET_GEN_COPY" })
u32("multipart", "Multipart", MULTIPARTS)
f.error = ProtoField.uint16("openstate.error", "Error", base.DEC, ERRORS)
f.oxm = ProtoField.uint8("openstate.oxm", "Match field", base.DEC, FIELDS, 0xfe)
f.value = ProtoField.uint32("openstate.value", "Value")
f.value_mask = ProtoField.uint32("openstate.value_mask", "Mask", base.HEX)
u8("table", "Table")
u32("table32", "Table")
u8("stateful", "Stateful")
u8("biflow", "Both directions have one key")
u8("bit", "Bit-update scope")
u32("field_count", "Fields")
f.field = ProtoField.uint32("openstate.field", "Field (OXM header)", base.HEX)
u32("key_len", "Key length")
f.key_len16 = ProtoField.uint8("openstate.key_len8", "Key length")
f.key = ProtoField.bytes("openstate.key", "Key")
u32("state", "State")
f.state_mask = ProtoField.uint32("openstate.state_mask", "State mask", base.HEX)
u32("hard_rollback", "State after the hard timeout")
u32("idle_rollback", "State after the idle timeout")
u32("hard_timeout", "Hard timeout (us)")
u32("idle_timeout", "Idle timeout (us)")
u32("old", "Old state")
u32("new", "New state")
u32("global_state", "Global state")
f.global_state_mask = ProtoField.uint32("openstate.global_state_mask", "Global state mask", base.HEX)
u8("id", "Number")
u8("condition", "Condition", CONDITIONS)
f.operand_type = ProtoField.uint8("openstate.operand_type", "Operand type", base.DEC, OPERANDS, 0xc0)
f.operand_type2 = ProtoField.uint8("openstate.operand_type2", "Operand type", base.DEC, OPERANDS, 0x30)
f.operand_type3 = ProtoField.uint8("openstate.operand_type3", "Operand type", base.DEC, OPERANDS, 0x0c)
f.operand_type4 = ProtoField.uint8("openstate.operand_type4", "Operand type", base.DEC, OPERANDS, 0x03)
u8("operand", "Operand")
u8("output", "Output")
f.output_type = ProtoField.uint8("openstate.output_type", "Output type", base.DEC, OPERANDS, 0x80)
f.coefficient = ProtoField.int8("openstate.coefficient", "Coefficient")
u8("function", "Update function", FUNCTIONS)
u8("source", "Source", SOURCES)
u32("variable", "Variable")
f.variable_mask = ProtoField.uint32("openstate.variable_mask", "Variable mask", base.HEX)
u32("template", "Template")
f.copies = ProtoField.uint16("openstate.copies", "Copies")
f.bits = ProtoField.uint16("openstate.bits", "Bits")
f.bit_offset = ProtoField.uint16("openstate.bit_offset", "From bit")
f.packet = ProtoField.bytes("openstate.packet", "Packet")
u32("seconds", "Seconds since the transition")
u32("nanoseconds", "and nanoseconds")
u8("by_state", "Only one state")
u32("states", "States")
u32("notified", "Message that was carried out")
u32("instructions", "Instructions")
u32("instruction_type", "Instruction type")
f.length = ProtoField.uint16("openstate.length", "Record length")
f.match = ProtoField.bytes("openstate.match", "Match")

-- The places of the experimenter's number in what Wireshark has dissected.
local messages = Field.new("openflow_v4.experimenter.experimenter")
local actions = Field.new("openflow_v4.action_experimenter.experimenter")
local instructions = Field.new("openflow_v4.instruction_experimenter.experimenter")
local requests = Field.new("openflow_v4.multipart_request.experimenter.experimenter")
local replies = Field.new("openflow_v4.multipart_reply.experimenter.experimenter")
local errors = Field.new("openflow_v4.error.experimenter")
local oxms = Field.new("openflow_v4.oxm_experimenter.experimenter")

-- Adds one field after another, {field, bytes}; without a field they are padding. The place behind them.
local function add(tree, tvb, at, rows)
  for _, row in ipairs(rows) do
    if row[1] then tree:add(row[1], tvb(at, row[2])) end
    at = at + row[2]
  end
  return at
end

local TIMERS = { { f.hard_rollback, 4 }, { f.idle_rollback, 4 }, { f.hard_timeout, 4 }, { f.idle_timeout, 4 } }

local function add_list(tree, tvb, at, stop, field)
  while at + 4 <= stop do
    tree:add(field, tvb(at, 4))
    at = at + 4
  end
end

local function add_rest(tree, tvb, at, stop, field)
  if stop > at then tree:add(field, tvb(at, stop - at)) end
end

-- A STATE_MOD's payload from `at` to `stop`.
local function state_mod(tree, tvb, at, stop)
  local command = tvb(at, 1):uint()
  tree:add(f.command, tvb(at, 1))
  at = at + 2
  if command == 0 then
    add(tree, tvb, at, { { f.table, 1 }, { f.stateful, 1 } })
  elseif command <= 2 then
    -- OpenState has the number of fields in the second word, the others in the third.
    local count = tvb(at + 4, 4):uint()
    local is_openstate = count > 0 and stop - at == 8 + 4 * count
    if is_openstate then
      at = add(tree, tvb, at, { { f.table, 1 }, { nil, 3 }, { f.field_count, 4 } })
    else
      at = add(tree, tvb, at, { { f.table, 1 }, { f.biflow, 1 }, { nil, 2 }, { f.bit, 1 }, { nil, 3 },
        { f.field_count, 4 } })
    end
    add_list(tree, tvb, at, stop, f.field)
  elseif command == 3 then
    at = add(tree, tvb, at, { { f.table, 1 }, { nil, 3 }, { f.key_len, 4 }, { f.state, 4 },
      { f.state_mask, 4 } })
    at = add(tree, tvb, at, TIMERS)
    add_rest(tree, tvb, at, stop, f.key)
  elseif command == 4 then
    at = add(tree, tvb, at, { { f.table, 1 }, { nil, 3 }, { f.key_len, 4 } })
    add_rest(tree, tvb, at, stop, f.key)
  elseif command == 5 then
    add(tree, tvb, at, { { f.global_state, 4 }, { f.global_state_mask, 4 } })
  elseif command == 7 then
    add(tree, tvb, at, { { f.table, 1 }, { f.id, 1 }, { nil, 2 }, { f.field, 4 } })
  elseif command == 8 then
    at = add(tree, tvb, at, { { f.table, 1 }, { f.id, 1 }, { f.condition, 1 } })
    tree:add(f.operand_type, tvb(at, 1))
    tree:add(f.operand, tvb(at + 1, 1))
    tree:add(f.operand_type2, tvb(at, 1))
    tree:add(f.operand, tvb(at + 2, 1))
  elseif command == 9 then
    add(tree, tvb, at, { { f.table, 1 }, { f.id, 1 }, { nil, 2 }, { f.variable, 4 },
      { f.variable_mask, 4 } })
  elseif command == 10 then
    at = add(tree, tvb, at, { { f.table, 1 }, { f.id, 1 }, { nil, 2 }, { f.key_len, 4 }, { f.variable, 4 },
      { f.variable_mask, 4 } })
    add_rest(tree, tvb, at, stop, f.key)
  end
  return "STATE_MOD " .. (STATE_MOD[command] or command)
end

-- A message from its type to its end; its name.
local function message(tree, tvb, at, stop)
  local kind = tvb(at, 4):uint()
  tree:add(f.message, tvb(at, 4))
  at = at + 4
  if kind == 0 then
    return state_mod(tree, tvb, at, stop)
  elseif kind == 1 then
    local command = tvb(at, 1):uint()
    at = add(tree, tvb, at, { { f.template_command, 1 }, { nil, 1 }, { f.template, 4 }, { nil, 4 } })
    add_rest(tree, tvb, at, stop, f.packet)
    return "PKTTMP_MOD " .. (PKTTMP_MOD[command] or command)
  elseif kind == 2 then
    local key = tvb(at + 16, 4):uint()
    at = add(tree, tvb, at, { { f.table32, 4 }, { f.old, 4 }, { f.new, 4 }, { f.state_mask, 4 },
      { f.key_len, 4 } })
    add_rest(tree, tvb, at, math.min(at + key, stop), f.key)
    add_list(tree, tvb, at + key, stop, f.variable)
  elseif kind == 3 then
    at = add(tree, tvb, at, { { f.table32, 4 }, { f.notified, 4 } })
    local match = math.ceil(tvb(at + 2, 2):uint() / 8) * 8
    tree:add(f.match, tvb(at, match))
    at = at + match
    local count = tvb(at, 4):uint()
    tree:add(f.instructions, tvb(at, 4))
    add_list(tree, tvb, at + 4, math.min(at + 4 + 4 * count, stop), f.instruction_type)
  end
  return MESSAGES[kind] or "message " .. kind
end

-- An action from its type to its end.
local function action(tree, tvb, at, stop)
  local kind = tvb(at, 4):uint()
  tree:add(f.action, tvb(at, 4))
  at = at + 8
  if kind == 0 then
    at = add(tree, tvb, at, { { f.state, 4 }, { f.state_mask, 4 }, { f.table, 1 }, { nil, 3 } })
    at = add(tree, tvb, at, TIMERS)
    at = add(tree, tvb, at, { { f.bit, 1 }, { nil, 3 } })
    if stop - at >= 8 then
      local count = tvb(at + 4, 4):uint()
      at = add(tree, tvb, at, { { nil, 4 }, { f.field_count, 4 } })
      add_list(tree, tvb, at, math.min(at + 4 * count, stop), f.field)
    end
  elseif kind == 1 then
    add(tree, tvb, at, { { f.global_state, 4 }, { f.global_state_mask, 4 } })
  elseif kind == 2 then
    add(tree, tvb, at, { { f.table, 1 } })
  elseif kind == 3 then
    for place, field in ipairs { f.operand_type, f.operand_type2, f.operand_type3, f.operand_type4 } do
      tree:add(field, tvb(at, 1))
      tree:add(f.operand, tvb(at + 7 + place, 1))
      tree:add(f.coefficient, tvb(at + 11 + place, 1))
    end
    tree:add(f.output_type, tvb(at + 1, 1))
    add(tree, tvb, at + 2, { { f.table, 1 }, { f["function"], 1 }, { f.output, 1 } })
    local count = tvb(at + 16, 4):uint()
    at = add(tree, tvb, at + 16, { { f.field_count, 4 }, { f.bit, 1 }, { nil, 3 } })
    add_list(tree, tvb, at, math.min(at + 4 * count, stop), f.field)
  elseif kind == 4 then
    add(tree, tvb, at, { { f.source, 1 }, { f.id, 1 }, { nil, 2 }, { f.field, 4 } })
  end
  return ACTIONS[kind] or "action " .. kind
end

-- An instruction from its type to its end.
local function instruction(tree, tvb, at, stop, is_copying)
  tree:add(f.instruction, tvb(at, 4))
  if not is_copying then
    add(tree, tvb, at + 8, { { f.template, 4 } })
    return "IN_SWITCH_PKT_GEN"
  end
  local count = tvb(at + 8, 2):uint()
  at = add(tree, tvb, at + 4, { { f.template, 4 }, { f.copies, 2 }, { nil, 6 } })
  for _ = 1, math.min(count, math.floor((stop - at) / 16)) do
    at = add(tree, tvb, at, { { f.field, 4 }, { f.field, 4 }, { f.bits, 2 }, { f.bit_offset, 2 },
      { f.bit_offset, 2 }, { nil, 2 } })
  end
  return "PACKET_GEN_COPY"
end

-- A record of states, in the form of the dialect that has this length.
local function record(parent, tvb, at, is_short)
  local length = tvb(at, 2):uint()
  local tree = parent:add(proto, tvb(at, length), "State record")
  local start = at
  at = add(tree, tvb, at, { { f.length, 2 }, { f.table, 1 } })
  if not is_short and (length == 112 or length == 136) then
    local count, key = tvb(start + 12, 4):uint(), tvb(start + 40, 4):uint()
    at = add(tree, tvb, at + 1, { { f.seconds, 4 }, { f.nanoseconds, 4 }, { f.field_count, 4 } })
    add_list(tree, tvb, at, at + 4 * math.min(count, 6), f.field)
    at = add(tree, tvb, at + 24, { { f.key_len, 4 } })
    add_rest(tree, tvb, at, at + math.min(key, 48), f.key)
    at = add(tree, tvb, at + 48, { { f.state, 4 } })
    if length == 136 then
      add_list(tree, tvb, at, at + 24, f.variable)
      at = at + 24
    end
    add(tree, tvb, at, TIMERS)
    return start + length
  end
  local key = tvb(at, 1):uint()
  at = add(tree, tvb, at, { { f.key_len16, 1 } })
  if not is_short then
    at = add(tree, tvb, at, { { f.seconds, 4 }, { f.nanoseconds, 4 } })
    at = add(tree, tvb, at, TIMERS)
  end
  at = add(tree, tvb, at, { { f.state, 4 } })
  add_rest(tree, tvb, at, math.min(at + key, start + length), f.key)
  return start + length
end

-- A multipart's body from its type to its end.
local function multipart(tree, tvb, at, stop, is_request)
  local kind = tvb(at, 4):uint()
  tree:add(f.multipart, tvb(at, 4))
  at = at + 4
  local bytes = stop - at
  if kind == 1 or (kind == 2 and bytes <= 8) then
    if bytes == 8 and is_request then
      add(tree, tvb, at, { { f.table, 1 } })
    elseif bytes == 8 then
      add(tree, tvb, at, { { f.states, 4 }, { f.global_state, 4 } })
    end
  elseif is_request and bytes == 8 then
    add(tree, tvb, at, { { nil, 7 }, { f.table, 1 } })
  elseif is_request then
    at = add(tree, tvb, at, { { f.table, 1 }, { f.by_state, 1 }, { nil, 2 }, { f.state, 4 } })
    add_rest(tree, tvb, at, stop, f.match)
  elseif kind == 3 and bytes == 32 and tvb(at, 2):uint() < 8 then
    add_list(tree, tvb, at, stop, f.variable)
  else
    while at + 8 <= stop and tvb(at, 2):uint() >= 8 and at + tvb(at, 2):uint() <= stop do
      at = record(tree, tvb, at, kind >= 3)
    end
  end
  return MULTIPARTS[kind] or "multipart " .. kind
end

-- A match field from its header to its end.
local function oxm(tree, tvb, at)
  local number = bit.rshift(tvb(at + 2, 1):uint(), 1)
  local bytes = tvb(at + 3, 1):uint() - 4
  tree:add(f.oxm, tvb(at + 2, 1))
  if tvb(at + 2, 1):uint() % 2 == 1 then
    bytes = bytes / 2
    tree:add(f.value_mask, tvb(at + 8 + bytes, bytes))
  end
  tree:add(f.value, tvb(at + 8, bytes))
  return "match " .. (FIELDS[number] or number)
end

local function is_ours(info)
  return info.range:uint() == EXPERIMENTER
end

local function is_copying(info)
  return info.range:uint() == BOFUSS and info.source(info.offset + 4, 4):uint() == PACKET_GEN_COPY
end

function proto.dissector(tvb, pinfo, root)
  local names = {}
  -- Calls `read` for each number of ours among some fields, with the tree, the bytes, and the places of
  -- the number and of the end: a length stands so many bytes before the number of a structure that begins
  -- so many bytes before it.
  local function each(infos, length_before, begins_before, read)
    for _, info in ipairs(infos) do
      if is_ours(info) or (infos.may_copy and is_copying(info)) then
        local source, at = info.source, info.offset
        local stop = at - begins_before + source(at - length_before, 2):uint()
        local tree = root:add(proto, source(at, stop - at))
        local name = read(tree, source, at, stop)
        tree:append_text(": " .. name)
        names[#names + 1] = name
      end
    end
  end
  each({ errors() }, 10, 12, function(tree, bytes, at)
    tree:add(f.error, bytes(at - 2, 2))
    local code = bytes(at - 2, 2):uint()
    return ERRORS[code] or "error " .. code
  end)
  each({ messages() }, 6, 8, function(tree, bytes, at, stop) return message(tree, bytes, at + 4, stop) end)
  each({ requests() }, 14, 16, function(tree, bytes, at, stop)
    return multipart(tree, bytes, at + 4, stop, true)
  end)
  each({ replies() }, 14, 16, function(tree, bytes, at, stop)
    return multipart(tree, bytes, at + 4, stop, false)
  end)
  local function read_instruction(tree, bytes, at, stop)
    return instruction(tree, bytes, at + 4, stop, bytes(at, 4):uint() == BOFUSS)
  end
  each({ may_copy = true, instructions() }, 2, 4, read_instruction)
  each({ actions() }, 2, 4, function(tree, bytes, at, stop) return action(tree, bytes, at + 4, stop) end)
  for _, info in ipairs { oxms() } do
    if is_ours(info) then
      local at = info.offset - 4
      local tree = root:add(proto, info.source(at, 4 + info.source(at + 3, 1):uint()))
      tree:append_text(": " .. oxm(tree, info.source, at))
    end
  end
  if #names > 0 then pinfo.cols.info:append(" [" .. table.concat(names, ", ") .. "]") end
end

register_postdissector(proto)
