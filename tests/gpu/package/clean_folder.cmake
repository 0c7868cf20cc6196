# Installs the package into a clean folder, and there, with nothing of this tree in sight, builds and
# runs the example that came with it, and compiles every installed header alone.
#   BUILD, FOLDER      the build folder, and the clean one to be made
#   SOURCE             this tree: where the project that compiles the headers lies
#   GENERATOR, NM      of the build
#   HAS_KERNELS        whether the build has embedded any; else the example must say what to do
function(run name)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output
    ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${name}: ${output}")
  endif()
endfunction()

function(build name source)
  run("configure ${name}" ${CMAKE_COMMAND} -S ${source} -B ${FOLDER}/${name}.build -G ${GENERATOR}
    -DCMAKE_PREFIX_PATH=${FOLDER}/prefix)
  run("build ${name}" ${CMAKE_COMMAND} --build ${FOLDER}/${name}.build)
endfunction()

file(REMOVE_RECURSE ${FOLDER})
run(install ${CMAKE_COMMAND} --install ${BUILD} --prefix ${FOLDER}/prefix --component kernels)

# Nothing but the functions of the header is to be seen.
file(GLOB_RECURSE library ${FOLDER}/prefix/*/libdraftproof_kernels.so)
execute_process(COMMAND ${NM} --dynamic --defined-only --extern-only ${library}
  OUTPUT_VARIABLE symbols RESULT_VARIABLE result)
string(REGEX MATCHALL "[^\n]+" symbols "${symbols}")
file(READ ${FOLDER}/prefix/include/draftproof/gpu/draftproof_kernels.h header)
set(count 0)
foreach(line IN LISTS symbols)
  string(REGEX REPLACE "^.* " "" symbol ${line})
  string(FIND "${header}" "${symbol}(" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "the library shows '${symbol}', which its header does not declare")
  endif()
  math(EXPR count "${count} + 1")
endforeach()
string(REGEX MATCHALL "DRAFTPROOF_API [a-z]" declarations "${header}")
list(LENGTH declarations declared)
if(NOT result EQUAL 0 OR NOT count EQUAL declared)
  message(FATAL_ERROR "the header declares ${declared} functions, the library shows ${count}")
endif()

# A header that cites a file which is not installed leaves its reader alone.
set(folder ${FOLDER}/prefix/include/draftproof)
file(GLOB_RECURSE headers ${folder}/*.h)
foreach(path IN LISTS headers)
  file(READ ${path} text)
  string(REGEX MATCHALL "[A-Za-z0-9_/]+[.](cuh|cu|cpp|h)" cited "${text}")
  list(REMOVE_ITEM cited stddef.h stdint.h)
  foreach(name IN LISTS cited)
    if(NOT EXISTS ${folder}/${name} AND NOT EXISTS ${folder}/gpu/${name} AND
        NOT EXISTS ${folder}/gpu/kernels/arguments/${name})
      message(FATAL_ERROR "${path} cites ${name}, which is not installed")
    endif()
  endforeach()
endforeach()

build(headers ${SOURCE}/tests/gpu/package)

file(COPY ${FOLDER}/prefix/share/draftproof/example DESTINATION ${FOLDER})
build(example ${FOLDER}/example)
file(READ ${FOLDER}/example/expected.txt expected)
# One launch or two, the coins are the same, and so are the tokens.
foreach(way "" "--rule;chain")
  execute_process(COMMAND ${FOLDER}/example.build/verify_batch ${way} RESULT_VARIABLE result
    OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT HAS_KERNELS)
    if(result EQUAL 0 OR NOT output MATCHES "DRAFTPROOF_PTX_DIR")
      message(FATAL_ERROR "without kernels the example must say what to do, not: ${output}")
    endif()
  elseif(NOT result EQUAL 0 OR NOT output STREQUAL expected)
    message(FATAL_ERROR "the example ${way} printed\n${output}instead of\n${expected}")
  endif()
endforeach()
# Rules with needs of their own get them.
foreach(rule greedy tree-greedy)
  execute_process(COMMAND ${FOLDER}/example.build/verify_batch --rule ${rule}
    RESULT_VARIABLE result OUTPUT_VARIABLE greedy ERROR_VARIABLE greedy)
  if(HAS_KERNELS AND NOT (result EQUAL 0 AND
      greedy MATCHES "request 0: [^\n]*emitted 3 .accepted. 1 .recovered."))
    message(FATAL_ERROR "the example --rule ${rule} printed\n${greedy}")
  endif()
endforeach()
message("${declared} functions, example: ${output}")
