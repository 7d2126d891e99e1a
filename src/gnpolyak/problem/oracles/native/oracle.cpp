// The XLA entry points: lay out the work, spread it over XLA's own threads, add up the parts in a fixed order.
//
// Rows are cut into chunks by the shape alone, each with its own accumulator, and the accumulators are added in the
// order of the chunks. So the result is the same to the last bit whoever computes which chunk, with any number of
// threads.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "kernel.hpp"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace gnpolyak {
namespace {

constexpr std::size_t kMostChunks = 64;
// A chunk's accumulator is r rows long: with at least this many rows it stays small beside the data.
constexpr std::size_t kFewestRows = 128;
// Rows of P and Q that a core keeps in its second-level cache between forward and adjoint.
constexpr std::size_t kBlockBytes = 256 * 1024;
// Below this many numbers waking another thread costs more than it saves.
constexpr std::size_t kWorthSharing = 1 << 15;

const Kernels& choose() {
  const char* wish = std::getenv("GNPOLYAK_ISA");
  const auto wanted = [&](const char* name) { return wish == nullptr || std::strcmp(wish, name) == 0; };
#ifdef GNPOLYAK_X86
  __builtin_cpu_init();
  if (wanted("avx512") && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
    return avx512::kernels;
  if (wanted("avx2") && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return avx2::kernels;
#endif
  return baseline::kernels;
}

const Kernels& kernels() {
  static const Kernels& chosen = choose();
  return chosen;
}

template <class S, class T>
const Kernel<S, T>& kernel();
template <>
const Kernel<double, double>& kernel() {
  return kernels().f64;
}
template <>
const Kernel<float, float>& kernel() {
  return kernels().f32;
}
template <>
const Kernel<float, double>& kernel() {
  return kernels().mixed;
}

std::atomic<int> thread_limit{0};

int thread_count(ffi::ThreadPool& pool) {
  const int limit = thread_limit.load();
  const int available = std::max<int>(1, static_cast<int>(pool.num_threads()));
  return limit > 0 ? std::min(limit, available) : available;
}

struct Plan {
  Shape shape;
  std::size_t height;  // rows in a chunk
  std::size_t chunks;

  std::size_t accumulator() const { return shape.r * shape.padded(); }
  std::size_t scratch() const { return (chunks + 1) * accumulator(); }
};

template <class S, class T>
Plan make_plan(std::size_t m, std::size_t d, std::size_t r, int n) {
  const std::size_t lanes = kernel<S, T>().lanes;
  const std::size_t block = std::clamp<std::size_t>(kBlockBytes / (2 * d * sizeof(S)), 4, 128) / 4 * 4;
  const std::size_t fewest = std::max(kFewestRows, 4 * r);
  const std::size_t wanted = std::clamp<std::size_t>(m / fewest, 1, kMostChunks);
  const std::size_t height = ((m + wanted - 1) / wanted + 3) / 4 * 4;
  const std::size_t chunks = height == 0 ? 0 : (m + height - 1) / height;
  return {Shape{m, d, r, n, lanes, (d + lanes - 1) / lanes, block}, height, chunks};
}

// Runs body(0), …, body(count − 1) on the caller and up to workers − 1 threads of the pool. The caller takes work like
// any other and waits only for what others have begun, so a pool whose threads are all busy cannot block it.
template <class Body>
void parallel(ffi::ThreadPool& pool, int workers, std::size_t count, const Body& body) {
  struct Progress {
    std::atomic<std::size_t> next{0};
    std::size_t finished = 0;
    std::mutex lock;
    std::condition_variable all;
  };
  const auto progress = std::make_shared<Progress>();
  const Body* shared = &body;
  // A helper that starts late finds nothing to claim and never looks at `shared`, which is gone by then.
  const auto work = [progress, shared, count] {
    std::size_t mine = 0;
    for (std::size_t i; (i = progress->next.fetch_add(1)) < count; ++mine) (*shared)(i);
    if (mine == 0) return;
    const std::lock_guard<std::mutex> guard(progress->lock);
    progress->finished += mine;
    if (progress->finished == count) progress->all.notify_all();
  };
  const std::size_t helpers = std::min<std::size_t>(workers, count) - (count > 0 ? 1 : 0);
  for (std::size_t i = 0; i < helpers; ++i) pool.Schedule([work] { work(); });
  work();
  std::unique_lock<std::mutex> guard(progress->lock);
  progress->all.wait(guard, [&] { return progress->finished == count; });
}

// Entry k of a row lies at this place of a padded accumulator: see `offset` in kernel.cpp.
std::size_t slot(const Shape& s, std::size_t k) {
  const std::size_t last = (s.vectors - 1) * s.lanes;
  return s.d < s.lanes || k < last ? k : last + k - (s.d - s.lanes);
}

template <class T>
void transpose(const Shape& s, const T* x, T* xt) {
  std::fill_n(xt, s.r * s.padded(), T(0));
  for (std::size_t k = 0; k < s.d; ++k)
    for (std::size_t j = 0; j < s.r; ++j) xt[j * s.padded() + slot(s, k)] = x[k * s.r + j];
}

template <class S, class T>
double run_chunk(const Plan& plan, Task<S, T> task, std::size_t chunk) {
  const Shape& s = plan.shape;
  thread_local std::vector<T> weights;
  thread_local std::vector<S> packed;
  weights.resize(std::max(weights.size(), s.weights()));
  packed.resize(std::max(packed.size(), 2 * s.block * s.lanes));
  task.weights = weights.data();
  task.packed = packed.data();
  std::fill_n(task.gt, plan.accumulator(), T(0));
  const std::size_t begin = chunk * plan.height;
  return kernel<S, T>().accumulate(s, task, begin, std::min(s.m, begin + plan.height));
}

// Adds the chunks' accumulators for column j of X, in the order of the chunks, and transposes back.
template <class T>
void reduce_column(const Plan& plan, T* accumulators, std::size_t j, T* gradient) {
  const Shape& s = plan.shape;
  T* total = accumulators + j * s.padded();
  for (std::size_t c = 1; c < plan.chunks; ++c) {
    const T* part = total + c * plan.accumulator();
    for (std::size_t k = 0; k < s.padded(); ++k) total[k] += part[k];
  }
  for (std::size_t k = 0; k < s.d; ++k) gradient[k * s.r + j] = total[slot(s, k)];
}

template <ffi::DataType Stored, ffi::DataType Computed>
ffi::Error evaluate(ffi::ThreadPool pool, ffi::Buffer<Stored> p, ffi::Buffer<Stored> q, ffi::Buffer<Computed> b,
                    ffi::Buffer<Computed> x, std::int64_t n, ffi::ResultBuffer<Computed> value,
                    ffi::ResultBuffer<Computed> gradient, ffi::ResultBuffer<Computed> scratch) {
  using S = ffi::NativeType<Stored>;
  using T = ffi::NativeType<Computed>;
  const std::size_t m = p.dimensions()[0], d = p.dimensions()[1], r = x.dimensions()[1];
  const Plan plan = make_plan<S, T>(m, d, r, static_cast<int>(n));
  if (scratch->element_count() < plan.scratch()) return ffi::Error::InvalidArgument("gnpolyak: scratch too small");
  T* const xt = scratch->typed_data();
  T* const accumulators = xt + plan.accumulator();
  transpose(plan.shape, x.typed_data(), xt);

  std::vector<double> values(plan.chunks);
  const int workers = m * d < kWorthSharing ? 1 : thread_count(pool);
  parallel(pool, workers, plan.chunks, [&](std::size_t chunk) {
    const Task<S, T> task{p.typed_data(), q.typed_data(), b.typed_data(), xt,
                          accumulators + chunk * plan.accumulator(), nullptr, nullptr};
    values[chunk] = run_chunk<S, T>(plan, task, chunk);
  });
  double total = 0;
  for (const double part : values) total += part;
  value->typed_data()[0] = static_cast<T>(total);
  if (plan.chunks == 0) std::fill_n(gradient->typed_data(), d * r, T(0));
  else
    parallel(pool, plan.scratch() < kWorthSharing ? 1 : workers, r,
             [&](std::size_t j) { reduce_column(plan, accumulators, j, gradient->typed_data()); });
  return ffi::Error::Success();
}

// Reads both matrices once, cut up as `evaluate` cuts them: the floor no oracle can be faster than.
ffi::Error read_once(ffi::ThreadPool pool, ffi::AnyBuffer p, ffi::AnyBuffer q, ffi::ResultBuffer<ffi::F64> sum) {
  const std::size_t bytes = p.size_bytes(), chunks = kMostChunks, height = bytes / chunks / 64 * 64;
  std::vector<double> sums(chunks);
  parallel(pool, thread_count(pool), chunks, [&](std::size_t i) {
    const std::size_t begin = i * height, length = i + 1 == chunks ? bytes - begin : height;
    sums[i] = kernels().read(static_cast<const char*>(p.untyped_data()) + begin, length) +
              kernels().read(static_cast<const char*>(q.untyped_data()) + begin, length);
  });
  double total = 0;
  for (const double part : sums) total += part;
  sum->typed_data()[0] = total;
  return ffi::Error::Success();
}

template <ffi::DataType Stored, ffi::DataType Computed>
auto bind() {
  return ffi::Ffi::Bind()
      .Ctx<ffi::ThreadPool>()
      .template Arg<ffi::Buffer<Stored>>()
      .template Arg<ffi::Buffer<Stored>>()
      .template Arg<ffi::Buffer<Computed>>()
      .template Arg<ffi::Buffer<Computed>>()
      .template Attr<std::int64_t>("n")
      .template Ret<ffi::Buffer<Computed>>()
      .template Ret<ffi::Buffer<Computed>>()
      .template Ret<ffi::Buffer<Computed>>();
}

}  // namespace
}  // namespace gnpolyak

#pragma GCC visibility push(default)

using gnpolyak::bind;
using gnpolyak::evaluate;

XLA_FFI_DEFINE_HANDLER_SYMBOL(gnpolyak_power_l1_f64, (evaluate<ffi::F64, ffi::F64>), (bind<ffi::F64, ffi::F64>()));
XLA_FFI_DEFINE_HANDLER_SYMBOL(gnpolyak_power_l1_f32, (evaluate<ffi::F32, ffi::F32>), (bind<ffi::F32, ffi::F32>()));
XLA_FFI_DEFINE_HANDLER_SYMBOL(gnpolyak_power_l1_mixed, (evaluate<ffi::F32, ffi::F64>), (bind<ffi::F32, ffi::F64>()));
XLA_FFI_DEFINE_HANDLER_SYMBOL(gnpolyak_read_once, gnpolyak::read_once,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<ffi::AnyBuffer>()
                                  .Arg<ffi::AnyBuffer>()
                                  .Ret<ffi::Buffer<ffi::F64>>());

extern "C" {

// Numbers of the arithmetic type that `evaluate` needs as its third result; kind is "f64", "f32" or "mixed".
std::size_t gnpolyak_scratch(const char* kind, std::size_t m, std::size_t d, std::size_t r) {
  if (std::strcmp(kind, "f64") == 0) return gnpolyak::make_plan<double, double>(m, d, r, 2).scratch();
  if (std::strcmp(kind, "f32") == 0) return gnpolyak::make_plan<float, float>(m, d, r, 2).scratch();
  return gnpolyak::make_plan<float, double>(m, d, r, 2).scratch();
}

const char* gnpolyak_instruction_set() { return gnpolyak::kernels().name; }

// 0: as many threads as XLA has.
void gnpolyak_set_threads(int count) { gnpolyak::thread_limit.store(count); }
int gnpolyak_get_threads() { return gnpolyak::thread_limit.load(); }
}

#pragma GCC visibility pop
