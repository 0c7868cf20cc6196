# Embeds tools/engines/runners/*.py as text, so that the command needs no file of the source tree
# (runner_programs.h).
file(GLOB programs CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/engines/runners/*.py)
set(rows "")
foreach(program IN LISTS programs)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${program})
  get_filename_component(name ${program} NAME)
  file(READ ${program} text)
  string(APPEND rows "    {\"${name}\", R\"runner(${text})runner\"},\n")
endforeach()
set(content "#include \"tools/engines/runner_programs.h\"

namespace draftproof::tools::engines {
namespace {

constexpr RunnerProgram kPrograms[] = {
${rows}};

}  // namespace

std::span<const RunnerProgram> runner_programs() { return kPrograms; }

}  // namespace draftproof::tools::engines
")
draftproof_generated_source(runner_programs.cpp "${content}")
