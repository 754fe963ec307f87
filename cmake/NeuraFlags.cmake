# How everything is compiled and linked: language, warnings, sanitizers, instruction sets, compiler cache, linker.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
# Programs and libraries find each other beside themselves, in the build tree and wherever they are installed.
file(RELATIVE_PATH bin_to_lib /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
set(CMAKE_INSTALL_RPATH $ORIGIN $ORIGIN/${bin_to_lib})
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)

set(NEURA_ARM64 OFF)
set(NEURA_ARM32 OFF)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(NEURA_ARM64 ON)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^arm")
  set(NEURA_ARM32 ON)
endif()

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, RelWithDebInfo or Debug" FORCE)
endif()
# -O3 gains nothing: the kernels are vectorised by hand. -g1 is enough for lines in a stack trace, at half the size of -g.
set(CMAKE_CXX_FLAGS_RELEASE "${NEURA_OPTIMIZATION} -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")

add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra>")
if(EMSCRIPTEN)
  set(CMAKE_POSITION_INDEPENDENT_CODE OFF)
  add_compile_options(-Wno-pass-failed -Wno-unused-private-field)  # a loop that stays scalar is no mistake
else()
  # A library's calls of itself bind at link time. Data does not: a row's address is its identity in every library.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-semantic-interposition>)
  # Where the compiler links its runtime statically, that stays private: half of std::call_once would be another library's.
  if(NOT NEURA_ZIG)
    add_link_options(LINKER:-Bsymbolic-functions LINKER:--exclude-libs,ALL)
  endif()
endif()
if(NEURA_WERROR)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fvect-cost-model=dynamic>)  # at -O2 alone, loops of unknown length stay scalar
  if(NEURA_ARM64)  # false alarms about std::variant, which GCC 12 raises for this machine only
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized>)
  endif()
endif()
if(NEURA_SANITIZE)
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")  # what a sanitizer costs comes on top
  string(REPLACE "fuzzer" "fuzzer-no-link" sanitizers "${NEURA_SANITIZE}")  # only fuzz targets get the fuzzer's main
  add_compile_options(-fsanitize=${sanitizers} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  if(NEURA_SANITIZE MATCHES "address.*undefined")  # the address sanitizer stops there by itself
    add_compile_options(-fno-sanitize=null,object-size,nonnull-attribute,returns-nonnull-attribute)
  endif()
  add_link_options(-fsanitize=${sanitizers})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-maybe-uninitialized)  # false alarms only sanitizers bring (GCC bug 98753 and its kin)
  endif()
endif()
if(NEURA_COVERAGE)  # for gcov: what is inlined would not be counted where it stands
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")
  add_compile_options(--coverage -fno-inline -fprofile-update=atomic)
  add_link_options(--coverage)
endif()

if(EMSCRIPTEN)  # Highway 1.0.3 has no vectors of doubles here: the compiler makes SIMD128 of its emulated ones
  add_compile_definitions(HWY_COMPILE_ONLY_EMU128)
elseif(NEURA_ARM32)  # one instruction set; offsets in files have 64 bits, as the files are not the smaller there
  add_compile_definitions(HWY_COMPILE_ONLY_STATIC _FILE_OFFSET_BITS=64)
elseif(NEURA_ARM64)  # NEON: a vector of SVE has no size, and can be no member
  add_compile_definitions("HWY_DISABLED_TARGETS=(HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128)")
else()
  if(NEURA_SIMD_TARGETS STREQUAL "avx2")
    add_compile_definitions("HWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_SSE4|HWY_AVX3|HWY_AVX3_DL)")
  elseif(NOT NEURA_SIMD_TARGETS STREQUAL "baseline")  # the baseline, AVX2 and AVX3
    add_compile_definitions("HWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_SSE4|HWY_AVX3_DL)")
  endif()
  if(NEURA_SIMD_TARGETS MATCHES "^(baseline|native)$")
    add_compile_definitions(HWY_COMPILE_ONLY_STATIC)
  endif()
  if(NEURA_SIMD_TARGETS STREQUAL "native")  # the best of them that this machine has
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-march=native>)
  endif()
endif()

find_program(NEURA_MOLD mold)
set(use_mold -fuse-ld=mold)
# A cross compiler finds it by a folder alone; zig has its own; for 32-bit ARM it keeps functions that nothing calls.
if(NEURA_MOLD AND CMAKE_CROSSCOMPILING)
  get_filename_component(folder ${NEURA_MOLD}/../../libexec/mold ABSOLUTE)
  set(use_mold -B${folder})
  if(NOT NEURA_CROSS OR NEURA_ARM32 OR NOT EXISTS ${folder}/ld)
    set(NEURA_MOLD NEURA_MOLD-NOTFOUND)
  endif()
endif()
if(NEURA_MOLD)
  add_link_options(${use_mold})
endif()
find_program(NEURA_CCACHE ccache)
if(NEURA_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths below the source folder are hashed as relative ones, so that two build folders share what they compile.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      ${NEURA_CCACHE})
endif()

# neura_precompile(target headers...) or neura_precompile(target REUSE_FROM other): what many units include is read once.
# GCC alone: with it the compiler cache knows what a precompiled header stands for, if it is told to ask.
function(neura_precompile target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    if(ARGV1 STREQUAL "REUSE_FROM")
      target_precompile_headers(${target} ${ARGN})
    else()
      target_precompile_headers(${target} PRIVATE ${ARGN})
    endif()
    # GCC forgets what was a system's header, and then warns of its own std::string (bug 105329 and its kin).
    set(options -fpch-preprocess -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread -Wno-restrict)
    get_target_property(sources ${target} SOURCES)
    set(without "")
    foreach(source IN LISTS sources)
      get_source_file_property(skips ${source} SKIP_PRECOMPILE_HEADERS)
      if(skips)
        list(APPEND without ${source})
      endif()
    endforeach()
    if(without)
      list(REMOVE_ITEM sources ${without})
      set_property(SOURCE ${sources} APPEND PROPERTY COMPILE_OPTIONS ${options})
    else()
      target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${options}>")
    endif()
    # The cache looks at comments, too: a header is read again where it is not, byte by byte, the one that was precompiled.
    if(CMAKE_CXX_COMPILER_LAUNCHER)
      set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER
        "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros;CCACHE_COMMENTS=1;${CMAKE_CXX_COMPILER_LAUNCHER}")
    endif()
  endif()
endfunction()

# The same for a library or a program, where it is not left out: what GCC then takes for a mistake differs with its options.
function(neura_precompile_library)
  if(NEURA_PRECOMPILE)
    neura_precompile(${ARGN})
  endif()
endfunction()
