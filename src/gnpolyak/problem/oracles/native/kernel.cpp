// The fused passes, compiled once per instruction set: GNPOLYAK_ISA names it, GNPOLYAK_BYTES is its register width,
// GNPOLYAK_ROWS how many rows (or vectors of a row) a register tile holds beside up to kColumns columns of X.
#include "tiles.hpp"

namespace gnpolyak {
namespace GNPOLYAK_ISA {
namespace {

// yᵉ by squaring.
template <class T>
GNPOLYAK_INLINE T power(T y, int e) {
  T result = 1;
  for (; e > 0; e >>= 1, y *= y)
    if (e & 1) result *= y;
  return result;
}

// Turns the products y and u of one row into yⁿ⁻¹ and uⁿ⁻¹, and returns Σⱼ yⱼⁿ − uⱼⁿ.
template <class T>
GNPOLYAK_INLINE T form(const Shape& s, std::size_t r, T* y, T* u) {
  T total = 0;
  for (std::size_t j = 0; j < r; ++j) {
    const T plus = power(y[j], s.n - 1), minus = power(u[j], s.n - 1);
    total += y[j] * plus - u[j] * minus;
    y[j] = plus;
    u[j] = minus;
  }
  return total;
}

// What each pass does with row i: from its r products y and u to the weights with which it enters the adjoint.

// The comparisons leave sign(0) = 0 and sign(NaN) = NaN, so that a broken row shows in the value and in the subgradient.
template <class T>
GNPOLYAK_INLINE void weigh(const Shape& s, L1<T>& work, std::size_t i, std::size_t r, T* y, T* u) {
  const T residual = form(s, r, y, u) - work.b[i];
  const T slope = residual > 0 ? T(s.n) : residual < 0 ? T(-s.n) : residual;
  for (std::size_t j = 0; j < r; ++j) {
    y[j] *= slope;
    u[j] *= -slope;
  }
  work.value += residual < 0 ? -double(residual) : double(residual);
}

template <class T>
GNPOLYAK_INLINE void weigh(const Shape& s, Forms<T>& work, std::size_t i, std::size_t r, T* y, T* u) {
  work.values[i] = form(s, r, y, u);
  T* const plus = work.slopes + i * r;
  T* const minus = plus + s.m * r;
  for (std::size_t j = 0; j < r; ++j) plus[j] = T(s.n) * y[j];
  if (s.centred)
    for (std::size_t j = 0; j < r; ++j) minus[j] = T(-s.n) * u[j];
}

template <class T>
GNPOLYAK_INLINE void weigh(const Shape& s, Product<T>& work, std::size_t i, std::size_t r, T* y, T* u) {
  const T* const plus = work.slopes + i * r;
  const T* const minus = plus + s.m * r;
  T weight = work.w[i];
  if (work.pushed != nullptr) {
    T total = 0;
    for (std::size_t j = 0; j < r; ++j) total += plus[j] * y[j];
    if (s.centred)
      for (std::size_t j = 0; j < r; ++j) total += minus[j] * u[j];
    work.pushed[i] = total;
    weight *= total;
  }
  for (std::size_t j = 0; j < r; ++j) y[j] = weight * plus[j];
  if (s.centred)
    for (std::size_t j = 0; j < r; ++j) u[j] = weight * minus[j];
}

// Rows of this many bytes are in a core's cache from one pass to the next.
constexpr std::size_t kNear = 1 << 17;

// The rows as they lie in memory, or packed with zeros where they are shorter than a vector.
template <class S, class T>
GNPOLYAK_INLINE Rows<S> take(const Shape& s, const S* first, std::size_t count, S* packed) {
  if (s.d >= kLanes<T>) return {first, s.d, s.d, count, s.m * s.d * sizeof(S) > kNear ? s.block * s.d : 0};
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t k = 0; k < kLanes<T>; ++k) packed[i * kLanes<T> + k] = k < s.d ? first[i * s.d + k] : S(0);
  return {packed, kLanes<T>, kLanes<T>, count, 0};
}

// All rows of a block. With their number as a constant the loops over few columns are none.
template <class T, class Work>
GNPOLYAK_INLINE void weigh_block(const Shape& s, Work& work, std::size_t begin, std::size_t count, T* y, T* u) {
  const auto rows = [&](std::size_t r) __attribute__((always_inline)) {
    for (std::size_t a = 0; a < count; ++a) weigh(s, work, begin + a, r, y + a * r, u + a * r);
  };
  if (s.r > kColumns) rows(s.r);
  else
    with_columns(s.r, [&](auto c) __attribute__((always_inline)) { rows(decltype(c)::count); });
}

// Forward, weigh, adjoint, block by block. Where there is no q its products are zeros, and none of its rows is added.
template <class S, class T, class Work>
void pass(const Shape& s, const Task<S, T>& task, Work& work, std::size_t begin, std::size_t end) {
  T* const y = task.weights;
  T* const u = y + s.block * s.r;
  for (std::size_t i = begin; i < end; i += s.block) {
    const std::size_t count = end - i < s.block ? end - i : s.block;
    const Rows<S> p = take<S, T>(s, task.p + i * s.d, count, task.packed);
    Rows<S> q = p;
    q.count = 0;
    if (s.centred) q = take<S, T>(s, task.q + i * s.d, count, task.packed + s.block * kLanes<T>);
    if (task.xt != nullptr) {
      forward(s, p, task.xt, y);
      forward(s, q, task.xt, u);
    }
    for (std::size_t k = q.count * s.r; k < count * s.r; ++k) u[k] = 0;
    weigh_block(s, work, i, count, y, u);
    if (task.gt != nullptr) adjoint(s, p, q, y, task.gt);
  }
}

double read(const void* data, std::size_t count) {
  constexpr int streams = 8;
  const double* from = static_cast<const double*>(data);
  const std::size_t steps = count / (streams * sizeof(F64));
  F64 total[streams] = {};
  for (std::size_t i = 0; i < steps; ++i, from += streams * kLanes<double>)
    for (int a = 0; a < streams; ++a) total[a] += load(from + a * kLanes<double>, double());
  for (int a = 1; a < streams; ++a) total[0] += total[a];
  return sum<double>(total[0]);
}

template <class S, class T>
constexpr Kernel<S, T> passes() {
  return {kLanes<T>, pass<S, T, L1<T>>, pass<S, T, Forms<T>>, pass<S, T, Product<T>>};
}

}  // namespace
}  // namespace GNPOLYAK_ISA
}  // namespace gnpolyak

#include "bilinear_pass.hpp"

namespace gnpolyak {
namespace GNPOLYAK_ISA {

extern const Kernels kernels = {
    GNPOLYAK_NAME, passes<double, double>(), passes<float, float>(), passes<float, double>(), read,
    &bilinear_kernels,
};

}  // namespace GNPOLYAK_ISA
}  // namespace gnpolyak
