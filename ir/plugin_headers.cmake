# cmake -DHEADERS=... -DOUTPUT=... -P: writes headers.cpp with the hash of the headers. A file with the same
# hash is left as it is, so that nothing is compiled for it.
set(hashes "")
foreach(header ${HEADERS})
  file(SHA256 ${header} hash)
  string(APPEND hashes ${hash})
endforeach()
string(SHA256 hash "${hashes}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/plugin_headers.cpp.in ${OUTPUT} @ONLY)
