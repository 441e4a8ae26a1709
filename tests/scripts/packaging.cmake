# What is packaged, and what is reported of files: packages for Debian, schemas, the site.
if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")  # of programs with a sanitizer nobody makes packages
  python_test(packaging.deb ${CMAKE_CPACK_COMMAND} ${PROJECT_BINARY_DIR})
  python_test(packaging.wheel ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
endif()
python_test(docs.schemas WITH jsonschema $<TARGET_FILE:chorale> ${PROJECT_SOURCE_DIR})
add_executable(described docs/described.cpp)
target_link_libraries(described PRIVATE ir fmt::fmt chorale_warnings)
python_test(docs.described $<TARGET_FILE:described> ${PROJECT_SOURCE_DIR} ENVIRONMENT "PYTHONPATH=${PROJECT_BINARY_DIR}/python")
if(TARGET _chorale)
  needs(docs.described _chorale)
endif()
python_test(docs.site $<TARGET_FILE:chorale> ${PROJECT_SOURCE_DIR})
python_test(cli.browser WITH selenium $<TARGET_FILE:chorale> ${PROJECT_BINARY_DIR}/browser)
