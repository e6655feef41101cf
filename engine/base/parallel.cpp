// A pool of threads. Starting a thread for each piece of work takes longer than many of them: a
// report of 90 MB used to start a thousand.
//
// Whoever has work takes part in it, so that work within work never waits for a free thread: the
// others join if they have nothing to do, and the owner waits only for those that have joined.
#include "base/parallel.hpp"

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <exception>
#include <list>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/deadline.hpp"

namespace gh {
namespace {

std::atomic<unsigned> wanted = 0;

// What one call of in_parallel hands out.
class Job {
 public:
  Job(std::size_t count, const std::function<void(std::size_t, std::size_t)>& work)
      : count_(count), work_(work), most_workers_(std::min<std::size_t>(thread_count(), count)) {}

  std::size_t most_workers() const { return most_workers_; }
  void take_part(std::size_t worker) {
    try {
      for (std::size_t i; !failed_ && (i = next_++) < count_;) {
        check_time();
        work_(i, worker);
      }
    } catch (...) {
      if (!failed_.exchange(true)) failure_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

  // Of the pool, under its lock.
  bool has_room() const { return workers < most_workers_ && next_ < count_ && !failed_; }
  std::size_t workers = 1;  // that have joined, the owner first
  std::size_t inside = 0;   // of these, without the owner, those that are not done

 private:
  const std::size_t count_;
  const std::function<void(std::size_t, std::size_t)>& work_;
  const std::size_t most_workers_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> failed_ = false;
  std::exception_ptr failure_;
};

// Never destroyed: at the end of the program its threads wait for work, wherever that ends. After a
// fork the child has none of them, and a pool of its own.
class Pool {
 public:
  static Pool& get() {
    static const bool once = [] {
      pool = new Pool;
      pthread_atfork(nullptr, nullptr, [] { pool = new Pool; });
      return true;
    }();
    static_cast<void>(once);
    return *pool;
  }

  void run(Job& job) {
    if (job.most_workers() > 1) offer(job);
    job.take_part(0);
    if (job.most_workers() > 1) withdraw(job);
  }

 private:
  void offer(Job& job) {
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back(&job);
      try {
        for (; threads_ + 1 < thread_count(); ++threads_) std::thread([this] { serve(); }).detach();
      } catch (const std::system_error&) {
        // The system has no more threads: the existing ones do the work.
      }
    }
    work_.notify_all();
  }

  void withdraw(Job& job) {
    std::unique_lock lock(mutex_);
    jobs_.remove(&job);
    done_.wait(lock, [&] { return job.inside == 0; });
  }

  [[noreturn]] void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      Job* job = nullptr;
      work_.wait(lock, [&] {
        // Of an earlier time there may be more threads than are wanted now.
        if (busy_ + 1 >= thread_count()) return false;
        const auto found =
            std::find_if(jobs_.begin(), jobs_.end(), [](const Job* j) { return j->has_room(); });
        if (found != jobs_.end()) job = *found;
        return job != nullptr;
      });
      const std::size_t worker = job->workers++;
      ++job->inside;
      ++busy_;
      lock.unlock();
      job->take_part(worker);
      lock.lock();
      --busy_;
      if (--job->inside == 0) done_.notify_all();
    }
  }

  inline static Pool* pool = nullptr;
  std::mutex mutex_;
  std::condition_variable work_, done_;
  std::list<Job*> jobs_;  // the oldest first
  std::size_t threads_ = 0, busy_ = 0;
};

}  // namespace

unsigned thread_count() {
  return wanted != 0 ? wanted.load() : std::max(1u, std::thread::hardware_concurrency());
}

void use_threads(unsigned count) { wanted = count; }

void in_parallel(std::size_t count, const std::function<void(std::size_t, std::size_t)>& work) {
  Job job(count, work);
  Pool::get().run(job);
  job.rethrow();
}

}  // namespace gh
