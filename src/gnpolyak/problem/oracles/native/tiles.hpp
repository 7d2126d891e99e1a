// Register tiles: products of rows with the columns of a matrix, and their adjoint, over a block of rows.
//
// A tile keeps GNPOLYAK_ROWS × kColumns sums in registers, so that each number loaded enters that many products:
// 4×6 sums of 32 registers with AVX-512, 2×6 of 16 without. Nothing from the standard library with code in it is
// used here, because such code would be shared with units compiled for older processors.
#pragma once

#include <utility>

#include "kernel.hpp"

#define GNPOLYAK_INLINE static inline __attribute__((always_inline))

namespace gnpolyak {
namespace GNPOLYAK_ISA {
namespace {

constexpr int kRows = GNPOLYAK_ROWS;
constexpr int kColumns = 6;

typedef double F64 __attribute__((vector_size(GNPOLYAK_BYTES)));
typedef float F32 __attribute__((vector_size(GNPOLYAK_BYTES)));
typedef float HalfF32 __attribute__((vector_size(GNPOLYAK_BYTES / 2)));

template <class T>
struct Lanes;
template <>
struct Lanes<double> {
  typedef F64 Vector;
};
template <>
struct Lanes<float> {
  typedef F32 Vector;
};
template <class T>
using Vector = typename Lanes<T>::Vector;
template <class T>
constexpr std::size_t kLanes = GNPOLYAK_BYTES / sizeof(T);

GNPOLYAK_INLINE F64 load(const double* from, double) {
  F64 v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
GNPOLYAK_INLINE F32 load(const float* from, float) {
  F32 v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
GNPOLYAK_INLINE F64 load(const float* from, double) {
  HalfF32 v;
  __builtin_memcpy(&v, from, sizeof v);
  return __builtin_convertvector(v, F64);
}
template <class T>
GNPOLYAK_INLINE void store(T* to, Vector<T> v) {
  __builtin_memcpy(to, &v, sizeof v);
}
// By way of memory: extracting halves would confine the sums of a tile to the sixteen registers that older
// instructions can name, and the others would spill.
template <class T>
GNPOLYAK_INLINE T sum(Vector<T> v) {
  T lane[kLanes<T>];
  store<T>(lane, v);
  for (std::size_t half = kLanes<T> / 2; half > 0; half /= 2)
    for (std::size_t k = 0; k < half; ++k) lane[k] += lane[k + half];
  return lane[0];
}

// Entry `at` of the halves of the groups of g numbers in two vectors, those of the one and of the other in turn.
constexpr int half_place(int lanes, int g, bool upper, int at) {
  const int half = g / 2, group = at / half;
  return (group % 2) * lanes + (group / 2) * g + at % half + (upper ? half : 0);
}

template <class T, int G, bool Upper, std::size_t... At>
GNPOLYAK_INLINE Vector<T> halves(Vector<T> a, Vector<T> b, std::index_sequence<At...>) {
#ifdef __clang__
  return __builtin_shufflevector(a, b, half_place(kLanes<T>, G, Upper, At)...);
#else
  return __builtin_shuffle(a, b, decltype(a < b){half_place(kLanes<T>, G, Upper, At)...});
#endif
}

// The sums of as many vectors as a vector has lanes, in one vector; each is added up as `sum` does it. Where rows are
// short, most of the time of the forward products would go into one sum after the other.
template <class T, int G = kLanes<T>>
GNPOLYAK_INLINE Vector<T> sums(Vector<T>* v) {
  if constexpr (G == 1) return v[0];
  else {
    constexpr auto lanes = std::make_index_sequence<kLanes<T>>();
    for (int i = 0; i < G / 2; ++i)
      v[i] = halves<T, G, false>(v[i], v[i + G / 2], lanes) + halves<T, G, true>(v[i], v[i + G / 2], lanes);
    return sums<T, G / 2>(v);
  }
}

// The sums of Count vectors.
template <class T, int Count>
GNPOLYAK_INLINE void add_up(const Vector<T>* v, T* to) {
  constexpr int lanes = kLanes<T>;
  if constexpr (Count >= lanes) {
    Vector<T> some[lanes];
    for (int i = 0; i < lanes; ++i) some[i] = v[i];
    store<T>(to, sums<T>(some));
    add_up<T, Count - lanes>(v + lanes, to + lanes);
  } else {
    for (int i = 0; i < Count; ++i) to[i] = sum<T>(v[i]);
  }
}

// Where vector k of a row starts. The last one ends with the row and so may overlap its neighbour: Xᵀ is zero in the
// lanes that would count twice, and the reduction skips those of Gᵀ. No load ever leaves the row.
template <class T>
GNPOLYAK_INLINE std::size_t offset(const Shape& s, std::size_t d, std::size_t k) {
  return k + 1 < s.vectors ? k * kLanes<T> : d - kLanes<T>;
}

// A block of rows: `stride` and `width` are d, or one vector where rows were packed.
template <class S>
struct Rows {
  const S* first;
  std::size_t stride;
  std::size_t width;
  std::size_t count;
  std::size_t next;  // how far on the same row of the next block lies; 0 where it need not be fetched
};

// Memory would idle while a block already in cache is worked on, so the next block is fetched meanwhile. Asking for
// each line twice, during the forward products and during the adjoint, is meant: the first request is dropped when
// memory has its hands full. Measured, a quarter off the time against leaving it to the hardware's own guesses, and an
// eighth off against asking once.
template <class S>
GNPOLYAK_INLINE void fetch(const S* entry, std::size_t next) {
  if (next > 0) __builtin_prefetch(entry + next, 0, 2);
}

template <class S, class T, int R, int C>
GNPOLYAK_INLINE void forward_tile(const Shape& s, const Rows<S>& rows, std::size_t i, const T* xt, T* y) {
  Vector<T> total[R][C] = {};
  const S* row = rows.first + i * rows.stride;
  for (std::size_t k = 0; k < s.vectors; ++k) {
    const std::size_t at = offset<T>(s, rows.width, k);
    Vector<T> entry[R];
    for (int a = 0; a < R; ++a) {
      entry[a] = load(row + a * rows.stride + at, T());
      fetch(row + a * rows.stride + at, rows.next);
    }
    for (int c = 0; c < C; ++c) {
      const Vector<T> x = load(xt + c * s.padded() + k * kLanes<T>, T());
      for (int a = 0; a < R; ++a) total[a][c] += entry[a] * x;
    }
  }
  // With as many columns as there are, the sums lie as they are wanted.
  if (s.r == C) return add_up<T, R * C>(&total[0][0], y);
  T added[R * C];
  add_up<T, R * C>(&total[0][0], added);
  for (int a = 0; a < R; ++a)
    for (int c = 0; c < C; ++c) y[a * s.r + c] = added[a * C + c];
}

template <class S, class T, int C>
void forward_columns(const Shape& s, const Rows<S>& rows, const T* xt, T* y) {
  std::size_t i = 0;
  for (; i + kRows <= rows.count; i += kRows) forward_tile<S, T, kRows, C>(s, rows, i, xt, y + i * s.r);
  for (; i < rows.count; ++i) forward_tile<S, T, 1, C>(s, rows, i, xt, y + i * s.r);
}

template <class S, class T, int U, int C>
GNPOLYAK_INLINE void adjoint_rows(const Shape& s, const Rows<S>& rows, const std::size_t* at, const T* w,
                                  Vector<T> (&total)[U][C]) {
  const S* row = rows.first;
  for (std::size_t i = 0; i < rows.count; ++i, row += rows.stride, w += s.r) {
    Vector<T> entry[U];
    for (int a = 0; a < U; ++a) {
      entry[a] = load(row + at[a], T());
      fetch(row + at[a], rows.next);
    }
    for (int c = 0; c < C; ++c)
      for (int a = 0; a < U; ++a) total[a][c] += entry[a] * w[c];
  }
}

template <class S, class T, int U, int C>
GNPOLYAK_INLINE void adjoint_tile(const Shape& s, const Rows<S>& p, const Rows<S>& q, std::size_t k, const T* w,
                                  T* gt) {
  Vector<T> total[U][C];
  std::size_t at[U];
  for (int a = 0; a < U; ++a) {
    at[a] = offset<T>(s, p.width, k + a);
    for (int c = 0; c < C; ++c) total[a][c] = load(gt + c * s.padded() + (k + a) * kLanes<T>, T());
  }
  adjoint_rows<S, T, U, C>(s, p, at, w, total);
  adjoint_rows<S, T, U, C>(s, q, at, w + s.block * s.r, total);
  for (int a = 0; a < U; ++a)
    for (int c = 0; c < C; ++c) store<T>(gt + c * s.padded() + (k + a) * kLanes<T>, total[a][c]);
}

template <class S, class T, int C>
void adjoint_columns(const Shape& s, const Rows<S>& p, const Rows<S>& q, const T* w, T* gt) {
  std::size_t k = 0;
  for (; k + kRows <= s.vectors; k += kRows) adjoint_tile<S, T, kRows, C>(s, p, q, k, w, gt);
  // What is left at once: with few sums under way an addition waits for the one before it.
  switch (s.vectors - k) {
    case 1: return adjoint_tile<S, T, 1, C>(s, p, q, k, w, gt);
    case 2: return adjoint_tile<S, T, 2, C>(s, p, q, k, w, gt);
    case 3: return adjoint_tile<S, T, 3, C>(s, p, q, k, w, gt);
    default: return;
  }
}

// The r columns in tiles of nearly one size, so that no rank ends in a thin remainder: 8 = 4+4, 16 = 6+5+5.
template <class Visit>
GNPOLYAK_INLINE void for_column_tiles(std::size_t r, Visit visit) {
  const std::size_t tiles = (r + kColumns - 1) / kColumns;
  for (std::size_t t = 0; t < tiles; ++t) {
    const std::size_t begin = t * r / tiles, end = (t + 1) * r / tiles;
    visit(begin, end - begin);
  }
}

template <int C>
struct Columns {
  static constexpr int count = C;
};

// Hands a tile its number of columns as a constant. Every number up to kColumns is compiled, so no rank is left to a
// slow path.
template <class Tile>
GNPOLYAK_INLINE void with_columns(std::size_t columns, Tile tile) {
  switch (columns) {
    case 1: return tile(Columns<1>());
    case 2: return tile(Columns<2>());
    case 3: return tile(Columns<3>());
    case 4: return tile(Columns<4>());
    case 5: return tile(Columns<5>());
    default: return tile(Columns<kColumns>());
  }
}

template <class S, class T>
void forward(const Shape& s, const Rows<S>& rows, const T* xt, T* y) {
  for_column_tiles(s.r, [&](std::size_t j, std::size_t columns) {
    with_columns(columns, [&](auto c) {
      forward_columns<S, T, decltype(c)::count>(s, rows, xt + j * s.padded(), y + j);
    });
  });
}

template <class S, class T>
void adjoint(const Shape& s, const Rows<S>& p, const Rows<S>& q, const T* weights, T* gt) {
  for_column_tiles(s.r, [&](std::size_t j, std::size_t columns) {
    with_columns(columns, [&](auto c) {
      adjoint_columns<S, T, decltype(c)::count>(s, p, q, weights + j, gt + j * s.padded());
    });
  });
}

}  // namespace
}  // namespace GNPOLYAK_ISA
}  // namespace gnpolyak
