# The library and its headers as installed, used from outside of the tree.
python_test(api.installed LEAKS ${CMAKE_COMMAND} ${PROJECT_BINARY_DIR} ${CMAKE_CXX_COMPILER} ${PROJECT_SOURCE_DIR}/examples)
