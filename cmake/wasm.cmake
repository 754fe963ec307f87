# Toolchain: WebAssembly by Debian's Emscripten, for node and browsers: one thread, exceptions and SIMD128 of the machine.
if(NOT DEFINED ENV{EMSCRIPTEN} AND EXISTS /usr/share/emscripten/cmake/Modules/Platform/Emscripten.cmake)
  set(EMSCRIPTEN_ROOT_PATH /usr/share/emscripten)
else()
  set(EMSCRIPTEN_ROOT_PATH $ENV{EMSCRIPTEN})
endif()
if(EXISTS /usr/share/nodejs/acorn)  # for what is tried while configuring; see NeuraWasm.cmake
  set(ENV{NODE_PATH} /usr/share/nodejs)
endif()
set(CMAKE_CXX_FLAGS_INIT "-fwasm-exceptions -msimd128")
include(${EMSCRIPTEN_ROOT_PATH}/cmake/Modules/Platform/Emscripten.cmake)
