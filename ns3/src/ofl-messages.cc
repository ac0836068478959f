// Messages of oflib as bytes and as text: the structs here, what is valid by libbofuss.
#include <bofuss.h>

#include "ofl-statistics.h"
#include "ofl-table-features.h"

namespace
{
// The version on the wire.
const uint8_t OPENFLOW_1_3 = 4;
// Bytes of a message, and of its text, at most.
const size_t MAX_MESSAGE_BYTES = 65535;
const size_t TEXT_BYTES = 1 << 20;

bofuss_codec*
Codec()
{
    struct Owner
    {
        bofuss_codec* codec{nullptr};

        Owner()
        {
            bofuss_codec_new(&codec);
        }

        ~Owner()
        {
            bofuss_codec_free(&codec);
        }
    };

    static Owner owner;
    return owner.codec;
}

// Whether the codec reads these bytes.
bool
IsMessage(const uint8_t* bytes, size_t length)
{
    size_t needed = 0;
    bofuss_status status =
        bofuss_message_text(Codec(), bytes, length, 0, nullptr, 0, &needed);
    return status == BOFUSS_STATUS_OK || status == BOFUSS_STATUS_TOO_SHORT;
}

template <class A, class S>
void
LayData(A& a, S* s)
{
    a.Rest(s->data, s->data_length);
}

template <class A>
void
LayPacketIn(A& a, ofl_msg_packet_in* s)
{
    a.template Number<4>(s->buffer_id);
    a.template Number<2>(s->total_len);
    a.template Number<1>(s->reason);
    a.template Number<1>(s->table_id);
    a.template Number<8>(s->cookie);
    Lay(a, s->match);
    a.Pad(2);
    LayData(a, s);
}

template <class A>
void
LayPacketOut(A& a, ofl_msg_packet_out* s)
{
    a.template Number<4>(s->buffer_id);
    a.template Number<4>(s->in_port);
    a.Part(6, [&] { LayActions(a, s->actions, s->actions_num); });
    LayData(a, s);
}

template <class A>
void
LayFlowMod(A& a, ofl_msg_flow_mod* s)
{
    a.template Number<8>(s->cookie);
    a.template Number<8>(s->cookie_mask);
    a.template Number<1>(s->table_id);
    a.template Number<1>(s->command);
    a.template Number<2>(s->idle_timeout);
    a.template Number<2>(s->hard_timeout);
    a.template Number<2>(s->priority);
    a.template Number<4>(s->buffer_id);
    a.template Number<4>(s->out_port);
    a.template Number<4>(s->out_group);
    a.template Number<2>(s->flags);
    a.Pad(2);
    Lay(a, s->match);
    LayInstructions(a, s->instructions, s->instructions_num);
}

template <class A>
void
LayGroupMod(A& a, ofl_msg_group_mod* s)
{
    a.template Number<2>(s->command);
    a.template Number<1>(s->type);
    a.Pad(1);
    a.template Number<4>(s->group_id);
    a.List(s->buckets, s->buckets_num, [&](ofl_bucket*& one) { Lay(a, one); });
}

template <class A>
void
LayPortMod(A& a, ofl_msg_port_mod* s)
{
    a.template Number<4>(s->port_no);
    a.Pad(4);
    a.Bytes(s->hw_addr, OFP_ETH_ALEN);
    a.Pad(2);
    a.template Number<4>(s->config);
    a.template Number<4>(s->mask);
    a.template Number<4>(s->advertise);
    a.Pad(4);
}

template <class A>
void
LayMeterMod(A& a, ofl_msg_meter_mod* s)
{
    a.template Number<2>(s->command);
    a.template Number<2>(s->flags);
    a.template Number<4>(s->meter_id);
    a.List(s->bands, s->meter_bands_num, [&](ofl_meter_band_header*& one) { Lay(a, one); });
}

template <class A>
void
LayFeatures(A& a, ofl_msg_features_reply* s)
{
    a.template Number<8>(s->datapath_id);
    a.template Number<4>(s->n_buffers);
    a.template Number<1>(s->n_tables);
    a.template Number<1>(s->auxiliary_id);
    a.Pad(2);
    a.template Number<4>(s->capabilities);
    a.template Number<4>(s->reserved);
}

template <class A>
void
LayQueues(A& a, ofl_msg_queue_get_config_reply* s)
{
    a.template Number<4>(s->port);
    a.Pad(4);
    a.List(s->queues, s->queues_num, [&](ofl_packet_queue*& one) { Lay(a, one); });
}

// The head of a multipart request or reply. For a reader it makes the struct S.
template <class S, class A>
S*
MakeMultipart(A& a, ofl_msg_header*& place)
{
    S* s = a.template Make<S>(place);
    // Its header may be the whole of it.
    auto* head = reinterpret_cast<ofl_msg_multipart_request_header*>(s);
    a.template Number<2>(head->type);
    a.template Number<2>(head->flags);
    a.Pad(4);
    return s;
}

template <class A>
uint16_t
MultipartType(A& a, ofl_msg_header* place)
{
    if constexpr (A::IS_READER)
    {
        return a.Peek(2);
    }
    else
    {
        return reinterpret_cast<ofl_msg_multipart_request_header*>(place)->type;
    }
}

template <class A>
void
LayRequest(A& a, ofl_msg_header*& place)
{
    switch (MultipartType(a, place))
    {
    case OFPMP_FLOW:
    case OFPMP_AGGREGATE: {
        auto* s = MakeMultipart<ofl_msg_multipart_request_flow>(a, place);
        a.template Number<1>(s->table_id);
        a.Pad(3);
        a.template Number<4>(s->out_port);
        a.template Number<4>(s->out_group);
        a.Pad(4);
        a.template Number<8>(s->cookie);
        a.template Number<8>(s->cookie_mask);
        Lay(a, s->match);
        break;
    }
    case OFPMP_PORT_STATS: {
        auto* s = MakeMultipart<ofl_msg_multipart_request_port>(a, place);
        a.template Number<4>(s->port_no);
        a.Pad(4);
        break;
    }
    case OFPMP_QUEUE: {
        auto* s = MakeMultipart<ofl_msg_multipart_request_queue>(a, place);
        a.template Number<4>(s->port_no);
        a.template Number<4>(s->queue_id);
        break;
    }
    case OFPMP_GROUP: {
        auto* s = MakeMultipart<ofl_msg_multipart_request_group>(a, place);
        a.template Number<4>(s->group_id);
        a.Pad(4);
        break;
    }
    case OFPMP_TABLE_FEATURES:
        LayTables(a, MakeMultipart<ofl_msg_multipart_request_table_features>(a, place));
        break;
    case OFPMP_METER:
    case OFPMP_METER_CONFIG: {
        auto* s = MakeMultipart<ofl_msg_multipart_meter_request>(a, place);
        a.template Number<4>(s->meter_id);
        a.Pad(4);
        break;
    }
    default:
        MakeMultipart<ofl_msg_multipart_request_header>(a, place);
        if constexpr (A::IS_READER)
        {
            // There is no struct for a body.
            if (!a.IsAtEnd())
            {
                a.Fail();
            }
        }
        break;
    }
}

// A reply that is a list of statistics.
template <class S, class A>
void
LayStats(A& a, ofl_msg_header*& place)
{
    S* s = MakeMultipart<S>(a, place);
    a.List(s->stats, s->stats_num, [&](auto& one) { Lay(a, one); });
}

template <class A>
void
LayDescription(A& a, ofl_msg_header*& place)
{
    auto* s = MakeMultipart<ofl_msg_reply_desc>(a, place);
    a.Text(s->mfr_desc, DESC_STR_LEN);
    a.Text(s->hw_desc, DESC_STR_LEN);
    a.Text(s->sw_desc, DESC_STR_LEN);
    a.Text(s->serial_num, SERIAL_NUM_LEN);
    a.Text(s->dp_desc, DESC_STR_LEN);
}

template <class A>
void
LayReply(A& a, ofl_msg_header*& place)
{
    switch (MultipartType(a, place))
    {
    case OFPMP_DESC:
        LayDescription(a, place);
        break;
    case OFPMP_FLOW:
        LayStats<ofl_msg_multipart_reply_flow>(a, place);
        break;
    case OFPMP_AGGREGATE: {
        auto* s = MakeMultipart<ofl_msg_multipart_reply_aggregate>(a, place);
        a.template Number<8>(s->packet_count);
        a.template Number<8>(s->byte_count);
        a.template Number<4>(s->flow_count);
        a.Pad(4);
        break;
    }
    case OFPMP_TABLE:
        LayStats<ofl_msg_multipart_reply_table>(a, place);
        break;
    case OFPMP_PORT_STATS:
        LayStats<ofl_msg_multipart_reply_port>(a, place);
        break;
    case OFPMP_QUEUE:
        LayStats<ofl_msg_multipart_reply_queue>(a, place);
        break;
    case OFPMP_GROUP:
        LayStats<ofl_msg_multipart_reply_group>(a, place);
        break;
    case OFPMP_GROUP_DESC:
        LayStats<ofl_msg_multipart_reply_group_desc>(a, place);
        break;
    case OFPMP_GROUP_FEATURES: {
        auto* s = MakeMultipart<ofl_msg_multipart_reply_group_features>(a, place);
        a.template Number<4>(s->types);
        a.template Number<4>(s->capabilities);
        for (auto* four : {&s->max_groups, &s->actions})
        {
            for (uint32_t& one : *four)
            {
                a.template Number<4>(one);
            }
        }
        break;
    }
    case OFPMP_METER:
        LayStats<ofl_msg_multipart_reply_meter>(a, place);
        break;
    case OFPMP_METER_CONFIG:
        LayStats<ofl_msg_multipart_reply_meter_conf>(a, place);
        break;
    case OFPMP_METER_FEATURES: {
        auto* s = MakeMultipart<ofl_msg_multipart_reply_meter_features>(a, place);
        LayMeterFeatures(a, s->features);
        break;
    }
    case OFPMP_TABLE_FEATURES:
        LayTables(a, MakeMultipart<ofl_msg_multipart_reply_table_features>(a, place));
        break;
    case OFPMP_PORT_DESC:
        LayStats<ofl_msg_multipart_reply_port_desc>(a, place);
        break;
    default:
        MakeMultipart<ofl_msg_multipart_reply_header>(a, place);
        // Its body is not kept.
        if constexpr (A::IS_WRITER)
        {
            a.Fail();
        }
        break;
    }
}

// What follows the header of a message.
template <class A>
void
LayBody(A& a, ofl_msg_header*& place, uint8_t type)
{
    switch (type)
    {
    case OFPT_ERROR: {
        auto* s = a.template Make<ofl_msg_error>(place);
        a.template Number<2>(s->type);
        a.template Number<2>(s->code);
        LayData(a, s);
        break;
    }
    case OFPT_ECHO_REQUEST:
    case OFPT_ECHO_REPLY:
        LayData(a, a.template Make<ofl_msg_echo>(place));
        break;
    case OFPT_FEATURES_REPLY:
        LayFeatures(a, a.template Make<ofl_msg_features_reply>(place));
        break;
    case OFPT_GET_CONFIG_REPLY:
    case OFPT_SET_CONFIG:
        // Both structs are the same.
        LayConfig(a, a.template Make<ofl_msg_set_config>(place)->config);
        break;
    case OFPT_PACKET_IN:
        LayPacketIn(a, a.template Make<ofl_msg_packet_in>(place));
        break;
    case OFPT_FLOW_REMOVED: {
        auto* s = a.template Make<ofl_msg_flow_removed>(place);
        LayRemoved(a, s->stats, s->reason);
        break;
    }
    case OFPT_PORT_STATUS: {
        auto* s = a.template Make<ofl_msg_port_status>(place);
        a.template Number<1>(s->reason);
        a.Pad(7);
        Lay(a, s->desc);
        break;
    }
    case OFPT_PACKET_OUT:
        LayPacketOut(a, a.template Make<ofl_msg_packet_out>(place));
        break;
    case OFPT_FLOW_MOD:
        LayFlowMod(a, a.template Make<ofl_msg_flow_mod>(place));
        break;
    case OFPT_GROUP_MOD:
        LayGroupMod(a, a.template Make<ofl_msg_group_mod>(place));
        break;
    case OFPT_PORT_MOD:
        LayPortMod(a, a.template Make<ofl_msg_port_mod>(place));
        break;
    case OFPT_TABLE_MOD: {
        auto* s = a.template Make<ofl_msg_table_mod>(place);
        a.template Number<1>(s->table_id);
        a.Pad(3);
        a.template Number<4>(s->config);
        break;
    }
    case OFPT_METER_MOD:
        LayMeterMod(a, a.template Make<ofl_msg_meter_mod>(place));
        break;
    case OFPT_MULTIPART_REQUEST:
        LayRequest(a, place);
        break;
    case OFPT_MULTIPART_REPLY:
        LayReply(a, place);
        break;
    case OFPT_QUEUE_GET_CONFIG_REQUEST: {
        auto* s = a.template Make<ofl_msg_queue_get_config_request>(place);
        a.template Number<4>(s->port);
        a.Pad(4);
        break;
    }
    case OFPT_QUEUE_GET_CONFIG_REPLY:
        LayQueues(a, a.template Make<ofl_msg_queue_get_config_reply>(place));
        break;
    case OFPT_ROLE_REQUEST:
    case OFPT_ROLE_REPLY: {
        auto* s = a.template Make<ofl_msg_role_request>(place);
        a.template Number<4>(s->role);
        a.Pad(4);
        a.template Number<8>(s->generation_id);
        break;
    }
    case OFPT_GET_ASYNC_REPLY:
    case OFPT_SET_ASYNC:
        LayAsync(a, a.template Make<ofl_msg_async_config>(place)->config);
        break;
    case OFPT_HELLO:
    case OFPT_FEATURES_REQUEST:
    case OFPT_GET_CONFIG_REQUEST:
    case OFPT_BARRIER_REQUEST:
    case OFPT_BARRIER_REPLY:
    case OFPT_GET_ASYNC_REQUEST:
        a.template Make<ofl_msg_header>(place);
        break;
    default:
        a.Fail();
        break;
    }
}

template <class A>
void
LayMessage(A& a, ofl_msg_header*& place, uint32_t& xid)
{
    a.Frame(1, [&] {
        uint8_t version = OPENFLOW_1_3;
        uint8_t type = place ? static_cast<uint8_t>(place->type) : 0;
        uint16_t length = 0;
        a.template Number<1>(version);
        a.template Number<1>(type);
        a.Length(length);
        a.template Number<4>(xid);
        LayBody(a, place, type);
        if (A::IS_READER && place)
        {
            place->type = static_cast<ofp_type>(type);
        }
    });
    a.Drop(place);
}
} // namespace

