# The C interface as a package: one shared library, its headers and an example.
#
# Shared, because an engine links C: of the kernels' texts, the emulator and everything else in C++
# nothing but the functions of draftproof_kernels.h is to be seen (exports.map), and no C++ library
# of the engine's own can meet ours. Nothing is compiled twice for it: draftproof_gpu is built
# position-independent, and of reference/ only the presets, which are data, are compiled once more.
file(GLOB draftproof_interface_sources CONFIGURE_DEPENDS
  ${CMAKE_SOURCE_DIR}/gpu/interface/*.cpp)
add_library(draftproof_interface OBJECT ${draftproof_interface_sources})
set_target_properties(draftproof_interface PROPERTIES POSITION_INDEPENDENT_CODE ON
  CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
target_link_libraries(draftproof_interface PRIVATE draftproof_options)
target_sources(draftproof_gpu PRIVATE $<TARGET_OBJECTS:draftproof_interface>)

set(draftproof_exports ${CMAKE_SOURCE_DIR}/gpu/interface/exports.map)
add_library(draftproof_kernels SHARED $<TARGET_OBJECTS:draftproof_interface>
  ${CMAKE_SOURCE_DIR}/reference/presets.cpp)
set_target_properties(draftproof_kernels PROPERTIES VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} EXPORT_NAME kernels
  CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON LINK_DEPENDS ${draftproof_exports})
target_link_libraries(draftproof_kernels PRIVATE draftproof_gpu)
target_link_options(draftproof_kernels PRIVATE
  LINKER:--version-script=${draftproof_exports} LINKER:--no-undefined)

# Installed as they include each other: gpu/draftproof_kernels.h from include/draftproof.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(draftproof_headers ${CMAKE_INSTALL_INCLUDEDIR}/draftproof)
target_include_directories(draftproof_kernels INTERFACE
  "$<BUILD_INTERFACE:${CMAKE_SOURCE_DIR};${CMAKE_SOURCE_DIR}/gpu>"
  "$<INSTALL_INTERFACE:${draftproof_headers};${draftproof_headers}/gpu>")
install(TARGETS draftproof_kernels EXPORT draftproof COMPONENT kernels
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT kernels
  NAMELINK_COMPONENT kernels)
install(FILES gpu/draftproof_kernels.h DESTINATION ${draftproof_headers}/gpu COMPONENT kernels)
install(DIRECTORY gpu/kernels/arguments DESTINATION ${draftproof_headers}/gpu/kernels
  COMPONENT kernels FILES_MATCHING PATTERN "*.h")
install(DIRECTORY gpu/example/ DESTINATION ${CMAKE_INSTALL_DATADIR}/draftproof/example
  COMPONENT kernels)
install(FILES tools/docs/kernels.md DESTINATION ${CMAKE_INSTALL_DATADIR}/draftproof
  COMPONENT kernels)

set(draftproof_package ${CMAKE_INSTALL_LIBDIR}/cmake/draftproof)
install(EXPORT draftproof NAMESPACE draftproof:: FILE draftproofTargets.cmake
  DESTINATION ${draftproof_package} COMPONENT kernels)
configure_package_config_file(gpu/interface/draftproofConfig.cmake.in
  ${CMAKE_BINARY_DIR}/package/draftproofConfig.cmake INSTALL_DESTINATION ${draftproof_package})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/draftproofConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/package/draftproofConfig.cmake
  ${CMAKE_BINARY_DIR}/package/draftproofConfigVersion.cmake
  DESTINATION ${draftproof_package} COMPONENT kernels)

set(draftproof_has_kernels OFF)
if(draftproof_ptx)
  set(draftproof_has_kernels ON)
endif()
# The example and every header alone, built against the installed package in a clean folder.
enable_testing()
add_test(NAME gpu.Package.IsInstalledAndItsExampleBuildsAndRunsInACleanFolder
  COMMAND ${CMAKE_COMMAND} -DBUILD=${CMAKE_BINARY_DIR} -DSOURCE=${CMAKE_SOURCE_DIR}
    -DFOLDER=${CMAKE_BINARY_DIR}/package/clean -DGENERATOR=${CMAKE_GENERATOR}
    -DNM=${CMAKE_NM} -DHAS_KERNELS=${draftproof_has_kernels} -P ${CMAKE_SOURCE_DIR}/tests/gpu/package/clean_folder.cmake)
set_tests_properties(gpu.Package.IsInstalledAndItsExampleBuildsAndRunsInACleanFolder PROPERTIES
  LABELS engine)

include(gpu/torch/torch.cmake)
