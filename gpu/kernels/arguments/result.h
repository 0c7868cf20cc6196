/* Result: what a call of the C interface answers, and the words its arguments are written in. */
#ifndef DRAFTPROOF_GPU_KERNELS_ARGUMENTS_RESULT_H
#define DRAFTPROOF_GPU_KERNELS_ARGUMENTS_RESULT_H

#include <stdint.h>

/** Why nothing was launched; 0 is the only success. Values are stable. */
enum draftproof_code {
  DRAFTPROOF_OK = 0,
  DRAFTPROOF_NULL_POINTER = 1,
  DRAFTPROOF_MISALIGNED = 2,
  DRAFTPROOF_OUT_OF_RANGE = 3,        /**< a size, count or selector outside its documented range */
  DRAFTPROOF_TOO_LARGE = 4,           /**< a product of sizes exceeds what can be addressed */
  DRAFTPROOF_OVERLAP = 5,             /**< a buffer that is written overlaps another one */
  DRAFTPROOF_WORKSPACE_TOO_SMALL = 6,
  DRAFTPROOF_UNSUPPORTED = 7,         /**< a combination, or a device, that no kernel serves */
  DRAFTPROOF_DEVICE = 8               /**< the driver refused: its own words are in the text */
};

/** `text` is a static string that names the field and the remedy; "" when code is DRAFTPROOF_OK.
 * Never null, never to be freed. */
typedef struct draftproof_result {
  int32_t code; /**< enum draftproof_code */
  const char* text;
} draftproof_result;

/** An address in the device's global memory; 0 is null. */
typedef uint64_t draftproof_pointer;

#endif
