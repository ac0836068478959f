// Where each field of statistics and of queues stands: a description as that of ofl-layout.h.
// Spec: OpenFlow 1.3.5 section 7.3.5.
#ifndef OFL_STATISTICS_H
#define OFL_STATISTICS_H

#include "ofl-layout.h"

template <class A, class S>
void
LayDuration(A& a, S* s)
{
    a.template Number<4>(s->duration_sec);
    a.template Number<4>(s->duration_nsec);
}

template <class A>
void
Lay(A& a, ofl_flow_stats*& place)
{
    a.Frame(1, [&] {
        ofl_flow_stats* s = a.template Make<ofl_flow_stats>(place);
        uint16_t length = 0;
        a.Length(length);
        a.template Number<1>(s->table_id);
        a.Pad(1);
        LayDuration(a, s);
        a.template Number<2>(s->priority);
        a.template Number<2>(s->idle_timeout);
        a.template Number<2>(s->hard_timeout);
        a.template Number<2>(s->flags);
        a.Pad(4);
        a.template Number<8>(s->cookie);
        a.template Number<8>(s->packet_count);
        a.template Number<8>(s->byte_count);
        Lay(a, s->match);
        LayInstructions(a, s->instructions, s->instructions_num);
    });
    a.Drop(place);
}

// The statistics of an entry that was removed, around the reason.
template <class A, class R>
void
LayRemoved(A& a, ofl_flow_stats*& place, R& reason)
{
    ofl_flow_stats* s = a.template Make<ofl_flow_stats>(place);
    a.template Number<8>(s->cookie);
    a.template Number<2>(s->priority);
    a.template Number<1>(reason);
    a.template Number<1>(s->table_id);
    LayDuration(a, s);
    a.template Number<2>(s->idle_timeout);
    a.template Number<2>(s->hard_timeout);
    a.template Number<8>(s->packet_count);
    a.template Number<8>(s->byte_count);
    Lay(a, s->match);
    a.Drop(place);
}

template <class A>
void
Lay(A& a, ofl_table_stats*& place)
{
    ofl_table_stats* s = a.template Make<ofl_table_stats>(place);
    a.template Number<1>(s->table_id);
    a.Pad(3);
    a.template Number<4>(s->active_count);
    a.template Number<8>(s->lookup_count);
    a.template Number<8>(s->matched_count);
    a.Drop(place);
}

template <class A>
void
Lay(A& a, ofl_port_stats*& place)
{
    ofl_port_stats* s = a.template Make<ofl_port_stats>(place);
    a.template Number<4>(s->port_no);
    a.Pad(4);
    for (uint64_t* one : {&s->rx_packets, &s->tx_packets, &s->rx_bytes, &s->tx_bytes, &s->rx_dropped,
                          &s->tx_dropped, &s->rx_errors, &s->tx_errors, &s->rx_frame_err,
                          &s->rx_over_err, &s->rx_crc_err, &s->collisions})
    {
        a.template Number<8>(*one);
    }
    LayDuration(a, s);
    a.Drop(place);
}

template <class A>
void
Lay(A& a, ofl_queue_stats*& place)
{
    ofl_queue_stats* s = a.template Make<ofl_queue_stats>(place);
    a.template Number<4>(s->port_no);
    a.template Number<4>(s->queue_id);
    a.template Number<8>(s->tx_bytes);
    a.template Number<8>(s->tx_packets);
    a.template Number<8>(s->tx_errors);
    LayDuration(a, s);
    a.Drop(place);
}

template <class A>
void
Lay(A& a, ofl_bucket_counter*& place)
{
    ofl_bucket_counter* s = a.template Make<ofl_bucket_counter>(place);
    a.template Number<8>(s->packet_count);
    a.template Number<8>(s->byte_count);
    a.Drop(place);
}

