// Device: memory for the example, on the emulated device or on a GPU. An engine has its own.
#ifndef DEVICE_H
#define DEVICE_H

#include <draftproof_kernels.h>
#include <stdint.h>

typedef struct device {
  draftproof_library* library;
  int is_emulated;
} device;

/** Opens the first GPU when `wants_cuda`, else the emulated device. Ends the program on failure, as
 * all functions here do. */
device device_open(int wants_cuda);
void device_close(device* device);

/** Memory that holds a copy of `from`, or, with `from` null, nothing yet. */
draftproof_pointer device_put(device* device, const char* label, const void* from, uint64_t bytes);
/** Waits for all launches, then copies. */
void device_get(device* device, draftproof_pointer from, void* to, uint64_t bytes);
void device_free(device* device, draftproof_pointer pointer);

/** Ends the program with the text of a result that is not DRAFTPROOF_OK. */
void need(device* device, const char* what, draftproof_result result);

#endif
