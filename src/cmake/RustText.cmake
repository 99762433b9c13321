# Target corisco_text_rust: the Rust half of the text module, built by cargo into a static library
# outside the source tree, from the committed Cargo.lock.

find_program(CORISCO_CARGO NAMES cargo PATHS /usr/lib/cargo/bin REQUIRED)
set(text_rust_source "${CMAKE_SOURCE_DIR}/src/text/rust")
# Shared by all presets: nothing in it depends on them.
set(text_rust_target "${CMAKE_SOURCE_DIR}/build/text_rust" CACHE PATH "cargo's target folder")
set(text_rust_library "${text_rust_target}/release/libcorisco_text.a")
file(GLOB_RECURSE text_rust_files CONFIGURE_DEPENDS "${text_rust_source}/src/*.rs")
add_custom_command(
  OUTPUT "${text_rust_library}"
  COMMAND ${CMAKE_COMMAND} -E env "CARGO_TARGET_DIR=${text_rust_target}"
          ${CORISCO_CARGO} build --release --locked --quiet
  WORKING_DIRECTORY "${text_rust_source}"
  DEPENDS ${text_rust_files} "${text_rust_source}/Cargo.toml" "${text_rust_source}/Cargo.lock"
  COMMENT "Building the text library with cargo"
  USES_TERMINAL VERBATIM)
add_custom_target(corisco_text_rust_build DEPENDS "${text_rust_library}")
add_library(corisco_text_rust INTERFACE)
add_dependencies(corisco_text_rust corisco_text_rust_build)
target_include_directories(corisco_text_rust INTERFACE "${text_rust_source}/include")
target_link_libraries(corisco_text_rust INTERFACE "${text_rust_library}" dl m Threads::Threads)
