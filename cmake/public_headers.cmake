# Installs the public headers, which are c.h and those that tokamak/tokamak.h includes, directly or not: as
# <tokamak/ROOM/...>, with their includes of each other rewritten to that, and macros TK_... to TOKAMAK_...
#   cmake -DFOLDERS=<src>,<generated> -DINTO=<prefix>/include -P public_headers.cmake
cmake_minimum_required(VERSION 3.25)
string(REPLACE "," ";" FOLDERS "${FOLDERS}")

# The header, found in FOLDERS, and what it includes by quotes; each once.
function(install_public header)
  get_property(is_known GLOBAL PROPERTY known_${header} SET)
  if(is_known)
    return()
  endif()
  set_property(GLOBAL PROPERTY known_${header} ON)
  foreach(folder IN LISTS FOLDERS)
    if(NOT EXISTS ${folder}/${header})
      continue()
    endif()
    file(READ ${folder}/${header} text)
    string(REGEX REPLACE "#include \"(tokamak/)?([^\"]+)\"" "#include \"tokamak/\\2\"" text "${text}")
    string(REGEX REPLACE "(^|[^A-Za-z0-9_])TK_([A-Z])" "\\1TOKAMAK_\\2" text "${text}")
    string(REGEX REPLACE "^tokamak/" "" place ${header})
    file(WRITE ${INTO}/tokamak/${place} "${text}")
    file(STRINGS ${folder}/${header} lines REGEX "^#include \"")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" included "${line}")
      install_public(${included})
    endforeach()
    return()
  endforeach()
  message(FATAL_ERROR "public headers: '${header}' is in none of ${FOLDERS}")
endfunction()

install_public(tokamak/tokamak.h)
install_public(tokamak/c.h)
