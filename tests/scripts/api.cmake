# The library and its headers as installed, used from outside of the tree.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_test(NAME api.installed COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/api/installed.py ${CMAKE_COMMAND} ${PROJECT_BINARY_DIR}
                                    ${CMAKE_CXX_COMPILER} ${PROJECT_SOURCE_DIR}/examples)
set_tests_properties(api.installed PROPERTIES TIMEOUT 600 ENVIRONMENT "${late_sanitizer}")
