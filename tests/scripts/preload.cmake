# Programs that know nothing of us, with our collectives instead of MPI's.
find_package(MPI REQUIRED COMPONENTS C)
add_test(NAME preload.mpi COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/preload/preload.py $<TARGET_FILE:chorale>
                                  $<TARGET_FILE:chorale-mpi-preload> ${MPI_C_COMPILER}
                                  ${CMAKE_CURRENT_SOURCE_DIR}/preload/program.c)
set_tests_properties(preload.mpi PROPERTIES TIMEOUT 600 ENVIRONMENT "${late_sanitizer}")
# A program that calls the library, as installed.
add_test(NAME preload.library COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/preload/library.py $<TARGET_FILE:chorale>
                                      ${CMAKE_COMMAND} ${PROJECT_BINARY_DIR} ${MPI_C_COMPILER} ${MPI_CXX_COMPILER}
                                      ${CMAKE_CURRENT_SOURCE_DIR}/preload/library.c)
set_tests_properties(preload.library PROPERTIES TIMEOUT 600 ENVIRONMENT "${late_sanitizer}")
# Different files in ranks, little memory, several threads.
add_test(NAME preload.trouble COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/preload/trouble.py $<TARGET_FILE:chorale>
                                      $<TARGET_FILE:chorale-mpi-preload> ${MPI_C_COMPILER} ${MPI_CXX_COMPILER}
                                      ${CMAKE_CURRENT_SOURCE_DIR}/preload)
set_tests_properties(preload.trouble PROPERTIES TIMEOUT 300 ENVIRONMENT "${late_sanitizer}")
# Ranks of several hosts, any of them the root.
add_test(NAME preload.seats COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/preload/seats.py $<TARGET_FILE:chorale>
                                    $<TARGET_FILE:chorale-mpi-preload> ${MPI_C_COMPILER}
                                    ${CMAKE_CURRENT_SOURCE_DIR}/preload/seats.c)
set_tests_properties(preload.seats PROPERTIES TIMEOUT 300 ENVIRONMENT "${late_sanitizer}")
# Measured times, in libraries.
add_test(NAME preload.measured COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/preload/measured.py $<TARGET_FILE:chorale>
                                       $<TARGET_FILE:chorale-mpi-preload> ${MPI_C_COMPILER}
                                       ${CMAKE_CURRENT_SOURCE_DIR}/preload/program.c)
set_tests_properties(preload.measured PROPERTIES TIMEOUT 300 ENVIRONMENT "${late_sanitizer}")
