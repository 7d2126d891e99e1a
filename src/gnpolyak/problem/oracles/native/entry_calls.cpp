// The entry points of the passes over entries, for XLA and for callers of plain C.
#include "entries.hpp"
#include "sweep.hpp"

namespace gnpolyak {
namespace {

const EntryKernels& entry_kernels() {
#ifdef GNPOLYAK_X86
  if (std::strcmp(kernels().name, "avx512") == 0) return avx512::entry_kernels;
  if (std::strcmp(kernels().name, "avx2") == 0) return avx2::entry_kernels;
#endif
  return baseline::entry_kernels;
}

template <class T>
const EntryKernel<T>& entry_kernel() {
  if constexpr (sizeof(T) == 8) return entry_kernels().f64;
  else
    return entry_kernels().f32;
}

// Rows of r numbers as whole vectors, the direction's after the factor's own.
template <class T>
void pack(const T* x, const T* z, std::size_t d, std::size_t r, std::size_t padded, T* to) {
  const std::size_t stride = (z == nullptr ? 1 : 2) * padded;
  std::fill_n(to, d * stride, T(0));
  for (std::size_t i = 0; i < d; ++i) {
    std::copy_n(x + i * r, r, to + i * stride);
    if (z != nullptr) std::copy_n(z + i * r, r, to + i * stride + padded);
  }
}

// Where the parts of the scratch begin: packed U and V, the sums for U, and those for V of each part of the entries.
struct EntryPlan {
  std::size_t d1, d2, r, padded, stride, parts;
  std::size_t v() const { return d1 * stride; }
  std::size_t gu() const { return v() + d2 * stride; }
  std::size_t gv() const { return gu() + d1 * padded; }
  std::size_t size(bool adjoint) const { return adjoint ? gv() + parts * d2 * padded : gu(); }
};

template <class T>
EntryPlan entry_plan(std::size_t d1, std::size_t d2, std::size_t r, std::size_t parts, bool along) {
  const std::size_t lanes = entry_kernel<T>().lanes, padded = (r + lanes - 1) / lanes * lanes;
  return {d1, d2, r, padded, (along ? 2 : 1) * padded, parts};
}

template <class T>
void unpack(const T* sums, std::size_t parts, std::size_t d, std::size_t r, std::size_t padded, std::size_t begin,
            std::size_t end, T* to) {
  for (std::size_t i = begin; i < end; ++i)
    for (std::size_t k = 0; k < r; ++k) {
      T total = sums[i * padded + k];
      for (std::size_t part = 1; part < parts; ++part) total += sums[(part * d + i) * padded + k];
      to[i * r + k] = total;
    }
}

// The entries, sorted: as `EntryTask` has them, with the bounds of the parts.
struct Sorted {
  const std::int32_t* major;
  const std::int32_t* minor;
  const std::int32_t* order;
  const std::int32_t* bounds;
  std::size_t count;
};

// What a pass reads and writes; null for what it has not.
template <class T>
struct EntryOperands {
  const T* u;
  const T* v;
  const T* zu;
  const T* zv;
  const T* data;
  T* values;
  T* gu;
  T* gv;
};

// One pass over all entries, part by part; returns Σ|ρ|, added in the order of the parts.
template <class T>
double sweep_entries(Workers& workers, const EntryPlan& plan, EntryPass<T> pass, const Sorted& entries,
                     const EntryOperands<T>& on, T* scratch) {
  const int threads = entries.count * plan.padded < kWorthSharing ? 1 : thread_count(workers);
  pack(on.u, on.zu, plan.d1, plan.r, plan.padded, scratch);
  pack(on.v, on.zv, plan.d2, plan.r, plan.padded, scratch + plan.v());
  if (on.gu != nullptr) std::fill_n(scratch + plan.gu(), plan.d1 * plan.padded, T(0));
  std::vector<double> totals(plan.parts);
  parallel(workers, threads, plan.parts, [&](std::size_t part) {
    T* const gv = on.gu == nullptr ? nullptr : scratch + plan.gv() + part * plan.d2 * plan.padded;
    if (gv != nullptr) std::fill_n(gv, plan.d2 * plan.padded, T(0));
    EntryTask<T> task{entries.major, entries.minor, entries.order, scratch, scratch + plan.v(), plan.stride,
                      scratch + plan.gu(), gv, on.data, on.values, 0};
    pass(task, plan.padded, entries.bounds[part], entries.bounds[part + 1]);
    totals[part] = task.total;
  });
  if (on.gu != nullptr) {
    constexpr std::size_t rows = 256;
    const std::size_t blocks = (plan.d2 + rows - 1) / rows;
    unpack(scratch + plan.gu(), 1, plan.d1, plan.r, plan.padded, 0, plan.d1, on.gu);
    parallel(workers, threads, blocks, [&](std::size_t block) {
      unpack(scratch + plan.gv(), plan.parts, plan.d2, plan.r, plan.padded, block * rows,
             std::min(plan.d2, (block + 1) * rows), on.gv);
    });
  }
  double total = 0;
  for (const double part : totals) total += part;
  return total;
}

// s = AJz and (AJ)ᵀ(w ⊙ s); where the directions are null (AJ)ᵀw alone.
template <class T>
void multiply_entries(Workers& workers, const EntryPlan& plan, const Sorted& entries, const EntryOperands<T>& on,
                      T* scratch) {
  const EntryPass<T> pass = on.zu == nullptr ? entry_kernel<T>().pull : entry_kernel<T>().product;
  sweep_entries(workers, plan, pass, entries, on, scratch);
}

using Index = ffi::Buffer<ffi::S32>;

Sorted sorted(const Index& major, const Index& minor, const Index& order, const Index& bounds) {
  return {major.typed_data(), minor.typed_data(), order.element_count() > 0 ? order.typed_data() : nullptr,
          bounds.typed_data(), major.element_count()};
}

template <ffi::DataType D>
using Real = ffi::Buffer<D>;
template <ffi::DataType D>
using Result = ffi::ResultBuffer<D>;

template <ffi::DataType D>
EntryPlan entry_plan_for(const Real<D>& u, const Real<D>& v, const Index& bounds, bool along) {
  return entry_plan<ffi::NativeType<D>>(u.dimensions()[0], v.dimensions()[0], u.dimensions()[1],
                                        bounds.element_count() - 1, along);
}

ffi::Error entry_scratch_too_small() { return ffi::Error::InvalidArgument("gnpolyak: scratch too small"); }

// f, and its subgradient with respect to both factors.
template <ffi::DataType D>
ffi::Error entries_l1(ffi::ThreadPool pool, Index major, Index minor, Index order, Index bounds, Real<D> u, Real<D> v,
                      Real<D> b, Result<D> value, Result<D> gu, Result<D> gv, Result<D> scratch) {
  using T = ffi::NativeType<D>;
  const EntryPlan plan = entry_plan_for<D>(u, v, bounds, false);
  if (scratch->element_count() < plan.size(true)) return entry_scratch_too_small();
  const EntryOperands<T> on{u.typed_data(), v.typed_data(), nullptr, nullptr, b.typed_data(), nullptr,
                            gu->typed_data(), gv->typed_data()};
  XlaWorkers workers(pool);
  value->typed_data()[0] = static_cast<T>(sweep_entries(workers, plan, entry_kernel<T>().l1,
                                                        sorted(major, minor, order, bounds), on,
                                                        scratch->typed_data()));
  return ffi::Error::Success();
}

template <ffi::DataType D>
ffi::Error entries_values(ffi::ThreadPool pool, Index major, Index minor, Index order, Index bounds, Real<D> u,
                          Real<D> v, Result<D> values, Result<D> scratch) {
  using T = ffi::NativeType<D>;
  const EntryPlan plan = entry_plan_for<D>(u, v, bounds, false);
  if (scratch->element_count() < plan.size(false)) return entry_scratch_too_small();
  const EntryOperands<T> on{u.typed_data(), v.typed_data(), nullptr, nullptr, nullptr, values->typed_data(),
                            nullptr, nullptr};
  XlaWorkers workers(pool);
  sweep_entries(workers, plan, entry_kernel<T>().values, sorted(major, minor, order, bounds), on,
                scratch->typed_data());
  return ffi::Error::Success();
}

// Directions of no columns are none.
template <ffi::DataType D>
ffi::Error entries_product(ffi::ThreadPool pool, Index major, Index minor, Index order, Index bounds, Real<D> u,
                           Real<D> v, Real<D> zu, Real<D> zv, Real<D> w, Result<D> pushed, Result<D> gu, Result<D> gv,
                           Result<D> scratch) {
  using T = ffi::NativeType<D>;
  const bool along = zu.element_count() > 0;
  const EntryPlan plan = entry_plan_for<D>(u, v, bounds, along);
  if (scratch->element_count() < plan.size(true)) return entry_scratch_too_small();
  const EntryOperands<T> on{u.typed_data(), v.typed_data(), along ? zu.typed_data() : nullptr,
                            along ? zv.typed_data() : nullptr, w.typed_data(),
                            along ? pushed->typed_data() : nullptr, gu->typed_data(), gv->typed_data()};
  XlaWorkers workers(pool);
  multiply_entries(workers, plan, sorted(major, minor, order, bounds), on, scratch->typed_data());
  return ffi::Error::Success();
}

auto bind_entries() {
  return ffi::Ffi::Bind().Ctx<ffi::ThreadPool>().Arg<Index>().Arg<Index>().Arg<Index>().Arg<Index>();
}

}  // namespace
}  // namespace gnpolyak

