# Emitted libraries in PyTorch: Debian's, or that of the interpreter that was found.
foreach(candidate ${Python3_EXECUTABLE} /usr/bin/python3)
  if(NOT python_with_torch AND EXISTS ${candidate})
    execute_process(COMMAND ${candidate} -c "import torch.distributed as d; assert d.is_gloo_available()" RESULT_VARIABLE code
                    OUTPUT_QUIET ERROR_QUIET)
    if(code EQUAL 0)
      set(python_with_torch ${candidate})
    endif()
  endif()
endforeach()
if(NOT python_with_torch)
  message(STATUS "left out: tests of the Python package, which need PyTorch (Debian: python3-torch)")
  set(python_with_torch ${Python3_EXECUTABLE})
endif()
add_test(NAME python.optim COMMAND ${python_with_torch} ${CMAKE_CURRENT_SOURCE_DIR}/python/optim.py $<TARGET_FILE:chorale>
                                   ${CMAKE_CURRENT_BINARY_DIR}/python_libraries)
set_tests_properties(python.optim PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 COST 100)
