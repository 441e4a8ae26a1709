# The property suite of the program: a row of tests/property/suite.py each, as its table has it, with few
# cases on small machines. benchmarks/long.py goes on with the same rows, all machines and other seeds for as
# long as one likes.
add_executable(exhaustive property/exhaustive.cpp)
target_link_libraries(exhaustive PRIVATE chorale_warnings)
target_include_directories(exhaustive PRIVATE ${PROJECT_SOURCE_DIR})
# By one program that reads many texts.
add_executable(checker property/checker.cpp)
target_link_libraries(checker PRIVATE api chorale_warnings)
set(rows_that_may_leak tiny frontier synthesize interrupt order sums ways abilities claims forge every_field library lower place compile)
foreach(row ${rows_that_may_leak} forged_libraries damaged_files lrat pb)
  set(environment)
  if(row IN_LIST rows_that_may_leak)
    set(environment ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
  endif()
  python_test(property.${row} SCRIPT property/suite ${environment} ARGUMENTS ${row} --quick --build ${PROJECT_BINARY_DIR})
  needs(property.${row} chorale exhaustive checker)
endforeach()
python_test(property.verifier SCRIPT property/verifier_test $<TARGET_FILE:exhaustive>)

# What was once stated and was not so.
find_package(MPI REQUIRED COMPONENTS C)
python_test(property.repro LEAKS ENVIRONMENT CXX=${emitted}/quick_cxx ARGUMENTS $<TARGET_FILE:chorale> $<TARGET_FILE:exhaustive> $<TARGET_FILE:emit_random>
            $<TARGET_FILE:chorale-mpi-preload> ${MPI_C_COMPILER} ${CMAKE_CURRENT_SOURCE_DIR}/data)

# Makers by properties, of the rooms themselves; --long and --seed: tests/property/main.cpp.
file(GLOB properties CONFIGURE_DEPENDS property/*_test.cpp)
add_executable(test_property property/main.cpp property/makers.cpp ${properties})
target_link_libraries(test_property PRIVATE api bounds codegen construct cost encoder pareto semantics solvers topology
                                            GTest::gtest GTest::gmock fmt::fmt chorale_warnings)
target_precompile_headers(test_property REUSE_FROM test_headers)
together(test_property 10)
unit_tests(property test_property)
