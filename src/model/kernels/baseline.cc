// The kernels for any x86-64 (SSE2). Only kernel code is compiled so: nothing of the standard library's
// templates may be instantiated here, or the linker could keep this copy for all callers.
#include "model/kernels/table.h"

#define CORISCO_LANES 4
#define CORISCO_INSTRUCTION_SET baseline
#include "model/kernels/table.inc"
