# `cpack` in the build tree: a package for Debian with the program, its parts, the libraries, their
# headers, the manual and completion. It depends on what dpkg-shlibdeps finds the libraries to need,
# so MPI and Z3, which the program loads only when asked to, come with it. Of the Python package
# there are the modules that the program runs; its extension is no part of it (pip makes that).
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # what is packaged has been built: cpack in a test builds nothing
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME chorale)
set(CPACK_PACKAGE_VENDOR chorale)
# Who builds a package maintains it. Debian's tools are told by these two variables who that is; where
# they are not, nobody does.
if(DEFINED ENV{DEBFULLNAME} AND DEFINED ENV{DEBEMAIL})
  set(CPACK_PACKAGE_CONTACT "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
else()
  set(CPACK_PACKAGE_CONTACT "nobody, built by hand <nobody@localhost.invalid>")
endif()
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Collective communication algorithms for your machine, with bounds and proofs")
set(CPACK_PACKAGE_DESCRIPTION "Chorale finds all best trades of latency against bandwidth for a collective on a
machine, each with a certificate, and makes programs of them for MPI, NCCL, CUDA and
MSCCL. With libchorale, its headers for C++ and C, and libraries for MPI programs.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
# What needs a GPU needs NCCL and CUDA, which are no packages of Debian.
foreach(component program libchorale chorale-clp chorale-crypto chorale-z3 chorale-sqlite chorale-mpi-run chorale-hwloc)
  if(TARGET ${component} OR component STREQUAL program)
    list(APPEND CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};chorale;${component};/")
  endif()
endforeach()
# What is compiled in of others: a library that Debian has as an archive alone, and headers.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS packaging/copyright.in)
file(READ packaging/copyright.in copyright)
foreach(part libcadical-dev nlohmann-json3-dev libcli11-dev)
  if(EXISTS /usr/share/doc/${part}/copyright)
    file(READ /usr/share/doc/${part}/copyright text)
    string(APPEND copyright "---- ${part} ----\n\n${text}\n")
  else()
    string(APPEND copyright "---- ${part} ----\n\nNot Debian's here: see where it was taken from.\n\n")
  endif()
endforeach()
file(WRITE ${CMAKE_BINARY_DIR}/generated/copyright "${copyright}")
install(FILES ${CMAKE_BINARY_DIR}/generated/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/chorale COMPONENT program)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL OFF)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "python3, graphviz")  # of job traces and other programs' files; of drawings
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Not under the folder of tests, whose libraries are none of the package's.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR}/lib)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)  # and has ldconfig run
include(CPack)