int
ofl_msg_pack(ofl_msg_header* message, uint32_t xid, uint8_t** bytes, size_t* length, ofl_exp*)
{
    OflWriter writer;
    LayMessage(writer, message, xid);
    if (!writer.IsOk() || !IsMessage(writer.bytes.data(), writer.bytes.size()))
    {
        return -1;
    }
    *length = writer.bytes.size();
    *bytes = static_cast<uint8_t*>(xmalloc(*length));
    std::copy(writer.bytes.begin(), writer.bytes.end(), *bytes);
    return 0;
}

ofl_err
ofl_msg_unpack(uint8_t* bytes, size_t length, ofl_msg_header** message, uint32_t* xid, ofl_exp*)
{
    *message = nullptr;
    if (!length || bytes[0] != OPENFLOW_1_3)
    {
        return ofl_error(OFPET_BAD_REQUEST, OFPBRC_BAD_VERSION);
    }
    if (!IsMessage(bytes, length))
    {
        return ofl_error(OFPET_BAD_REQUEST, OFPBRC_BAD_LEN);
    }
    std::vector<uint8_t> whole(2 * MAX_MESSAGE_BYTES);
    size_t written = 0;
    bofuss_status status = bofuss_packet_in_with_headers(
        Codec(), bytes, length, whole.data(), whole.size(), &written);
    bool isPacketIn = status == BOFUSS_STATUS_OK;
    OflReader reader(isPacketIn ? whole.data() : bytes, isPacketIn ? written : length);
    uint32_t ignored = 0;
    LayMessage(reader, *message, xid ? *xid : ignored);
    if (!reader.IsOk())
    {
        ofl_msg_free(*message, nullptr);
        *message = nullptr;
        return ofl_error(OFPET_BAD_REQUEST, OFPBRC_BAD_TYPE);
    }
    return 0;
}

int
ofl_msg_free(ofl_msg_header* message, ofl_exp*)
{
    uint32_t xid = 0;
    OflFreer freer;
    if (message)
    {
        LayMessage(freer, message, xid);
    }
    return 0;
}

char*
ofl_msg_to_string(ofl_msg_header* message, ofl_exp* exp)
{
    uint8_t* bytes = nullptr;
    size_t length = 0;
    if (ofl_msg_pack(message, 0, &bytes, &length, exp))
    {
        return strdup("a message that OpenFlow does not have");
    }
    std::vector<char> text(TEXT_BYTES);
    size_t written = 0;
    bofuss_message_text(Codec(), bytes, length, 0, text.data(), text.size(), &written);
    std::free(bytes);
    return strdup(text.data());
}
