# Random programs before and after random transformations; the long run is benchmarks/results/workloads_random.txt.
add_executable(preserve workload/preserve.cpp)
target_link_libraries(preserve PRIVATE workload semantics fmt::fmt chorale_warnings)
add_test(NAME workload.preserve COMMAND preserve 1000 1)
set_tests_properties(workload.preserve PROPERTIES TIMEOUT 300)
