# Which lines of the text parsers the fuzz corpus reaches is measured with the fuzz targets (scripts/parser_coverage).
# The parsers are then a target of their own: sources with options of their own would be compiled one by one, which
# takes twice as long. A profile is written only where LLVM_PROFILE_FILE asks for it. Takes them out of TOKAMAK_SOURCES.
if(TOKAMAK_FUZZERS)
  file(GLOB TOKAMAK_PARSERS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/ir/text/*.cpp ${PROJECT_SOURCE_DIR}/src/host/ir/text/*.cpp)
  list(REMOVE_ITEM TOKAMAK_SOURCES ${TOKAMAK_PARSERS})
endif()

function(tokamak_covered_parsers library)
  if(NOT TOKAMAK_FUZZERS)
    return()
  endif()
  add_library(tokamak_parsers OBJECT ${TOKAMAK_PARSERS})
  target_include_directories(tokamak_parsers PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_BINARY_DIR}/generated)
  target_link_libraries(tokamak_parsers PRIVATE fmt::fmt)
  tokamak_compile_options(tokamak_parsers)
  tokamak_guide_fuzzers(tokamak_parsers)
  target_compile_options(tokamak_parsers PRIVATE -fprofile-instr-generate=/dev/null -fcoverage-mapping
    -fcoverage-prefix-map=${PROJECT_SOURCE_DIR}/=)
  tokamak_precompile(tokamak_parsers)
  # Files of a folder have no names in common.
  set_target_properties(tokamak_parsers PROPERTIES UNITY_BUILD_MODE GROUP)
  foreach(source IN LISTS TOKAMAK_PARSERS)
    get_filename_component(folder ${source} DIRECTORY)
    string(MAKE_C_IDENTIFIER ${folder} folder)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder})
  endforeach()
  target_sources(${library} PRIVATE $<TARGET_OBJECTS:tokamak_parsers>)
  target_link_options(${library} INTERFACE -fprofile-instr-generate)
endfunction()
