// Messages of oflib that are freed but for a part, which the caller keeps.
#include "oflib/ofl-messages.h"

int
ofl_msg_free_flow_removed(ofl_msg_flow_removed* message, bool with_stats, ofl_exp* exp)
{
    if (!with_stats)
    {
        message->stats = nullptr;
    }
    return ofl_msg_free(&message->header, exp);
}

int
ofl_msg_free_packet_out(ofl_msg_packet_out* message, bool with_data, ofl_exp* exp)
{
    if (!with_data)
    {
        message->data = nullptr;
        message->data_length = 0;
    }
    return ofl_msg_free(&message->header, exp);
}

int
ofl_msg_free_flow_mod(ofl_msg_flow_mod* message,
                      bool with_match,
                      bool with_instructions,
                      ofl_exp* exp)
{
    if (!with_match)
    {
        message->match = nullptr;
    }
    if (!with_instructions)
    {
        message->instructions = nullptr;
        message->instructions_num = 0;
    }
    return ofl_msg_free(&message->header, exp);
}

int
ofl_msg_free_group_mod(ofl_msg_group_mod* message, bool with_buckets, ofl_exp* exp)
{
    if (!with_buckets)
    {
        message->buckets = nullptr;
        message->buckets_num = 0;
    }
    return ofl_msg_free(&message->header, exp);
}

int
ofl_msg_free_meter_mod(ofl_msg_meter_mod* message, bool with_bands)
{
    if (!with_bands)
    {
        message->bands = nullptr;
        message->meter_bands_num = 0;
    }
    return ofl_msg_free(&message->header, nullptr);
}
