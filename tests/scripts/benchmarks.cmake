# A small part of the big sweep.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_test(NAME benchmarks.sweep COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/benchmarks/sweep.py
                                       ${PROJECT_SOURCE_DIR}/benchmarks/sweep.py $<TARGET_FILE:chorale>)
set_tests_properties(benchmarks.sweep PROPERTIES TIMEOUT 600 ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0")
