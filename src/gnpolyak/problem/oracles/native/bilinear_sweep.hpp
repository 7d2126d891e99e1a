// The entry points of bilinear measurements, for XLA and for callers of plain C: included by oracle.cpp.
#pragma once

#include "bilinear.hpp"
#include "sweep.hpp"

namespace gnpolyak {
namespace {

template <class S, class T>
const BilinearKernel<S, T>& bilinear();
template <>
const BilinearKernel<double, double>& bilinear() {
  return kernels().bilinear->f64;
}
template <>
const BilinearKernel<float, float>& bilinear() {
  return kernels().bilinear->f32;
}
template <>
const BilinearKernel<float, double>& bilinear() {
  return kernels().bilinear->mixed;
}

// The plans of both sides: their chunks are the same, since those follow from m and r, and so are their blocks.
struct Plans {
  Plan left;
  Plan right;

  std::size_t scratch(bool adjoint) const { return left.scratch(adjoint) + right.scratch(adjoint); }
};

template <class S, class T>
Plans make_plans(std::size_t m, std::size_t d1, std::size_t d2, std::size_t r) {
  Plans plans{make_plan<S, T>(m, d1, r, 2, false), make_plan<S, T>(m, d2, r, 2, false)};
  const std::size_t block = std::clamp<std::size_t>(kBlockBytes / ((d1 + d2) * sizeof(S)), 4, 128) / 4 * 4;
  plans.left.shape.block = plans.right.shape.block = block;
  return plans;
}

// One side of a pass: what it reads, where its sums go, and its part of the scratch.
template <class S, class T>
struct Half {
  const Plan& plan;
  const S* rows;
  const T* x;   // null for no forward products
  T* gradient;  // null for no adjoint
  T* scratch;

