foreach(name callers circles data exceptions hidden one_definition recipe rooms)
  python_test(rooms.${name} ${PROJECT_SOURCE_DIR})
endforeach()
