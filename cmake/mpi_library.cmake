# libtokamak_mpi.so: all that is linked with MPI, whose binary interface is that of one MPI. The library and the
# programs load it at run time (src/dist/mpi/mpi_library.h), so that they run where no MPI is.
option(TOKAMAK_MPI "Build libtokamak_mpi.so, for ranks that are processes, where MPI is found" ON)
if(NOT TOKAMAK_MPI)
  return()
endif()
set(MPI_CXX_SKIP_MPICXX ON)
find_package(MPI QUIET COMPONENTS CXX)
if(NOT MPI_CXX_FOUND)
  message(STATUS "libtokamak_mpi.so is left out: MPI was not found (scripts/setup installs it)")
  return()
endif()
add_library(tokamak_mpi MODULE ${PROJECT_SOURCE_DIR}/src/dist/mpi/library/mpi_library.cpp)
target_include_directories(tokamak_mpi PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(tokamak_mpi PRIVATE MPI::MPI_CXX)
tokamak_compile_options(tokamak_mpi)
# Where the programs in bin/ look for it.
set_target_properties(tokamak_mpi PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib UNITY_BUILD OFF)
install(TARGETS tokamak_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