#pragma GCC visibility push(default)

#define GNPOLYAK_ENTRIES(kind, D)                                                                             \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(gnpolyak_entries_l1_##kind, gnpolyak::entries_l1<D>,                          \
                                gnpolyak::bind_entries().Arg<ffi::Buffer<D>>().Arg<ffi::Buffer<D>>()          \
                                    .Arg<ffi::Buffer<D>>().Ret<ffi::Buffer<D>>().Ret<ffi::Buffer<D>>()        \
                                    .Ret<ffi::Buffer<D>>().Ret<ffi::Buffer<D>>());                            \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(gnpolyak_entries_values_##kind, gnpolyak::entries_values<D>,                  \
                                gnpolyak::bind_entries().Arg<ffi::Buffer<D>>().Arg<ffi::Buffer<D>>()          \
                                    .Ret<ffi::Buffer<D>>().Ret<ffi::Buffer<D>>());                            \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(gnpolyak_entries_product_##kind, gnpolyak::entries_product<D>,                \
                                gnpolyak::bind_entries().Arg<ffi::Buffer<D>>().Arg<ffi::Buffer<D>>()          \
                                    .Arg<ffi::Buffer<D>>().Arg<ffi::Buffer<D>>().Arg<ffi::Buffer<D>>()        \
                                    .Ret<ffi::Buffer<D>>().Ret<ffi::Buffer<D>>().Ret<ffi::Buffer<D>>()        \
                                    .Ret<ffi::Buffer<D>>())

