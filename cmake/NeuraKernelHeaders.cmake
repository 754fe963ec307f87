# The text that fused kernels are compiled with while a program runs: backend/cuda/pointwise/fused_kernel.cuh and what it includes,
# as strings in a source.
set(kernel_headers "")
if(NOT EMSCRIPTEN)
  set(kernel_headers
    backend/cuda/pointwise/fused_kernel.cuh backend/number/prelude.h backend/number/literal.h backend/number/scalar.h
    backend/number/functions.def backend/number/end_functions.h backend/number/integer.h backend/number/half.h
    backend/number/float8.h backend/number/cast.h backend/number/special.h backend/number/bessel.h
    backend/number/polynomial.h backend/number/special.def tables/dtypes.def
    tables/coefficients.h tables/gelu.h tables/slopes.h tables/special_slopes.h)
endif()
set(text "")
foreach(header IN LISTS kernel_headers)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/neura/${header})
  file(READ ${CMAKE_SOURCE_DIR}/neura/${header} content)
  string(APPEND text "    {\"neura/${header}\", R\"neura(${content})neura\"},\n")
endforeach()
set(text "#include \"neura/graph/fused_text.h\"\n\nnamespace neura::graph {\n
std::span<const cuda::KernelHeader> fused_headers() {
  static const std::initializer_list<cuda::KernelHeader> all = {\n${text}  };
  return {all.begin(), all.size()};\n}\n\n}  // namespace neura::graph\n")
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/families/kernel_headers.cpp CONTENT "@text@" @ONLY)
list(APPEND sources ${CMAKE_BINARY_DIR}/families/kernel_headers.cpp)
