# cmake -DHEADERS=... -DOUTPUT=... -P: the public headers as others include them: in the folders of their
# rooms, with includes of each other below chorale/. A header that is the same is left as it is.
foreach(header ${HEADERS})
  file(READ ${header} text)
  string(REGEX REPLACE "#include \"([a-z])" "#include \"chorale/\\1" text "${text}")
  string(REGEX REPLACE "(api|jobs)/chorale" chorale header ${header})
  file(CONFIGURE OUTPUT ${OUTPUT}/${header} CONTENT "${text}" @ONLY)
endforeach()
