# PyTorch operators: built where torch is installed, by its own headers and its CPU libraries alone,
# so that no CUDA toolkit is asked for.
#   DRAFTPROOF_TORCH       AUTO  build when the python that is found has a torch
#                          ON    a torch is a must
#                          OFF   never
#   DRAFTPROOF_TORCH_ROOT  a torch elsewhere: the folder that has include/ and lib/
set(DRAFTPROOF_TORCH AUTO CACHE STRING "Build the PyTorch operators: AUTO, ON or OFF")
set_property(CACHE DRAFTPROOF_TORCH PROPERTY STRINGS AUTO ON OFF)
set(DRAFTPROOF_TORCH_ROOT "" CACHE PATH "The folder of a torch that has include/ and lib/")
if(DRAFTPROOF_TORCH STREQUAL "OFF")
  return()
endif()

set(draftproof_torch_root "${DRAFTPROOF_TORCH_ROOT}")
find_program(DRAFTPROOF_PYTHON python3)
if(NOT draftproof_torch_root AND DRAFTPROOF_PYTHON)
  execute_process(COMMAND ${DRAFTPROOF_PYTHON} -c
    "import importlib.util as u, os; s = u.find_spec('torch'); print(os.path.dirname(s.origin) if s else '', end='')"
    OUTPUT_VARIABLE draftproof_torch_root ERROR_QUIET)
endif()
if(NOT EXISTS "${draftproof_torch_root}/include/torch/library.h")
  if(DRAFTPROOF_TORCH STREQUAL "ON")
    message(FATAL_ERROR "DRAFTPROOF_TORCH=ON, but there is no torch: install it for python3, or set "
      "DRAFTPROOF_TORCH_ROOT")
  endif()
  return()
endif()

# From 2.6 on torch is built with the ABI of this compiler's std::string.
file(STRINGS ${draftproof_torch_root}/include/torch/csrc/api/include/torch/version.h
  draftproof_torch_numbers REGEX "define TORCH_VERSION_(MAJOR|MINOR)")
string(REGEX MATCHALL "[0-9]+" draftproof_torch_numbers "${draftproof_torch_numbers}")
list(JOIN draftproof_torch_numbers "." draftproof_torch_version)
if(draftproof_torch_version VERSION_LESS 2.6)
  message(STATUS "PyTorch operators are left out: torch ${draftproof_torch_version} is older than 2.6")
  return()
endif()

file(GLOB draftproof_torch_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/gpu/torch/*.cpp)
add_library(draftproof_torch MODULE ${draftproof_torch_sources})
target_compile_options(draftproof_torch PRIVATE -Wall -Wextra)
set_target_properties(draftproof_torch PROPERTIES INSTALL_RPATH $ORIGIN)
target_include_directories(draftproof_torch PRIVATE ${CMAKE_SOURCE_DIR})
target_include_directories(draftproof_torch SYSTEM PRIVATE ${draftproof_torch_root}/include)
target_link_libraries(draftproof_torch PRIVATE draftproof_kernels
  ${draftproof_torch_root}/lib/libtorch_cpu.so ${draftproof_torch_root}/lib/libc10.so)
# What torch needs of its own it finds when it is imported; this library is loaded behind it.
target_link_options(draftproof_torch PRIVATE LINKER:--allow-shlib-undefined)
install(TARGETS draftproof_torch COMPONENT torch LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${CMAKE_SOURCE_DIR}/gpu/torch/draftproof_torch.py COMPONENT torch
  DESTINATION ${CMAKE_INSTALL_LIBDIR})

enable_testing()
add_test(NAME gpu.TorchOperators.JudgeCommitAndTraceAsTheySay
  COMMAND ${DRAFTPROOF_PYTHON} ${CMAKE_SOURCE_DIR}/tests/gpu/torch/operators_check.py)
set_tests_properties(gpu.TorchOperators.JudgeCommitAndTraceAsTheySay PROPERTIES LABELS thirdparty
  ENVIRONMENT "PYTHONPATH=${CMAKE_SOURCE_DIR}/gpu/torch;DRAFTPROOF_TORCH_LIBRARY=$<TARGET_FILE:draftproof_torch>")
