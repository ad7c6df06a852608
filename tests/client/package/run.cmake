# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
# Installs BUILD into a new prefix under WORK, takes the examples out of README, and configures, builds and runs them as
# a user would: cmake -DBUILD=… -DREADME=… -DWORK=… -DGENERATOR=… -DC_COMPILER=… -DCXX_COMPILER=… -P run.cmake

include("${CMAKE_CURRENT_LIST_DIR}/examples.cmake")

# Runs a program that finds no daemon: it must say so and end with the code given. Behind these: what it is run by.
function(expect_unreachable program code)
  set(address "unix:${WORK}/nobody.sock")
  execute_process(COMMAND ${ARGN} "${program}" "${address}" RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE errors
                  TIMEOUT 20)
  if(NOT status EQUAL ${code} OR NOT errors MATCHES "no colltuned answers at unix:" OR NOT output STREQUAL "")
    message(FATAL_ERROR "${program} ended with ${status}, printed '${output}' and '${errors}'")
  endif()
endfunction()

file(REMOVE_RECURSE "${WORK}")
set(prefix "${WORK}/prefix")
run_step(${CMAKE_COMMAND} --install "${BUILD}" --prefix "${prefix}")
foreach(file bin/colltune share/colltune/configs/export.schema.json
             share/colltune/proto/colltune/v1/tuning_service.proto)
  if(NOT EXISTS "${prefix}/${file}")
    message(FATAL_ERROR "the installation lacks ${file}")
  endif()
endforeach()
file(GLOB_RECURSE leaked "${prefix}/include/*grpc*" "${prefix}/include/*.pb.h")
if(leaked)
  message(FATAL_ERROR "the installation shows gRPC's headers: ${leaked}")
endif()

take_example(cpp "${WORK}/app/ask.cpp")
take_example(c "${WORK}/app/ask.c")
take_example(cmake "${WORK}/app/CMakeLists.txt")
run_step(${CMAKE_COMMAND} -S "${WORK}/app" -B "${WORK}/app/build" -G "${GENERATOR}" -DCMAKE_PREFIX_PATH=${prefix}
         -DCMAKE_CXX_FLAGS=-Werror -DCMAKE_C_FLAGS=-Werror)
run_step(${CMAKE_COMMAND} --build "${WORK}/app/build")
expect_unreachable("${WORK}/app/build/ask" 4)
expect_unreachable("${WORK}/app/build/ask_c" 14)

# It loads what asks a daemon from its own prefix.
set(ask lookup all_reduce --bytes 4KiB)
expect_unreachable(--server 4 "${prefix}/bin/colltune" ${ask})

# The same by pkg-config, in a prefix that was moved.
file(RENAME "${prefix}" "${WORK}/moved")
file(GLOB library "${WORK}/moved/lib*/libcolltune_client.so" "${WORK}/moved/lib*/*/libcolltune_client.so")
cmake_path(GET library PARENT_PATH libraries)
expect_unreachable(--server 4 "${WORK}/moved/bin/colltune" ${ask})
set(found ${CMAKE_COMMAND} -E env "LD_LIBRARY_PATH=${libraries}:$ENV{LD_LIBRARY_PATH}")
build_by_pkg_config(colltune-client "${WORK}/moved" "${WORK}/ask" "${WORK}/app/ask.cpp" "${CXX_COMPILER}" -std=c++20)
if(EXISTS "${WORK}/ask")
  build_by_pkg_config(colltune-client "${WORK}/moved" "${WORK}/ask_c" "${WORK}/app/ask.c" "${C_COMPILER}")
  expect_unreachable("${WORK}/ask" 4 ${found})
  expect_unreachable("${WORK}/ask_c" 14 ${found})
endif()
file(REMOVE_RECURSE "${WORK}")
