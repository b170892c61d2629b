# Sources that are compiled together are of one room, so that a new file meets the names of its own room only
# (tests/machinery/machine_checks.py: batch_names), and a change costs the compilation of a part of its room.
function(tokamak_unity_by_room target) # SOURCE...
  if(NOT CMAKE_UNITY_BUILD)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
  foreach(source IN LISTS ARGN)
    file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR}/src ${source})
    get_filename_component(folder ${path} DIRECTORY)
    string(MAKE_C_IDENTIFIER "${folder}" room)
    # Batches of at most 12, in the order of their names.
    math(EXPR count_${room} "0${count_${room}} + 1")
    math(EXPR batch "(${count_${room}} - 1) / 12")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${room}_${batch})
  endforeach()
endfunction()
