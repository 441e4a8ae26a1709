# What is packaged, and what is said of files: packages for Debian, schemas.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")  # of programs with a sanitizer nobody makes packages
  add_test(NAME packaging.deb COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/packaging/deb.py ${CMAKE_CPACK_COMMAND} ${PROJECT_BINARY_DIR})
  set_tests_properties(packaging.deb PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77)
endif()
