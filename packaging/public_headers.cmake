# cmake -DHEADERS=... -DOUTPUT=... -P: the public headers as others include them: in the folders of their
# rooms, with includes of each other below chorale/. A header that is the same is left as it is.
set(made "")
foreach(header ${HEADERS})
  file(READ ${header} text)
  string(REGEX REPLACE "#include \"([a-z])" "#include \"chorale/\\1" text "${text}")
  string(REGEX REPLACE "(api|jobs)/chorale" chorale header ${header})
  file(CONFIGURE OUTPUT ${OUTPUT}/${header} CONTENT "${text}" @ONLY)
  list(APPEND made ${OUTPUT}/${header})
endforeach()
file(GLOB_RECURSE others ${OUTPUT}/*.h)
list(REMOVE_ITEM others ${made})
foreach(header ${others})  # of an earlier build
  file(REMOVE ${header})
endforeach()
