// The upper medians of the rows of a matrix, of the entries that count: for XLA, and for callers of plain C.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace gnpolyak {
namespace {

// What is not a number comes last.
template <class T>
std::size_t gather(const T* row, const bool* counted, std::size_t length, T* held) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < length; ++i) {
    held[count] = std::isnan(row[i]) ? std::numeric_limits<T>::infinity() : row[i];
    count += counted[i];
  }
  return count;
}

template <class T>
void find_medians(const T* rows, const bool* counted, std::size_t many, std::size_t length, T* middle) {
  thread_local std::vector<T> held;
  held.resize(length + 1);
  for (std::size_t k = 0; k < many; ++k) {
    const std::size_t count = gather(rows + k * length, counted + k * length, length, held.data());
    std::nth_element(held.begin(), held.begin() + count / 2, held.begin() + count);
    middle[k] = count > 0 ? held[count / 2] : T(0);
  }
}

template <ffi::DataType D>
ffi::Error medians(ffi::Buffer<D> rows, ffi::Buffer<ffi::PRED> counted, ffi::ResultBuffer<D> middle) {
  find_medians(rows.typed_data(), counted.typed_data(), middle->element_count(), rows.dimensions().back(),
               middle->typed_data());
  return ffi::Error::Success();
}

}  // namespace
}  // namespace gnpolyak

#pragma GCC visibility push(default)

#define GNPOLYAK_MEDIANS(kind, D)                                                \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(gnpolyak_medians_##kind, gnpolyak::medians<D>,   \
                                ffi::Ffi::Bind()                                 \
                                    .Arg<ffi::Buffer<D>>()                       \
                                    .Arg<ffi::Buffer<ffi::PRED>>()               \
                                    .Ret<ffi::Buffer<D>>())

GNPOLYAK_MEDIANS(f64, ffi::F64);
GNPOLYAK_MEDIANS(f32, ffi::F32);
#undef GNPOLYAK_MEDIANS

#define GNPOLYAK_C_MEDIANS(kind, T)                                                                            \
  extern "C" void gnpolyak_c_medians_##kind(const T* rows, const bool* counted, std::size_t many,              \
                                            std::size_t length, T* middle) {                                   \
    gnpolyak::find_medians(rows, counted, many, length, middle);                                               \
  }

GNPOLYAK_C_MEDIANS(f64, double)
GNPOLYAK_C_MEDIANS(f32, float)
#undef GNPOLYAK_C_MEDIANS

#pragma GCC visibility pop
