// Whoever runs the parts of a pass: threads of XLA's own where XLA calls, and `Pool` where somebody else does.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace gnpolyak {

// One for all entry points of the library.
inline std::atomic<int> thread_limit{0};

// Something to be called with a number, which must outlive the reference.
class Body {
 public:
  template <class Callable>
  explicit Body(const Callable& what)
      : what_(&what), call_([](const void* self, std::size_t i) { (*static_cast<const Callable*>(self))(i); }) {}
  void operator()(std::size_t i) const { call_(what_, i); }

 private:
  const void* what_;
  void (*call_)(const void*, std::size_t);
};

class Workers {
 public:
  // How many threads there may be, the caller's included.
  virtual int most() = 0;
  // Runs body(0), …, body(count − 1) on the caller and up to `helpers` other threads, and returns when all are done.
  virtual void share(std::size_t helpers, std::size_t count, const Body& body) = 0;

 protected:
  ~Workers() = default;
};

inline int thread_count(Workers& workers) {
  const int limit = thread_limit.load(), available = std::max(1, workers.most());
  return limit > 0 ? std::min(limit, available) : available;
}

template <class Callable>
void parallel(Workers& workers, int threads, std::size_t count, const Callable& body) {
  if (threads > 1 && count > 1) return workers.share(std::min<std::size_t>(threads, count) - 1, count, Body(body));
  for (std::size_t i = 0; i < count; ++i) body(i);
}

}  // namespace gnpolyak
