# One program fuzz_NAME from each tests/fuzz/NAME.cc: a libFuzzer target over the modules without
# torch, which are instrumented like it. Needs clang; the Rust half and libraries are as ever.
file(GLOB fuzz_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fuzz/*.cc)
add_custom_target(fuzz_targets)
foreach(source ${fuzz_sources})
  cmake_path(GET source STEM name)
  add_executable(fuzz_${name} ${source})
  corisco_own_code(fuzz_${name})
  target_include_directories(fuzz_${name} PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/tests)
  target_compile_definitions(fuzz_${name} PRIVATE CORISCO_SOURCE_FOLDER="${CMAKE_SOURCE_DIR}")
  target_link_libraries(fuzz_${name} PRIVATE corisco_gateway corisco_samples)
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzz_targets fuzz_${name})
endforeach()
