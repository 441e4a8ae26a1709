# Random input at every door, judged by something slow and obvious: a few cases of benchmarks/attack.py, on
# small machines, since nearly all of the time is in the few large ones. benchmarks/long.py goes on with the
# same doors, all machines and other seeds for as long as one likes.
add_executable(exhaustive property/exhaustive.cpp)
target_link_libraries(exhaustive PRIVATE chorale_warnings)
target_include_directories(exhaustive PRIVATE ${PROJECT_SOURCE_DIR})
python_test(property.verifier SCRIPT property/verifier_test $<TARGET_FILE:exhaustive>)
python_test(property.sums $<TARGET_FILE:chorale>)

function(property_test command cases)
  add_test(NAME property.${command} COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/benchmarks/attack.py --chorale $<TARGET_FILE:chorale>
                                      --exhaustive $<TARGET_FILE:exhaustive> --emit-random $<TARGET_FILE:emit_random> --only ${command} --cases ${cases} --ranks 5 --work 100000 --seed 9 --jobs 1 --patience 10 --conflicts 1000 --as-it-is ${ARGN})
  set_tests_properties(property.${command} PROPERTIES TIMEOUT 600 ENVIRONMENT "${sanitizer_options};ASAN_OPTIONS=detect_leaks=0")
endfunction()

property_test(tiny 60)
property_test(frontier 30)
property_test(synthesize 40)
property_test(forge 15)
property_test(lower 25)
property_test(interrupt 10)
property_test(place 40)
property_test(order 10 --ranks 4)
property_test(ways 10)
property_test(abilities 12)
property_test(library 10)
property_test(compile 1)

# Every field of genuine files, changed: by one program that reads many texts.
add_executable(checker property/checker.cpp)
target_link_libraries(checker PRIVATE api chorale_warnings)
python_test(property.every_field LEAKS $<TARGET_FILE:chorale> $<TARGET_FILE:checker> $<TARGET_FILE:exhaustive> ${PROJECT_SOURCE_DIR})

# What was once stated and was not so: files that ../shared has.
find_package(MPI REQUIRED COMPONENTS C)
python_test(property.repro LEAKS $<TARGET_FILE:chorale> $<TARGET_FILE:exhaustive> $<TARGET_FILE:emit_random> $<TARGET_FILE:chorale-mpi-preload>
            ${MPI_C_COMPILER} ${PROJECT_SOURCE_DIR}/../shared)

# Makers by properties, of the rooms themselves; --long and --seed: tests/property/main.cpp.
file(GLOB properties CONFIGURE_DEPENDS property/*_test.cpp)
add_executable(test_property property/main.cpp property/makers.cpp ${properties})
target_link_libraries(test_property PRIVATE bounds codegen construct cost encoder pareto semantics solvers topology
                                            GTest::gtest GTest::gmock fmt::fmt chorale_warnings)
target_precompile_headers(test_property REUSE_FROM test_headers)
together(test_property 10)
gtest_discover_tests(test_property TEST_PREFIX property. DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600 ENVIRONMENT "${sanitizer_options}")
