// The passes of bilinear measurements Σⱼ (pᵢᵀuⱼ)(qᵢᵀvⱼ): each side has its rows, its factor and its sums.
//
//   y = p·U, t = q·V       forward products of a block of rows, with the block then in cache
//   y, t ← weights         of each row: p enters the adjoint with those of t, and q with those of y
//   G_U += p y, G_V += q t adjoint, from the rows still in cache
#pragma once

#include <cstddef>

namespace gnpolyak {

struct Shape;

// One side of a range of rows. `S` is the type rows are stored in, `T` that of the arithmetic.
template <class S, class T>
struct Side {
  const S* rows;
  const T* xt;  // the factor, transposed and padded as in `Task`; null for no forward products
  T* gt;        // this range's share of the sums; null for no adjoint
  S* packed;    // room for block·lanes numbers
  T* weights;   // room for block·r numbers
};

// f = Σᵢ |ρᵢ| with ρᵢ = Σⱼ yⱼtⱼ − bᵢ, and weights sign(ρᵢ)·t for p, sign(ρᵢ)·y for q.
template <class T>
struct BilinearL1 {
  const T* b;
  double value;
};

// The values Σⱼ yⱼtⱼ and their slopes, t for p and y for q, those of all rows p before those of q.
template <class T>
struct BilinearForms {
  T* values;
  T* slopes;
};

// The derivative along factors that are directions here: sᵢ = Σⱼ slopeⱼ·yⱼ + slopeⱼ·tⱼ, and weights (wᵢ·sᵢ)·slope.
template <class T>
struct BilinearProduct {
  const T* slopes;
  const T* w;
  T* pushed;  // s; null where there is no direction, and the weights are wᵢ·slope
};

// Works on rows [begin, end). The shapes of both sides agree in m, r and block.
template <class S, class T, class Work>
using BilinearPass = void (*)(const Shape& left, const Shape& right, const Side<S, T>& p, const Side<S, T>& q,
                              Work& work, std::size_t begin, std::size_t end);

template <class S, class T>
struct BilinearKernel {
  BilinearPass<S, T, BilinearL1<T>> l1;
  BilinearPass<S, T, BilinearForms<T>> forms;
  BilinearPass<S, T, BilinearProduct<T>> product;
};

struct BilinearKernels {
  BilinearKernel<double, double> f64;
  BilinearKernel<float, float> f32;
  BilinearKernel<float, double> mixed;
};

}  // namespace gnpolyak
