# The kernel's source under ThreadSanitizer, in every build: what shares memory is instrumented, the rest is
# linked as it is. Without -g, which took as long again: a report names functions without it.
if(NOT CMAKE_CXX_FLAGS_DEBUG MATCHES "-fsanitize=" OR NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  add_executable(kernel_races runtime/peer_executor_test.cpp ${PROJECT_SOURCE_DIR}/runtime/peer_executor.cpp
                              ${PROJECT_SOURCE_DIR}/runtime/test_data.cpp)
  target_compile_options(kernel_races PRIVATE -fsanitize=thread)
  target_link_options(kernel_races PRIVATE -fsanitize=thread)
  target_link_libraries(kernel_races PRIVATE construct codegen runtime topology GTest::gtest_main GTest::gmock fmt::fmt chorale_warnings)
  program_test(runtime.kernel_races kernel_races --gtest_brief=1)
  # So are exchanges of emitted workloads, which are headers.
  add_executable(exchange_races tensor/exchange_test.cpp)
  target_compile_options(exchange_races PRIVATE -fsanitize=thread)
  target_link_options(exchange_races PRIVATE -fsanitize=thread)
  target_link_libraries(exchange_races PRIVATE construct tensor topology GTest::gtest_main GTest::gmock fmt::fmt chorale_warnings)
  program_test(tensor.exchange_races exchange_races --gtest_brief=1)
  # And it does see a race where there is one.
  program_test(runtime.kernel_race_is_seen kernel_races --gtest_also_run_disabled_tests --gtest_filter=*DISABLED_ARace)
  set_tests_properties(runtime.kernel_race_is_seen PROPERTIES PASS_REGULAR_EXPRESSION "data race")
  set_tests_properties(runtime.kernel_races runtime.kernel_race_is_seen tensor.exchange_races PROPERTIES ENVIRONMENT "TSAN_OPTIONS=halt_on_error=1")
endif()
