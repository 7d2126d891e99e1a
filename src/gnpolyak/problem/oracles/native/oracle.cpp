// The entry points of the passes over the rows p, and q where there are any: for XLA, and for callers of plain C.
#include "sweep.hpp"

namespace gnpolyak {
namespace {

template <ffi::DataType Stored>
using Rows = ffi::Buffer<Stored>;
template <ffi::DataType Computed>
using In = ffi::Buffer<Computed>;
template <ffi::DataType Computed>
using Out = ffi::ResultBuffer<Computed>;

template <ffi::DataType Stored, ffi::DataType Computed>
Plan plan_for(const Rows<Stored>& p, const Rows<Stored>& q, std::size_t r, std::int64_t n) {
  const auto shape = p.dimensions();
  return make_plan<ffi::NativeType<Stored>, ffi::NativeType<Computed>>(shape[shape.size() - 2], shape.back(), r,
                                                                       static_cast<int>(n), q.element_count() > 0);
}

using Dimensions = ffi::Span<const std::int64_t>;

// The problems of a batch, which are axes in front of those of one problem. Along an axis of length 1 an operand is the
// same for all of them.
struct Members {
  std::vector<std::size_t> lengths;
  std::size_t count = 1;

  Members(Dimensions result, std::size_t own) : lengths(result.begin(), result.end() - own) {
    for (const std::size_t length : lengths) count *= length;
  }

