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

# The package with its extension: with an interpreter that has numpy, in the build tree and as pip installs it. Both skip where
# something is missing, and say what.
foreach(candidate ${Python3_EXECUTABLE} /usr/bin/python3)
  if(NOT python_with_numpy AND EXISTS ${candidate})
    execute_process(COMMAND ${candidate} -c "import numpy" RESULT_VARIABLE code OUTPUT_QUIET ERROR_QUIET)
    if(code EQUAL 0)
      set(python_with_numpy ${candidate})
    endif()
  endif()
endforeach()
if(NOT python_with_numpy)
  message(STATUS "left out: tests of the Python package's extension, which need numpy (Debian: python3-numpy)")
  set(python_with_numpy ${Python3_EXECUTABLE})
endif()
if(TARGET _chorale AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")  # Python does not load what has a sanitizer in it
  add_test(NAME python.package COMMAND ${python_with_numpy} ${CMAKE_CURRENT_SOURCE_DIR}/python/package.py $<TARGET_FILE:chorale> ${PROJECT_SOURCE_DIR})
  set_tests_properties(python.package PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 ENVIRONMENT "PYTHONPATH=${PROJECT_BINARY_DIR}/python")
  add_test(NAME python.installed COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/python/installed.py ${CMAKE_COMMAND} ${PROJECT_BINARY_DIR}
                                         $<TARGET_FILE:chorale> ${PROJECT_SOURCE_DIR})
  set_tests_properties(python.installed PROPERTIES TIMEOUT 1200 SKIP_RETURN_CODE 77 COST 100)
endif()
