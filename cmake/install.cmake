# The installed package: find_package(tokamak) gives tokamak::tokamak, the shared library, and #include
# <tokamak/tokamak.h> all of it. tokamak::tokamak_static is there where {fmt} is, which whoever links the archive links.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tokamak)
install(TARGETS tokamak EXPORT tokamak-static
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET tokamak_shared)
  install(TARGETS tokamak_shared EXPORT tokamak
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT tokamak NAMESPACE tokamak:: FILE tokamak-targets.cmake DESTINATION ${package_dir})
  # The prefix is where the file lies: the package may be moved.
  file(RELATIVE_PATH TOKAMAK_PREFIX_FROM_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/tokamak.pc.in ${PROJECT_BINARY_DIR}/tokamak.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/tokamak.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
install(CODE "execute_process(COMMAND \"${CMAKE_COMMAND}\"
  \"-DFOLDERS=${PROJECT_SOURCE_DIR}/src,${PROJECT_BINARY_DIR}/generated\"
  \"-DINTO=\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}\"
  -P \"${CMAKE_CURRENT_LIST_DIR}/public_headers.cmake\" COMMAND_ERROR_IS_FATAL ANY)")
if(TARGET tokamak_cli)
  install(TARGETS tokamak_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
# The command line writes its own completions, so that they name the options that it has.
if(TARGET tokamak_cli AND NOT CMAKE_CROSSCOMPILING)
  set(completions ${PROJECT_BINARY_DIR}/completions)
  add_custom_command(TARGET tokamak_cli POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E make_directory ${completions}
    COMMAND $<TARGET_FILE:tokamak_cli> info --completion bash > ${completions}/tokamak
    COMMAND $<TARGET_FILE:tokamak_cli> info --completion zsh > ${completions}/_tokamak
    BYPRODUCTS ${completions}/tokamak ${completions}/_tokamak VERBATIM)
  install(FILES ${completions}/tokamak DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${completions}/_tokamak DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
endif()
install(EXPORT tokamak-static NAMESPACE tokamak:: FILE tokamak-static-targets.cmake DESTINATION ${package_dir})

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/tokamak-config.cmake.in
  ${PROJECT_BINARY_DIR}/tokamak-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tokamak-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tokamak-config.cmake ${PROJECT_BINARY_DIR}/tokamak-config-version.cmake
  DESTINATION ${package_dir})
