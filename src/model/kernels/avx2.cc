// The kernels for AVX2 and FMA. Only kernel code is compiled so: nothing of the standard library's
// templates may be instantiated here, or the linker could keep this copy for all callers.
#include <immintrin.h>

#include "model/kernels/table.h"
#pragma GCC target("avx2,fma")

#define CORISCO_LANES 8
#define CORISCO_INSTRUCTION_SET avx2
#include "model/kernels/table.inc"
