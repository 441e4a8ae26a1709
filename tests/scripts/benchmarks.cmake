# A small part of the big sweep, of the big compilation, and of other benchmarks.
foreach(script sweep.py compile.py middle.py own_parts.py gpu.sh)
  string(REGEX REPLACE "\\..*" "" name ${script})
  python_test(benchmarks.${name} LEAKS ${PROJECT_SOURCE_DIR}/benchmarks/${script} $<TARGET_FILE:chorale>)
endforeach()
foreach(folder any_machine fabric)
  python_test(benchmarks.${folder} LEAKS ${PROJECT_SOURCE_DIR}/benchmarks/${folder} $<TARGET_FILE:chorale>)
endforeach()
python_test(benchmarks.simgrid LEAKS $<TARGET_FILE:chorale> ${CMAKE_CURRENT_BINARY_DIR}/simgrid)
