# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
# Installs BUILD into a new prefix under WORK, takes the examples out of README, and configures, builds and runs them as
# a user would: cmake -DBUILD=… -DREADME=… -DWORK=… -DGENERATOR=… -P run.cmake

include("${CMAKE_CURRENT_LIST_DIR}/examples.cmake")

# Runs a program that finds no daemon: it must say so and end with the code given.
function(expect_unreachable program code)
  set(address "unix:${WORK}/nobody.sock")
  execute_process(COMMAND "${program}" "${address}" RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE errors
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

run_step("${prefix}/bin/colltune" --version)
file(REMOVE_RECURSE "${WORK}")
