# Programs executed by one MPI process a rank. The variables let mpirun run as root, as in a container; Open
# MPI leaks from plugins that it unloads, which no suppression can name.
add_executable(mpi_driver runtime/mpi_driver.cpp)
target_link_libraries(mpi_driver PRIVATE construct codegen runtime_plugins fmt::fmt chorale_warnings)

function(mpi_test name ranks)
  program_test(${name} ${MPIEXEC_EXECUTABLE} --oversubscribe -n ${ranks} ${ARGN})
  set_tests_properties(${name} PROPERTIES ENVIRONMENT "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;ASAN_OPTIONS=detect_leaks=0")
endfunction()

# What `emit --target mpi` prints around a program's tables, as the file that it is kept in.
add_executable(mpi_program ${PROJECT_SOURCE_DIR}/codegen/mpi/program.cpp)
target_include_directories(mpi_program PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(mpi_program PRIVATE MPI::MPI_CXX chorale_warnings)
mpi_test(codegen.mpi_program 2 $<TARGET_FILE:mpi_program> 1001 3)
set_tests_properties(codegen.mpi_program PROPERTIES PASS_REGULAR_EXPRESSION "1001 elements per block, best of 3: .* us, 0 wrong")
mpi_test(codegen.mpi_program.usage 2 $<TARGET_FILE:mpi_program> 1K)
set_tests_properties(codegen.mpi_program.usage PROPERTIES
                     PASS_REGULAR_EXPRESSION "usage: .* .elements of a block, 0 or more. .iterations, 1 or more.")

foreach(ranks 1 2 5 8)
  mpi_test(runtime.mpi.right_${ranks} ${ranks} $<TARGET_FILE:mpi_driver> right)
endforeach()
foreach(ranks 2 3 5 8)
  mpi_test(runtime.mpi.wire_${ranks} ${ranks} $<TARGET_FILE:mpi_driver> wire)
endforeach()
mpi_test(runtime.mpi.halves 6 $<TARGET_FILE:mpi_driver> halves)
mpi_test(runtime.mpi.too_many_ranks 3 $<TARGET_FILE:mpi_driver> many)
mpi_test(runtime.mpi.arrives 2 $<TARGET_FILE:mpi_driver> arrives)
set_property(TEST runtime.mpi.arrives APPEND PROPERTY ENVIRONMENT "OMPI_MCA_pml=ob1;OMPI_MCA_btl=tcp,self")
mpi_test(runtime.mpi.absent 3 $<TARGET_FILE:mpi_driver> absent)
set_tests_properties(runtime.mpi.absent PROPERTIES
  PASS_REGULAR_EXPRESSION "rank 0: rank 2 did not come to a barrier within 2 s")
mpi_test(runtime.mpi.hang 3 $<TARGET_FILE:mpi_driver> hang)
set_tests_properties(runtime.mpi.hang PROPERTIES
  PASS_REGULAR_EXPRESSION "rank 1, step 2: message [0-9]+ was not sent by rank 0 within 2 s")
