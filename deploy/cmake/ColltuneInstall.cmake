# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where, besides the programs (colltune_program installs those): the client library and
# the collectives with their headers, a CMake package and files for pkg-config, the protocol, the configurations with their
# schemas, the licence.
#   find_package(colltune CONFIG REQUIRED)
#   target_link_libraries(app PRIVATE colltune::client)       # or colltune::collectives
# or: cc app.c $(pkg-config --cflags --libs colltune-client)  # or colltune-collectives

include(CMakePackageConfigHelpers)

install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY "${PROJECT_SOURCE_DIR}/configs/" DESTINATION ${CMAKE_INSTALL_DATADIR}/colltune/configs
        FILES_MATCHING PATTERN "*.json" PATTERN "*.md")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/proto/colltune" DESTINATION ${CMAKE_INSTALL_DATADIR}/colltune/proto
        FILES_MATCHING PATTERN "*.proto")

# The vocabulary's headers: the libraries' own are made of them; its code is inside each library.
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/colltune)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/proto/vocabulary/include/" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")
install(TARGETS colltune_table_client EXPORT colltune_targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET colltune_client)
  install(TARGETS colltune_client EXPORT colltune_targets
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
          FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()
set(mpi_headers "")
if(COLLTUNE_HAVE_MPI)
  set(mpi_headers FILE_SET mpi DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()
colltune_find_kernels(colltune_collectives ${CMAKE_INSTALL_LIBDIR})
install(TARGETS colltune_collectives EXPORT colltune_targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILE_SET numerics DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        ${mpi_headers})
install(EXPORT colltune_targets NAMESPACE colltune:: FILE colltuneConfig.cmake DESTINATION ${package_folder})
write_basic_package_version_file("${PROJECT_BINARY_DIR}/colltuneConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/colltuneConfigVersion.cmake" DESTINATION ${package_folder})
if(COLLTUNE_SHARED_KERNELS)
  install(TARGETS colltune_kernels LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()

# install_pc(NAME LIBRARY DESCRIPTION MORE_CFLAGS MORE_LIBS): a file for pkg-config that finds the prefix by where it lies.
function(install_pc name library description more_cflags more_libs)
  set(folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}/${folder}" OUTPUT_VARIABLE to_prefix)
  configure_file("${PROJECT_SOURCE_DIR}/deploy/cmake/package.pc.in" "${PROJECT_BINARY_DIR}/${name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${name}.pc" DESTINATION ${folder})
endfunction()

install_pc(colltune-table colltune_table "Answers from a table file which variant of a collective is the fastest" "" "")
if(TARGET colltune_client)
  install_pc(colltune-client colltune_client "Asks a colltuned which variant of a collective is the fastest" "" "")
endif()
# A program calls MPI itself, of the library that this one was built with.
set(more_cflags "")
set(more_libs "")
if(COLLTUNE_HAVE_MPI)
  foreach(folder IN LISTS MPI_C_INCLUDE_DIRS)
    string(APPEND more_cflags " -I${folder}")
  endforeach()
  foreach(library IN LISTS MPI_C_LIBRARIES)
    string(APPEND more_libs " ${library}")
  endforeach()
endif()
install_pc(colltune-collectives colltune_collectives "Collectives that run the winners of a table file" "${more_cflags}" "${more_libs}")
