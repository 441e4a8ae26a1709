# A small part of the big sweep, and of the big compilation.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
foreach(script sweep compile)
  add_test(NAME benchmarks.${script} COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/benchmarks/${script}.py
                                             ${PROJECT_SOURCE_DIR}/benchmarks/${script}.py $<TARGET_FILE:chorale>)
endforeach()
add_test(NAME benchmarks.fabric COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/benchmarks/fabric.py
                                        ${PROJECT_SOURCE_DIR}/benchmarks/fabric $<TARGET_FILE:chorale>)
add_test(NAME benchmarks.simgrid COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/benchmarks/simgrid.py
                                         $<TARGET_FILE:chorale> ${CMAKE_CURRENT_BINARY_DIR}/simgrid)
add_test(NAME benchmarks.any_machine COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/benchmarks/any_machine.py
                                             ${PROJECT_SOURCE_DIR}/benchmarks/any_machine $<TARGET_FILE:chorale>)
add_test(NAME benchmarks.middle COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/benchmarks/middle.py
                                        ${PROJECT_SOURCE_DIR}/benchmarks/middle.py $<TARGET_FILE:chorale>)
add_test(NAME benchmarks.gpu COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/benchmarks/gpu.py
                                     ${PROJECT_SOURCE_DIR}/benchmarks/gpu.sh $<TARGET_FILE:chorale>)
set_tests_properties(benchmarks.gpu PROPERTIES TIMEOUT 300)
set_tests_properties(benchmarks.sweep benchmarks.compile benchmarks.fabric benchmarks.simgrid benchmarks.any_machine PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77
                                                                    ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0")
