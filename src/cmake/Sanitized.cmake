# sanitized_tests: the tests of what many threads or much arithmetic on indices could break and that needs no
# torch: base with its queues; the engine's scheduler, KV blocks, state slots and sampler; the model's kernels. Made by
# scripts/sanitize.sh with CORISCO_SANITIZE; the libraries are as ever. OpenMP's loops are serial here: the thread
# sanitizer does not see how their threads wait for each other.
find_package(GTest REQUIRED)
corisco_precompile(common_tests TESTS LINK ${common_libraries} HEADERS ${common_headers} <gtest/gtest.h>)
corisco_tests(base)

set(parts block_pool candidates logit_changes row_math sampler scheduler state_pool)
file(GLOB kernel_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/model/kernels/*.cc)
set(part_sources src/engine/scheduler_admission.cc tests/engine/scheduler_property_test.cc
  tests/engine/sampler_changes_test.cc src/model/token_logprob.cc tests/model/kernels_test.cc ${kernel_sources})
foreach(part ${parts})
  list(APPEND part_sources src/engine/${part}.cc tests/engine/${part}_test.cc)
endforeach()
add_executable(test_engine_parts ${part_sources})
corisco_own_code(test_engine_parts)
target_compile_options(test_engine_parts PRIVATE -fopenmp-simd -Wno-unknown-pragmas
  -Wno-maybe-uninitialized)  # which instrumented code makes the compiler see where there is none
target_include_directories(test_engine_parts PRIVATE src tests)
target_link_libraries(test_engine_parts PRIVATE corisco_types corisco_base GTest::gtest GTest::gtest_main gomp)
add_custom_target(sanitized_tests DEPENDS test_base test_engine_parts)
