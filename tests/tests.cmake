# Tests mirror the folders: tests/FOLDER/NAME_test.cpp holds unit tests; NAME_LABEL_test.cpp holds
# tests of another ctest label. One executable per folder and label.

find_package(GTest 1.12 REQUIRED)
include(GoogleTest)
enable_testing()

set(draftproof_test_labels exact property statistical mutants golden engine thirdparty gpu)
set(draftproof_test_folders tidy reference gpu oracle fixtures properties tools differential
  end_to_end)
set(draftproof_links_tidy draftproof_options)
set(draftproof_links_reference draftproof_reference rapidcheck)
set(draftproof_links_gpu draftproof_gpu nlohmann_json::nlohmann_json mpfr gmp)
set(draftproof_links_oracle draftproof_oracle)
set(draftproof_links_fixtures draftproof_fixtures draftproof_properties)
set(draftproof_links_properties draftproof_properties draftproof_fixtures)
# A server behind TLS is part of a test.
set(draftproof_links_tools draftproof_tools ssl crypto)
set(draftproof_links_differential draftproof_tools)
set(draftproof_links_end_to_end draftproof_options nlohmann_json::nlohmann_json pugixml::pugixml)

# Heavy headers that most tests of a folder include.
foreach(folder reference oracle fixtures)
  set(draftproof_headers_${folder} ${draftproof_law_headers})
endforeach()
foreach(folder properties tools differential)
  set(draftproof_headers_${folder} ${draftproof_law_headers} <nlohmann/json.hpp>)
endforeach()

# Labels of many small files, compiled in batches where those are on; but for the files whose cases
# are called as those of their neighbours.
set(draftproof_batched_tests reference_unit reference_exact oracle_unit oracle_exact fixtures_exact
  tools_unit tools_engine gpu_unit properties_unit properties_property)
file(GLOB draftproof_alike_tests CONFIGURE_DEPENDS
  tests/gpu/acceptance_test.cpp tests/gpu/interface_calls_test.cpp tests/gpu/*_launches_test.cpp
  tests/reference/adjustments_test.cpp tests/reference/block_*test.cpp
  tests/reference/chain_test.cpp tests/reference/composed_methods_exact_test.cpp
  tests/reference/coupled_rule_exact_test.cpp tests/reference/greedy_test.cpp
  tests/reference/ledger_test.cpp tests/reference/lookup_methods_exact_test.cpp
  tests/reference/lossy_rule_exact_test.cpp tests/reference/method_engine_test.cpp
  tests/reference/optimum_exact_test.cpp tests/reference/paged_cache_prefix_test.cpp
  tests/reference/penalties*_test.cpp tests/reference/proposal_test.cpp
  tests/reference/recurrent_slots_test.cpp tests/reference/shaping_test.cpp
  tests/reference/siblings_test.cpp tests/reference/traversal_test.cpp
  tests/reference/tree_*test.cpp tests/reference/vocabulary_map_test.cpp
  tests/oracle/certificate_exact_test.cpp tests/fixtures/block_faults_exact_test.cpp
  tests/fixtures/drafter_faults_exact_test.cpp tests/fixtures/length_faults_exact_test.cpp
  tests/fixtures/tree_faults_exact_test.cpp tests/properties/subtly_wrong_property_test.cpp
  tests/tools/contract_comparison_test.cpp tests/tools/engine_arms_engine_test.cpp)
set_source_files_properties(${draftproof_alike_tests} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

# A stand-in for libcublas, opened as the real one is.
add_library(draftproof_cublas_stand_in MODULE ${CMAKE_SOURCE_DIR}/tests/gpu/cublas_stand_in.cpp)
target_link_libraries(draftproof_cublas_stand_in PRIVATE draftproof_options)

function(draftproof_tests folder label)
  if(label STREQUAL unit)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${folder}/*_test.cpp)
    foreach(other IN LISTS draftproof_test_labels)
      list(FILTER sources EXCLUDE REGEX "_${other}_test\\.cpp$")
    endforeach()
  else()
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${folder}/*_${label}_test.cpp)
  endif()
  if(NOT sources)
    return()
  endif()
  set(target test_${folder}_${label})
  add_executable(${target} ${sources})
  if(${folder}_${label} IN_LIST draftproof_batched_tests)
    draftproof_in_batches(${target})
  endif()
  # Headers are precompiled once for all that share them: half a minute a set.
  set(headers <gtest/gtest.h> <gmock/gmock.h> ${draftproof_headers_${folder}})
  string(MD5 key "${headers}")
  get_property(first GLOBAL PROPERTY draftproof_tests_${key})
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    set_property(GLOBAL PROPERTY draftproof_tests_${key} ${target})
    target_precompile_headers(${target} PRIVATE ${headers})
  endif()
  # Long literals joined to strings: another overrun that g++ 12 invents (GCC bug 105329). Compiling
  # is most of a first run, and what tests wait for is in the libraries: -O1 takes a third off it.
  target_compile_options(${target} PRIVATE -Wno-stringop-overflow -O1)
  target_link_libraries(${target} PRIVATE ${draftproof_links_${folder}} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${target} PRIVATE DRAFTPROOF_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
    DRAFTPROOF_BINARY_DIR="${CMAKE_BINARY_DIR}")
  if(folder STREQUAL gpu OR folder STREQUAL differential)
    add_dependencies(${target} draftproof_cublas_stand_in)
    target_compile_definitions(${target} PRIVATE
      DRAFTPROOF_CUBLAS_STAND_IN="$<TARGET_FILE:draftproof_cublas_stand_in>")
  endif()
  if(folder STREQUAL end_to_end)
    # These tests run the command as a user does: another process, its streams and its exit code.
    target_sources(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests/end_to_end/command.cpp)
    add_dependencies(${target} draftproof)
    target_compile_definitions(${target} PRIVATE DRAFTPROOF_EXECUTABLE="$<TARGET_FILE:draftproof>")
  endif()
  gtest_discover_tests(${target} TEST_PREFIX "${folder}." PROPERTIES LABELS ${label}
    DISCOVERY_TIMEOUT 60)
endfunction()

foreach(folder IN LISTS draftproof_test_folders)
  foreach(label unit ${draftproof_test_labels})
    draftproof_tests(${folder} ${label})
  endforeach()
endforeach()
