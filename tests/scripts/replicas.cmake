# Ranks end with the same bits: on three random machines here, on more by benchmarks/long.py.
add_executable(replicas api/replicas.cpp)
target_link_libraries(replicas PRIVATE api fmt::fmt chorale_warnings)
program_test(api.replicas replicas 3 1)