  // Where the part of member k begins in an operand, of which the last `own` axes are one problem's.
  std::size_t place(Dimensions operand, std::size_t own, std::size_t k) const {
    std::size_t stride = 1, at = 0;
    for (std::size_t axis = operand.size(); axis-- > 0; stride *= operand[axis]) {
      if (axis >= operand.size() - own) continue;
      const std::size_t index = k % lengths[axis];
      k /= lengths[axis];
      if (operand[axis] > 1) at += index * stride;
    }
    return at;
  }
};

// The scratch is a result, so its size is the caller's word: `gnpolyak_scratch` says what is needed.
ffi::Error too_small() { return ffi::Error::InvalidArgument("gnpolyak: scratch too small"); }

// f; one of its subgradients goes where `on` says.
template <class S, class T>
T sum_l1(Workers& workers, const Plan& plan, const T* b, const Operands<S, T>& on) {
  double total = 0;
  for (const auto& part : sweep(workers, plan, kernel<S, T>().l1, L1<T>{b, 0}, on)) total += part.value;
  return static_cast<T>(total);
}

// f and one of its subgradients.
template <ffi::DataType Stored, ffi::DataType Computed>
ffi::Error l1(ffi::ThreadPool pool, std::int64_t n, Rows<Stored> p, Rows<Stored> q, In<Computed> b, In<Computed> x,
              Out<Computed> value, Out<Computed> gradient, Out<Computed> scratch) {
  using S = ffi::NativeType<Stored>;
  using T = ffi::NativeType<Computed>;
  const Plan plan = plan_for<Stored, Computed>(p, q, x.dimensions().back(), n);
  const Members members(gradient->dimensions(), 2);
  XlaWorkers workers(pool);
  if (scratch->element_count() < members.count * plan.scratch(true)) return too_small();
  for (std::size_t k = 0; k < members.count; ++k) {
    const Operands<S, T> on{p.typed_data() + members.place(p.dimensions(), 2, k),
                            q.typed_data() + members.place(q.dimensions(), 2, k),
                            x.typed_data() + members.place(x.dimensions(), 2, k),
                            gradient->typed_data() + members.place(gradient->dimensions(), 2, k),
                            scratch->typed_data()};
    value->typed_data()[k] = sum_l1(workers, plan, b.typed_data() + members.place(b.dimensions(), 1, k), on);
  }
  return ffi::Error::Success();
}

// A(c(x)), and the slopes with which `product` goes on.
template <ffi::DataType Stored, ffi::DataType Computed>
ffi::Error forms(ffi::ThreadPool pool, std::int64_t n, Rows<Stored> p, Rows<Stored> q, In<Computed> x,
                 Out<Computed> values, Out<Computed> slopes, Out<Computed> scratch) {
  using S = ffi::NativeType<Stored>;
  using T = ffi::NativeType<Computed>;
  const Plan plan = plan_for<Stored, Computed>(p, q, x.dimensions().back(), n);
  const Members members(values->dimensions(), 1);
  XlaWorkers workers(pool);
  if (scratch->element_count() < members.count * plan.scratch(false)) return too_small();
  for (std::size_t k = 0; k < members.count; ++k) {
    const Operands<S, T> on{p.typed_data() + members.place(p.dimensions(), 2, k),
                            q.typed_data() + members.place(q.dimensions(), 2, k),
                            x.typed_data() + members.place(x.dimensions(), 2, k), nullptr, scratch->typed_data()};
    const Forms<T> work{values->typed_data() + members.place(values->dimensions(), 1, k),
                        slopes->typed_data() + members.place(slopes->dimensions(), 3, k)};
    sweep(workers, plan, kernel<S, T>().forms, work, on);
  }
  return ffi::Error::Success();
}

template <class T>
bool is_zero(const T* from, std::size_t count) {
  return std::all_of(from, from + count, [](T each) { return each == T(0); });
}

// s = AJz and (AJ)ᵀ(w ⊙ s); with a z of no columns (AJ)ᵀw alone.
template <ffi::DataType Stored, ffi::DataType Computed>
ffi::Error product(ffi::ThreadPool pool, Rows<Stored> p, Rows<Stored> q, In<Computed> slopes, In<Computed> z,
                   In<Computed> w, Out<Computed> pushed, Out<Computed> gradient, Out<Computed> scratch) {
  using S = ffi::NativeType<Stored>;
  using T = ffi::NativeType<Computed>;
  // The order is in the slopes already.
  const Plan plan = plan_for<Stored, Computed>(p, q, slopes.dimensions().back(), 0);
  const Members members(gradient->dimensions(), 2);
  XlaWorkers workers(pool);
  if (scratch->element_count() < members.count * plan.scratch(true)) return too_small();
  const bool along = z.element_count() > 0;
  const std::size_t m = plan.shape.m, size = plan.shape.d * plan.shape.r;
  for (std::size_t k = 0; k < members.count; ++k) {
    // A direction of a batch that is zero is that of a member that waits for the others.
    if (along && members.count > 1 && is_zero(z.typed_data() + members.place(z.dimensions(), 2, k), size)) {
      std::fill_n(pushed->typed_data() + members.place(pushed->dimensions(), 1, k), m, T(0));
      std::fill_n(gradient->typed_data() + members.place(gradient->dimensions(), 2, k), size, T(0));
      continue;
    }
    const Operands<S, T> on{p.typed_data() + members.place(p.dimensions(), 2, k),
                            q.typed_data() + members.place(q.dimensions(), 2, k),
                            along ? z.typed_data() + members.place(z.dimensions(), 2, k) : nullptr,
                            gradient->typed_data() + members.place(gradient->dimensions(), 2, k),
                            scratch->typed_data()};
    const Product<T> work{slopes.typed_data() + members.place(slopes.dimensions(), 3, k),
                          w.typed_data() + members.place(w.dimensions(), 1, k),
                          along ? pushed->typed_data() + members.place(pushed->dimensions(), 1, k) : nullptr};
    sweep(workers, plan, kernel<S, T>().product, work, on);
  }
  return ffi::Error::Success();
}

// Reads both matrices once, cut up as a pass cuts them: the floor no oracle can be faster than.
ffi::Error read_once(ffi::ThreadPool pool, ffi::AnyBuffer p, ffi::AnyBuffer q, ffi::ResultBuffer<ffi::F64> sum) {
  const std::size_t bytes = p.size_bytes(), chunks = kMostChunks, height = bytes / chunks / 64 * 64;
  std::vector<double> sums(chunks);
  XlaWorkers workers(pool);
  parallel(workers, thread_count(workers), chunks, [&](std::size_t i) {
    const std::size_t begin = i * height, length = i + 1 == chunks ? bytes - begin : height;
    sums[i] = kernels().read(static_cast<const char*>(p.untyped_data()) + begin, length) +
              kernels().read(static_cast<const char*>(q.untyped_data()) + begin, length);
  });
  double total = 0;
  for (const double part : sums) total += part;
  sum->typed_data()[0] = total;
  return ffi::Error::Success();
}

// The same for callers of plain C, of one problem, with threads and scratch of the library's own. Where there is no q it
// is null; without z, which is null then, nothing is pushed.
template <class S, class T>
T c_l1(const S* p, const S* q, const T* b, const T* x, std::size_t m, std::size_t d, std::size_t r, int n,
       T* gradient) {
  const Plan plan = make_plan<S, T>(m, d, r, n, q != nullptr);
  const Room<T> room(plan.scratch(true));
  return sum_l1<S, T>(Pool::shared(), plan, b, {p, q, x, gradient, room.data()});
}

template <class S, class T>
void c_forms(const S* p, const S* q, const T* x, std::size_t m, std::size_t d, std::size_t r, int n, T* values,
             T* slopes) {
  const Plan plan = make_plan<S, T>(m, d, r, n, q != nullptr);
  const Room<T> room(plan.scratch(false));
  const Operands<S, T> on{p, q, x, nullptr, room.data()};
  sweep(Pool::shared(), plan, kernel<S, T>().forms, Forms<T>{values, slopes}, on);
}

template <class S, class T>
void c_product(const S* p, const S* q, const T* slopes, const T* z, const T* w, std::size_t m, std::size_t d,
               std::size_t r, T* pushed, T* gradient) {
  const Plan plan = make_plan<S, T>(m, d, r, 0, q != nullptr);
  const Room<T> room(plan.scratch(true));
  const Operands<S, T> on{p, q, z, gradient, room.data()};
  sweep(Pool::shared(), plan, kernel<S, T>().product, Product<T>{slopes, w, pushed}, on);
}

auto plain() { return ffi::Ffi::Bind().Ctx<ffi::ThreadPool>(); }
auto with_order() { return plain().Attr<std::int64_t>("n"); }

template <ffi::DataType Computed, int Count, class Binding>
auto bind_operands(Binding&& binding) {
  using Array = ffi::Buffer<Computed>;
  if constexpr (Count > 0) return bind_operands<Computed, Count - 1>(std::move(binding).template Arg<Array>());
  else
    return std::move(binding).template Ret<Array>().template Ret<Array>().template Ret<Array>();
}

// The rows, `Count` operands beside them, two results and the scratch.
template <ffi::DataType Stored, ffi::DataType Computed, int Count, class Binding>
auto bind(Binding&& binding) {
  using Matrix = ffi::Buffer<Stored>;
  return bind_operands<Computed, Count>(std::move(binding).template Arg<Matrix>().template Arg<Matrix>());
}

}  // namespace
}  // namespace gnpolyak

