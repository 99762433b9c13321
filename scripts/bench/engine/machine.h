// What this machine can do at most: the roofline that figures are held against.
#pragma once

namespace corisco::bench {
// Bytes a second that `threads` threads read from memory that no cache holds; the best of a few passes.
double read_bytes_per_second(int threads);
// Floating-point operations a second of the library's float32 matrix product, all threads; the best of a few.
double product_flops_per_second();
}  // namespace corisco::bench
