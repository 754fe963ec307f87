# Libraries that are headers alone come from this machine when another one is compiled for: by links in a folder of their
# own, as the other headers beside them are not for that machine.
set(NEURA_HOST_INCLUDE /usr/include CACHE PATH "Where hwy/highway.h and nlohmann/json.hpp of this machine are")
set(headers ${CMAKE_BINARY_DIR}/headers)
foreach(library IN ITEMS hwy nlohmann)
  if(NOT EXISTS ${NEURA_HOST_INCLUDE}/${library})
    message(FATAL_ERROR "Not found: ${NEURA_HOST_INCLUDE}/${library}. tools/setup.sh installs what is missing")
  endif()
  file(MAKE_DIRECTORY ${headers})
  file(CREATE_LINK ${NEURA_HOST_INCLUDE}/${library} ${headers}/${library} SYMBOLIC)
endforeach()
foreach(target IN ITEMS hwy::hwy hwy::hwy_contrib nlohmann_json::nlohmann_json)
  add_library(${target} INTERFACE IMPORTED)
  target_include_directories(${target} SYSTEM INTERFACE ${headers})
endforeach()
target_compile_definitions(hwy::hwy_contrib INTERFACE NEURA_HIGHWAY_HEADERS)  # what it would have compiled is missing
set(nlohmann_json_FOUND ON)
