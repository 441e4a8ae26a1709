# To compile an emitted program is mostly to read the standard library's headers. Tests that compile many give
# the compiler @${emitted}/quick17 (20: the standard), or races17, instead of flags, which have those headers
# precompiled. Without this, as their Makefiles have them, programs are compiled by cli.workload,
# benchmarks.compile, tensor.workloads_nvcc and emit_random_*, and as the first one of each other test.
set(kept --param ggc-min-expand=10000 --param ggc-min-heapsize=4000000)  # garbage of the compiler: collecting takes longer
set(quick -O0 -fPIC ${kept})  # libraries have it, and what is precompiled without it is not for them
set(single -Og -fPIC ${kept})  # one program: to inline takes less time than to emit what it calls of the library; of twenty, more
set(races -Og -fsanitize=thread -g0 ${kept})  # -g takes a third of the time; a report has functions' names without it
foreach(standard 17 20)
  foreach(kind quick single races)
    set(at ${emitted}/${kind}${standard})
    set(flags -std=c++${standard} ${${kind}} -Wpedantic -ffp-contract=off -fno-math-errno -fno-trapping-math -pthread)
    list(JOIN flags " " text)
    file(CONFIGURE OUTPUT ${at} CONTENT "${text} -include ${at}_headers/standard.h\n" @ONLY)
    configure_file(emitted/standard.h ${at}_headers/standard.h COPYONLY)
    add_custom_command(OUTPUT ${at}_headers/standard.h.gch COMMAND ${CMAKE_CXX_COMPILER} ${flags} -x c++-header ${at}_headers/standard.h
                                                                   -o ${at}_headers/standard.h.gch
                       DEPENDS ${at}_headers/standard.h VERBATIM)
    list(APPEND precompiled ${at}_headers/standard.h.gch)
  endforeach()
endforeach()
# As a compiler for Makefiles of what is emitted, which ask for optimization.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  set(generic "-march=x86-64 -mtune=generic")
endif()
file(CONFIGURE OUTPUT ${emitted}/quick_cxx CONTENT "#!/bin/sh
case \"$*\" in *c++20*) standard=20 ;; *) standard=17 ;; esac
exec '${CMAKE_CXX_COMPILER}' \"$@\" @${emitted}/single$standard ${generic}
" @ONLY)
file(CHMOD ${emitted}/quick_cxx PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
# And the stand-in for CUDA and NCCL under ThreadSanitizer, whatever this build is under.
foreach(file shim device)
  set(object ${emitted}/${file}_races.o)
  add_custom_command(OUTPUT ${object} COMMAND ${CMAKE_CXX_COMPILER} @${emitted}/races20 -Wall -Wextra -Werror
                       -I${CMAKE_CURRENT_SOURCE_DIR}/nccl/shim -I${PROJECT_SOURCE_DIR} -MD -MF ${object}.d -MT ${object}
                       -c ${CMAKE_CURRENT_SOURCE_DIR}/nccl/shim/${file}.cpp -o ${object}
                     DEPENDS nccl/shim/${file}.cpp ${emitted}/races20_headers/standard.h.gch DEPFILE ${object}.d VERBATIM)
  list(APPEND precompiled ${object})
endforeach()
add_custom_target(emitted_headers ALL DEPENDS ${precompiled})
add_dependencies(test_tensor emitted_headers)
target_compile_definitions(test_tensor PRIVATE CHORALE_EMITTED="${emitted}")
# One compilation for many programs: tensor/emitted.py says how.
python_test(tensor.emitted $<TARGET_FILE:test_tensor> "${emitted_tests}")
