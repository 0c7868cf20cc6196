# Own kernels: .cu -> PTX (nvcc) -> text embedded in draftproof_gpu. See gpu/kernels/README.md.
#
#   DRAFTPROOF_CUDA     AUTO  compile when there is an nvcc, else as OFF
#                       ON    an nvcc is a must
#                       OFF   never run nvcc
#   DRAFTPROOF_PTX_DIR  without nvcc: a folder with a NAME.ptx for each NAME.cu, built elsewhere;
#                       empty: nothing is embedded, and tests that need own kernels skip
#
# Only PTX is made, so that no CUDA language, toolkit libraries or GPU are needed.
set(DRAFTPROOF_PTX_DIR "" CACHE PATH "Folder with PTX of own kernels built elsewhere")

# One module a .cu file, named by its stem.
file(GLOB_RECURSE draftproof_kernels CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/gpu/kernels
  ${CMAKE_SOURCE_DIR}/gpu/kernels/*.cu)
list(TRANSFORM draftproof_kernels REPLACE "\\.cu$" "")
set(draftproof_ptx_out ${CMAKE_BINARY_DIR}/kernels)
set(draftproof_nvcc_flags -ptx -std=c++20 -arch=compute_80 --fmad=false -lineinfo
  -I${CMAKE_SOURCE_DIR})

set(draftproof_nvcc "")
if(NOT DRAFTPROOF_CUDA STREQUAL "OFF")
  # Remembered, because a configure that ninja starts later may not see this environment, and would
  # leave the kernels out without a word.
  if(NOT "$ENV{CUDACXX}" STREQUAL "")
    set(DRAFTPROOF_NVCC $ENV{CUDACXX} CACHE FILEPATH "The nvcc that compiles the kernels" FORCE)
  endif()
  find_program(DRAFTPROOF_NVCC nvcc HINTS ENV CUDA_HOME PATH_SUFFIXES bin PATHS /usr/local/cuda)
  if(CMAKE_CUDA_COMPILER)
    set(draftproof_nvcc ${CMAKE_CUDA_COMPILER})
  elseif(DRAFTPROOF_NVCC)
    set(draftproof_nvcc ${DRAFTPROOF_NVCC})
  endif()
  if(DRAFTPROOF_CUDA STREQUAL "ON" AND NOT draftproof_nvcc)
    message(FATAL_ERROR "DRAFTPROOF_CUDA=ON, but there is no nvcc: put it on PATH or set CUDACXX, "
      "or set DRAFTPROOF_CUDA=OFF and DRAFTPROOF_PTX_DIR")
  endif()
endif()

# draftproof_ptx: full paths of the PTX files to embed, in the order of draftproof_kernels.
set(draftproof_ptx "")
foreach(kernel IN LISTS draftproof_kernels)
  get_filename_component(name ${kernel} NAME)
  set(ptx ${draftproof_ptx_out}/${name}.ptx)
  if(draftproof_nvcc)
    # The paths in .file become relative to the source folder: the text is the same on any machine.
    add_custom_command(OUTPUT ${ptx}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${draftproof_ptx_out}
      COMMAND ${draftproof_nvcc} ${draftproof_nvcc_flags} -MD -MF ${ptx}.d -MT ${ptx}
        -o ${ptx}.next ${CMAKE_SOURCE_DIR}/gpu/kernels/${kernel}.cu
      COMMAND sed -e "s#\"${CMAKE_SOURCE_DIR}/\\(\\./\\)*#\"#" ${ptx}.next > ${ptx}
      DEPENDS ${CMAKE_SOURCE_DIR}/gpu/kernels/${kernel}.cu
      DEPFILE ${ptx}.d
      COMMENT "nvcc ${kernel}.cu -> ${name}.ptx"
      VERBATIM)
    list(APPEND draftproof_ptx ${ptx})
  elseif(NOT DRAFTPROOF_PTX_DIR STREQUAL "")
    if(NOT EXISTS ${DRAFTPROOF_PTX_DIR}/${name}.ptx)
      message(FATAL_ERROR "DRAFTPROOF_PTX_DIR has no ${name}.ptx: ${DRAFTPROOF_PTX_DIR}")
    endif()
    list(APPEND draftproof_ptx ${DRAFTPROOF_PTX_DIR}/${name}.ptx)
  endif()
endforeach()

# One assembly file holds the texts; one C++ file lists them (gpu/kernels/embedded.h).
set(assembly "    .section .rodata\n")
set(declarations "")
set(rows "")
foreach(ptx IN LISTS draftproof_ptx)
  get_filename_component(name ${ptx} NAME_WE)
  string(APPEND assembly "    .global draftproof_ptx_${name}\n    .global draftproof_ptx_${name}_end\n"
    "    .hidden draftproof_ptx_${name}\n    .hidden draftproof_ptx_${name}_end\n"
    "draftproof_ptx_${name}:\n    .incbin \"${ptx}\"\ndraftproof_ptx_${name}_end:\n    .byte 0\n")
  string(APPEND declarations
    "extern const char draftproof_ptx_${name}[];\nextern const char draftproof_ptx_${name}_end[];\n")
  string(APPEND rows "      {\"${name}\", {draftproof_ptx_${name},\n"
    "        static_cast<std::size_t>(draftproof_ptx_${name}_end - draftproof_ptx_${name})}},\n")
endforeach()
string(APPEND assembly "    .global draftproof_register_table\n    .global draftproof_register_table_end\n"
  "    .hidden draftproof_register_table\n    .hidden draftproof_register_table_end\n"
  "draftproof_register_table:\n    .incbin \"${CMAKE_SOURCE_DIR}/gpu/kernels/registers.csv\"\n"
  "draftproof_register_table_end:\n    .byte 0\n")
string(APPEND assembly "    .section .note.GNU-stack,\"\",%progbits\n")
file(CONFIGURE OUTPUT ${draftproof_ptx_out}/embedded.S CONTENT "${assembly}" @ONLY)
file(CONFIGURE OUTPUT ${draftproof_ptx_out}/embedded_modules.cpp @ONLY CONTENT
"#include <vector>

#include \"gpu/kernels/embedded.h\"

extern \"C\" {
${declarations}extern const char draftproof_register_table[];
extern const char draftproof_register_table_end[];
}

namespace draftproof::gpu::kernels {

std::span<const EmbeddedModule> embedded_modules() {
  static const std::vector<EmbeddedModule> list{
${rows}  };
  return list;
}

std::string_view register_table() {
  return {draftproof_register_table,
          static_cast<std::size_t>(draftproof_register_table_end - draftproof_register_table)};
}

}  // namespace draftproof::gpu::kernels
")
set_source_files_properties(${draftproof_ptx_out}/embedded.S PROPERTIES
  OBJECT_DEPENDS "${draftproof_ptx};${CMAKE_SOURCE_DIR}/gpu/kernels/registers.csv")
target_sources(draftproof_gpu PRIVATE ${draftproof_ptx_out}/embedded.S
  ${draftproof_ptx_out}/embedded_modules.cpp)

# ptxas_check: every embedded text assembles for these architectures without spilling a register, and
# no entry needs more than its line of registers.csv; DRAFTPROOF_UPDATE_GOLDENS=1 writes the table.
if(draftproof_nvcc)
  get_filename_component(draftproof_cuda_bin ${draftproof_nvcc} DIRECTORY)
endif()
find_program(DRAFTPROOF_PTXAS ptxas HINTS ${draftproof_cuda_bin} PATHS /usr/local/cuda/bin)
if(DRAFTPROOF_PTXAS AND draftproof_ptx)
  set(draftproof_ptxas_command ${CMAKE_SOURCE_DIR}/gpu/kernels/ptxas_check.sh ${DRAFTPROOF_PTXAS}
    ${CMAKE_SOURCE_DIR}/gpu/kernels/registers.csv ${draftproof_ptx})
  add_custom_target(ptxas_check COMMAND ${draftproof_ptxas_command} DEPENDS ${draftproof_ptx}
    VERBATIM)
  enable_testing()
  add_test(NAME gpu.Kernels.AssembleForEveryArchitectureWithoutSpills
    COMMAND ${draftproof_ptxas_command})
  set_tests_properties(gpu.Kernels.AssembleForEveryArchitectureWithoutSpills PROPERTIES LABELS unit)
endif()
