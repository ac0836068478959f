-- A Wireshark dissector of the frames that switches with ARP-Path send each other: HELLO, path-fail,
-- path-request and path-reply.
--
--   wireshark -X lua_script:arppath.lua CAPTURE
--
-- Filters begin with "arppath.", as arppath.type == 3. For another EtherType than 0x88b5 there is a preference:
-- -o arppath.ethertype:34998

local proto = Proto("arppath", "ARP-Path")
local TYPES = { "HELLO", "path-fail", "path-request", "path-reply" }
local BYTES = 90

local f = proto.fields
f.version = ProtoField.uint8("arppath.version", "Version")
f.type = ProtoField.uint8("arppath.type", "Type", base.DEC, TYPES)
f.hops = ProtoField.uint8("arppath.hops", "Switches that it may still pass")
f.for_all = ProtoField.bool("arppath.for_all", "The answer is for all switches", 8, nil, 0x01)
f.offer = ProtoField.bool("arppath.offer", "Frames are offered to all ports", 8, nil, 0x02)
f.sender = ProtoField.uint64("arppath.sender", "Sender (datapath id)", base.HEX)
f.to = ProtoField.uint64("arppath.to", "To (datapath id)", base.HEX)
f.epoch = ProtoField.uint64("arppath.epoch", "Epoch of the sender on this link", base.HEX)
f.number = ProtoField.uint64("arppath.number", "Number in the epoch")
f.origin = ProtoField.uint64("arppath.origin", "Origin (datapath id)", base.HEX)
f.sequence = ProtoField.uint64("arppath.sequence", "Sequence of the origin")
f.challenge = ProtoField.uint64("arppath.challenge", "Challenge", base.HEX)
f.answer = ProtoField.uint64("arppath.answer", "Answer", base.HEX)
f.vlan = ProtoField.uint16("arppath.vlan", "VLAN_VID", base.HEX)
f.source = ProtoField.ether("arppath.source", "Source host")
f.destination = ProtoField.ether("arppath.destination", "Destination host")
f.tag = ProtoField.uint64("arppath.tag", "SipHash-2-4", base.HEX)

-- The fields in their order, with their bytes, and how many of these the next field begins after.
local ROWS = { { f.version, 1 }, { f.type, 1 }, { f.hops, 1 }, { f.for_all, 1, 0 }, { f.offer, 1 }, { f.sender, 8 }, { f.to, 8 },
  { f.epoch, 8 }, { f.number, 8 }, { f.origin, 8 }, { f.sequence, 8 }, { f.challenge, 8 }, { f.answer, 8 }, { f.vlan, 2 }, { f.source, 6 }, { f.destination, 6 }, { f.tag, 8 } }

proto.prefs.ethertype = Pref.uint("EtherType", 0x88b5, "That of arppath.ethertype in the switches")

function proto.dissector(tvb, pinfo, root)
  if tvb:len() < BYTES or tvb(0, 1):uint() ~= 2 then return 0 end
  local tree = root:add(proto, tvb(0, BYTES))
  local at = 0
  for _, row in ipairs(ROWS) do
    tree:add(row[1], tvb(at, row[2]))
    at = at + (row[3] or row[2])
  end
  local name = TYPES[tvb(1, 1):uint()] or "unknown"
  pinfo.cols.protocol = "ARP-Path"
  if name == "HELLO" then
    local sender = tvb(4, 8):uint64():tohex():gsub("^0+", "")
    pinfo.cols.info = name .. " of 0x" .. sender
  else
    pinfo.cols.info = name .. " from " .. tostring(tvb(70, 6):ether()) .. " to " .. tostring(tvb(76, 6):ether())
  end
  return BYTES
end

local registered = proto.prefs.ethertype
DissectorTable.get("ethertype"):add(registered, proto)

function proto.prefs_changed()
  local ethertypes = DissectorTable.get("ethertype")
  ethertypes:remove(registered, proto)
  registered = proto.prefs.ethertype
  ethertypes:add(registered, proto)
end
