/* Verify, adjusted: the arguments of an acceptance rule over target rows that requests adjust.
 * Plain C, passed by value. The records are those of a shape_rows launch with the same adjustments.
 */
#ifndef DRAFTPROOF_GPU_KERNELS_ARGUMENTS_VERIFY_ADJUSTED_H
#define DRAFTPROOF_GPU_KERNELS_ARGUMENTS_VERIFY_ADJUSTED_H

#include "gpu/kernels/arguments/adjustments.h"
#include "gpu/kernels/arguments/verify.h"

typedef struct draftproof_verify_adjusted_arguments {
  draftproof_verify_arguments verify; /**< block_threads: at most 512 */
  draftproof_adjustments adjustments; /**< requests is not null; masks have a row a target slot */
} draftproof_verify_adjusted_arguments;

#endif
