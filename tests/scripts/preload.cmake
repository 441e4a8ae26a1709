# Programs that know nothing of us, with our collectives instead of MPI's.
find_package(MPI REQUIRED COMPONENTS C)
set(preloaded $<TARGET_FILE:chorale> $<TARGET_FILE:chorale-mpi-preload> ${MPI_C_COMPILER})
set(folder ${CMAKE_CURRENT_SOURCE_DIR}/preload)
python_test(preload.mpi SCRIPT preload/preload LEAKS ${preloaded} ${folder}/program.c)
# A program that calls the library, as installed.
python_test(preload.library LEAKS $<TARGET_FILE:chorale> ${CMAKE_COMMAND} ${PROJECT_BINARY_DIR} ${MPI_C_COMPILER} ${MPI_CXX_COMPILER} ${folder}/library.c)
# Different files in ranks, little memory, several threads.
python_test(preload.trouble LEAKS ${preloaded} ${MPI_CXX_COMPILER} ${folder})
# Ranks of several hosts, any of them the root.
python_test(preload.rank_mapping LEAKS ${preloaded} ${folder}/rank_mapping.c)
# Measured times, in libraries.
python_test(preload.measured LEAKS ${preloaded} ${folder}/program.c)
# Files with which MPI libraries, UCC and NCCL choose their own algorithms.
python_test(preload.tuned_files LEAKS $<TARGET_FILE:chorale> ${MPI_C_COMPILER} 28)
python_test(preload.mpich $<TARGET_FILE:chorale>)
# Alltoallv, planned when it is called.
python_test(preload.alltoallv LEAKS $<TARGET_FILE:chorale-mpi-preload> $<TARGET_FILE:chorale-mpi> ${PROJECT_SOURCE_DIR}/preload/include ${MPI_C_COMPILER} ${folder}/alltoallv.c)
# Parts of the machine fail while a program runs.
python_test(preload.failures LEAKS $<TARGET_FILE:chorale> $<TARGET_FILE:chorale-mpi-preload> $<TARGET_FILE:chorale-mpi> ${PROJECT_SOURCE_DIR}/preload/include ${MPI_C_COMPILER} ${folder}/failures.c)
