# Random programs before and after random transformations; more of them by benchmarks/long.py.
add_executable(preserve tensor/preserve.cpp)
target_link_libraries(preserve PRIVATE interpreter semantics fmt::fmt chorale_warnings)
program_test(tensor.preserve preserve 1000 1)
# What is emitted of random programs, compiled and run; many at once, since the compiler takes nearly all of
# the time.
add_executable(emit_random tensor/emit_random.cpp)
target_link_libraries(emit_random PRIVATE codegen construct interpreter semantics fmt::fmt chorale_warnings)
target_compile_definitions(emit_random PRIVATE CHORALE_CXX="${CMAKE_CXX_COMPILER}" CHORALE_MPIEXEC="${MPIEXEC_EXECUTABLE}"
                                               CHORALE_SOURCE="${PROJECT_SOURCE_DIR}" CHORALE_SHIM="$<TARGET_FILE:nccl_shim>"
                                               CHORALE_EMITTED="${emitted}")
add_dependencies(emit_random nccl_shim)
program_test(tensor.emit_random emit_random 8 1 1 replicas)
foreach(carrier mpi cuda nccl)
  program_test(tensor.emit_random_${carrier} emit_random 4 2 1 ${carrier} replicas)
endforeach()
target_compile_definitions(test_tensor PRIVATE CHORALE_SHIM="$<TARGET_FILE:nccl_shim>")
add_dependencies(test_tensor nccl_shim)
# What the emitted program of a norm behind a sum reads and writes.
python_test(benchmarks.workload_bytes SCRIPT ../benchmarks/workload_bytes $<TARGET_FILE:chorale> --last 1)
# Every example on 4 and on 8 ranks.
python_test(benchmarks.workloads SCRIPT ../benchmarks/workloads $<TARGET_FILE:chorale> explore)
# One example for a GPU, where there is a compiler for it: all of them are benchmarks/compile_workloads.py's.
add_test(NAME tensor.workloads_nvcc COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/benchmarks/compile_workloads.py adam
                                             --architectures sm_90 --chorale $<TARGET_FILE:chorale>)
# And the machine code of those with halves, rows and products beside communication, where it can be read.
add_test(NAME tensor.workloads_sass COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/benchmarks/compile_workloads.py adam self_attention
                                            rms_norm self_attention_beside moe_top2 --sass --architectures sm_90 --chorale $<TARGET_FILE:chorale>)
set_tests_properties(tensor.workloads_nvcc tensor.workloads_sass PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 2)
