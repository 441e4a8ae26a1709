# What runs over NCCL, on the CPU: the same sources against the stand-in for NCCL and CUDA in nccl/shim.
add_library(nccl_shim SHARED nccl/shim/shim.cpp nccl/shim/device.cpp)
target_include_directories(nccl_shim PUBLIC nccl/shim ${PROJECT_SOURCE_DIR})
target_link_libraries(nccl_shim PRIVATE Threads::Threads chorale_warnings)

# A .cu file is C++ here; CMake may know no other language for it.
set_source_files_properties(${PROJECT_SOURCE_DIR}/runtime/device/local_work.cu ${PROJECT_SOURCE_DIR}/runtime/gpu/peer_launch.cu
                            PROPERTIES LANGUAGE CXX)
add_library(shimmed_nccl_collectives STATIC ${PROJECT_SOURCE_DIR}/preload/nccl_collectives.cpp
            ${PROJECT_SOURCE_DIR}/runtime/device/local_work.cu)
target_include_directories(shimmed_nccl_collectives PUBLIC ${PROJECT_SOURCE_DIR}/preload/include)
target_link_libraries(shimmed_nccl_collectives PUBLIC nccl_shim library codegen runtime fmt::fmt PRIVATE chorale_warnings)

add_executable(test_nccl nccl/api_test.cpp nccl/differ_test.cpp nccl/gpu_run_test.cpp nccl/run_test.cpp nccl/rank_mapping_test.cpp nccl/steps_test.cpp
                         ${PROJECT_SOURCE_DIR}/preload/nccl_api.cpp ${PROJECT_SOURCE_DIR}/runtime/nccl/run.cpp
                         ${PROJECT_SOURCE_DIR}/runtime/gpu/run.cpp ${PROJECT_SOURCE_DIR}/runtime/gpu/peer_launch.cu)
target_link_libraries(test_nccl PRIVATE shimmed_nccl_collectives MPI::MPI_CXX topology construct pareto GTest::gtest_main GTest::gmock
                                        chorale_warnings)
target_precompile_headers(test_nccl REUSE_FROM test_headers)
together(test_nccl 6)  # the tests; sources of the product one by one
set_source_files_properties(${PROJECT_SOURCE_DIR}/preload/nccl_api.cpp ${PROJECT_SOURCE_DIR}/runtime/nccl/run.cpp
                            ${PROJECT_SOURCE_DIR}/runtime/gpu/run.cpp ${PROJECT_SOURCE_DIR}/runtime/gpu/peer_launch.cu
                            PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
unit_tests(nccl test_nccl)

add_library(shimmed_nccl_preload SHARED ${PROJECT_SOURCE_DIR}/preload/nccl_preload.cpp)
target_link_libraries(shimmed_nccl_preload PRIVATE shimmed_nccl_collectives ${CMAKE_DL_LIBS} chorale_warnings)
target_link_options(shimmed_nccl_preload PRIVATE -Wl,--exclude-libs,ALL)
set_target_properties(shimmed_nccl_preload PROPERTIES CXX_VISIBILITY_PRESET hidden)
add_executable(nccl_program nccl/program.cpp)
target_link_libraries(nccl_program PRIVATE nccl_shim Threads::Threads chorale_warnings)
python_test(preload.nccl SCRIPT nccl/preload LEAKS $<TARGET_FILE:chorale> $<TARGET_FILE:shimmed_nccl_preload> $<TARGET_FILE:nccl_program>)
python_test(nccl.emit LEAKS $<TARGET_FILE:chorale> ${CMAKE_CXX_COMPILER} ${CMAKE_CURRENT_SOURCE_DIR}/nccl/shim $<TARGET_FILE:nccl_shim> ${emitted})
python_test(nccl.switch_instructions ${PROJECT_SOURCE_DIR})
python_test(nccl.peers LEAKS $<TARGET_FILE:chorale> ${CMAKE_CXX_COMPILER} ${CMAKE_CURRENT_SOURCE_DIR}/nccl ${emitted})
python_test(nccl.custom_allreduce $<TARGET_FILE:chorale> ${CMAKE_CXX_COMPILER} ${CMAKE_CURRENT_SOURCE_DIR}/nccl ${emitted})
# Parts of the machine fail while a program runs.
add_library(shimmed_nccl SHARED ${PROJECT_SOURCE_DIR}/preload/nccl_api.cpp)
target_link_libraries(shimmed_nccl PRIVATE shimmed_nccl_collectives chorale_warnings)
set_target_properties(shimmed_nccl PROPERTIES CXX_VISIBILITY_PRESET hidden)
add_library(nccl_watch SHARED nccl/watch.cpp)
add_executable(nccl_failures nccl/failures.cpp)
add_executable(nccl_failures_calls nccl/failures.cpp)
target_compile_definitions(nccl_failures_calls PRIVATE LIBRARY)
target_include_directories(nccl_failures_calls PRIVATE ${PROJECT_SOURCE_DIR}/preload/include)
target_link_libraries(nccl_failures_calls PRIVATE shimmed_nccl)
foreach(each nccl_watch nccl_failures nccl_failures_calls)
  target_link_libraries(${each} PRIVATE nccl_shim Threads::Threads ${CMAKE_DL_LIBS} chorale_warnings)
endforeach()
python_test(nccl.failures LEAKS $<TARGET_FILE:chorale> $<TARGET_FILE:shimmed_nccl_preload> $<TARGET_FILE:nccl_watch> $<TARGET_FILE:nccl_failures>
            $<TARGET_FILE:nccl_failures_calls> ${CMAKE_CXX_COMPILER} ${CMAKE_CURRENT_SOURCE_DIR}/nccl/shim $<TARGET_FILE:nccl_shim> ${emitted}
            ${CMAKE_CURRENT_SOURCE_DIR}/nccl/failures.cpp)
