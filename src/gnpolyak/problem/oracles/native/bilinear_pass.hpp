// The bilinear passes of one instruction set: included by kernel.cpp, after the tiles and `take`.
#pragma once

#include "bilinear.hpp"

namespace gnpolyak {
namespace GNPOLYAK_ISA {
namespace {

template <class T>
GNPOLYAK_INLINE T bilinear_form(const Shape& s, const T* y, const T* t) {
  T total = 0;
  for (std::size_t j = 0; j < s.r; ++j) total += y[j] * t[j];
  return total;
}

template <class T>
GNPOLYAK_INLINE void weigh(const Shape& s, BilinearL1<T>& work, std::size_t i, T* y, T* t) {
  const T residual = bilinear_form(s, y, t) - work.b[i];
  // As in the power pass: sign(0) = 0 and sign(NaN) = NaN.
  const T sign = residual > 0 ? T(1) : residual < 0 ? T(-1) : residual;
  for (std::size_t j = 0; j < s.r; ++j) {
    const T kept = y[j];
    y[j] = sign * t[j];
    t[j] = sign * kept;
  }
  work.value += residual < 0 ? -double(residual) : double(residual);
}

template <class T>
GNPOLYAK_INLINE void weigh(const Shape& s, BilinearForms<T>& work, std::size_t i, T* y, T* t) {
  work.values[i] = bilinear_form(s, y, t);
  T* const left = work.slopes + i * s.r;
  T* const right = left + s.m * s.r;
  for (std::size_t j = 0; j < s.r; ++j) {
    left[j] = t[j];
    right[j] = y[j];
  }
}

template <class T>
GNPOLYAK_INLINE void weigh(const Shape& s, BilinearProduct<T>& work, std::size_t i, T* y, T* t) {
  const T* const left = work.slopes + i * s.r;
  const T* const right = left + s.m * s.r;
  T weight = work.w[i];
  if (work.pushed != nullptr) {
    T total = 0;
    for (std::size_t j = 0; j < s.r; ++j) total += left[j] * y[j] + right[j] * t[j];
    work.pushed[i] = total;
    weight *= total;
  }
  for (std::size_t j = 0; j < s.r; ++j) {
    y[j] = weight * left[j];
    t[j] = weight * right[j];
  }
}

// The sums of one side alone: `adjoint` adds those of a second block of rows, of which there are none here.
template <class S, class T>
GNPOLYAK_INLINE void adjoint_of(const Shape& s, const Rows<S>& rows, const T* weights, T* gt) {
  Rows<S> none = rows;
  none.count = 0;
  adjoint(s, rows, none, weights, gt);
}

template <class S, class T, class Work>
void bilinear_pass(const Shape& left, const Shape& right, const Side<S, T>& p, const Side<S, T>& q, Work& work,
                   std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; i += left.block) {
    const std::size_t count = end - i < left.block ? end - i : left.block;
    const Rows<S> rows = take<S, T>(left, p.rows + i * left.d, count, p.packed);
    const Rows<S> others = take<S, T>(right, q.rows + i * right.d, count, q.packed);
    if (p.xt != nullptr) {
      forward(left, rows, p.xt, p.weights);
      forward(right, others, q.xt, q.weights);
    }
    for (std::size_t a = 0; a < count; ++a)
      weigh(left, work, i + a, p.weights + a * left.r, q.weights + a * left.r);
    if (p.gt != nullptr) {
      adjoint_of(left, rows, p.weights, p.gt);
      adjoint_of(right, others, q.weights, q.gt);
    }
  }
}

template <class S, class T>
constexpr BilinearKernel<S, T> bilinear_passes() {
  return {bilinear_pass<S, T, BilinearL1<T>>, bilinear_pass<S, T, BilinearForms<T>>,
          bilinear_pass<S, T, BilinearProduct<T>>};
}

constexpr BilinearKernels bilinear_kernels = {bilinear_passes<double, double>(), bilinear_passes<float, float>(),
                                              bilinear_passes<float, double>()};

}  // namespace
}  // namespace GNPOLYAK_ISA
}  // namespace gnpolyak
