python_test(kit.test_sh ${PROJECT_SOURCE_DIR})
