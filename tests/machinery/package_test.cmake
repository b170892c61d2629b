# Installs a build and builds and runs a user of the installed package:
#   cmake -DBUILD=<build folder> -DWORK=<folder to use> -DCOMPILER=<c++> -DVERSION=<the project's> -P package_test.cmake
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGN}: ${code}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
foreach(completion bash-completion/completions/tokamak zsh/site-functions/_tokamak)
  file(READ ${WORK}/prefix/share/${completion} text)
  if(NOT text MATCHES "explain")
    message(FATAL_ERROR "${completion} is installed without run's options")
  endif()
endforeach()
# Headers are those of one folder, need the standard library alone, and have macros of one prefix.
file(GLOB_RECURSE headers ${WORK}/prefix/include/*)
foreach(header IN LISTS headers)
  file(STRINGS ${header} macros REGEX "^ *# *define")
  foreach(line IN LISTS macros)
    if(NOT line MATCHES "^ *# *define TOKAMAK_")
      message(FATAL_ERROR "${header}: ${line}")
    endif()
  endforeach()
  file(STRINGS ${header} lines REGEX "^#include")
  foreach(line IN LISTS lines)
    if(NOT header MATCHES "/include/tokamak/" OR NOT line MATCHES "^#include (<[a-z_]+(\\.h)?>|\"tokamak/)")
      message(FATAL_ERROR "${header}: ${line}")
    endif()
  endforeach()
endforeach()
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/package -B ${WORK}/user -G Ninja -DCMAKE_BUILD_TYPE=Debug
  -DVERSION=${VERSION}
  -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_PREFIX_PATH=${WORK}/prefix)
run(${CMAKE_COMMAND} --build ${WORK}/user)
run(${WORK}/user/tokamak_user)

# The C++ examples are users of the installed package, too.
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/../../examples/cpp -B ${WORK}/example -G Ninja -DCMAKE_BUILD_TYPE=Debug
  -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_PREFIX_PATH=${WORK}/prefix)
run(${CMAKE_COMMAND} --build ${WORK}/example)
foreach(example softmax stream_program)
  run(${WORK}/example/${example})
endforeach()

# So are those of the lessons, whose pages show what the installed command line and these programs print.
set(root ${CMAKE_CURRENT_LIST_DIR}/../..)
run(${CMAKE_COMMAND} -S ${root}/examples/lessons -B ${WORK}/lessons -G Ninja -DCMAKE_BUILD_TYPE=Debug
  -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_PREFIX_PATH=${WORK}/prefix)
run(${CMAKE_COMMAND} --build ${WORK}/lessons)
file(GLOB pages ${root}/docs/lessons/*.md)
run(${PYTHON} -B ${root}/scripts/pages.py --check --tokamak ${WORK}/prefix/bin/tokamak --programs ${WORK}/lessons ${pages})

# The program in C, by CMake and by pkg-config; it links the shared library alone.
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/../../examples/c -B ${WORK}/c -G Ninja
  -DCMAKE_PREFIX_PATH=${WORK}/prefix)
run(${CMAKE_COMMAND} --build ${WORK}/c)
run(${WORK}/c/softmax_c)
file(GLOB_RECURSE pc ${WORK}/prefix/*/tokamak.pc)
get_filename_component(pc_folder ${pc} DIRECTORY)
find_program(PKG_CONFIG NAMES pkg-config pkgconf REQUIRED)
run(sh -c "export PKG_CONFIG_PATH=${pc_folder} && cc ${CMAKE_CURRENT_LIST_DIR}/../../examples/c/softmax.c \
  $(${PKG_CONFIG} --cflags --libs tokamak) -lm -Wl,-rpath,$(${PKG_CONFIG} --variable=libdir tokamak) -o ${WORK}/softmax_c")
run(${WORK}/softmax_c)

# Exported programs, by processes that find no compiler: in C++, in C, and by the command line.
set(exported ${WORK}/exported)
file(MAKE_DIRECTORY ${exported})
run(${WORK}/prefix/bin/tokamak export ${root}/examples/exported/softmax_rows.fusion --size rows=1..1024
  -o ${exported}/softmax_rows.tk --c ${exported}/softmax_rows)
run(${WORK}/prefix/bin/tokamak export ${root}/examples/mlp_streams.fusion --size rows=256 --size model=64 --size hidden=128
  -o ${exported}/mlp.tk)
run(${CMAKE_COMMAND} -S ${root}/examples/exported -B ${WORK}/exported_users -G Ninja -DCMAKE_BUILD_TYPE=Debug
  -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_PREFIX_PATH=${WORK}/prefix -DEXPORTED=${exported})
run(${CMAKE_COMMAND} --build ${WORK}/exported_users)
function(first_result)
  run(${PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/first_result.py 20 ${ARGN})
  message("${output}")
endfunction()
first_result(${WORK}/exported_users/run_exported ${exported}/softmax_rows.tk)
first_result(${WORK}/exported_users/linked_in)
first_result(${WORK}/prefix/bin/tokamak run ${exported}/softmax_rows.tk --size rows=64)
first_result(${WORK}/prefix/bin/tokamak run ${exported}/mlp.tk)

# What the shared library shows is what its headers declare.
file(GLOB_RECURSE library ${WORK}/prefix/lib*/libtokamak.so)
run(${PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/exported_names.py ${library} ${WORK}/prefix/include/tokamak)
