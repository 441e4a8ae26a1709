# Random input at every door, judged by something slow and obvious: a few cases of benchmarks/attack.py, which goes on for as long as one likes.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_executable(exhaustive doors/exhaustive.cpp)
target_link_libraries(exhaustive PRIVATE chorale_warnings)
add_test(NAME doors.judge COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/doors/judge_test.py $<TARGET_FILE:exhaustive>)

function(doors_test door cases)
  add_test(NAME doors.${door} COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/benchmarks/attack.py --chorale $<TARGET_FILE:chorale>
                                      --exhaustive $<TARGET_FILE:exhaustive> --only ${door} --cases ${cases} --seed 9 --jobs 1 --patience 10 --as-it-is)
  set_tests_properties(doors.${door} PROPERTIES TIMEOUT 600 ENVIRONMENT "${sanitizer_options};ASAN_OPTIONS=detect_leaks=0")
endfunction()

doors_test(tiny 95)
doors_test(frontier 100)
doors_test(synthesize 60)
doors_test(forge 15)
doors_test(lower 40)
doors_test(interrupt 10)
doors_test(place 60)
