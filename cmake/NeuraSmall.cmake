# neura-small: the program that neura deploy --small appends a model to. What the model calls (NEURA_WANTED) decides
# what is compiled; the linker drops the rest.
set(CMAKE_POSITION_INDEPENDENT_CODE OFF)
find_package(Threads REQUIRED)
if(CMAKE_CROSSCOMPILING)
  include(NeuraHostHeaders)
else()
  find_package(hwy REQUIRED)
endif()
# What only other models call need not be compiled: tables of kernels do not name it. Which sources an operation has is
# known here alone; one that is not listed costs time to compile, and no byte of the program.
file(STRINGS ${NEURA_WANTED} wanted REGEX "^WANTED_OPERATION")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${NEURA_WANTED})
set(files_of_recurrent_layer "cpu/recurrent/[a-z_]+|ops/nn/recurrent_layer")
set(family_of_recurrent_layer "ABSENT(recurrent)")
set(files_of_scaled_dot_product_attention cpu/product/attention)
set(family_of_scaled_dot_product_attention "ABSENT(attention)")
set(files_of_convolution_backward_input cpu/conv/conv_backward)
set(unused "ops/create/(integer_linspace|triangle_indices)|cpu/conv/unfold|cpu/index/index_scatter|backend/(plugin|python_packages|registered|border_run)")
set(absent "")  # families of kernels
foreach(operation IN ITEMS recurrent_layer scaled_dot_product_attention convolution_backward_input)
  if(NOT "WANTED_OPERATION(${operation})" IN_LIST wanted)
    string(APPEND unused "|${files_of_${operation}}")
    string(APPEND absent " ${family_of_${operation}}")
  endif()
endforeach()
list(FILTER sources EXCLUDE REGEX "/(${unused})\\.cpp$")
if(wanted MATCHES "quantize_affine|integer_matmul")
  file(GLOB integers neura/ops/quant/*.cpp neura/backend/cpu/product/int8*.cpp)
  list(APPEND sources ${integers})
else()
  string(APPEND absent " ABSENT(quant)")
endif()
set_property(SOURCE wasm/absent_symbols.cpp APPEND PROPERTY COMPILE_DEFINITIONS "NEURA_ABSENT=${absent}")
set(kernels ${sources})
list(FILTER kernels INCLUDE REGEX "backend/cpu/.*/|/families/|backend/cpu/(convert|walk|line_packing)")
# Plain loops that are to become vectors. What is written in vectors (tiles, lines) is as fast when it is small.
set(fast ${kernels})
list(FILTER fast INCLUDE REGEX "/families/|/(convert|walk|reduce|index[a-z_]*|int8[a-z_]*|scan)\\.cpp$")
set_property(SOURCE ${fast} APPEND PROPERTY COMPILE_OPTIONS -O2)
set(leaves ${kernels})  # no error passes through these
list(FILTER leaves INCLUDE REGEX "_(tile|lines)\\.cpp$|/families/")
set_property(SOURCE ${leaves} APPEND PROPERTY COMPILE_OPTIONS -fno-exceptions -fno-unwind-tables)
add_executable(neura_small ${sources} neura/autograd/grad_mode.cpp wasm/absent_symbols.cpp cli/npy.cpp cli/ports.cpp cli/progress.cpp
  cli/runner/inputs.cpp cli/runner/highway.cpp cli/runner/main.cpp cli/small/absent_symbols.cpp cli/small/terminate.cpp
  cli/small/embedded_model.cpp)
neura_for_programs(neura_small NEURA_WANTED="${NEURA_WANTED}")
set_target_properties(neura_small PROPERTIES OUTPUT_NAME neura-small SKIP_BUILD_RPATH ON)
target_compile_options(neura_small PRIVATE -ffunction-sections -fdata-sections -fvisibility=hidden -fno-pie
  -fno-asynchronous-unwind-tables)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  target_compile_options(neura_small PRIVATE -Wno-pass-failed)  # a loop that stays scalar is no mistake
endif()
target_link_libraries(neura_small PRIVATE Threads::Threads)
set_property(SOURCE ${kernels} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
neura_precompile_library(neura_small <neura/core/tensor.h> <neura/op/apply.h> <neura/op/pointwise/rows.h>)
target_link_options(neura_small PRIVATE -no-pie LINKER:--gc-sections,--as-needed,-s,--build-id=none)
if(NOT NEURA_ZIG)  # which has archives alone of what C++ needs
  target_link_options(neura_small PRIVATE -static-libstdc++ -static-libgcc LINKER:-z,noseparate-code)
endif()
if(NEURA_TARGET MATCHES "-musl")
  target_link_options(neura_small PRIVATE -static)
endif()
if(NEURA_MOLD)  # functions of the same bytes are one; nothing asks for the address of a function to know it again
  target_link_options(neura_small PRIVATE LINKER:--icf=all)
endif()
