// Library: what a draftproof_library is. Created once, never changed, so that threads may share it.
#pragma once

#include <memory>

#include "gpu/interface/executor.h"

/// The handle of the C interface.
struct draftproof_library {
  std::unique_ptr<draftproof::gpu::interface::Executor> executor;
};
