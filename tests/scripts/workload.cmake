# Random programs before and after random transformations; the long run is benchmarks/results/workloads_random.txt.
add_executable(preserve workload/preserve.cpp)
target_link_libraries(preserve PRIVATE workload semantics fmt::fmt chorale_warnings)
add_test(NAME workload.preserve COMMAND preserve 1000 1)
set_tests_properties(workload.preserve PROPERTIES TIMEOUT 300)
# What is emitted of random programs, compiled and run; many at once, since the compiler takes nearly all of the time.
add_executable(emit_random codegen/emit_random.cpp)
target_link_libraries(emit_random PRIVATE codegen construct workload semantics fmt::fmt chorale_warnings)
target_compile_definitions(emit_random PRIVATE CHORALE_CXX="${CMAKE_CXX_COMPILER}" CHORALE_MPIEXEC="${MPIEXEC_EXECUTABLE}")
add_test(NAME codegen.emit_random COMMAND emit_random 24 1)
set_tests_properties(codegen.emit_random PROPERTIES TIMEOUT 300)
