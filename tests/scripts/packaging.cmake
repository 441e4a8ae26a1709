# What is packaged, and what is reported of files: packages for Debian, schemas, the site.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")  # of programs with a sanitizer nobody makes packages
  add_test(NAME packaging.deb COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/packaging/deb.py ${CMAKE_CPACK_COMMAND} ${PROJECT_BINARY_DIR})
  set_tests_properties(packaging.deb PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77)
endif()

# With an interpreter that has a module, Debian's if need be; where none has it, the test skips and reports
# it.
function(python_with module variable)
  foreach(candidate ${Python3_EXECUTABLE} /usr/bin/python3)
    if(NOT ${variable} AND EXISTS ${candidate})
      execute_process(COMMAND ${candidate} -c "import ${module}" RESULT_VARIABLE code OUTPUT_QUIET ERROR_QUIET)
      if(code EQUAL 0)
        set(${variable} ${candidate} PARENT_SCOPE)
        return()
      endif()
    endif()
  endforeach()
  set(${variable} ${Python3_EXECUTABLE} PARENT_SCOPE)
endfunction()
python_with(jsonschema python_with_jsonschema)
add_test(NAME docs.schemas COMMAND ${python_with_jsonschema} ${CMAKE_CURRENT_SOURCE_DIR}/docs/schemas.py $<TARGET_FILE:chorale> ${PROJECT_SOURCE_DIR})
set_tests_properties(docs.schemas PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 ENVIRONMENT "${sanitizer_options}")
add_test(NAME docs.site COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/docs/site.py $<TARGET_FILE:chorale> ${PROJECT_SOURCE_DIR})
set_tests_properties(docs.site PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 ENVIRONMENT "${sanitizer_options}")
python_with(selenium python_with_selenium)
add_test(NAME cli.browser COMMAND ${python_with_selenium} ${CMAKE_CURRENT_SOURCE_DIR}/cli/browser.py $<TARGET_FILE:chorale> ${PROJECT_BINARY_DIR}/browser)
set_tests_properties(cli.browser PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 ENVIRONMENT "${sanitizer_options}")
