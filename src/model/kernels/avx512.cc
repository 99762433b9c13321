// The kernels for AVX-512. Only kernel code is compiled so: nothing of the standard library's
// templates may be instantiated here, or the linker could keep this copy for all callers.
#include <immintrin.h>

#include "model/kernels/table.h"
#pragma GCC target("avx512f,fma")

#define CORISCO_LANES 16
#define CORISCO_INSTRUCTION_SET avx512
#include "model/kernels/table.inc"
