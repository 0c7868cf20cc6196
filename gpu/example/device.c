/* The GPU half opens the driver by hand, so that the example builds without a CUDA toolkit. */
#include "device.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef int (*init_function)(unsigned);
typedef int (*retain_function)(void**, int);
typedef int (*set_function)(void*);
typedef int (*wait_function)(void);
typedef int (*allocate_function)(draftproof_pointer*, size_t);
typedef int (*free_function)(draftproof_pointer);
typedef int (*write_function)(draftproof_pointer, const void*, size_t);
typedef int (*read_function)(void*, draftproof_pointer, size_t);

static void* driver;

/* A pointer to a function, the POSIX way around ISO C, which knows no such conversion. */
#define DRIVER_FUNCTION(type, variable, name) \
  type variable;                              \
  *(void**)&variable = dlsym(driver, name)

static void need_cuda(const char* what, int result) {
  if (result == 0) return;
  fprintf(stderr, "%s: CUDA error %d\n", what, result);
  exit(1);
}

void need(device* device, const char* what, draftproof_result result) {
  char text[4096];
  if (result.code == DRAFTPROOF_OK) return;
  fprintf(stderr, "%s: %s (%d)\n", what, result.text, (int)result.code);
  if (device->library != NULL &&
      draftproof_emulated_observations(device->library, text, sizeof(text)) != 0)
    fprintf(stderr, "%s", text);
  exit(1);
}

static void open_cuda(void) {
  void* context = NULL;
  driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == NULL) {
    fprintf(stderr, "no CUDA driver here; run without --cuda\n");
    exit(1);
  }
  {
    DRIVER_FUNCTION(init_function, init, "cuInit");
    DRIVER_FUNCTION(retain_function, retain, "cuDevicePrimaryCtxRetain");
    DRIVER_FUNCTION(set_function, set, "cuCtxSetCurrent");
    need_cuda("cuInit", init(0));
    need_cuda("cuDevicePrimaryCtxRetain", retain(&context, 0));
    need_cuda("cuCtxSetCurrent", set(context));
  }
}

device device_open(int wants_cuda) {
  device opened = {NULL, !wants_cuda};
  if (wants_cuda) open_cuda();
  need(&opened, "library",
       wants_cuda ? draftproof_library_create(DRAFTPROOF_CURRENT_CONTEXT, &opened.library)
                  : draftproof_library_create_emulated(&opened.library));
  return opened;
}

void device_close(device* device) { draftproof_library_destroy(device->library); }

draftproof_pointer device_put(device* device, const char* label, const void* from,
                              uint64_t bytes) {
  draftproof_pointer pointer = 0;
  if (device->is_emulated) {
    need(device, label, draftproof_emulated_allocate(device->library, bytes, label, &pointer));
    if (from != NULL)
      need(device, label, draftproof_emulated_write(device->library, pointer, from, bytes));
  } else {
    DRIVER_FUNCTION(allocate_function, allocate, "cuMemAlloc_v2");
    DRIVER_FUNCTION(write_function, write, "cuMemcpyHtoD_v2");
    need_cuda(label, allocate(&pointer, bytes));
    if (from != NULL) need_cuda(label, write(pointer, from, bytes));
  }
  return pointer;
}

void device_get(device* device, draftproof_pointer from, void* to, uint64_t bytes) {
  if (device->is_emulated) {
    need(device, "read", draftproof_emulated_read(device->library, from, to, bytes));
  } else {
    DRIVER_FUNCTION(wait_function, wait, "cuCtxSynchronize");
    DRIVER_FUNCTION(read_function, read, "cuMemcpyDtoH_v2");
    need_cuda("cuCtxSynchronize", wait());
    need_cuda("read", read(to, from, bytes));
  }
}

void device_free(device* device, draftproof_pointer pointer) {
  if (device->is_emulated) {
    need(device, "free", draftproof_emulated_free(device->library, pointer));
  } else {
    DRIVER_FUNCTION(free_function, release, "cuMemFree_v2");
    need_cuda("free", release(pointer));
  }
}
