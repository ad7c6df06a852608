# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
# For tests that do as a user does what a README says.

function(run_step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nended with ${status}:\n${output}")
  endif()
endfunction()

# The text between ```LANGUAGE and ``` of the README.
function(take_example language file)
  file(READ "${README}" text)
  string(FIND "${text}" "```${language}\n" begin)
  if(begin EQUAL -1)
    message(FATAL_ERROR "${README} has no example in ${language}")
  endif()
  string(LENGTH "```${language}\n" skip)
  math(EXPR begin "${begin} + ${skip}")
  string(SUBSTRING "${text}" ${begin} -1 text)
  string(FIND "${text}" "```" end)
  string(SUBSTRING "${text}" 0 ${end} text)
  file(WRITE "${file}" "${text}")
endfunction()

# Builds program from source with the flags that pkg-config has for package, in the prefix: build_by_pkg_config(PACKAGE PREFIX
# PROGRAM SOURCE COMPILER…). Without pkg-config nothing is built.
function(build_by_pkg_config package prefix program source)
  find_program(PKG_CONFIG pkg-config)
  if(NOT PKG_CONFIG)
    message(STATUS "not tried: there is no pkg-config")
    return()
  endif()
  file(GLOB_RECURSE found "${prefix}/*/${package}.pc")
  if(NOT found)
    message(FATAL_ERROR "the installation lacks ${package}.pc")
  endif()
  cmake_path(GET found PARENT_PATH folder)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env "PKG_CONFIG_PATH=${folder}" "${PKG_CONFIG}" --cflags --libs ${package}
                  RESULT_VARIABLE status OUTPUT_VARIABLE flags ERROR_VARIABLE errors)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "pkg-config ended with ${status}: ${errors}")
  endif()
  separate_arguments(flags UNIX_COMMAND "${flags}")
  run_step(${ARGN} -Werror "${source}" -o "${program}" ${flags})
endfunction()
