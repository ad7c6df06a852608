# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
# Copies the example and plugin.h to BINARY, then configures and builds there.
file(REMOVE_RECURSE ${BINARY})
file(COPY ${SOURCE}/example DESTINATION ${BINARY})
file(COPY ${SOURCE}/include/colltune/plugin.h DESTINATION ${BINARY}/include/colltune)
foreach(step "-S;${BINARY}/example;-B;${BINARY}/build;-G;${GENERATOR};-DCMAKE_C_COMPILER=${C_COMPILER};-DCOLLTUNE_PLUGIN_INCLUDE=${BINARY}/include"
             "--build;${BINARY}/build")
  execute_process(COMMAND ${CMAKE_COMMAND} ${step} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
if(NOT EXISTS ${BINARY}/build/example_plugin.so)
  message(FATAL_ERROR "the build made no ${BINARY}/build/example_plugin.so")
endif()
