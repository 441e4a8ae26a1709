// With all of one room (tests/CMakeLists.txt).
int main() {}
