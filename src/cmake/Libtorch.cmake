# Targets corisco_torch_headers and corisco_torch_libraries from an unpacked torch wheel.
# The wheel's own TorchConfig.cmake asks for a CUDA toolkit, so the libraries are named here.

set(CORISCO_TORCH_VERSION 2.11.0)
if(NOT CORISCO_LIBTORCH)
  if(DEFINED ENV{CORISCO_CACHE})
    set(corisco_cache "$ENV{CORISCO_CACHE}")
  elseif(DEFINED ENV{XDG_CACHE_HOME})
    set(corisco_cache "$ENV{XDG_CACHE_HOME}/corisco")
  else()
    set(corisco_cache "$ENV{HOME}/.cache/corisco")
  endif()
  set(CORISCO_LIBTORCH "${corisco_cache}/libtorch-${CORISCO_TORCH_VERSION}")
endif()
if(NOT EXISTS "${CORISCO_LIBTORCH}/torch/lib/libtorch_cpu.so")
  message(FATAL_ERROR "no libtorch in ${CORISCO_LIBTORCH}: run scripts/fetch_libtorch.sh, "
    "or pass -DCORISCO_LIBTORCH=<folder that holds torch/ of the torch ${CORISCO_TORCH_VERSION} wheel>")
endif()

add_library(corisco_torch_headers INTERFACE)
target_include_directories(corisco_torch_headers SYSTEM INTERFACE
  "${CORISCO_LIBTORCH}/torch/include" "${CORISCO_LIBTORCH}/torch/include/torch/csrc/api/include")
target_compile_definitions(corisco_torch_headers INTERFACE _GLIBCXX_USE_CXX11_ABI=1)

set(torch_lib "${CORISCO_LIBTORCH}/torch/lib")
add_library(corisco_torch_libraries INTERFACE)
target_link_libraries(corisco_torch_libraries INTERFACE "${torch_lib}/libtorch_cpu.so" "${torch_lib}/libc10.so")
if(CORISCO_CUDA)
  # Nothing in our code names a symbol of these: their static initialisers register the CUDA backend.
  target_link_libraries(corisco_torch_libraries INTERFACE -Wl,--no-as-needed
    "${torch_lib}/libtorch_cuda.so" "${torch_lib}/libc10_cuda.so" -Wl,--as-needed)
endif()
# libtorch_cpu of the CUDA wheel needs libcudart and libcupti, which lie beside it after fetching,
# and libgomp, which the wheel carries under a hashed name.
target_link_options(corisco_torch_libraries INTERFACE
  "-Wl,-rpath,${torch_lib}" "-Wl,-rpath-link,${torch_lib}" "-Wl,--allow-shlib-undefined" "-Wl,--disable-new-dtags")
