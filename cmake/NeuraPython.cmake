# Which Python the package is for: the one that was asked for, the environment of tools/python.sh, or the first on PATH;
# and where its nanobind is.
if(NOT DEFINED Python_EXECUTABLE AND EXISTS ${CMAKE_SOURCE_DIR}/build/python/bin/python)
  set(Python_EXECUTABLE ${CMAKE_SOURCE_DIR}/build/python/bin/python)
endif()
set(Python_FIND_VIRTUALENV FIRST)
if(NOT CMAKE_VERSION VERSION_LESS 3.18)
  find_package(Python 3.9 QUIET COMPONENTS Interpreter Development.Module)
endif()
if(NOT Python_FOUND)
  set(CMAKE_DISABLE_FIND_PACKAGE_nanobind ON)  # it would look for Python itself, and fail
elseif(NOT nanobind_DIR)
  execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir OUTPUT_VARIABLE nanobind_DIR
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(nanobind_DIR)
    set(nanobind_DIR ${nanobind_DIR} CACHE PATH "nanobind's CMake files")
  endif()
endif()
