// Errors of oflib's functions, and its memory.
#ifndef OFLIB_OFL_H
#define OFLIB_OFL_H

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "openflow/openflow.h"

// 0, or an OpenFlow error with its type in the upper half and its code in the lower one.
typedef uint32_t ofl_err;

// Experimenters' callbacks. There are none: where one is asked for, pass a null pointer.
struct ofl_exp;

constexpr size_t OFP_ETH_ALEN = 6;

ofl_err ofl_error(uint16_t type, uint16_t code);
uint16_t ofl_error_type(ofl_err error);
uint16_t ofl_error_code(ofl_err error);

// As malloc, calloc and realloc, but they abort when memory is exhausted. free() frees it.
void* xmalloc(size_t bytes);
void* xcalloc(size_t count, size_t bytes);
void* xrealloc(void* memory, size_t bytes);

#endif
