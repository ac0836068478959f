// Where each field of the features of tables stands: a description as that of ofl-layout.h.
// Spec: OpenFlow 1.3.5 section 7.3.5.5.
#ifndef OFL_TABLE_FEATURES_H
#define OFL_TABLE_FEATURES_H

#include "ofl-layout.h"

// Bytes of a table's name.
constexpr size_t OFP_MAX_TABLE_NAME_LEN = 32;

// An instruction or an action that is only its type and length.
template <class A, class T>
void
LayTypeId(A& a, T& type, uint16_t& length)
{
    a.Frame(1, [&] {
        a.template Number<2>(type);
        a.Length(length);
        if (A::IS_WRITER && static_cast<uint32_t>(type) == OFPAT_EXPERIMENTER)
        {
            // Whose experimenter it is is not kept.
            a.Fail();
        }
    });
}

// What follows the header of a property.
template <class A>
void
LayPropertyOf(A& a, ofl_table_feature_prop_header*& place, uint16_t type)
{
    auto head = [&](ofl_table_feature_prop_header& s) {
        a.template Number<2>(s.type);
        a.Length(s.length);
    };
    switch (type)
    {
    case OFPTFPT_INSTRUCTIONS:
    case OFPTFPT_INSTRUCTIONS_MISS: {
        auto* s = a.template Make<ofl_table_feature_prop_instructions>(place);
        head(s->header);
        a.Array(s->instruction_ids, s->ids_num, [&](ofl_instruction_header& one) {
            uint16_t length = 0;
            LayTypeId(a, one.type, length);
        });
        break;
    }
    case OFPTFPT_NEXT_TABLES:
    case OFPTFPT_NEXT_TABLES_MISS: {
        auto* s = a.template Make<ofl_table_feature_prop_next_tables>(place);
        head(s->header);
        a.Array(s->next_table_ids, s->table_num, [&](uint8_t& one) { a.template Number<1>(one); });
        break;
    }
    case OFPTFPT_WRITE_ACTIONS:
    case OFPTFPT_WRITE_ACTIONS_MISS:
    case OFPTFPT_APPLY_ACTIONS:
    case OFPTFPT_APPLY_ACTIONS_MISS: {
        auto* s = a.template Make<ofl_table_feature_prop_actions>(place);
        head(s->header);
        a.Array(s->action_ids, s->actions_num, [&](ofl_action_header& one) {
            LayTypeId(a, one.type, one.len);
        });
        break;
    }
    case OFPTFPT_MATCH:
    case OFPTFPT_WILDCARDS:
    case OFPTFPT_WRITE_SETFIELD:
    case OFPTFPT_WRITE_SETFIELD_MISS:
    case OFPTFPT_APPLY_SETFIELD:
    case OFPTFPT_APPLY_SETFIELD_MISS: {
        auto* s = a.template Make<ofl_table_feature_prop_oxm>(place);
        head(s->header);
        a.Array(s->oxm_ids, s->oxm_num, [&](uint32_t& one) { a.template Number<4>(one); });
        break;
    }
    default:
        // The body of an experimenter's property is not kept.
        head(*a.template Make<ofl_table_feature_prop_header>(place));
        if constexpr (A::IS_WRITER)
        {
            a.Fail();
        }
        break;
    }
}

template <class A>
void
Lay(A& a, ofl_table_feature_prop_header*& place)
{
    uint16_t type = TypeOf(a, place, OFPTFPT_EXPERIMENTER);
    a.Frame(8, [&] { LayPropertyOf(a, place, type); });
    a.Drop(place);
}

template <class A>
void
Lay(A& a, ofl_table_features*& place)
{
    a.Frame(1, [&] {
        ofl_table_features* s = a.template Make<ofl_table_features>(place);
        a.Length(s->length);
        a.template Number<1>(s->table_id);
        a.Pad(5);
        a.Text(s->name, OFP_MAX_TABLE_NAME_LEN);
        a.template Number<8>(s->metadata_match);
        a.template Number<8>(s->metadata_write);
        a.template Number<4>(s->config);
        a.template Number<4>(s->max_entries);
        a.List(s->properties, s->properties_num, [&](ofl_table_feature_prop_header*& one) {
            Lay(a, one);
        });
    });
    a.Drop(place);
}

// The tables of a request or a reply.
template <class A, class S>
void
LayTables(A& a, S* s)
{
    a.List(s->table_features, s->tables_num, [&](ofl_table_features*& one) { Lay(a, one); });
}

#endif
