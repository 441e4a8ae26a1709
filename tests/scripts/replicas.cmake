# Ranks end with the same bits: on three random machines here, on more by benchmarks/long.py.
add_executable(replicas api/replicas.cpp)
target_link_libraries(replicas PRIVATE api fmt::fmt chorale_warnings)
add_test(NAME api.replicas COMMAND replicas 3 1)
set_tests_properties(api.replicas PROPERTIES TIMEOUT 300)
