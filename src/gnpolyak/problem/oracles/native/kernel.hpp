// One fused pass over a range of measurement rows: what every instruction set's kernel computes.
//
//   y = p·X, u = q·X       forward products of a block of rows, with the block then in cache
//   ρ = Σⱼ yⱼⁿ − uⱼⁿ − b    residual of each row
//   f += |ρ|,  G += n·sign(ρ) (p yⁿ⁻¹ − q uⁿ⁻¹)    value and adjoint, from the rows still in cache
#pragma once

#include <cstddef>

namespace gnpolyak {

// The shape of a problem and the widths its buffers are laid out with.
struct Shape {
  std::size_t m;        // rows
  std::size_t d;        // entries of a row
  std::size_t r;        // columns of X
  int n;                // order
  std::size_t lanes;    // numbers in a vector register of the kernel's arithmetic type
  std::size_t vectors;  // vectors that cover a row; the last may overlap the one before it
  std::size_t block;    // rows of P (and as many of Q) held in cache between forward and adjoint

  std::size_t padded() const { return vectors * lanes; }
  std::size_t weights() const { return 2 * block * r; }
};

// Where a range of rows is read from and summed to. `S` is the type rows are stored in, `T` that of the arithmetic.
template <class S, class T>
struct Task {
  const S* p;
  const S* q;
  const T* b;
  const T* xt;          // Xᵀ, r rows of padded() numbers
  T* gt;                // this range's share of Gᵀ, laid out likewise
  T* weights;           // room for Shape::weights() numbers
  S* packed;            // room for 2·block·lanes numbers, used where a row is shorter than a vector
};

// One entry per instruction set; each is compiled from kernel.cpp with its own flags.
template <class S, class T>
struct Kernel {
  std::size_t lanes;
  // Adds rows [begin, end) into task.gt and returns their share of the value.
  double (*accumulate)(const Shape&, const Task<S, T>&, std::size_t begin, std::size_t end);
};

struct Kernels {
  const char* name;
  Kernel<double, double> f64;
  Kernel<float, float> f32;
  Kernel<float, double> mixed;
  // Reads `count` bytes (rounded down to whole vectors) as fast as memory gives them; the sum keeps it honest.
  double (*read)(const void* data, std::size_t count);
};

#define GNPOLYAK_DECLARE(isa) \
  namespace isa {             \
  extern const Kernels kernels; \
  }
GNPOLYAK_DECLARE(baseline)
GNPOLYAK_DECLARE(avx2)
GNPOLYAK_DECLARE(avx512)
#undef GNPOLYAK_DECLARE

}  // namespace gnpolyak
