# Run when the wheel is made: the libraries that `module` needs and that a foreign machine may not have lie beside it.
file(GET_RUNTIME_DEPENDENCIES MODULES ${module} RESOLVED_DEPENDENCIES_VAR found UNRESOLVED_DEPENDENCIES_VAR lost
  PRE_EXCLUDE_REGEXES "^(ld-linux|libc|libm|libdl|librt|libpthread|libgcc_s|libstdc\\+\\+)[.-]")
if(lost)
  message(FATAL_ERROR "The wheel cannot carry what is not found: ${lost}")
endif()
foreach(library IN LISTS found)
  get_filename_component(name ${library} NAME)
  file(REAL_PATH ${library} real)
  message(STATUS "Bundling ${name}")
  file(COPY_FILE ${real} "${CMAKE_INSTALL_PREFIX}/neura/${name}")
endforeach()
