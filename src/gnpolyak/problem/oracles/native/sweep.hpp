// A pass over all rows: lay out the work, spread it over threads, add up the parts in a fixed order.
//
// Rows are cut into chunks by the shape alone, each with its own accumulator, and the accumulators are added in the
// order of the chunks. So the result is the same to the last bit whoever computes which chunk, with any number of
// threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#ifdef GNPOLYAK_X86
#include "cpu.hpp"
#endif
#include "kernel.hpp"
#include "pool.hpp"
#include "xla_workers.hpp"

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
  const Processor processor;
  if (wanted("avx512") && processor.avx512()) return avx512::kernels;
  if (wanted("avx2") && processor.avx2()) return avx2::kernels;
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

struct Plan {
  Shape shape;
  std::size_t height;  // rows in a chunk
  std::size_t chunks;

  std::size_t accumulator() const { return shape.r * shape.padded(); }
  // Room for Xᵀ, and for the sums of an adjoint.
  std::size_t scratch(bool adjoint) const { return (adjoint ? chunks + 1 : 1) * accumulator(); }
};

template <class S, class T>
Plan make_plan(std::size_t m, std::size_t d, std::size_t r, int n, bool centred) {
  const std::size_t lanes = kernel<S, T>().lanes;
  const std::size_t block = std::clamp<std::size_t>(kBlockBytes / ((centred ? 2 : 1) * d * sizeof(S)), 4, 128) / 4 * 4;
  const std::size_t fewest = std::max(kFewestRows, 4 * r);
  const std::size_t wanted = std::clamp<std::size_t>(m / fewest, 1, kMostChunks);
  const std::size_t height = ((m + wanted - 1) / wanted + 3) / 4 * 4;
  const std::size_t chunks = height == 0 ? 0 : (m + height - 1) / height;
  return {Shape{m, d, r, n, centred, lanes, (d + lanes - 1) / lanes, block}, height, chunks};
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

template <class S, class T, class Work>
Work run_chunk(const Plan& plan, Task<S, T> task, Pass<S, T, Work> pass, Work work, std::size_t chunk) {
  const Shape& s = plan.shape;
  thread_local std::vector<T> weights;
  thread_local std::vector<S> packed;
  weights.resize(std::max(weights.size(), s.weights()));
  packed.resize(std::max(packed.size(), 2 * s.block * s.lanes));
  task.weights = weights.data();
  task.packed = packed.data();
  if (task.gt != nullptr) std::fill_n(task.gt, plan.accumulator(), T(0));
  const std::size_t begin = chunk * plan.height;
  pass(s, task, work, begin, std::min(s.m, begin + plan.height));
  return work;
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

// Room for a call that brings no scratch of its own, kept from one call of a thread to the next unless it is large. It
// begins a cache line, as XLA's does: where vectors straddle two, a pass over entries takes half as long again.
template <class T>
class Room {
 public:
  explicit Room(std::size_t count) {
    if (count <= size) return;
    size = 0;  // Nothing is there if there is no memory for more.
    held.reset();
    held.reset(new T[count + kLine / sizeof(T)]);
    size = count;
  }
  Room(const Room&) = delete;
  ~Room() {
    if (size * sizeof(T) <= kKeptBytes) return;
    held.reset();
    size = 0;
  }
  T* data() const {
    const auto begin = reinterpret_cast<std::uintptr_t>(held.get());
    return reinterpret_cast<T*>((begin + kLine - 1) / kLine * kLine);
  }

 private:
  static constexpr std::size_t kLine = 64;
  static constexpr std::size_t kKeptBytes = 16 << 20;
  static thread_local std::unique_ptr<T[]> held;
  static thread_local std::size_t size;
};
template <class T>
thread_local std::unique_ptr<T[]> Room<T>::held;
template <class T>
thread_local std::size_t Room<T>::size = 0;

// What a pass reads, and where its adjoint goes.
template <class S, class T>
struct Operands {
  const S* p;
  const S* q;
  const T* x;   // null for no forward products
  T* gradient;  // null for no adjoint
  T* scratch;
};

// One pass over all rows. Returns each chunk's work; they share what `work` points to, and keep what it holds apart.
template <class S, class T, class Work>
std::vector<Work> sweep(Workers& workers, const Plan& plan, Pass<S, T, Work> pass, const Work& work,
                        const Operands<S, T>& on) {
  const Shape& s = plan.shape;
  T* const xt = on.x == nullptr ? nullptr : on.scratch;
  T* const accumulators = on.scratch + plan.accumulator();
  if (xt != nullptr) transpose(s, on.x, xt);

  std::vector<Work> works(plan.chunks, work);
  const int threads = s.m * s.d < kWorthSharing ? 1 : thread_count(workers);
  parallel(workers, threads, plan.chunks, [&](std::size_t chunk) {
    T* const gt = on.gradient == nullptr ? nullptr : accumulators + chunk * plan.accumulator();
    works[chunk] = run_chunk<S, T, Work>(plan, {on.p, on.q, xt, gt, nullptr, nullptr}, pass, work, chunk);
  });
  if (on.gradient == nullptr) return works;
  if (plan.chunks == 0) std::fill_n(on.gradient, s.d * s.r, T(0));
  else
    parallel(workers, plan.scratch(true) < kWorthSharing ? 1 : threads, s.r,
             [&](std::size_t j) { reduce_column(plan, accumulators, j, on.gradient); });
  return works;
}

}  // namespace
}  // namespace gnpolyak
