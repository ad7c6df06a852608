# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
# What every target of the house shares: warnings, sanitizers, one include root per target, the header check.

# Where ccache is installed, compilers run behind it. Paths below the source tree count from there, so that another clone
# finds what this one has compiled; the sloppiness is what ccache asks for where headers are precompiled. In depend mode a miss
# reads no header twice, which saved 8 % of a first build; joined sources name their folders, so only a clone at the same path finds
# theirs.
find_program(COLLTUNE_CCACHE ccache)
set(COLLTUNE_COMPILER_LAUNCHER "")
if(COLLTUNE_CCACHE)
  set(COLLTUNE_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}"
      CCACHE_DEPEND=1 CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime)
  # Sanitizers' builds have line numbers: a report may name another clone's folder. A debugger must not be led there.
  if(COLLTUNE_SANITIZE)
    list(APPEND COLLTUNE_COMPILER_LAUNCHER CCACHE_NOHASHDIR=1)
  endif()
  list(APPEND COLLTUNE_COMPILER_LAUNCHER "${COLLTUNE_CCACHE}")
endif()
foreach(language C CXX)
  if(NOT CMAKE_${language}_COMPILER_LAUNCHER)
    set(CMAKE_${language}_COMPILER_LAUNCHER "${COLLTUNE_COMPILER_LAUNCHER}")
  endif()
endforeach()

# Designated initialisers leave out what has its default: no warning about that. Where a whole target is compiled as one
# (colltune_runs_once), a local name hides another source's, which is no fault.
add_library(colltune_options INTERFACE)
set(is_one_source $<STREQUAL:$<TARGET_PROPERTY:UNITY_BUILD_MODE>,BATCH>)
target_compile_options(colltune_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic $<$<NOT:${is_one_source}>:-Wshadow> -Wnon-virtual-dtor
    -Woverloaded-virtual -Wswitch-enum -Wno-missing-field-initializers>)
# What GCC 12 says of its own std::string, std::vector and std::optional where it optimises them (GCC's bugs 105329 and 80635
# among them); other versions and sanitizers look in its place.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(colltune_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict -Wno-stringop-overread -Wno-maybe-uninitialized>)
endif()
# GCC collects its garbage from 128 MB on, which takes an eighth to a fifth of its time; it need not where memory abounds.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  cmake_host_system_information(RESULT memory_mib QUERY TOTAL_PHYSICAL_MEMORY)
  cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
  if(EXISTS /sys/fs/cgroup/memory.max) # a container's share of the machine
    file(READ /sys/fs/cgroup/memory.max limit)
    string(STRIP "${limit}" limit)
    if(limit MATCHES "^[0-9]+$")
      math(EXPR limit_mib "${limit} / 1048576")
      if(limit_mib LESS memory_mib)
        set(memory_mib ${limit_mib})
      endif()
    endif()
  endif()
  # In GiB, so that machines which differ by little find each other's objects (ccache).
  math(EXPR heap_gib "${memory_mib} / ${cores} / 1024 / 3")
  if(heap_gib GREATER 3)
    set(heap_gib 3)
  endif()
  if(heap_gib GREATER 0)
    math(EXPR heap_kib "${heap_gib} * 1024 * 1024")
    target_compile_options(colltune_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=${heap_kib}>)
  endif()