  void prepare() const {
    if (x != nullptr) transpose(plan.shape, x, scratch);
  }
  T* accumulators() const { return scratch + plan.accumulator(); }
  Side<S, T> side(std::size_t chunk, S* packed, T* weights) const {
    T* const gt = gradient == nullptr ? nullptr : accumulators() + chunk * plan.accumulator();
    if (gt != nullptr) std::fill_n(gt, plan.accumulator(), T(0));
    return {rows, x == nullptr ? nullptr : scratch, gt, packed, weights};
  }
};

template <class S, class T, class Work>
Work run_bilinear_chunk(const Half<S, T>& p, const Half<S, T>& q, BilinearPass<S, T, Work> pass, Work work,
                        std::size_t chunk) {
  const Shape& s = p.plan.shape;
  const std::size_t room = s.block * s.r, short_rows = s.block * s.lanes;
  thread_local std::vector<T> weights;
  thread_local std::vector<S> packed;
  weights.resize(std::max(weights.size(), 2 * room));
  packed.resize(std::max(packed.size(), 2 * short_rows));
  const std::size_t begin = chunk * p.plan.height, end = std::min(s.m, begin + p.plan.height);
  pass(s, q.plan.shape, p.side(chunk, packed.data(), weights.data()),
       q.side(chunk, packed.data() + short_rows, weights.data() + room), work, begin, end);
  return work;
}

// One pass over all rows of both sides, cut up and added as `sweep` does it: the same numbers for any count of threads.
template <class S, class T, class Work>
std::vector<Work> bilinear_sweep(Workers& workers, BilinearPass<S, T, Work> pass, const Work& work,
                                 const Half<S, T>& p, const Half<S, T>& q) {
  p.prepare();
  q.prepare();
  const Shape& s = p.plan.shape;
  std::vector<Work> works(p.plan.chunks, work);
  const int threads = s.m * (s.d + q.plan.shape.d) < 2 * kWorthSharing ? 1 : thread_count(workers);
  parallel(workers, threads, p.plan.chunks,
           [&](std::size_t chunk) { works[chunk] = run_bilinear_chunk(p, q, pass, work, chunk); });
  for (const Half<S, T>* half : {&p, &q}) {
    if (half->gradient == nullptr) continue;
    if (half->plan.chunks == 0) std::fill_n(half->gradient, half->plan.shape.d * s.r, T(0));
    else
      parallel(workers, half->plan.scratch(true) < kWorthSharing ? 1 : threads, s.r,
               [&](std::size_t j) { reduce_column(half->plan, half->accumulators(), j, half->gradient); });
  }
  return works;
}

// The passes, of which the scratch is divided between the sides.

// f; its subgradient goes to gu and gv.
template <class S, class T>
T bilinear_sum_l1(Workers& workers, const Plans& plans, const S* p, const S* q, const T* b, const T* u, const T* v,
                  T* gu, T* gv, T* scratch) {
  const Half<S, T> left{plans.left, p, u, gu, scratch};
  const Half<S, T> right{plans.right, q, v, gv, scratch + plans.left.scratch(true)};
  double total = 0;
  const BilinearL1<T> work{b, 0};
  for (const auto& part : bilinear_sweep(workers, bilinear<S, T>().l1, work, left, right)) total += part.value;
  return static_cast<T>(total);
}

// A(c(x)), and the slopes with which the product goes on.
template <class S, class T>
void bilinear_measure(Workers& workers, const Plans& plans, const S* p, const S* q, const T* u, const T* v, T* values,
                      T* slopes, T* scratch) {
  const Half<S, T> left{plans.left, p, u, nullptr, scratch};
  const Half<S, T> right{plans.right, q, v, nullptr, scratch + plans.left.scratch(false)};
  bilinear_sweep(workers, bilinear<S, T>().forms, BilinearForms<T>{values, slopes}, left, right);
}

// s = AJz and (AJ)ᵀ(w ⊙ s); where the directions are null (AJ)ᵀw alone.
template <class S, class T>
void bilinear_multiply(Workers& workers, const Plans& plans, const S* p, const S* q, const T* slopes, const T* zu,
                       const T* zv, const T* w, T* pushed, T* gu, T* gv, T* scratch) {
  const Half<S, T> left{plans.left, p, zu, gu, scratch};
  const Half<S, T> right{plans.right, q, zv, gv, scratch + plans.left.scratch(true)};
  bilinear_sweep(workers, bilinear<S, T>().product, BilinearProduct<T>{slopes, w, pushed}, left, right);
}

template <ffi::DataType Stored, ffi::DataType Computed>
Plans plans_for(const ffi::Buffer<Stored>& p, const ffi::Buffer<Stored>& q, std::size_t r) {
  return make_plans<ffi::NativeType<Stored>, ffi::NativeType<Computed>>(p.dimensions()[0], p.dimensions()[1],
                                                                        q.dimensions()[1], r);
}

template <ffi::DataType Stored, ffi::DataType Computed>
ffi::Error bilinear_l1(ffi::ThreadPool pool, ffi::Buffer<Stored> p, ffi::Buffer<Stored> q, ffi::Buffer<Computed> b,
                       ffi::Buffer<Computed> u, ffi::Buffer<Computed> v, ffi::ResultBuffer<Computed> value,
                       ffi::ResultBuffer<Computed> gu, ffi::ResultBuffer<Computed> gv,
                       ffi::ResultBuffer<Computed> scratch) {
  const Plans plans = plans_for<Stored, Computed>(p, q, u.dimensions()[1]);
  if (scratch->element_count() < plans.scratch(true)) return too_small();
  XlaWorkers workers(pool);
  value->typed_data()[0] =
      bilinear_sum_l1(workers, plans, p.typed_data(), q.typed_data(), b.typed_data(), u.typed_data(), v.typed_data(),
                      gu->typed_data(), gv->typed_data(), scratch->typed_data());
  return ffi::Error::Success();
}

template <ffi::DataType Stored, ffi::DataType Computed>
ffi::Error bilinear_forms(ffi::ThreadPool pool, ffi::Buffer<Stored> p, ffi::Buffer<Stored> q, ffi::Buffer<Computed> u,
                          ffi::Buffer<Computed> v, ffi::ResultBuffer<Computed> values,
                          ffi::ResultBuffer<Computed> slopes, ffi::ResultBuffer<Computed> scratch) {
  const Plans plans = plans_for<Stored, Computed>(p, q, u.dimensions()[1]);
  if (scratch->element_count() < plans.scratch(false)) return too_small();
  XlaWorkers workers(pool);
  bilinear_measure(workers, plans, p.typed_data(), q.typed_data(), u.typed_data(), v.typed_data(),
                   values->typed_data(), slopes->typed_data(), scratch->typed_data());
  return ffi::Error::Success();
}

// Directions of no columns are none.
template <ffi::DataType Stored, ffi::DataType Computed>
ffi::Error bilinear_product(ffi::ThreadPool pool, ffi::Buffer<Stored> p, ffi::Buffer<Stored> q,
                            ffi::Buffer<Computed> slopes, ffi::Buffer<Computed> zu, ffi::Buffer<Computed> zv,
                            ffi::Buffer<Computed> w, ffi::ResultBuffer<Computed> pushed,
                            ffi::ResultBuffer<Computed> gu, ffi::ResultBuffer<Computed> gv,
                            ffi::ResultBuffer<Computed> scratch) {
  const Plans plans = plans_for<Stored, Computed>(p, q, slopes.dimensions()[2]);
  if (scratch->element_count() < plans.scratch(true)) return too_small();
  const bool along = zu.element_count() > 0;
  XlaWorkers workers(pool);
  bilinear_multiply(workers, plans, p.typed_data(), q.typed_data(), slopes.typed_data(),
                    along ? zu.typed_data() : nullptr, along ? zv.typed_data() : nullptr, w.typed_data(),
                    along ? pushed->typed_data() : nullptr, gu->typed_data(), gv->typed_data(), scratch->typed_data());
  return ffi::Error::Success();
}

template <class Array, int Operands, int Results, class Binding>
auto bind_numbers(Binding&& binding) {
  if constexpr (Operands > 0)
    return bind_numbers<Array, Operands - 1, Results>(std::move(binding).template Arg<Array>());
  else if constexpr (Results > 1)
    return bind_numbers<Array, 0, Results - 1>(std::move(binding).template Ret<Array>());
  else
    return std::move(binding).template Ret<Array>();
}

// The rows, the operands beside them, and the results with the scratch.
template <ffi::DataType Stored, ffi::DataType Computed, int Operands, int Results>
auto bind_bilinear() {
  using Matrix = ffi::Buffer<Stored>;
  return bind_numbers<ffi::Buffer<Computed>, Operands, Results>(
      ffi::Ffi::Bind().Ctx<ffi::ThreadPool>().template Arg<Matrix>().template Arg<Matrix>());
}

}  // namespace
}  // namespace gnpolyak

