# Toolchain: small programs for another machine (neura deploy --small --target), NEURA_TARGET such as arm-linux-gnueabihf or
# x86_64-linux-musl: by a cross compiler of that name, as Debian has them, or else by Zig's (`pip install ziglang`), which
# has a C library for each. NEURA_ZIG: the program zig.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES NEURA_TARGET NEURA_ZIG)
string(REGEX REPLACE "-.*" "" CMAKE_SYSTEM_PROCESSOR ${NEURA_TARGET})
set(CMAKE_SYSTEM_NAME Linux)
find_program(NEURA_CROSS ${NEURA_TARGET}-g++)
if(NEURA_CROSS)
  set(CMAKE_CXX_COMPILER ${NEURA_CROSS})
  set(arm -march=armv7-a -mfpu=neon-vfpv4 -mfp16-format=ieee)
else()
  find_program(NEURA_ZIG NAMES zig python-zig)
  if(NOT NEURA_ZIG)
    message(FATAL_ERROR "Error: no compiler for ${NEURA_TARGET}: neither ${NEURA_TARGET}-g++ nor zig (pip install ziglang)")
  endif()
  set(CMAKE_CXX_COMPILER ${NEURA_ZIG} c++ -target ${NEURA_TARGET})
  set(arm -mcpu=cortex_a7)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^arm")  # the first that have NEON with fused multiply-add
  list(JOIN arm " " CMAKE_CXX_FLAGS_INIT)
endif()
