# find_package(neura) for others: libraries, public headers with the tables they read, the program, exported targets.
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/neura)
set(installed ${neura_components} neura_all)
if(neura_archives)
  list(APPEND installed ${neura_archives} neura_all_static)
endif()
install(TARGETS ${installed} EXPORT neura INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET neura_cli)
  install(TARGETS neura_cli)
endif()
install(CODE "set(source \"${CMAKE_SOURCE_DIR}\")\nset(folder \"${CMAKE_INSTALL_INCLUDEDIR}\")" COMPONENT headers)
install(SCRIPT cmake/install_headers.cmake COMPONENT headers)
install(FILES LICENSE-APACHE LICENSE-MIT THIRD_PARTY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(NEURA_HAVE_SERVE)  # who links the archive needs it
  install(FILES cmake/NeuraHttplib.cmake DESTINATION ${package_folder})
endif()
install(EXPORT neura NAMESPACE neura:: FILE neura-targets.cmake DESTINATION ${package_folder})

configure_package_config_file(cmake/neura-config.cmake.in neura-config.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(neura-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/neura-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/neura-config-version.cmake
        DESTINATION ${package_folder})
