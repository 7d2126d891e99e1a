// The passes over a range of measurement rows: what every instruction set's kernel computes.
//
//   y = p·X, u = q·X       forward products of a block of rows, with the block then in cache
//   y, u ← weights         of each row, from its products: what `L1`, `Forms` and `Product` differ in
//   G += p y + q u         adjoint, from the rows still in cache
#pragma once

#include <cstddef>

#include "bilinear.hpp"

namespace gnpolyak {

// The shape of a problem and the widths its buffers are laid out with.
struct Shape {
  std::size_t m;        // rows
  std::size_t d;        // entries of a row
  std::size_t r;        // columns of X
  int n;                // order
  bool centred;         // whether there are rows q beside p
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
  const S* q;           // not looked at where the measurements are not centred
  const T* xt;          // Xᵀ, r rows of padded() numbers; null for no forward products
  T* gt;                // this range's share of Gᵀ, laid out likewise; null for no adjoint
  T* weights;           // room for Shape::weights() numbers
  S* packed;            // room for 2·block·lanes numbers, used where a row is shorter than a vector
};

// f = Σᵢ |ρᵢ| with ρᵢ = Σⱼ yⱼⁿ − uⱼⁿ − bᵢ, and weights n·sign(ρᵢ)·yⁿ⁻¹.
template <class T>
struct L1 {
  const T* b;
  double value;         // of the rows so far
};

// The values Σⱼ yⱼⁿ − uⱼⁿ and their slopes n·yⁿ⁻¹ and −n·uⁿ⁻¹, those of all rows p before those of q.
template <class T>
struct Forms {
  T* values;
  T* slopes;
};

// The derivative along X, here a direction: sᵢ = Σⱼ slopeⱼ·yⱼ + slopeⱼ·uⱼ, and weights (wᵢ·sᵢ)·slope.
template <class T>
struct Product {
  const T* slopes;
  const T* w;
  T* pushed;            // s; null where there is no direction, and the weights are wᵢ·slope
};

// Works on rows [begin, end): adds them into task.gt and to what `work` holds.
template <class S, class T, class Work>
using Pass = void (*)(const Shape&, const Task<S, T>&, Work& work, std::size_t begin, std::size_t end);

// One entry per instruction set; each is compiled from kernel.cpp with its own flags.
template <class S, class T>
struct Kernel {
  std::size_t lanes;
  Pass<S, T, L1<T>> l1;
  Pass<S, T, Forms<T>> forms;
  Pass<S, T, Product<T>> product;
};

struct Kernels {
  const char* name;
  Kernel<double, double> f64;
  Kernel<float, float> f32;
  Kernel<float, double> mixed;
  // Reads `count` bytes (rounded down to whole vectors) as fast as memory gives them; the sum keeps it honest.
  double (*read)(const void* data, std::size_t count);
  const BilinearKernels* bilinear;
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
