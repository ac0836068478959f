// Fields of matches. Spec: OpenFlow 1.3.5 section 7.2.3.
#ifndef OFLIB_OXM_MATCH_H
#define OFLIB_OXM_MATCH_H

#include "oflib/ofl-structs.h"

// The parts of a field's header.
#define OXM_VENDOR(HEADER) ((HEADER) >> 16)
#define OXM_FIELD(HEADER) (((HEADER) >> 9) & 0x7f)
#define OXM_TYPE(HEADER) (((HEADER) >> 9) & 0x7fffff)
#define OXM_HASMASK(HEADER) (((HEADER) >> 8) & 1)
#define OXM_LENGTH(HEADER) ((HEADER) & 0xff)

extern "C"
{

// The field with this header, or a null pointer.
struct ofl_match_tlv* oxm_match_lookup(uint32_t header, const struct ofl_match* match);
}

#endif
