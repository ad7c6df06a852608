# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
# Third-party libraries. The base ones are required; MPI, gRPC and CUDA follow COLLTUNE_{MPI,GRPC,CUDA}.

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(CLI11 2.1 REQUIRED)
find_package(spdlog REQUIRED)
find_package(fmt REQUIRED)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)
find_path(COLLTUNE_XXHASH_INCLUDE xxhash.h REQUIRED)
find_path(COLLTUNE_VALIJSON_INCLUDE valijson/validator.hpp REQUIRED)

foreach(backend MPI GRPC CUDA)
  if(NOT COLLTUNE_${backend} MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "COLLTUNE_${backend} is '${COLLTUNE_${backend}}'; allowed are AUTO, ON, OFF")
  endif()
endforeach()

# colltune_backend(NAME FOUND REASON): sets COLLTUNE_HAVE_<NAME> after the AUTO|ON|OFF rule.
macro(colltune_backend name found reason)
  set(COLLTUNE_HAVE_${name} OFF)
  if(COLLTUNE_${name} STREQUAL "OFF")
    message(STATUS "colltune: ${name} is switched off (COLLTUNE_${name}=OFF)")
  elseif(${found})
    set(COLLTUNE_HAVE_${name} ON)
  elseif(COLLTUNE_${name} STREQUAL "ON")
    message(FATAL_ERROR "COLLTUNE_${name}=ON, but ${reason}")
  else()
    message(STATUS "colltune: building without ${name}: ${reason}")
  endif()
endmacro()

# Open MPI by name: where MPICH is installed beside it, the generic wrappers may belong to either.
# A user who wants another MPI sets MPI_C_COMPILER and MPIEXEC_EXECUTABLE.
if(NOT COLLTUNE_MPI STREQUAL "OFF")
  find_program(COLLTUNE_OPENMPI_CC NAMES mpicc.openmpi)
  find_program(COLLTUNE_OPENMPI_EXEC NAMES mpirun.openmpi)
  if(COLLTUNE_OPENMPI_CC AND COLLTUNE_OPENMPI_EXEC AND NOT MPI_C_COMPILER)
    set(MPI_C_COMPILER "${COLLTUNE_OPENMPI_CC}" CACHE FILEPATH "MPI compiler wrapper")
    set(MPIEXEC_EXECUTABLE "${COLLTUNE_OPENMPI_EXEC}" CACHE FILEPATH "MPI launcher")
  endif()
  find_package(MPI COMPONENTS C QUIET)
endif()
colltune_backend(MPI MPI_C_FOUND "no MPI was found (Debian: libopenmpi-dev openmpi-bin)")
if(COLLTUNE_HAVE_MPI)
  # The C interface only: mpi.h would pull in the C++ bindings, which MPI-3 removed.
  set_property(TARGET MPI::MPI_C APPEND PROPERTY INTERFACE_COMPILE_DEFINITIONS OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
endif()

if(NOT COLLTUNE_GRPC STREQUAL "OFF")
  find_package(Protobuf QUIET)
  pkg_check_modules(GRPCPP QUIET IMPORTED_TARGET grpc++)
  find_library(COLLTUNE_GRPC_REFLECTION grpc++_reflection)
  find_program(COLLTUNE_GRPC_PLUGIN grpc_cpp_plugin)
  if(Protobuf_FOUND AND GRPCPP_FOUND AND COLLTUNE_GRPC_REFLECTION AND COLLTUNE_GRPC_PLUGIN AND Protobuf_PROTOC_EXECUTABLE)
    set(COLLTUNE_GRPC_FOUND ON)
  endif()
endif()
colltune_backend(GRPC COLLTUNE_GRPC_FOUND
  "gRPC or its code generator was not found (Debian: libgrpc++-dev protobuf-compiler-grpc)")

if(NOT COLLTUNE_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(COLLTUNE_CUDA_FOUND ON)
  endif()
endif()
colltune_backend(CUDA COLLTUNE_CUDA_FOUND "no CUDA compiler was found (set CUDACXX to nvcc)")
