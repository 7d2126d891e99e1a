// What an x86-64 processor can do, asked of the processor itself: the compiler's own function for it lives in a runtime
// library that compilers for Windows do not link.
#pragma once

#include <cpuid.h>

namespace gnpolyak {

struct Processor {
  unsigned one = 0, seven = 0, saved = 0;

  Processor() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid(1, &a, &b, &one, &d)) return;
    if (!has(one, 27)) return;  // The system does not say which registers it saves.
    __asm__("xgetbv" : "=a"(saved), "=d"(d) : "c"(0));
    __get_cpuid_count(7, 0, &a, &seven, &c, &d);
  }

  static bool has(unsigned word, int bit) { return (word >> bit) & 1u; }

  // FMA and AVX2, and a system that saves their registers.
  bool avx2() const { return (saved & 0x06) == 0x06 && has(one, 12) && has(seven, 5); }
  // F, DQ, BW and VL, with the mask registers and the upper halves saved as well.
  bool avx512() const {
    return avx2() && (saved & 0xe6) == 0xe6 && has(seven, 16) && has(seven, 17) && has(seven, 30) && has(seven, 31);
  }
};

}  // namespace gnpolyak
