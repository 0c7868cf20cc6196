# Embeds fixtures/mutants/kernels/*.ptxpatch as text, so that the command needs no file of the source
# tree (embedded_patches.h).
file(GLOB patches CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/fixtures/mutants/kernels/*.ptxpatch)
set(rows "")
foreach(patch IN LISTS patches)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${patch})
  get_filename_component(name ${patch} NAME)
  file(READ ${patch} text)
  string(APPEND rows "      {\"${name}\", R\"ptxpatch(${text})ptxpatch\"},\n")
endforeach()
set(source ${CMAKE_BINARY_DIR}/generated/embedded_patches.cpp)
set(content "#include <vector>

#include \"tools/draftproof/embedded_patches.h\"

namespace draftproof::tools {

std::span<const EmbeddedPatch> embedded_patches() {
  static const std::vector<EmbeddedPatch> list{
${rows}  };
  return list;
}

}  // namespace draftproof::tools
")
set(old "")
if(EXISTS ${source})
  file(READ ${source} old)
endif()
if(NOT "${old}" STREQUAL "${content}")
  file(WRITE ${source} "${content}")
endif()
target_sources(draftproof_tools PRIVATE ${source})
