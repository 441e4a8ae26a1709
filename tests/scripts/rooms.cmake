find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_test(NAME rooms.as_drawn COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/rooms/rooms.py ${PROJECT_SOURCE_DIR})
add_test(NAME rooms.one_definition COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/rooms/one_definition.py ${PROJECT_SOURCE_DIR})
add_test(NAME rooms.circles COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/rooms/circles.py ${PROJECT_SOURCE_DIR})