#pragma GCC visibility push(default)

#define GNPOLYAK_BILINEAR(kind, ...) \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(gnpolyak_bilinear_l1_##kind, (gnpolyak::bilinear_l1<__VA_ARGS__>), \
                                (gnpolyak::bind_bilinear<__VA_ARGS__, 3, 4>())); \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(gnpolyak_bilinear_forms_##kind, (gnpolyak::bilinear_forms<__VA_ARGS__>), \
                                (gnpolyak::bind_bilinear<__VA_ARGS__, 2, 3>())); \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(gnpolyak_bilinear_product_##kind, (gnpolyak::bilinear_product<__VA_ARGS__>), \
                                (gnpolyak::bind_bilinear<__VA_ARGS__, 4, 4>()))

GNPOLYAK_BILINEAR(f64, ffi::F64, ffi::F64);
GNPOLYAK_BILINEAR(f32, ffi::F32, ffi::F32);
GNPOLYAK_BILINEAR(mixed, ffi::F32, ffi::F64);
#undef GNPOLYAK_BILINEAR

// For callers of plain C: threads and scratch are the library's own, and null directions are none.
#define GNPOLYAK_C_BILINEAR(kind, S, T)                                                                              \
  extern "C" T gnpolyak_c_bilinear_l1_##kind(const S* p, const S* q, const T* b, const T* u, const T* v,            \
                                             std::size_t m, std::size_t d1, std::size_t d2, std::size_t r, T* gu,   \
                                             T* gv) {                                                                \
    const auto plans = gnpolyak::make_plans<S, T>(m, d1, d2, r);                                                     \
    const gnpolyak::Room<T> room(plans.scratch(true));                                                               \
    return gnpolyak::bilinear_sum_l1(gnpolyak::Pool::shared(), plans, p, q, b, u, v, gu, gv, room.data());           \
  }                                                                                                                  \
  extern "C" void gnpolyak_c_bilinear_forms_##kind(const S* p, const S* q, const T* u, const T* v, std::size_t m,   \
                                                   std::size_t d1, std::size_t d2, std::size_t r, T* values,        \
                                                   T* slopes) {                                                      \
    const auto plans = gnpolyak::make_plans<S, T>(m, d1, d2, r);                                                     \
    const gnpolyak::Room<T> room(plans.scratch(false));                                                              \
    gnpolyak::bilinear_measure(gnpolyak::Pool::shared(), plans, p, q, u, v, values, slopes, room.data());            \
  }                                                                                                                  \
  extern "C" void gnpolyak_c_bilinear_product_##kind(const S* p, const S* q, const T* slopes, const T* zu,          \
                                                     const T* zv, const T* w, std::size_t m, std::size_t d1,        \
                                                     std::size_t d2, std::size_t r, T* pushed, T* gu, T* gv) {       \
    const auto plans = gnpolyak::make_plans<S, T>(m, d1, d2, r);                                                     \
    const gnpolyak::Room<T> room(plans.scratch(true));                                                               \
    gnpolyak::bilinear_multiply(gnpolyak::Pool::shared(), plans, p, q, slopes, zu, zv, w, pushed, gu, gv,            \
                                room.data());                                                                        \
  }

GNPOLYAK_C_BILINEAR(f64, double, double)
GNPOLYAK_C_BILINEAR(f32, float, float)
GNPOLYAK_C_BILINEAR(mixed, float, double)
#undef GNPOLYAK_C_BILINEAR

extern "C" {

// Numbers of the arithmetic type that a bilinear pass needs as its last result.
std::size_t gnpolyak_bilinear_scratch(const char* kind, std::size_t m, std::size_t d1, std::size_t d2, std::size_t r,
                                      bool adjoint) {
  if (std::strcmp(kind, "f64") == 0) return gnpolyak::make_plans<double, double>(m, d1, d2, r).scratch(adjoint);
  if (std::strcmp(kind, "f32") == 0) return gnpolyak::make_plans<float, float>(m, d1, d2, r).scratch(adjoint);
  return gnpolyak::make_plans<float, double>(m, d1, d2, r).scratch(adjoint);
}

}  // extern "C"

#pragma GCC visibility pop
