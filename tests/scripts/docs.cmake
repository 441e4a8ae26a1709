# The pages: their commands run, their links lead somewhere, their words are the field's.
python_test(docs.pages LEAKS $<TARGET_FILE:chorale> ${PROJECT_SOURCE_DIR} ${emitted})
python_test(docs.adding LEAKS $<TARGET_FILE:chorale> ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
python_test(docs.words ${PROJECT_SOURCE_DIR})
python_test(docs.figures ${PROJECT_SOURCE_DIR})
python_test(docs.sentences ${PROJECT_SOURCE_DIR})
python_test(docs.papers $<TARGET_FILE:chorale> ${PROJECT_SOURCE_DIR})
