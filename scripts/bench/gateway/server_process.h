// What the kernel says of the measured server's process and of this one.
#pragma once
#include <cstdint>

namespace corisco::bench {
// Seconds of processor time that the process has used, its ended threads included; 0 for pid 0.
double cpu_seconds(int pid);
double own_cpu_seconds();
// Resident memory of the process now; 0 for pid 0.
std::uint64_t resident_bytes(int pid);
}  // namespace corisco::bench