#pragma GCC visibility push(default)

#define GNPOLYAK_PASSES(kind, ...) \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(gnpolyak_power_l1_##kind, (gnpolyak::l1<__VA_ARGS__>), \
                                (gnpolyak::bind<__VA_ARGS__, 2>(gnpolyak::with_order()))); \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(gnpolyak_power_forms_##kind, (gnpolyak::forms<__VA_ARGS__>), \
                                (gnpolyak::bind<__VA_ARGS__, 1>(gnpolyak::with_order()))); \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(gnpolyak_power_product_##kind, (gnpolyak::product<__VA_ARGS__>), \
                                (gnpolyak::bind<__VA_ARGS__, 3>(gnpolyak::plain())))

GNPOLYAK_PASSES(f64, ffi::F64, ffi::F64);
GNPOLYAK_PASSES(f32, ffi::F32, ffi::F32);
GNPOLYAK_PASSES(mixed, ffi::F32, ffi::F64);
#undef GNPOLYAK_PASSES

#define GNPOLYAK_C_PASSES(kind, S, T)                                                                            \
  extern "C" T gnpolyak_c_power_l1_##kind(const S* p, const S* q, const T* b, const T* x, std::size_t m,        \
                                          std::size_t d, std::size_t r, int n, T* gradient) {                   \
    return gnpolyak::c_l1(p, q, b, x, m, d, r, n, gradient);                                                     \
  }                                                                                                              \
  extern "C" void gnpolyak_c_power_forms_##kind(const S* p, const S* q, const T* x, std::size_t m,              \
                                                std::size_t d, std::size_t r, int n, T* values, T* slopes) {    \
    gnpolyak::c_forms(p, q, x, m, d, r, n, values, slopes);                                                      \
  }                                                                                                              \
  extern "C" void gnpolyak_c_power_product_##kind(const S* p, const S* q, const T* slopes, const T* z,          \
                                                  const T* w, std::size_t m, std::size_t d, std::size_t r,      \
                                                  T* pushed, T* gradient) {                                      \
    gnpolyak::c_product(p, q, slopes, z, w, m, d, r, pushed, gradient);                                          \
  }

GNPOLYAK_C_PASSES(f64, double, double)
GNPOLYAK_C_PASSES(f32, float, float)
GNPOLYAK_C_PASSES(mixed, float, double)
#undef GNPOLYAK_C_PASSES

XLA_FFI_DEFINE_HANDLER_SYMBOL(gnpolyak_read_once, gnpolyak::read_once,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<ffi::AnyBuffer>()
                                  .Arg<ffi::AnyBuffer>()
                                  .Ret<ffi::Buffer<ffi::F64>>());

extern "C" {

// Numbers of the arithmetic type that a pass needs as its last result; kind is "f64", "f32" or "mixed".
std::size_t gnpolyak_scratch(const char* kind, std::size_t m, std::size_t d, std::size_t r, bool adjoint) {
  if (std::strcmp(kind, "f64") == 0) return gnpolyak::make_plan<double, double>(m, d, r, 2, true).scratch(adjoint);
  if (std::strcmp(kind, "f32") == 0) return gnpolyak::make_plan<float, float>(m, d, r, 2, true).scratch(adjoint);
  return gnpolyak::make_plan<float, double>(m, d, r, 2, true).scratch(adjoint);
}

// Whether the passes take batches; an older library has no such function.
bool gnpolyak_takes_batches() { return true; }

const char* gnpolyak_instruction_set() { return gnpolyak::kernels().name; }

// 0: as many threads as XLA has, or as there are processors to run on where XLA does not call.
void gnpolyak_set_threads(int count) { gnpolyak::thread_limit.store(count); }
int gnpolyak_get_threads() { return gnpolyak::thread_limit.load(); }
}

#pragma GCC visibility pop

#include "bilinear_sweep.hpp"
