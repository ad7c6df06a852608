# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
# cmake -DLIBRARY=libnccl-tuner-colltune.so -DOBJDUMP=objdump -P library_check.cmake
# What is loaded into other people's processes shows the entry points alone, needs the C library alone, and is not
# unloaded.

cmake_policy(VERSION 3.25)
execute_process(COMMAND ${OBJDUMP} -p ${LIBRARY} OUTPUT_VARIABLE header COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "NEEDED +[^\n]+" needed "${header}")
foreach(entry IN LISTS needed)
  if(NOT entry MATCHES "NEEDED +(libc|ld-linux[a-z0-9_-]*|libm|libpthread)\\.so")
    message(FATAL_ERROR "the tuner library needs more than the C library: ${entry}")
  endif()
endforeach()
# FLAGS_1: 0x8 is NODELETE.
if(NOT header MATCHES "FLAGS_1 +0x[0-9a-f]*[89a-f]\n")
  message(FATAL_ERROR "the tuner library can be unloaded (-z nodelete is missing)")
endif()

execute_process(COMMAND ${OBJDUMP} -T ${LIBRARY} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" lines "${symbols}")
set(entry_points "")
foreach(line IN LISTS lines)
  if(line MATCHES "\\*UND\\*|^ *$|DYNAMIC SYMBOL TABLE|file format")
    continue()
  endif()
  string(REGEX MATCH "[^ ]+$" symbol "${line}")
  if(NOT symbol MATCHES "^(ncclTunerPlugin_v[4567]|ncclProfiler_v[456]|colltune_nccl_.*)$")
    message(FATAL_ERROR "the tuner library shows ${symbol}")
  endif()
  list(APPEND entry_points ${symbol})
endforeach()
foreach(symbol ncclTunerPlugin_v4 ncclTunerPlugin_v5 ncclTunerPlugin_v6 ncclTunerPlugin_v7 colltune_nccl_tuner_force
        ncclProfiler_v4 ncclProfiler_v5 ncclProfiler_v6 colltune_nccl_profiler_watch)
  if(NOT symbol IN_LIST entry_points)
    message(FATAL_ERROR "the tuner library does not show ${symbol}")
  endif()
endforeach()
