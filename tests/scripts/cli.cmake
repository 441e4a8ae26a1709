# The program as a user runs it.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
foreach(name bad_input completion compose damaged_files forged_libraries groups library main_job limits proofs)
  add_test(NAME cli.${name} COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/cli/${name}.py $<TARGET_FILE:chorale>)
  set_tests_properties(cli.${name} PROPERTIES TIMEOUT 600 ENVIRONMENT "${sanitizer_options}")
endforeach()
add_test(NAME cli.hostile_names COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/cli/hostile_names.py $<TARGET_FILE:chorale>)
set_tests_properties(cli.hostile_names PROPERTIES TIMEOUT 600 ENVIRONMENT "${sanitizer_options};ASAN_OPTIONS=detect_leaks=0")  # MPI's
add_test(NAME cli.place COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/cli/place.py $<TARGET_FILE:chorale>
                                ${PROJECT_SOURCE_DIR}/examples ${MPI_CXX_COMPILER} ${MPIEXEC_EXECUTABLE})
add_test(NAME cli.optimize COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/cli/optimize.py $<TARGET_FILE:chorale>
                                 ${PROJECT_SOURCE_DIR}/examples)
add_test(NAME cli.output COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/cli/output.py $<TARGET_FILE:chorale>
                                 ${PROJECT_SOURCE_DIR}/examples)
set_tests_properties(cli.output cli.optimize PROPERTIES TIMEOUT 600 ENVIRONMENT "${sanitizer_options}")
set_tests_properties(cli.place PROPERTIES TIMEOUT 600 ENVIRONMENT "${sanitizer_options}")
add_test(NAME cli.emit COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/cli/emit.py $<TARGET_FILE:chorale>
                               ${MPI_CXX_COMPILER} ${PROJECT_SOURCE_DIR}/../shared ${emitted})
set_tests_properties(cli.emit PROPERTIES TIMEOUT 600 ENVIRONMENT "${sanitizer_options};ASAN_OPTIONS=detect_leaks=0")
add_test(NAME cli.epilogue COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/cli/epilogue.py $<TARGET_FILE:chorale>
                                   ${MPI_CXX_COMPILER} ${PROJECT_SOURCE_DIR}/examples ${emitted})
set_tests_properties(cli.epilogue PROPERTIES TIMEOUT 600 ENVIRONMENT "${sanitizer_options};ASAN_OPTIONS=detect_leaks=0")
add_test(NAME cli.hang COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/cli/hang.py $<TARGET_FILE:chorale>)
set_tests_properties(cli.hang PROPERTIES TIMEOUT 300 ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0")
add_test(NAME cli.bench COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/cli/bench.py $<TARGET_FILE:chorale>)
set_tests_properties(cli.bench PROPERTIES TIMEOUT 600 ENVIRONMENT "${sanitizer_options};ASAN_OPTIONS=detect_leaks=0")
add_test(NAME cli.cuda COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/cli/cuda.py $<TARGET_FILE:chorale> ${emitted})
set_tests_properties(cli.cuda PROPERTIES TIMEOUT 600 ENVIRONMENT "${sanitizer_options};ASAN_OPTIONS=detect_leaks=0")
add_test(NAME cli.parts COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/cli/parts.py $<TARGET_FILE:chorale> ${CMAKE_CXX_COMPILER})
set_tests_properties(cli.parts PROPERTIES TIMEOUT 300 ENVIRONMENT "${sanitizer_options}")
add_test(NAME cli.pages COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/cli/pages.py $<TARGET_FILE:chorale>)
set_tests_properties(cli.pages PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 ENVIRONMENT "${sanitizer_options}")
add_test(NAME cli.workload COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/cli/workload.py $<TARGET_FILE:chorale>
                                   ${PROJECT_SOURCE_DIR}/examples ${emitted})
set_tests_properties(cli.workload PROPERTIES TIMEOUT 600)
add_test(NAME cli.import COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/cli/import.py $<TARGET_FILE:chorale>
                                 ${PROJECT_SOURCE_DIR}/../shared)
set_tests_properties(cli.import PROPERTIES TIMEOUT 600 ENVIRONMENT "${sanitizer_options}")
add_test(NAME cli.calibrate COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/cli/calibrate.py $<TARGET_FILE:chorale>)
set_tests_properties(cli.calibrate PROPERTIES TIMEOUT 300 ENVIRONMENT "${sanitizer_options};ASAN_OPTIONS=detect_leaks=0")
