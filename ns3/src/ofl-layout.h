// Where each field of oflib's structs stands in OpenFlow 1.3: a description for OflReader,
// OflWriter and OflFreer. Spec: OpenFlow 1.3.5 sections 7.2 and 7.3.
#ifndef OFL_LAYOUT_H
#define OFL_LAYOUT_H

#include "ofl-archive.h"
#include "oflib/ofl-messages.h"
#include "oflib/oxm-match.h"

// Bytes of texts. Spec: OpenFlow 1.3.5 sections 7.2.1 and 7.3.5.1.
constexpr size_t OFP_MAX_PORT_NAME_LEN = 16;
constexpr size_t DESC_STR_LEN = 256;
constexpr size_t SERIAL_NUM_LEN = 32;

// Turns a field's value and mask from the wire's form to the struct's, and back.
void OflSwapValue(uint32_t header, uint8_t* value);
// Adds a field to a match.
void OflAddField(ofl_match* match, ofl_match_tlv* field);

// The type that a struct has or is read with; of no struct, the other one.
template <class A, class T>
uint16_t
TypeOf(A& a, T* place, uint16_t otherwise)
{
    if constexpr (A::IS_READER)
    {
        return a.Peek(2);
    }
    else
    {
        return place ? static_cast<uint16_t>(place->type) : otherwise;
    }
}

template <class A>
void
Lay(A& a, ofl_match_tlv*& place)
{
    ofl_match_tlv* s = a.template Make<ofl_match_tlv>(place);
    a.template Number<4>(s->header);
    size_t length = OXM_LENGTH(s->header);
    if constexpr (A::IS_READER)
    {
        s->value = static_cast<uint8_t*>(xcalloc(length + 1, 1));
        a.Bytes(s->value, length);
        OflSwapValue(s->header, s->value);
    }
    else if constexpr (A::IS_WRITER)
    {
        std::vector<uint8_t> value(length);
        if (s->value)
        {
            std::copy(s->value, s->value + length, value.begin());
        }
        OflSwapValue(s->header, value.data());
        a.Bytes(value.data(), length);
    }
    a.Drop(s->value);
    a.Drop(place);
}

template <class A>
void
Lay(A& a, ofl_match_header*& place)
{
    a.Frame(8, [&] {
        ofl_match* s = a.template Make<ofl_match>(place);
        uint16_t type = OFPMT_OXM;
        a.template Number<2>(type);
        a.Length(s->header.length);
        if constexpr (A::IS_READER)
        {
            s->header.type = type;
            ofl_structs_match_init(s);
            while (!a.IsAtEnd())
            {
                ofl_match_tlv* field = nullptr;
                Lay(a, field);
                OflAddField(s, field);
            }
        }
        else
        {
            for (hmap_node* node = s->match_fields.first; node;)
            {
                auto* field = reinterpret_cast<ofl_match_tlv*>(node);
                node = node->next;
                Lay(a, field);
            }
        }
        a.Drop(place);
    });
}

template <class A>
void
LayHead(A& a, ofl_action_header& s)
{
    a.template Number<2>(s.type);
    a.Length(s.len);
}

template <class A>
void
Lay(A& a, ofl_action_header*& place)
{
    uint16_t type = TypeOf(a, place, OFPAT_EXPERIMENTER);
    a.Frame(1, [&] {
        switch (type)
        {
        case OFPAT_OUTPUT: {
            auto* s = a.template Make<ofl_action_output>(place);
            LayHead(a, s->header);
            a.template Number<4>(s->port);
            a.template Number<2>(s->max_len);
            a.Pad(6);
            break;
        }
        case OFPAT_SET_MPLS_TTL: {
            auto* s = a.template Make<ofl_action_mpls_ttl>(place);
            LayHead(a, s->header);
            a.template Number<1>(s->mpls_ttl);
            a.Pad(3);
            break;
        }
        case OFPAT_PUSH_VLAN:
        case OFPAT_PUSH_MPLS:
        case OFPAT_PUSH_PBB:
        case OFPAT_POP_MPLS: {
            // Both structs are the same.
            auto* s = a.template Make<ofl_action_push>(place);
            LayHead(a, s->header);
            a.template Number<2>(s->ethertype);
            a.Pad(2);
            break;
        }
        case OFPAT_SET_QUEUE: {
            auto* s = a.template Make<ofl_action_set_queue>(place);
            LayHead(a, s->header);
            a.template Number<4>(s->queue_id);
            break;
        }
        case OFPAT_GROUP: {
            auto* s = a.template Make<ofl_action_group>(place);
            LayHead(a, s->header);
            a.template Number<4>(s->group_id);
            break;
        }
        case OFPAT_SET_NW_TTL: {
            auto* s = a.template Make<ofl_action_set_nw_ttl>(place);
            LayHead(a, s->header);
            a.template Number<1>(s->nw_ttl);
            a.Pad(3);
            break;
        }
        case OFPAT_SET_FIELD: {
            auto* s = a.template Make<ofl_action_set_field>(place);
            LayHead(a, s->header);
            Lay(a, s->field);
            a.Align(8);
            break;
        }
        case OFPAT_EXPERIMENTER: {
            // Its body is not kept.
            auto* s = a.template Make<ofl_action_header>(place);
            LayHead(a, *s);
            if constexpr (A::IS_WRITER)
            {
                a.Fail();
            }
            break;
        }
        default: {
            auto* s = a.template Make<ofl_action_header>(place);
            LayHead(a, *s);
            a.Pad(4);
            break;
        }
        }
    });
    a.Drop(place);
}

