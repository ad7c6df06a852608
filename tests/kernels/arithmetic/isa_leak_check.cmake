# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
# cmake -DOBJECTS=a.o,b.o -DNM=nm -DOBJDUMP=objdump -P isa_leak_check.cmake
# What is compiled for a wide instruction set stays in its object files: they define no function that another one could
# be linked with (the linker keeps one copy of an inline function, whichever it meets first), and no other object file
# of the kernels names a wide register. nm: T, W, i and u are functions that others see.

string(REPLACE "," ";" objects "${OBJECTS}")
set(bodies 0)
set(leaks "")
foreach(object IN LISTS objects)
  if(object MATCHES "/isa/[a-z0-9_]+/" AND NOT object MATCHES "/compiled_isas\\.")
    math(EXPR bodies "${bodies} + 1")
    execute_process(COMMAND ${NM} -C --defined-only --extern-only ${object} OUTPUT_VARIABLE symbols
                    COMMAND_ERROR_IS_FATAL ANY)
    if(NOT symbols MATCHES "_isa\n")
      string(APPEND leaks "\n${object} defines no instruction set")
    endif()
    string(REGEX MATCHALL "[^\n]* [TWiu] [^\n]*" functions "${symbols}")
    foreach(function IN LISTS functions)
      string(APPEND leaks "\n${object} defines ${function}")
    endforeach()
  else()
    execute_process(COMMAND ${OBJDUMP} -d --no-show-raw-insn ${object} OUTPUT_VARIABLE code
                    COMMAND_ERROR_IS_FATAL ANY)
    # A plain search first: the expression takes most of the time.
    string(FIND "${code}" "%ymm" at_ymm)
    string(FIND "${code}" "%zmm" at_zmm)
    if((at_ymm GREATER_EQUAL 0 OR at_zmm GREATER_EQUAL 0) AND code MATCHES "[^\n]*%[yz]mm[0-9]+[^\n]*")
      string(APPEND leaks "\n${object} has ${CMAKE_MATCH_0}")
    endif()
  endif()
endforeach()
if(leaks)
  message(FATAL_ERROR "instructions of wide instruction sets may leak:${leaks}")
endif()
if(bodies EQUAL 0)
  message(FATAL_ERROR "no object file of an instruction set among: ${OBJECTS}")
endif()
message(STATUS "${bodies} instruction sets keep to themselves")
