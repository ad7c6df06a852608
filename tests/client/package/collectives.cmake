# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
# Installs BUILD into a new prefix under WORK, takes the examples out of README, and configures, builds and runs them as
# a user would: cmake -DBUILD=… -DREADME=… -DWORK=… -DGENERATOR=… -DMPIRUN="mpirun;…" -DC_COMPILER=… -DCXX_COMPILER=…
# -P collectives.cmake. An empty MPIRUN: the build has no MPI.

include("${CMAKE_CURRENT_LIST_DIR}/examples.cmake")

# Runs a program and compares the first line that it prints.
function(expect_line line)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE errors TIMEOUT 60)
  if(NOT status EQUAL 0 OR NOT output MATCHES "^${line}\n")
    message(FATAL_ERROR "${ARGN} ended with ${status}, printed '${output}' and '${errors}', not '${line}'")
  endif()
endfunction()

file(REMOVE_RECURSE "${WORK}")
set(prefix "${WORK}/prefix")
run_step(${CMAKE_COMMAND} --install "${BUILD}" --prefix "${prefix}")
take_example(cpp "${WORK}/app/sums.cpp")
take_example(c "${WORK}/app/sums.c")
take_example(cmake "${WORK}/app/CMakeLists.txt")
set(options -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_CXX_FLAGS=-Werror -DCMAKE_C_FLAGS=-Werror)
if(MPIRUN)
  list(APPEND options -DMPI_C_COMPILER=${MPI_C_COMPILER})
else()
  list(APPEND options -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON)
endif()
run_step(${CMAKE_COMMAND} -S "${WORK}/app" -B "${WORK}/app/build" -G "${GENERATOR}" ${options})
run_step(${CMAKE_COMMAND} --build "${WORK}/app/build")
expect_line("sum 10" "${WORK}/app/build/sums")
if(MPIRUN)
  expect_line("sum 3" ${MPIRUN} -n 2 "${WORK}/app/build/sums_mpi")
elseif(EXISTS "${prefix}/include/colltune/collectives_mpi.h")
  message(FATAL_ERROR "a build without MPI installs headers that need it")
endif()

# All that was installed finds what else of it it needs, where the prefix was moved: with COLLTUNE_SHARED_KERNELS the kernels.
file(RENAME "${prefix}" "${WORK}/moved")
file(GLOB programs "${WORK}/moved/bin/*")
file(GLOB_RECURSE libraries "${WORK}/moved/*.so")
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${programs} LIBRARIES ${libraries} UNRESOLVED_DEPENDENCIES_VAR missing
     RESOLVED_DEPENDENCIES_VAR found CONFLICTING_DEPENDENCIES_PREFIX conflicting)
list(FILTER missing INCLUDE REGEX "colltune")
if(missing)
  message(FATAL_ERROR "installed programs or libraries do not find ${missing}")
endif()

# The same by pkg-config.
file(GLOB library "${WORK}/moved/lib*/libcolltune_collectives.so" "${WORK}/moved/lib*/*/libcolltune_collectives.so")
cmake_path(GET library PARENT_PATH libraries)
set(found ${CMAKE_COMMAND} -E env "LD_LIBRARY_PATH=${libraries}:$ENV{LD_LIBRARY_PATH}")
build_by_pkg_config(colltune-collectives "${WORK}/moved" "${WORK}/sums" "${WORK}/app/sums.cpp" "${CXX_COMPILER}" -std=c++20)
if(EXISTS "${WORK}/sums")
  expect_line("sum 10" ${found} "${WORK}/sums")
  if(MPIRUN)
    build_by_pkg_config(colltune-collectives "${WORK}/moved" "${WORK}/sums_mpi" "${WORK}/app/sums.c" "${C_COMPILER}")
    expect_line("sum 3" ${found} ${MPIRUN} -n 2 "${WORK}/sums_mpi")
  endif()
endif()
file(REMOVE_RECURSE "${WORK}")
