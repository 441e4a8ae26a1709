# Random input at every door, judged by something slow and obvious: a few cases of benchmarks/attack.py, which goes on for as long as one likes.
add_executable(exhaustive doors/exhaustive.cpp)
target_link_libraries(exhaustive PRIVATE chorale_warnings)
python_test(doors.judge SCRIPT doors/judge_test $<TARGET_FILE:exhaustive>)

function(doors_test door cases)
  add_test(NAME doors.${door} COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/benchmarks/attack.py --chorale $<TARGET_FILE:chorale>
                                      --exhaustive $<TARGET_FILE:exhaustive> --emit-random $<TARGET_FILE:emit_random> --only ${door} --cases ${cases} --seed 9 --jobs 1 --patience 10 --conflicts 1000 --as-it-is)
  set_tests_properties(doors.${door} PROPERTIES TIMEOUT 600 ENVIRONMENT "${sanitizer_options};ASAN_OPTIONS=detect_leaks=0")
endfunction()

doors_test(tiny 95)
doors_test(frontier 100)
doors_test(synthesize 60)
doors_test(forge 15)
doors_test(lower 40)
doors_test(interrupt 10)
doors_test(place 60)
doors_test(order 25)
doors_test(ways 20)
doors_test(abilities 20)
doors_test(library 10)
doors_test(compile 1)

# Every field of genuine files, changed: by one program that reads many texts.
add_executable(checker doors/checker.cpp)
target_link_libraries(checker PRIVATE api chorale_warnings)
python_test(doors.every_field LEAKS $<TARGET_FILE:chorale> $<TARGET_FILE:checker> $<TARGET_FILE:exhaustive> ${PROJECT_SOURCE_DIR})

# What was once stated and was not so: files that ../shared has.
find_package(MPI REQUIRED COMPONENTS C)
python_test(doors.repro LEAKS $<TARGET_FILE:chorale> $<TARGET_FILE:exhaustive> $<TARGET_FILE:emit_random> $<TARGET_FILE:chorale-mpi-preload>
            ${MPI_C_COMPILER} ${PROJECT_SOURCE_DIR}/../shared)
