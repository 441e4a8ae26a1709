# Emitted libraries in PyTorch.
python_test(python.optim WITH "torch.distributed as d; assert d.is_gloo_available()" ENVIRONMENT CXX=${emitted}/quick_cxx
            ARGUMENTS $<TARGET_FILE:chorale> ${CMAKE_CURRENT_BINARY_DIR}/quick_libraries)
python_test(python.optim_current SCRIPT python/optim ENVIRONMENT CXX=${emitted}/quick_cxx CHORALE_SHM_DISABLE=1 ARGUMENTS $<TARGET_FILE:chorale> ${CMAKE_CURRENT_BINARY_DIR}/quick_libraries 2 --current)
python_test(python.order WITH "torch.distributed as d; assert d.is_gloo_available()" ENVIRONMENT CXX=${emitted}/quick_cxx
            ARGUMENTS $<TARGET_FILE:chorale> ${CMAKE_CURRENT_BINARY_DIR}/quick_libraries)
python_test(python.order_current SCRIPT python/order ENVIRONMENT CXX=${emitted}/quick_cxx ARGUMENTS $<TARGET_FILE:chorale> ${CMAKE_CURRENT_BINARY_DIR}/quick_libraries --current)
# Operators: with Debian's PyTorch, and, where CHORALE_TORCH_PYTHON names it, the current one
# (./test.sh --torch), whose own compiler reads CXX, too.
python_test(python.operators WITH "torch.distributed as d; assert d.is_gloo_available()" ENVIRONMENT CXX=${emitted}/quick_cxx
            ARGUMENTS $<TARGET_FILE:chorale> ${CMAKE_CURRENT_BINARY_DIR}/quick_libraries)
python_test(python.operators_current SCRIPT python/operators ARGUMENTS $<TARGET_FILE:chorale> ${CMAKE_CURRENT_BINARY_DIR}/python_libraries --current)
# What ranks of one machine share.
python_test(python.shared WITH "torch.distributed as d; assert d.is_gloo_available()" $<TARGET_FILE:chorale> ${CMAKE_CURRENT_BINARY_DIR}/python_libraries)
python_test(python.shared_current SCRIPT python/shared ENVIRONMENT CXX=${emitted}/quick_cxx ARGUMENTS $<TARGET_FILE:chorale> ${CMAKE_CURRENT_BINARY_DIR}/quick_libraries --current)
python_test(python.fsdp ENVIRONMENT CXX=${emitted}/quick_cxx ARGUMENTS $<TARGET_FILE:chorale> ${CMAKE_CURRENT_BINARY_DIR}/quick_libraries --current)
python_test(python.random_modules ARGUMENTS $<TARGET_FILE:chorale> 10 --current)
python_test(python.models ARGUMENTS $<TARGET_FILE:chorale> --current)
python_test(python.compiler ARGUMENTS $<TARGET_FILE:chorale> ${CMAKE_CURRENT_BINARY_DIR}/python_libraries --current)
python_test(python.cache WITH "torch.distributed as d; assert d.is_gloo_available()" $<TARGET_FILE:chorale> ${CMAKE_CURRENT_BINARY_DIR}/python_libraries)
# On GPUs, and what is decided before one is needed.
python_test(python.devices WITH "torch.distributed as d; assert d.is_gloo_available()" ENVIRONMENT CXX=${emitted}/quick_cxx
            ARGUMENTS $<TARGET_FILE:chorale> ${CMAKE_CURRENT_BINARY_DIR}/quick_libraries)
python_test(python.gpus ARGUMENTS $<TARGET_FILE:chorale> ${CMAKE_CURRENT_BINARY_DIR}/python_libraries --current)
python_test(python.operators_gpus SCRIPT python/operators ARGUMENTS $<TARGET_FILE:chorale> ${CMAKE_CURRENT_BINARY_DIR}/python_libraries --current --gpus)
# The package with its extension, in the build tree and as pip installs it.
if(TARGET _chorale AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")  # Python does not load what has a sanitizer in it
  set(package ENVIRONMENT "PYTHONPATH=${PROJECT_BINARY_DIR}/python" ARGUMENTS $<TARGET_FILE:chorale>)
  python_test(python.package WITH numpy ${package} ${PROJECT_SOURCE_DIR})
  python_test(python.damaged_files SCRIPT property/suite WITH numpy ENVIRONMENT "PYTHONPATH=${PROJECT_BINARY_DIR}/python"
              ARGUMENTS damaged_files --quick --python --rounds 4 --build ${PROJECT_BINARY_DIR})
  python_test(python.recorder ${package})
  foreach(name package damaged_files recorder)
    needs(python.${name} _chorale)
  endforeach()
  python_test(python.build WITH distributed ${package})  # Dask's
  python_test(python.installed ENVIRONMENT CXX=${emitted}/quick_cxx
              ARGUMENTS ${CMAKE_COMMAND} ${PROJECT_BINARY_DIR} $<TARGET_FILE:chorale> ${PROJECT_SOURCE_DIR})
endif()
