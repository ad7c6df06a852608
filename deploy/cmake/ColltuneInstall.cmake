# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where, besides the programs (colltune_program installs those): the client library and
# the collectives with their headers and a CMake package, the protocol, the configurations with their schemas, the licence.
#   find_package(colltune CONFIG REQUIRED)
#   target_link_libraries(app PRIVATE colltune::client)       # or colltune::collectives

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
if(TARGET colltune_client)
  install(TARGETS colltune_client EXPORT colltune_targets
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
          FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()
set(mpi_headers "")
if(COLLTUNE_HAVE_MPI)
  set(mpi_headers FILE_SET mpi DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()
install(TARGETS colltune_collectives EXPORT colltune_targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILE_SET numerics DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        ${mpi_headers})
install(EXPORT colltune_targets NAMESPACE colltune:: FILE colltuneConfig.cmake DESTINATION ${package_folder})
write_basic_package_version_file("${PROJECT_BINARY_DIR}/colltuneConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/colltuneConfigVersion.cmake" DESTINATION ${package_folder})
