# JPEG_FOUND only where the library is libjpeg-turbo: others cannot decode a part of a picture.
find_package(JPEG QUIET)
if(JPEG_FOUND)
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_LIBRARIES JPEG::JPEG)
  check_cxx_source_compiles("#include <cstdio>\n#include <jpeglib.h>\nint main() { jpeg_crop_scanline(nullptr, nullptr, nullptr); }"
                            NEURA_JPEG_IS_TURBO)
  unset(CMAKE_REQUIRED_LIBRARIES)
  if(NOT NEURA_JPEG_IS_TURBO)
    set(JPEG_FOUND OFF)
  endif()
endif()