GNPOLYAK_ENTRIES(f64, ffi::F64);
GNPOLYAK_ENTRIES(f32, ffi::F32);
#undef GNPOLYAK_ENTRIES

// For callers of plain C: threads and scratch are the library's own. `order` is null where the entries lie in order, and
// null directions are none.
#define GNPOLYAK_C_SORTED                                                                                          \
  const std::int32_t *major, const std::int32_t *minor, const std::int32_t *order, const std::int32_t *bounds,     \
      std::size_t count, std::size_t parts
#define GNPOLYAK_C_ENTRIES(kind, T)                                                                                \
  extern "C" T gnpolyak_c_entries_l1_##kind(GNPOLYAK_C_SORTED, const T* u, const T* v, const T* b, std::size_t d1, \
                                            std::size_t d2, std::size_t r, T* gu, T* gv) {                         \
    const auto plan = gnpolyak::entry_plan<T>(d1, d2, r, parts, false);                                            \
    const gnpolyak::Room<T> room(plan.size(true));                                                                 \
    return static_cast<T>(gnpolyak::sweep_entries<T>(                                                              \
        gnpolyak::Pool::shared(), plan, gnpolyak::entry_kernel<T>().l1, {major, minor, order, bounds, count},      \
        {u, v, nullptr, nullptr, b, nullptr, gu, gv}, room.data()));                                               \
  }                                                                                                                \
  extern "C" void gnpolyak_c_entries_values_##kind(GNPOLYAK_C_SORTED, const T* u, const T* v, std::size_t d1,      \
                                                   std::size_t d2, std::size_t r, T* values) {                     \
    const auto plan = gnpolyak::entry_plan<T>(d1, d2, r, parts, false);                                            \
    const gnpolyak::Room<T> room(plan.size(false));                                                                \
    gnpolyak::sweep_entries<T>(gnpolyak::Pool::shared(), plan, gnpolyak::entry_kernel<T>().values,                 \
                               {major, minor, order, bounds, count},                                               \
                               {u, v, nullptr, nullptr, nullptr, values, nullptr, nullptr}, room.data());          \
  }                                                                                                                \
  extern "C" void gnpolyak_c_entries_product_##kind(GNPOLYAK_C_SORTED, const T* u, const T* v, const T* zu,        \
                                                    const T* zv, const T* w, std::size_t d1, std::size_t d2,       \
                                                    std::size_t r, T* pushed, T* gu, T* gv) {                      \
    const auto plan = gnpolyak::entry_plan<T>(d1, d2, r, parts, zu != nullptr);                                    \
    const gnpolyak::Room<T> room(plan.size(true));                                                                 \
    gnpolyak::multiply_entries<T>(gnpolyak::Pool::shared(), plan, {major, minor, order, bounds, count},            \
                                  {u, v, zu, zv, w, pushed, gu, gv}, room.data());                                 \
  }

GNPOLYAK_C_ENTRIES(f64, double)
GNPOLYAK_C_ENTRIES(f32, float)
#undef GNPOLYAK_C_ENTRIES
#undef GNPOLYAK_C_SORTED

extern "C" {
// Numbers that a pass over entries needs as its last result.
std::size_t gnpolyak_entries_scratch(bool f64, std::size_t d1, std::size_t d2, std::size_t r, std::size_t parts,
                                     bool along, bool adjoint) {
  return f64 ? gnpolyak::entry_plan<double>(d1, d2, r, parts, along).size(adjoint)
             : gnpolyak::entry_plan<float>(d1, d2, r, parts, along).size(adjoint);
}
}

#pragma GCC visibility pop
