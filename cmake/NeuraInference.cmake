# Libraries that only run programs of files. For WebAssembly: the modules for browsers and node (wasm/package), neura.wasm
# and, with fewer operations and dtypes, neura-small.wasm. For other machines: the program that one model is put behind
# (cmake/NeuraSmall.cmake). Their size is their price: all but the kernels is compiled to be small, what no program may
# call is left out (tables/program_ops.def), and the linker drops what nothing calls.
if(NOT EMSCRIPTEN AND NOT NEURA_WANTED)
  message(FATAL_ERROR "NEURA_INFERENCE is for WebAssembly, cmake --preset web, and for one model, neura deploy --small")
endif()
set(patterns neura/backend/*.cpp neura/backend/cpu/*.cpp)
foreach(folder IN ITEMS core op op/pointwise)
  list(APPEND patterns neura/${folder}/*.cpp)
endforeach()
foreach(family IN ITEMS create index nn product reduce shape spatial pointwise)
  list(APPEND patterns neura/ops/${family}/*.cpp)
endforeach()
foreach(family IN ITEMS conv create index norm product recurrent reduce spatial)
  list(APPEND patterns neura/backend/cpu/${family}/*.cpp)
endforeach()
file(GLOB sources CONFIGURE_DEPENDS ${patterns})
set(unused  # of these folders
  op/record core/task_graph backend/cpu/family "backend/cpu/fused[a-z_]*" "backend/cpu/.*/(sparse_product|int8|grid_sample)[a-z_]*"
  "ops/index/(index_advanced|index_reduce|segment)" "ops/product/(einsum|sparse_product)"
  "ops/nn/(bilinear|embedding_bag|multi_head_attention|random_activation|torch_internal)"
  "ops/reduce/(finite_difference|hash|statistics)" "ops/shape/(resize|window_write)"
  "ops/spatial/(fractional_pool|grid_sample|interpolate|pool_composed|spatial)")
list(JOIN unused "|" unused)
list(FILTER sources EXCLUDE REGEX "/(${unused})\\.cpp$")
set(programs graph/infer graph/parse graph/print graph/run graph/verify nn/state_dict)
if(NOT NEURA_WANTED)  # whose program is trusted
  list(APPEND programs graph/foreign io/header io/program io/safetensors io/sha256)
endif()
foreach(name IN LISTS programs)
  list(APPEND sources ${CMAKE_SOURCE_DIR}/neura/${name}.cpp)
endforeach()
include(NeuraFamilies)


function(neura_for_programs target)
  target_compile_definitions(${target} PRIVATE NEURA_INFERENCE ${ARGN})
  target_compile_options(${target} PRIVATE -Wno-unused-function -Wno-unused-const-variable)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE hwy::hwy hwy::hwy_contrib)
endfunction()
if(NEURA_WANTED)
  include(NeuraSmall)
  return()
endif()

# Kernels are compiled to be fast, in a folder of their own: this compiler takes no -O2 behind an -Oz. (It then computes
# wrong numbers: a row's mean in neura/backend/cpu/norm/norm_lines.cpp.)
set(own ${sources})
list(FILTER own INCLUDE REGEX "backend/cpu/|/families/|op/registry|graph/parse")
list(REMOVE_ITEM sources ${own})
add_library(neura_inference STATIC ${sources})
neura_for_programs(neura_inference)
target_link_libraries(neura_inference PRIVATE nlohmann_json::nlohmann_json)
add_subdirectory(wasm)
