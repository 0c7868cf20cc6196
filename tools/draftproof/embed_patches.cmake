# Embeds fixtures/mutants/kernels/*.ptxpatch as text, so that the command needs no file of the source
# tree (embedded_patches.h); of those in folders their names.
file(GLOB patches CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/fixtures/mutants/kernels/*.ptxpatch)
set(rows "")
foreach(patch IN LISTS patches)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${patch})
  get_filename_component(name ${patch} NAME)
  file(READ ${patch} text)
  string(APPEND rows "      {\"${name}\", R\"ptxpatch(${text})ptxpatch\"},\n")
endforeach()
file(GLOB patches CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/fixtures/mutants/kernels
  ${CMAKE_SOURCE_DIR}/fixtures/mutants/kernels/*/*.ptxpatch)
set(places "")
foreach(patch IN LISTS patches)
  get_filename_component(folder ${patch} DIRECTORY)
  get_filename_component(name ${patch} NAME_WE)
  string(APPEND places "      {\"${name}\", \"${folder}\"},\n")
endforeach()
set(content "#include <vector>

#include \"tools/draftproof/embedded_patches.h\"

namespace draftproof::tools {

std::span<const EmbeddedPatch> embedded_patches() {
  static const std::vector<EmbeddedPatch> list{
${rows}  };
  return list;
}

std::span<const PatchPlace> patches_in_folders() {
  static const std::vector<PatchPlace> list{
${places}  };
  return list;
}

}  // namespace draftproof::tools
")
draftproof_generated_source(embedded_patches.cpp "${content}")
