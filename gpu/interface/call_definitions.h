// Definitions of the calls of one kernel, for the C interface: NAME_plan and NAME_launch, over the
// overloads of launches::check and launches::launch_of that take its arguments.
#pragma once

#include "gpu/interface/call.h"

#define DRAFTPROOF_DEFINE_CALLS(name)                                                           \
  draftproof_result name##_plan(const draftproof_library* library,                              \
                                const name##_arguments* arguments, draftproof_plan* plan) {     \
    return draftproof::gpu::interface::plan(                                                    \
        library, arguments, plan,                                                               \
        [](const name##_arguments& own) { return draftproof::gpu::launches::check(own); },      \
        [](const name##_arguments& own) { return draftproof::gpu::launches::launch_of(own); }); \
  }                                                                                             \
  draftproof_result name##_launch(const draftproof_library* library,                            \
                                  const name##_arguments* arguments, void* stream) {            \
    return draftproof::gpu::interface::launch(                                                  \
        library, arguments, stream,                                                             \
        [](const name##_arguments& own) { return draftproof::gpu::launches::check(own); },      \
        [](const name##_arguments& own) { return draftproof::gpu::launches::launch_of(own); }); \
  }
