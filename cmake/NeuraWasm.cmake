# What a build for WebAssembly has of libraries. GoogleTest is compiled from its sources.
include(NeuraHostHeaders)

set(NEURA_GTEST_SOURCE /usr/src/googletest/googletest CACHE PATH "The sources of GoogleTest")
if(EXISTS ${NEURA_GTEST_SOURCE}/src/gtest-all.cc)
  set(GTest_FOUND ON)
  foreach(library IN ITEMS gtest-all gtest_main)
    add_library(${library} STATIC EXCLUDE_FROM_ALL ${NEURA_GTEST_SOURCE}/src/${library}.cc)
    target_include_directories(${library} SYSTEM PUBLIC ${NEURA_GTEST_SOURCE}/include PRIVATE ${NEURA_GTEST_SOURCE})
  endforeach()
  add_library(GTest::gtest ALIAS gtest-all)
  add_library(GTest::gtest_main ALIAS gtest_main)
endif()

# How a program is linked: it reads and writes the files of the machine that runs node, and its memory grows as it needs.
# Little is optimised again, which would take as long as compiling.
if(NOT NEURA_INFERENCE)
  string(APPEND CMAKE_EXE_LINKER_FLAGS " -O1 -sALLOW_MEMORY_GROWTH=1 -sMAXIMUM_MEMORY=4GB -sNODERAWFS=1 -sEXIT_RUNTIME=1"
         " -sENVIRONMENT=node --pre-js ${CMAKE_SOURCE_DIR}/wasm/node.js")
endif()
if(EXISTS /usr/share/nodejs/acorn)  # Debian's Emscripten does not say where its parser is
  set(CMAKE_CXX_LINKER_LAUNCHER ${CMAKE_COMMAND} -E env NODE_PATH=/usr/share/nodejs)
endif()
