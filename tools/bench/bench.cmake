# Benchmarks, never tests: built by hand with `ninja bench_NAME`, one executable per file.
find_package(benchmark QUIET)
if(benchmark_FOUND)
  file(GLOB benches CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/bench/*_bench.cpp)
  foreach(source IN LISTS benches)
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} EXCLUDE_FROM_ALL ${source})
    target_link_libraries(${name} PRIVATE draftproof_tools benchmark::benchmark)
  endforeach()
endif()

# What exact laws cost: a table, `ninja law_cost`.
add_executable(law_cost EXCLUDE_FROM_ALL tools/bench/law_cost.cpp)
target_link_libraries(law_cost PRIVATE draftproof_reference)

# The script for a machine with a GPU, end to end on the emulated device: nothing is built for it.
if(draftproof_ptx)
  add_test(NAME tools.GpuCheck.DryRunTakesEveryStep
    COMMAND ${CMAKE_SOURCE_DIR}/tools/gpu_check.sh --dry-run --build-dir ${CMAKE_BINARY_DIR})
  set_tests_properties(tools.GpuCheck.DryRunTakesEveryStep PROPERTIES LABELS unit)
endif()
