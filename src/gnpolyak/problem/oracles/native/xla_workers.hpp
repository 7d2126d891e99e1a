// The threads that XLA lends to what it calls.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "workers.hpp"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace gnpolyak {

class XlaWorkers final : public Workers {
 public:
  explicit XlaWorkers(ffi::ThreadPool& pool) : pool_(pool) {}

  int most() override { return static_cast<int>(pool_.num_threads()); }

  // The caller takes work like any other and waits only for what others have begun, so a pool whose threads are all
  // busy cannot block it.
  void share(std::size_t helpers, std::size_t count, const Body& body) override {
    struct Progress {
      std::atomic<std::size_t> next{0};
      std::size_t finished = 0;
      std::mutex lock;
      std::condition_variable all;
    };
    const auto progress = std::make_shared<Progress>();
    // A helper that starts late finds nothing to claim and never looks at the body, which may be gone by then.
    const auto work = [progress, body, count] {
      std::size_t mine = 0;
      for (std::size_t i; (i = progress->next.fetch_add(1)) < count; ++mine) body(i);
      if (mine == 0) return;
      const std::lock_guard<std::mutex> guard(progress->lock);
      progress->finished += mine;
      if (progress->finished == count) progress->all.notify_all();
    };
    for (std::size_t i = 0; i < helpers; ++i) pool_.Schedule([work] { work(); });
    work();
    std::unique_lock<std::mutex> guard(progress->lock);
    progress->all.wait(guard, [&] { return progress->finished == count; });
  }

 private:
  ffi::ThreadPool& pool_;
};

}  // namespace gnpolyak