template <class A, class N>
void
LayActions(A& a, ofl_action_header**& actions, N& count)
{
    a.List(actions, count, [&](ofl_action_header*& one) { Lay(a, one); });
}

template <class A>
void
Lay(A& a, ofl_instruction_header*& place)
{
    uint16_t type = TypeOf(a, place, OFPIT_EXPERIMENTER);
    uint16_t length = 0;
    auto head = [&](ofl_instruction_header& s) {
        a.template Number<2>(s.type);
        a.Length(length);
    };
    a.Frame(1, [&] {
        switch (type)
        {
        case OFPIT_GOTO_TABLE: {
            auto* s = a.template Make<ofl_instruction_goto_table>(place);
            head(s->header);
            a.template Number<1>(s->table_id);
            a.Pad(3);
            break;
        }
        case OFPIT_WRITE_METADATA: {
            auto* s = a.template Make<ofl_instruction_write_metadata>(place);
            head(s->header);
            a.Pad(4);
            a.template Number<8>(s->metadata);
            a.template Number<8>(s->metadata_mask);
            break;
        }
        case OFPIT_WRITE_ACTIONS:
        case OFPIT_APPLY_ACTIONS:
        case OFPIT_CLEAR_ACTIONS: {
            auto* s = a.template Make<ofl_instruction_actions>(place);
            head(s->header);
            a.Pad(4);
            LayActions(a, s->actions, s->actions_num);
            break;
        }
        case OFPIT_METER: {
            auto* s = a.template Make<ofl_instruction_meter>(place);
            head(s->header);
            a.template Number<4>(s->meter_id);
            break;
        }
        default: {
            // Its body is not kept.
            auto* s = a.template Make<ofl_instruction_header>(place);
            head(*s);
            if constexpr (A::IS_WRITER)
            {
                a.Fail();
            }
            break;
        }
        }
    });
    a.Drop(place);
}

template <class A>
void
LayInstructions(A& a, ofl_instruction_header**& instructions, size_t& count)
{
    a.List(instructions, count, [&](ofl_instruction_header*& one) { Lay(a, one); });
}

template <class A>
void
Lay(A& a, ofl_bucket*& place)
{
    a.Frame(1, [&] {
        ofl_bucket* s = a.template Make<ofl_bucket>(place);
        uint16_t length = 0;
        a.Length(length);
        a.template Number<2>(s->weight);
        a.template Number<4>(s->watch_port);
        a.template Number<4>(s->watch_group);
        a.Pad(4);
        LayActions(a, s->actions, s->actions_num);
    });
    a.Drop(place);
}

template <class A>
void
Lay(A& a, ofl_meter_band_header*& place)
{
    uint16_t type = TypeOf(a, place, OFPMBT_DROP);
    a.Frame(1, [&] {
        auto* s = a.template Make<ofl_meter_band_dscp_remark>(place);
        uint16_t length = 0;
        a.template Number<2>(s->type);
        a.Length(length);
        a.template Number<4>(s->rate);
        a.template Number<4>(s->burst_size);
        if (type == OFPMBT_DSCP_REMARK)
        {
            a.template Number<1>(s->prec_level);
            a.Pad(3);
        }
        else if (type == OFPMBT_DROP || !A::IS_WRITER)
        {
            a.Pad(4);
        }
        else
        {
            // The body of an experimenter's band is not kept.
            a.Fail();
        }
    });
    a.Drop(place);
}

template <class A>
void
LayConfig(A& a, ofl_config*& place)
{
    ofl_config* s = a.template Make<ofl_config>(place);
    a.template Number<2>(s->flags);
    a.template Number<2>(s->miss_send_len);
    a.Drop(place);
}

template <class A>
void
LayAsync(A& a, ofl_async_config*& place)
{
    ofl_async_config* s = a.template Make<ofl_async_config>(place);
    for (uint32_t* masks : {s->packet_in_mask, s->port_status_mask, s->flow_removed_mask})
    {
        a.template Number<4>(masks[0]);
        a.template Number<4>(masks[1]);
    }
    a.Drop(place);
}

template <class A>
void
Lay(A& a, ofl_port*& place)
{
    ofl_port* s = a.template Make<ofl_port>(place);
    a.template Number<4>(s->port_no);
    a.Pad(4);
    a.Bytes(s->hw_addr, OFP_ETH_ALEN);
    a.Pad(2);
    a.Text(s->name, OFP_MAX_PORT_NAME_LEN);
    for (uint32_t* one : {&s->config, &s->state, &s->curr, &s->advertised, &s->supported, &s->peer,
                          &s->curr_speed, &s->max_speed})
    {
        a.template Number<4>(*one);
    }
    a.Drop(place);
}

#endif
