# Programs executed by one MPI process a rank. The variables let mpirun run as root, as in a container; Open
# MPI leaks from plugins that it unloads, which no suppression can name.
add_executable(mpi_driver runtime/mpi_driver.cpp)
target_link_libraries(mpi_driver PRIVATE construct codegen runtime_parts fmt::fmt chorale_warnings)

function(mpi_test name ranks)
  add_test(NAME runtime.mpi.${name} COMMAND ${MPIEXEC_EXECUTABLE} --oversubscribe -n ${ranks} $<TARGET_FILE:mpi_driver> ${ARGN})
  set_tests_properties(runtime.mpi.${name} PROPERTIES
    TIMEOUT 300 ENVIRONMENT "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;ASAN_OPTIONS=detect_leaks=0")
endfunction()

# What `emit --target mpi` prints around a program's tables, as the file that it is kept in.
add_executable(mpi_program ${PROJECT_SOURCE_DIR}/codegen/mpi/program.cpp)
target_include_directories(mpi_program PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(mpi_program PRIVATE MPI::MPI_CXX chorale_warnings)
add_test(NAME codegen.mpi_program COMMAND ${MPIEXEC_EXECUTABLE} --oversubscribe -n 2 $<TARGET_FILE:mpi_program> 1001 3)
set_tests_properties(codegen.mpi_program PROPERTIES
  TIMEOUT 300 PASS_REGULAR_EXPRESSION "1001 elements per block, best of 3: .* us, 0 wrong"
  ENVIRONMENT "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;ASAN_OPTIONS=detect_leaks=0")
add_test(NAME codegen.mpi_program.usage COMMAND ${MPIEXEC_EXECUTABLE} -n 2 --oversubscribe $<TARGET_FILE:mpi_program> 1K)
set_tests_properties(codegen.mpi_program.usage PROPERTIES
  TIMEOUT 300 PASS_REGULAR_EXPRESSION "usage: .* .elements of a block, 0 or more. .iterations, 1 or more."
  ENVIRONMENT "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;ASAN_OPTIONS=detect_leaks=0")

foreach(ranks 1 2 5 8)
  mpi_test(right_${ranks} ${ranks} right)
endforeach()
mpi_test(halves 6 halves)
mpi_test(too_many_ranks 3 many)
mpi_test(arrives 2 arrives)
set_property(TEST runtime.mpi.arrives APPEND PROPERTY ENVIRONMENT "OMPI_MCA_pml=ob1;OMPI_MCA_btl=tcp,self")
mpi_test(absent 3 absent)
set_tests_properties(runtime.mpi.absent PROPERTIES
  PASS_REGULAR_EXPRESSION "rank 0: rank 2 did not come to a barrier within 2 s")
mpi_test(hang 3 hang)
set_tests_properties(runtime.mpi.hang PROPERTIES
  PASS_REGULAR_EXPRESSION "rank 1, step 2: message [0-9]+ was not sent by rank 0 within 2 s")
