// Threads of our own, for callers that are not XLA.
//
// There is one job at a time: who finds the pool at work computes alone. A thread that has nothing to do looks for the
// next job for as long as it takes to sleep and be woken, since passes come one after the other, and sleeps then.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <system_error>
#include <thread>

#ifdef __linux__
#include <sched.h>
#endif
#ifndef _WIN32
#include <pthread.h>
#endif

#include "workers.hpp"

namespace gnpolyak {

class Pool final : public Workers {
 public:
  // Made at the first call and never destroyed, as its threads may outlive whatever a process destroys at its end.
  static Pool& shared() {
    static const bool watched = watch();
    static_cast<void>(watched);
    Pool* pool = current.load();
    if (pool != nullptr) return *pool;
    Pool* const made = new Pool;
    if (current.compare_exchange_strong(pool, made)) return *made;
    delete made;
    return *pool;
  }

  // Processors that the caller may run on.
  int most() override {
#ifdef __linux__
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed);
#endif
    return static_cast<int>(std::thread::hardware_concurrency());
  }

  void share(std::size_t helpers, std::size_t count, const Body& body) override {
    const std::unique_lock<std::mutex> alone(caller_, std::try_to_lock);
    if (!alone) {
      for (std::size_t i = 0; i < count; ++i) body(i);
      return;
    }
    while (threads_ < helpers && add()) {
    }
    {
      const std::lock_guard<std::mutex> guard(lock_);
      body_ = &body;
      count_ = count;
      next_ = 0;
      open_ = helpers;
    }
    if (helpers == 1) wake_.notify_one();
    else
      wake_.notify_all();
    claim();
    {
      const std::lock_guard<std::mutex> guard(lock_);
      open_ = 0;  // Who wakes up now comes too late.
    }
    if (soon([&] { return inside_ == 0; })) return;
    std::unique_lock<std::mutex> guard(lock_);
    done_.wait(guard, [&] { return inside_ == 0; });
  }

 private:
  // A child of fork() has none of the parent's threads: it begins anew, with locks that nobody holds.
  static bool watch() {
#ifndef _WIN32
    pthread_atfork(nullptr, nullptr, [] { current.store(nullptr); });
#endif
    return true;
  }

  bool add() {
    try {
      std::thread([this] { live(); }).detach();
    } catch (const std::system_error&) {
      return false;  // The system has no thread left: fewer do the same.
    }
    ++threads_;
    return true;
  }

  void live() {
    for (;;) {
      soon([&] { return open_ > 0; });
      std::unique_lock<std::mutex> guard(lock_);
      wake_.wait(guard, [&] { return open_ > 0; });
      --open_;
      ++inside_;
      guard.unlock();
      claim();
      guard.lock();
      if (--inside_ == 0) done_.notify_one();
    }
  }

  void claim() {
    for (std::size_t i; (i = next_.fetch_add(1)) < count_;) (*body_)(i);
  }

  // Whether something comes true within the time of a sleep and a wake.
  template <class Condition>
  static bool soon(const Condition& condition) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(20);
    do {
      if (condition()) return true;
    } while (std::chrono::steady_clock::now() < until);
    return false;
  }

  static std::atomic<Pool*> current;

  std::mutex caller_;  // of whoever's job it is
  std::size_t threads_ = 0;
  std::mutex lock_;  // of what follows
  std::condition_variable wake_, done_;
  const Body* body_ = nullptr;
  std::size_t count_ = 0;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::size_t> open_{0};    // places that helpers may still take
  std::atomic<std::size_t> inside_{0};  // helpers at work
};

inline std::atomic<Pool*> Pool::current{nullptr};

}  // namespace gnpolyak
