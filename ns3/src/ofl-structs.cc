// Matches, memory and errors of oflib.
#include <algorithm>
#include <sstream>

#include "ofl-layout.h"

namespace
{
// Fields of this class have an experimenter's id before their value. Spec: OpenFlow 1.3.5 section
// 7.2.3.3.
const uint32_t EXPERIMENTER_CLASS = 0xffff;

void*
Checked(void* memory)
{
    if (!memory)
    {
        std::abort();
    }
    return memory;
}

bool
IsAddress(uint32_t header)
{
    auto is = [&](uint32_t one) { return OXM_TYPE(one) == OXM_TYPE(header); };
    return std::any_of(std::begin(OXM_IPV4_ADDRESSES), std::end(OXM_IPV4_ADDRESSES), is);
}

// Bytes of a value, without those of its mask.
size_t
ValueBytes(uint32_t header)
{
    return OXM_LENGTH(header) >> OXM_HASMASK(header);
}

bool
IsNumber(uint32_t header)
{
    size_t bytes = ValueBytes(header);
    bool isWidth = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
    return isWidth && OXM_VENDOR(header) != EXPERIMENTER_CLASS && !IsAddress(header);
}

// Adds a field with these bytes in the form of the struct.
void
Put(ofl_match* match, uint32_t header, const void* value, const void* mask, size_t length)
{
    auto* field = static_cast<ofl_match_tlv*>(xcalloc(1, sizeof(ofl_match_tlv)));
    field->header = header;
    field->value = static_cast<uint8_t*>(xcalloc(OXM_LENGTH(header) + 1, 1));
    length = std::min(length, ValueBytes(header));
    std::memcpy(field->value, value, length);
    if (mask && OXM_HASMASK(header))
    {
        std::memcpy(field->value + ValueBytes(header), mask, length);
    }
    OflAddField(match, field);
}

void
Print(std::ostream& text, uint32_t header, const uint8_t* value)
{
    size_t bytes = ValueBytes(header);
    if (IsNumber(header))
    {
        uint64_t number = 0;
        std::vector<uint8_t> wire(value, value + bytes);
        OflSwapValue(header & ~0x100u, wire.data());
        for (uint8_t byte : wire)
        {
            number = number << 8 | byte;
        }
        text << "0x" << std::hex << number << std::dec;
        return;
    }
    for (size_t i = 0; i < bytes; i++)
    {
        if (IsAddress(header))
        {
            text << (i ? "." : "") << +value[i];
        }
        else
        {
            text << (i ? ":" : "") << std::hex << (value[i] >> 4) << (value[i] & 15) << std::dec;
        }
    }
}
} // namespace

void*
xmalloc(size_t bytes)
{
    return Checked(std::malloc(bytes ? bytes : 1));
}

void*
xcalloc(size_t count, size_t bytes)
{
    return Checked(std::calloc(count ? count : 1, bytes ? bytes : 1));
}

void*
xrealloc(void* memory, size_t bytes)
{
    return Checked(std::realloc(memory, bytes ? bytes : 1));
}

ofl_err
ofl_error(uint16_t type, uint16_t code)
{
    // The first type's first code is not 0, which is none.
    return 0x80000000u | static_cast<uint32_t>(type) << 16 | code;
}

uint16_t
ofl_error_type(ofl_err error)
{
    return error >> 16 & 0x7fff;
}

uint16_t
ofl_error_code(ofl_err error)
{
    return error;
}

void
OflSwapValue(uint32_t header, uint8_t* value)
{
    // A number's first byte on the wire is its highest.
    const uint16_t one = 1;
    bool isLittle = *reinterpret_cast<const uint8_t*>(&one) == 1;
    size_t bytes = ValueBytes(header);
    if (!isLittle || !IsNumber(header))
    {
        return;
    }
    for (size_t part = 0; part <= OXM_HASMASK(header); part++)
    {
        std::reverse(value + part * bytes, value + (part + 1) * bytes);
    }
}

void
OflAddField(ofl_match* match, ofl_match_tlv* field)
{
    hmap& fields = match->match_fields;
    field->hmap_node.next = nullptr;
    *(fields.first ? fields.end : &fields.first) = &field->hmap_node;
    fields.end = &field->hmap_node.next;
    fields.n++;
    match->header.length += sizeof(uint32_t) + OXM_LENGTH(field->header);
}

void
ofl_structs_match_init(ofl_match* match)
{
    // An empty match is its type and its length.
    match->header = {OFPMT_OXM, 2 * sizeof(uint16_t)};
    match->match_fields = {nullptr, nullptr, 0};
}