endif()
if(COLLTUNE_WERROR)
  target_compile_options(colltune_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
if(COLLTUNE_SANITIZE)
  target_compile_options(colltune_options INTERFACE -fsanitize=${COLLTUNE_SANITIZE} -fno-sanitize-recover=all
                         -fno-omit-frame-pointer)
  # Pointers are AddressSanitizer's alone: it reports what is reached through one that is null or out of bounds, and nothing here
  # casts down unchecked. UndefinedBehaviorSanitizer's checks of them take a fifth of the time to compile. In the tests' own
  # files alignment is left out, too; the checks of values stay, since the files hold inline functions of what is tested.
  if(COLLTUNE_SANITIZE MATCHES "address")
    target_compile_options(colltune_options INTERFACE -fno-sanitize=null,vptr,object-size,pointer-overflow
                           $<$<BOOL:$<TARGET_PROPERTY:COLLTUNE_IS_TEST>>:-fno-sanitize=alignment>)
  endif()
  target_link_options(colltune_options INTERFACE -fsanitize=${COLLTUNE_SANITIZE})
  # Links each of more than a hundred test programs in 1.3 s instead of 2.2.
  include(CheckLinkerFlag)
  check_linker_flag(CXX -fuse-ld=gold COLLTUNE_LINKS_WITH_GOLD)
  if(COLLTUNE_LINKS_WITH_GOLD)
    target_link_options(colltune_options INTERFACE -fuse-ld=gold)
  endif()
endif()

# The header check: every public header of every target compiles alone (target all_verify_interface_header_sets, which
# the build preset `dev` names beside `all`).
set(CMAKE_VERIFY_INTERFACE_HEADER_SETS ${COLLTUNE_HEADER_CHECK})

# colltune_join_folders(TARGET): its sources of one folder are compiled as one (COLLTUNE_JOIN_SOURCES), so names in unnamed
# namespaces are unique in a folder. Who links a static library still gets those folders alone that he needs. Generated sources,
# C, and those with flags of their own are compiled alone. What runs once (colltune_runs_once) is compiled as one whole.
function(colltune_join_folders target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${COLLTUNE_JOIN_SOURCES} UNITY_BUILD_MODE GROUP)
  if(COLLTUNE_JOIN_SOURCES)
    # Of a type in a source's unnamed namespace, which GCC takes for a header's there.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE OUTPUT_VARIABLE path)
    cmake_path(IS_PREFIX PROJECT_BINARY_DIR "${path}" is_generated)
    if(path MATCHES "\\.cpp$" AND NOT is_generated)
      cmake_path(RELATIVE_PATH path BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE folder)
      cmake_path(GET folder PARENT_PATH folder)
      string(MAKE_C_IDENTIFIER "${folder}" folder)
      set_property(SOURCE "${source}" PROPERTY UNITY_GROUP ${folder})
    endif()
  endforeach()
endfunction()

# colltune_library(NAME [SHARED|STATIC] SOURCES … PUBLIC … PRIVATE …)
# A target with its own include root `include/` beside its sources. PUBLIC and PRIVATE name the targets that it
# may use: an include of anything else does not compile.
function(colltune_library name)
  cmake_parse_arguments(ARG "SHARED" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  set(kind STATIC)
  if(ARG_SHARED)
    set(kind SHARED)
  endif()
  add_library(${name} ${kind} ${ARG_SOURCES})
  colltune_join_folders(${name})
  string(REPLACE "colltune_" "" short "${name}")
  add_library(colltune::${short} ALIAS ${name})
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/include/*.h")
  if(headers)
    target_sources(${name} PUBLIC FILE_SET HEADERS
      BASE_DIRS "$<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>" FILES ${headers})
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_PUBLIC} PRIVATE $<BUILD_INTERFACE:colltune_options> ${ARG_PRIVATE})
  target_compile_features(${name} PUBLIC cxx_std_20)
endfunction()

# colltune_find_kernels(TARGET FOLDER): TARGET, which is installed in FOLDER of the prefix, finds the kernels of the same prefix
# if they are a shared library.
function(colltune_find_kernels target folder)
  if(COLLTUNE_SHARED_KERNELS)
    set(from "${CMAKE_INSTALL_PREFIX}/${folder}")
    set(to "${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}")
    cmake_path(RELATIVE_PATH to BASE_DIRECTORY "${from}")
    set_property(TARGET ${target} PROPERTY INSTALL_RPATH "$ORIGIN/${to}")
  endif()
endfunction()

# What a sweep, its answers and `colltune run` need: deploy/quickstart builds no more.
add_custom_target(colltune_programs)

# colltune_runs_once(TARGET…): what runs once a command, a trial, a sweep or a recorded program. With sources joined,
# optimising is most of what compiling costs: -Og takes half of -O3's time.
function(colltune_runs_once)
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-Og>)
    if(COLLTUNE_JOIN_SOURCES)
      set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE BATCH UNITY_BUILD_BATCH_SIZE 0)
    endif()
  endforeach()
endfunction()

# colltune_program(NAME SOURCES … LINK …): an installed executable.
function(colltune_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  colltune_join_folders(${name})
  add_dependencies(colltune_programs ${name})
  target_link_libraries(${name} PRIVATE colltune_options ${ARG_LINK})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
  colltune_find_kernels(${name} ${CMAKE_INSTALL_BINDIR})
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

# colltune_embed_text(TARGET FILE SYMBOL): makes FILE's text available to TARGET's sources as
# `namespace colltune { extern const std::string_view SYMBOL; }` (declare it where it is used), so that a program needs
# no file of ours at run time.
function(colltune_embed_text target file symbol)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  file(READ "${file}" text)
  set(output "${CMAKE_CURRENT_BINARY_DIR}/${symbol}.cpp")
  file(CONFIGURE OUTPUT "${output}" @ONLY CONTENT
       "#include <string_view>\n\nnamespace colltune {\nextern const std::string_view @symbol@;\nconst std::string_view @symbol@ = R\"embedded(@text@)embedded\";\n}\n")
  target_sources(${target} PRIVATE "${output}")
endfunction()
