// The passes over entries, compiled once per instruction set like kernel.cpp.
#include "entries.hpp"
#include "tiles.hpp"

namespace gnpolyak {
namespace GNPOLYAK_ISA {
namespace {

// a·b over `Count` vectors, or as many as `count` says where that is not known when this is compiled.
template <class T, int Count>
GNPOLYAK_INLINE Vector<T> dot(const T* a, const T* b, std::size_t count) {
  Vector<T> total = load(a, T()) * load(b, T());
  for (std::size_t k = 1; k < (Count > 0 ? Count : count); ++k)
    total += load(a + k * kLanes<T>, T()) * load(b + k * kLanes<T>, T());
  return total;
}

template <class T, int Count>
GNPOLYAK_INLINE void add(T* to, T weight, const T* from, std::size_t count) {
  for (std::size_t k = 0; k < (Count > 0 ? Count : count); ++k)
    store<T>(to + k * kLanes<T>, load(to + k * kLanes<T>, T()) + weight * load(from + k * kLanes<T>, T()));
}

enum class Kind { l1, values, pull, product };

// The weight with which an entry enters the adjoint.
template <class T, int Count, Kind kind>
GNPOLYAK_INLINE T weigh(EntryTask<T>& task, const T* u, const T* v, std::size_t padded, std::size_t place,
                        std::size_t count) {
  if constexpr (kind == Kind::pull) return task.data[place];
  if constexpr (kind == Kind::product) {
    const T along = sum<T>(dot<T, Count>(u + padded, v, count) + dot<T, Count>(u, v + padded, count));
    if (task.values != nullptr) task.values[place] = along;
    return task.data[place] * along;
  }
  const T entry = sum<T>(dot<T, Count>(u, v, count));
  if constexpr (kind == Kind::values) {
    task.values[place] = entry;
    return 0;
  }
  const T residual = entry - task.data[place];
  task.total += residual < 0 ? -double(residual) : double(residual);
  // sign(0) = 0 and sign(NaN) = NaN.
  return residual > 0 ? T(1) : residual < 0 ? T(-1) : residual;
}

template <class T, int Count, Kind kind>
void run(EntryTask<T>& task, std::size_t padded, std::size_t begin, std::size_t end) {
  const std::size_t count = padded / kLanes<T>;
  for (std::size_t k = begin; k < end; ++k) {
    const std::size_t i = task.major[k], j = task.minor[k];
    const std::size_t place = task.order == nullptr ? k : task.order[k];
    const T* const u = task.u + i * task.stride;
    const T* const v = task.v + j * task.stride;
    const T weight = weigh<T, Count, kind>(task, u, v, padded, place, count);
    if constexpr (kind != Kind::values) {
      add<T, Count>(task.gu + i * padded, weight, v, count);
      add<T, Count>(task.gv + j * padded, weight, u, count);
    }
  }
}

// Ranks up to two vectors have loops of their own.
template <class T, Kind kind>
void pass(EntryTask<T>& task, std::size_t padded, std::size_t begin, std::size_t end) {
  if (padded == kLanes<T>) return run<T, 1, kind>(task, padded, begin, end);
  if (padded == 2 * kLanes<T>) return run<T, 2, kind>(task, padded, begin, end);
  run<T, 0, kind>(task, padded, begin, end);
}

template <class T>
constexpr EntryKernel<T> passes() {
  return {kLanes<T>, pass<T, Kind::l1>, pass<T, Kind::values>, pass<T, Kind::pull>, pass<T, Kind::product>};
}

}  // namespace

extern const EntryKernels entry_kernels = {passes<double>(), passes<float>()};

}  // namespace GNPOLYAK_ISA
}  // namespace gnpolyak