void
ofl_structs_match_put8(ofl_match* match, uint32_t header, uint8_t value)
{
    Put(match, header, &value, nullptr, sizeof(value));
}

void
ofl_structs_match_put16(ofl_match* match, uint32_t header, uint16_t value)
{
    Put(match, header, &value, nullptr, sizeof(value));
}

void
ofl_structs_match_put32(ofl_match* match, uint32_t header, uint32_t value)
{
    Put(match, header, &value, nullptr, sizeof(value));
}

void
ofl_structs_match_put64(ofl_match* match, uint32_t header, uint64_t value)
{
    Put(match, header, &value, nullptr, sizeof(value));
}

void
ofl_structs_match_put_eth(ofl_match* match, uint32_t header, uint8_t value[OFP_ETH_ALEN])
{
    Put(match, header, value, nullptr, OFP_ETH_ALEN);
}

void
ofl_structs_match_put_eth_m(ofl_match* match,
                            uint32_t header,
                            uint8_t value[OFP_ETH_ALEN],
                            uint8_t mask[OFP_ETH_ALEN])
{
    Put(match, header, value, mask, OFP_ETH_ALEN);
}

void
ofl_structs_match_put_ipv6(ofl_match* match, uint32_t header, uint8_t value[IPv6_ADDR_LEN])
{
    Put(match, header, value, nullptr, IPv6_ADDR_LEN);
}

void
ofl_structs_match_put_ipv6m(ofl_match* match,
                            uint32_t header,
                            uint8_t value[IPv6_ADDR_LEN],
                            uint8_t mask[IPv6_ADDR_LEN])
{
    Put(match, header, value, mask, IPv6_ADDR_LEN);
}

void
ofl_structs_match_put_pbb_isid(ofl_match* match, uint32_t header, uint8_t value[PBB_ISID_LEN])
{
    Put(match, header, value, nullptr, PBB_ISID_LEN);
}

void
ofl_structs_match_put_pbb_isidm(ofl_match* match,
                                uint32_t header,
                                uint8_t value[PBB_ISID_LEN],
                                uint8_t mask[PBB_ISID_LEN])
{
    Put(match, header, value, mask, PBB_ISID_LEN);
}

void
ofl_structs_match_put8m(ofl_match* match, uint32_t header, uint8_t value, uint8_t mask)
{
    Put(match, header, &value, &mask, sizeof(value));
}

void
ofl_structs_match_put16m(ofl_match* match, uint32_t header, uint16_t value, uint16_t mask)
{
    Put(match, header, &value, &mask, sizeof(value));
}

void
ofl_structs_match_put32m(ofl_match* match, uint32_t header, uint32_t value, uint32_t mask)
{
    Put(match, header, &value, &mask, sizeof(value));
}

void
ofl_structs_match_put64m(ofl_match* match, uint32_t header, uint64_t value, uint64_t mask)
{
    Put(match, header, &value, &mask, sizeof(value));
}

void
ofl_structs_free_match(ofl_match_header* match, ofl_exp*)
{
    OflFreer freer;
    Lay(freer, match);
}

char*
ofl_structs_match_to_string(ofl_match_header* match, ofl_exp*)
{
    std::ostringstream text;
    text << "oxm{";
    const char* separator = "";
    for (hmap_node* node = reinterpret_cast<ofl_match*>(match)->match_fields.first; node;
         node = node->next)
    {
        auto* field = reinterpret_cast<ofl_match_tlv*>(node);
        auto named = [&](const oxm_name& one) {
            return OXM_TYPE(one.header) == OXM_TYPE(field->header);
        };
        const oxm_name* name = std::find_if(std::begin(OXM_NAMES), std::end(OXM_NAMES), named);
        text << separator << (name == std::end(OXM_NAMES) ? "field" : name->name) << "=";
        Print(text, field->header, field->value);
        if (OXM_HASMASK(field->header))
        {
            text << "/";
            Print(text, field->header, field->value + ValueBytes(field->header));
        }
        separator = ", ";
    }
    text << "}";
    return strdup(text.str().c_str());
}

ofl_match_tlv*
oxm_match_lookup(uint32_t header, const ofl_match* match)
{
    for (hmap_node* node = match->match_fields.first; node; node = node->next)
    {
        auto* field = reinterpret_cast<ofl_match_tlv*>(node);
        if (field->header == header)
        {
            return field;
        }
    }
    return nullptr;
}
