# The pages: their commands run, their links lead somewhere, their words are the field's.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_test(NAME docs.pages COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/docs/pages.py $<TARGET_FILE:chorale>
                                 ${PROJECT_SOURCE_DIR})
set_tests_properties(docs.pages PROPERTIES TIMEOUT 600 ENVIRONMENT "${sanitizer_options};ASAN_OPTIONS=detect_leaks=0")  # MPI's
add_test(NAME docs.words COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/docs/words.py ${PROJECT_SOURCE_DIR})
