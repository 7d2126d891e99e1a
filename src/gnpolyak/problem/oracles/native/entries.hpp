// The passes over entries (i, j) of UVᵀ, sorted by i: what every instruction set's kernel computes of a range of them.
//
// The factors come as rows of `padded` numbers, so that a row is whole vectors; beside each row lies that of a direction
// (Z_U, Z_V) where there is one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gnpolyak {

// What a range of entries is read from and summed to. `order` says where an entry's datum lies; null for in place.
template <class T>
struct EntryTask {
  const std::int32_t* major;
  const std::int32_t* minor;
  const std::int32_t* order;
  const T* u;          // rows of the factor along the sorted axis: `stride` numbers each, the direction's after its own
  const T* v;          // those of the other
  std::size_t stride;
  T* gu;               // the sums, rows of `padded` numbers; null for no adjoint. Whole rows of gu are this range's own.
  T* gv;               // this range's share
  const T* data;       // b, or weights, one a datum
  T* values;           // what is returned of each datum; null for nothing
  double total;        // Σ|ρ| of the entries so far
};

template <class T>
using EntryPass = void (*)(EntryTask<T>& task, std::size_t padded, std::size_t begin, std::size_t end);

// l1:      ρ = uᵢ·vⱼ − b, weights sign(ρ)
// values:  uᵢ·vⱼ
// pull:    weights w
// product: s = zᵢ·vⱼ + uᵢ·yⱼ, weights w·s, and s returned
// The adjoint adds weight·vⱼ to row i of gu and weight·uᵢ to row j of gv.
template <class T>
struct EntryKernel {
  std::size_t lanes;
  EntryPass<T> l1;
  EntryPass<T> values;
  EntryPass<T> pull;
  EntryPass<T> product;
};

struct EntryKernels {
  EntryKernel<double> f64;
  EntryKernel<float> f32;
};

#define GNPOLYAK_DECLARE(isa)               \
  namespace isa {                           \
  extern const EntryKernels entry_kernels;  \
  }
GNPOLYAK_DECLARE(baseline)
GNPOLYAK_DECLARE(avx2)
GNPOLYAK_DECLARE(avx512)
#undef GNPOLYAK_DECLARE

}  // namespace gnpolyak
