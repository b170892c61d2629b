# The Python package: python/tokamak with the extension module _tokamak beside it, in ${PROJECT_BINARY_DIR}/python.
option(TOKAMAK_PYTHON "Build the Python package (needs nanobind, a package of Python's)" OFF)
option(TOKAMAK_FMT_INSIDE "Compile {fmt} into the Python module, which then needs no library of it" OFF)
if(NOT TOKAMAK_PYTHON)
  return()
endif()

# nanobind asks for the name Python; tests have found Python3.
if(Python3_EXECUTABLE AND NOT Python_EXECUTABLE)
  set(Python_EXECUTABLE ${Python3_EXECUTABLE})
endif()
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
set(TOKAMAK_PYTHON_TOOLS "" CACHE PATH "Where nanobind is, if Python does not find it by itself")
if(TOKAMAK_PYTHON_TOOLS)
  set(nanobind_path ${CMAKE_COMMAND} -E env PYTHONPATH=${TOKAMAK_PYTHON_TOOLS})
endif()
execute_process(COMMAND ${nanobind_path} ${Python_EXECUTABLE} -m nanobind --cmake_dir
  OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind CONFIG REQUIRED)
execute_process(COMMAND ${nanobind_path} ${Python_EXECUTABLE} -c "import numpy; print(numpy.get_include())"
  OUTPUT_VARIABLE numpy_headers OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)

set(package ${PROJECT_BINARY_DIR}/python/tokamak)
file(GLOB PYTHON_MODULE_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/python/*.cpp)
nanobind_add_module(tokamak_python NB_STATIC STABLE_ABI NOMINSIZE ${PYTHON_MODULE_SOURCES})
set_target_properties(tokamak_python PROPERTIES OUTPUT_NAME _tokamak LIBRARY_OUTPUT_DIRECTORY ${package})
# Of the library nothing but the module's entry shows: another module may bring another version of it.
target_link_libraries(tokamak_python PRIVATE tokamak_commands)
target_link_options(tokamak_python PRIVATE LINKER:--exclude-libs,ALL)
target_compile_definitions(tokamak_python PRIVATE NPY_NO_DEPRECATED_API=NPY_1_7_API_VERSION)
tokamak_compile_options(tokamak_python)
if(TOKAMAK_FMT_INSIDE)
  # All that its headers have, which the linker then does not look for in its library.
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/fmt_inside.cpp CONTENT
    "#define FMT_HEADER_ONLY\n#undef FMT_SHARED\n#include <fmt/format.h>\n")
  target_sources(tokamak_python PRIVATE ${PROJECT_BINARY_DIR}/generated/fmt_inside.cpp)
  set_source_files_properties(${PROJECT_BINARY_DIR}/generated/fmt_inside.cpp PROPERTIES
    SKIP_UNITY_BUILD_INCLUSION ON COMPILE_OPTIONS -fkeep-inline-functions)
  target_link_options(tokamak_python PRIVATE LINKER:--as-needed)
endif()
# NumPy's, nanobind's and Python's headers are as they are. NumPy's come first: distributions have another version of
# them among Python's.
get_target_property(nanobind_headers nanobind-static INTERFACE_INCLUDE_DIRECTORIES)
target_include_directories(tokamak_python SYSTEM PRIVATE ${numpy_headers} ${nanobind_headers} ${Python_INCLUDE_DIRS})

# In the build, sources are where they are edited.
set(package_sources ${PROJECT_SOURCE_DIR}/python/tokamak)
file(GLOB_RECURSE PYTHON_FILES CONFIGURE_DEPENDS RELATIVE ${package_sources} ${package_sources}/*.py ${package_sources}/py.typed)
foreach(file IN LISTS PYTHON_FILES)
  get_filename_component(folder ${file} DIRECTORY)
  file(MAKE_DIRECTORY ${package}/${folder})
  file(CREATE_LINK ${package_sources}/${file} ${package}/${file} SYMBOLIC)
  install(FILES ${package_sources}/${file} DESTINATION tokamak/${folder} COMPONENT python EXCLUDE_FROM_ALL)
endforeach()

# What editors and type checkers read. Python modules have their types in them, but for the ops, which come from tables.
set(stubs ${package}/_tokamak.pyi ${package}/_ops.pyi)
get_filename_component(nanobind_folder ${nanobind_ROOT} DIRECTORY)
add_custom_command(OUTPUT ${stubs}
  COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${PROJECT_BINARY_DIR}/python ${Python_EXECUTABLE} -B
    ${nanobind_folder}/stubgen.py -q -m tokamak._tokamak
    -o ${package}/_tokamak.pyi -p ${PROJECT_SOURCE_DIR}/cmake/python_errors.pattern
  COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${PROJECT_BINARY_DIR}/python ${Python_EXECUTABLE} -B
    ${PROJECT_SOURCE_DIR}/scripts/python_stubs.py ${package}
  DEPENDS tokamak_python ${package_sources}/_ops.py ${PROJECT_SOURCE_DIR}/scripts/python_stubs.py
    ${PROJECT_SOURCE_DIR}/cmake/python_errors.pattern VERBATIM)
add_custom_target(tokamak_python_package ALL DEPENDS ${stubs})

install(TARGETS tokamak_python LIBRARY DESTINATION tokamak COMPONENT python EXCLUDE_FROM_ALL)
install(FILES ${stubs} DESTINATION tokamak COMPONENT python EXCLUDE_FROM_ALL)