template <class A>
void
Lay(A& a, ofl_group_stats*& place)
{
    a.Frame(1, [&] {
        ofl_group_stats* s = a.template Make<ofl_group_stats>(place);
        uint16_t length = 0;
        a.Length(length);
        a.Pad(2);
        a.template Number<4>(s->group_id);
        a.template Number<4>(s->ref_count);
        a.Pad(4);
        a.template Number<8>(s->packet_count);
        a.template Number<8>(s->byte_count);
        LayDuration(a, s);
        a.List(s->counters, s->counters_num, [&](ofl_bucket_counter*& one) { Lay(a, one); });
    });
    a.Drop(place);
}

template <class A>
void
Lay(A& a, ofl_group_desc_stats*& place)
{
    a.Frame(1, [&] {
        ofl_group_desc_stats* s = a.template Make<ofl_group_desc_stats>(place);
        uint16_t length = 0;
        a.Length(length);
        a.template Number<1>(s->type);
        a.Pad(1);
        a.template Number<4>(s->group_id);
        a.List(s->buckets, s->buckets_num, [&](ofl_bucket*& one) { Lay(a, one); });
    });
    a.Drop(place);
}

template <class A>
void
Lay(A& a, ofl_meter_band_stats*& place)
{
    ofl_meter_band_stats* s = a.template Make<ofl_meter_band_stats>(place);
    a.template Number<8>(s->packet_band_count);
    a.template Number<8>(s->byte_band_count);
    a.Drop(place);
}

template <class A>
void
Lay(A& a, ofl_meter_stats*& place)
{
    a.Frame(1, [&] {
        ofl_meter_stats* s = a.template Make<ofl_meter_stats>(place);
        a.template Number<4>(s->meter_id);
        a.Length(s->len);
        a.Pad(6);
        a.template Number<4>(s->flow_count);
        a.template Number<8>(s->packet_in_count);
        a.template Number<8>(s->byte_in_count);
        LayDuration(a, s);
        a.List(s->band_stats, s->meter_bands_num, [&](ofl_meter_band_stats*& one) { Lay(a, one); });
    });
    a.Drop(place);
}

template <class A>
void
Lay(A& a, ofl_meter_config*& place)
{
    a.Frame(1, [&] {
        ofl_meter_config* s = a.template Make<ofl_meter_config>(place);
        a.Length(s->length);
        a.template Number<2>(s->flags);
        a.template Number<4>(s->meter_id);
        a.List(s->bands, s->meter_bands_num, [&](ofl_meter_band_header*& one) { Lay(a, one); });
    });
    a.Drop(place);
}

template <class A>
void
LayMeterFeatures(A& a, ofl_meter_features*& place)
{
    ofl_meter_features* s = a.template Make<ofl_meter_features>(place);
    a.template Number<4>(s->max_meter);
    a.template Number<4>(s->band_types);
    a.template Number<4>(s->capabilities);
    a.template Number<1>(s->max_bands);
    a.template Number<1>(s->max_color);
    a.Pad(2);
    a.Drop(place);
}

template <class A>
void
Lay(A& a, ofl_queue_prop_header*& place)
{
    a.Frame(1, [&] {
        ofl_queue_prop_header* s = a.template Make<ofl_queue_prop_header>(place);
        uint16_t length = 0;
        a.template Number<2>(s->type);
        a.Length(length);
        a.Pad(4);
        a.template Number<2>(s->rate);
        a.Pad(6);
        if (A::IS_WRITER && s->type != OFPQT_MIN_RATE && s->type != OFPQT_MAX_RATE)
        {
            // The body of an experimenter's property is not kept.
            a.Fail();
        }
    });
    a.Drop(place);
}

template <class A>
void
Lay(A& a, ofl_packet_queue*& place)
{
    a.Frame(1, [&] {
        ofl_packet_queue* s = a.template Make<ofl_packet_queue>(place);
        uint16_t length = 0;
        a.template Number<4>(s->queue_id);
        a.template Number<4>(s->port);
        a.Length(length);
        a.Pad(6);
        a.List(s->properties, s->properties_num, [&](ofl_queue_prop_header*& one) { Lay(a, one); });
    });
    a.Drop(place);
}

#endif
