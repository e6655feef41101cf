// Assigns each nanosecond of a step to a cause. A sweep over a device's operations in order of
// start assigns each moment to the first cause that is active (class Causes has their order). Where
// none is active, the device is idle, and idle_causes.cpp finds out why. Several threads sweep
// chunks of a device's time, and the results are put together in order.
#include "analysis/account.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "analysis/chunks.hpp"
#include "analysis/idle_causes.hpp"
#include "base/deadline.hpp"
#include "base/parallel.hpp"
#include "base/span_cursor.hpp"

namespace gh {
namespace {

// Decides which of several causes that are active at once gets the time: the one with the lowest
// rank whose latest end has not passed.
class Sweep {
 public:
  // Calls `claim(span, rank)` for every span of time in order, with rank `idle` where nothing was
  // active.
  static constexpr std::size_t idle = std::numeric_limits<std::size_t>::max();

  explicit Sweep(Ns start) : now_(start) {}

  template <class Claim>
  void begin(Span s, std::size_t rank, Claim claim) {
    advance(s.start, claim);
    if (s.end <= now_) return;
    const auto it = std::find_if(active_.begin(), active_.end(),
                                 [&](const Active& a) { return a.rank >= rank; });
    if (it != active_.end() && it->rank == rank)
      it->end = std::max(it->end, s.end);
    else
      active_.insert(it, {rank, s.end});
  }

  template <class Claim>
  void advance(Ns to, Claim claim) {
    while (now_ < to) {
      while (!active_.empty() && active_.front().end <= now_) active_.erase(active_.begin());
      const Ns until = active_.empty() ? to : std::min(to, active_.front().end);
      claim(Span{now_, until}, active_.empty() ? idle : active_.front().rank);
      now_ = until;
    }
  }

 private:
  struct Active {
    std::size_t rank;
    Ns end;
  };
  std::vector<Active> active_;  // by rank; seldom more than two
  Ns now_;
};

// The account of a chunk.
struct ChunkAccount {
  std::size_t first_step = 0;
  std::vector<Ns> step_ns;  // a row of causes for each step that the chunk touches
  std::vector<Idle> idle;
  // Steps in which only an upload suggests that a pause was input.
  std::vector<std::size_t> with_upload;
  Ns idle_ns = 0, longest_idle_ns = 0;
  std::size_t idle_at = 0, causes_at = 0;  // where its idle spans and their causes are put

  void clear(std::size_t first, std::size_t rows) {
    first_step = first;
    step_ns.assign(rows, 0);
    idle.clear();
    with_upload.clear();
    idle_ns = longest_idle_ns = 0;
  }
};

// Sweeps a chunk of a device's time.
class ChunkSweep {
 public:
  ChunkSweep(const Trace& trace, const Causes& causes, const Crews& crews,
             const IdleCauses& idle_causes, const DeviceSteps& device, const Spans& window,
             const OffloadedSizes& offloaded, const Chunk& chunk, IdleCauses::Places& places,
             ChunkAccount& out)
      : trace_(trace),
        causes_(causes),
        crews_(crews),
        idle_causes_(idle_causes),
        device_(device),
        offloaded_(offloaded),
        chunk_(chunk),
        places_(places),
        out_(out),
        first_step_(device.step_at(chunk.span.start)),
        busy_in_(device.steps, chunk.span.start),
        idle_in_(device.steps, chunk.span.start),
        in_window_(window, chunk.span.start),
        sweep_(chunk.span.start),
        next_fault_(chunk.first_fault),
        next_op_(chunk.first_op),
        previous_(chunk.previous) {
    const std::size_t end = std::min(device.step_at(chunk.span.end - 1) + 1, device.steps.size());
    out.clear(first_step_, (end - first_step_) * causes.count());
  }

  void run() {
    const auto claim = [this](Span s, std::size_t cause) { this->claim(s, cause); };
    for (std::size_t i = chunk_.first_op; i < device_.ops.size(); ++i) {
      const Span op = trace_.span_of(device_.ops[i]);
      if (op.start >= chunk_.span.end) break;
      begin_faults(op.start);
      sweep_.begin(op, causes_.of(device_.ops[i]), claim);
    }
    begin_faults(chunk_.span.end - 1);
    sweep_.advance(chunk_.span.end, claim);
    end_pause();
    while (!lacking_.empty() && next_op_ < device_.ops.size()) pass(device_.ops[next_op_]);
    explain_lacking(no_row);
  }

 private:
  // A pause ended by an operation after which the device may still lack the main crew's work.
  struct Lack {
    Span pause;
    Row previous = no_row, next = no_row;
  };

  void begin_faults(Ns until) {
    const GpuFaults& faults = trace_.gpu_faults;
    for (; next_fault_ < faults.size() && faults.start[next_fault_] <= until; ++next_fault_)
      if (faults.device[next_fault_] == device_.device)
        sweep_.begin({faults.start[next_fault_], faults.end[next_fault_]}, Causes::um_stall,
                     [this](Span s, std::size_t cause) { this->claim(s, cause); });
  }

  void claim(Span s, std::size_t cause) {
    if (cause != Sweep::idle) {
      add(busy_in_, s, cause);
    } else if (pause_.length() > 0 && pause_.end == s.start) {
      pause_.end = s.end;
    } else {
      end_pause();
      pause_ = s;
    }
  }

  void add(SpanCursor<Step>& cursor, Span s, std::size_t cause) {
    cursor.each(s, [&](std::size_t step, Span part) {
      out_.step_ns[(step - first_step_) * causes_.count() + cause] += part.length();
    });
  }

  // Assigns causes to the part of the pause that lies within steps.
  void end_pause() {
    if (pause_.length() <= 0) return;
    in_window_.each(pause_, [this](std::size_t, Span part) { explain(part); });
  }

  // Every pause lies between two operations of the device; the launch of the later one shows what
  // the host did.
  void explain(Span pause) {
    out_.idle_ns += pause.length();
    out_.longest_idle_ns = std::max(out_.longest_idle_ns, pause.length());
    while (next_op_ < device_.ops.size() && trace_.ops.start[device_.ops[next_op_]] < pause.end)
      pass(device_.ops[next_op_]);
    const Row next = next_op_ < device_.ops.size() ? device_.ops[next_op_] : no_row;
    const bool beside = next != no_row && crews_.is_beside(next);
    if (!beside && lacking_.empty())
      return give_causes({.span = pause, .previous = previous_, .next = next}, {&pause, 1});
    if (lacking_.empty()) before_lack_ = main_before(next_op_);
    lacking_.push_back({pause, previous_, next});
    if (!beside) explain_lacking(next);
  }

  void pass(Row op) {
    if (previous_ == no_row || trace_.ops.end[op] >= trace_.ops.end[previous_]) previous_ = op;
    if (!lacking_.empty() && !crews_.is_beside(op)) explain_lacking(op);
    ++next_op_;
  }

  // The last operation before a place that the main crew launched, or no_row.
  Row main_before(std::size_t place) const {
    while (place > 0 && crews_.is_beside(device_.ops[place - 1])) --place;
    return place > 0 ? device_.ops[place - 1] : no_row;
  }

  // The main crew resumes with `next`. If it launched `next` only after the device had gone idle
  // again, the operations that others launched in between did not delay it: the device lacked work
  // from the main crew all that time. This holds unless the others kept the device busy for most of
  // the time.
  void explain_lacking(Row next) {
    const Row launch = next == no_row ? no_row : trace_.ops.call[next];
    std::vector<Span> idle;
    Ns idle_ns = 0;
    for (std::size_t i = 0; launch != no_row && i < lacking_.size(); ++i) {
      const bool last = i + 1 == lacking_.size();
      if (lacking_[i].next != next &&
          (last || trace_.calls.end[launch] <= lacking_[i + 1].pause.start))
        break;
      idle.push_back(lacking_[i].pause);
      idle_ns += idle.back().length();
    }
    std::size_t joined = idle.size();
    if (joined > 0) {
      const Ns start = before_lack_ == no_row
                           ? idle.front().start
                           : std::min(idle.front().start, trace_.ops.end[before_lack_]);
      const Span lack{start, idle.back().end};
      if (2 * idle_ns < lack.length())
        joined = 0;
      else
        give_causes({.span = lack, .previous = before_lack_, .next = next}, idle);
    }
    for (; joined < lacking_.size(); ++joined) {
      const Lack& l = lacking_[joined];
      give_causes({.span = l.pause, .previous = l.previous, .next = l.next}, {&l.pause, 1});
    }
    lacking_.clear();
  }

  void give_causes(const Idle& pause, std::span<const Span> idle) {
    const std::size_t first = out_.idle.size();
    idle_causes_.explain(pause, idle, device_.steps, offloaded_, places_, out_.idle);
    for (std::size_t i = first; i < out_.idle.size(); ++i) {
      const Idle& piece = out_.idle[i];
      add(idle_in_, piece.span, causes_.of(piece.cause));
      if (piece.by_upload) out_.with_upload.push_back(device_.step_at(piece.span.start));
    }
  }

  const Trace& trace_;
  const Causes& causes_;
  const Crews& crews_;
  const IdleCauses& idle_causes_;
  const DeviceSteps& device_;
  const OffloadedSizes& offloaded_;
  const Chunk& chunk_;
  IdleCauses::Places& places_;
  ChunkAccount& out_;

  const std::size_t first_step_;
  SpanCursor<Step> busy_in_, idle_in_;
  SpanCursor<Span> in_window_;
  Sweep sweep_;
  Row next_fault_;
  Span pause_;                 // the current one, or the last
  std::size_t next_op_;        // the first operation after the last explained pause
  Row previous_;               // of the earlier operations, the one that ended last
  std::vector<Lack> lacking_;  // pauses since an operation of the main crew
  Row before_lack_ = no_row;   // that operation of the main crew
};

// Builds an account: assumes that every device is busy for its whole window, then adds the results
// of the chunks.
class AccountBuilder {
 public:
  AccountBuilder(const Trace& trace, const Classes& classes, const NameClasses& names,
                 const std::vector<DeviceSteps>& devices, const std::vector<Row>& failed)
      : trace_(trace),
        causes_(trace, classes, names),
        crews_(trace),
        idle_causes_(trace, names, crews_, failed),
        devices_(devices),
        offloaded_(devices.size()),
        with_upload_(devices.size()) {
    account_.causes = causes_.all();
    account_.kinds.assign(account_.causes.begin(), account_.causes.end());
  }

  Account build(std::size_t chunk_size) {
    for (std::size_t d = 0; d < devices_.size(); ++d) begin_device(d, chunk_size);
    std::size_t ops = 0;
    for (const DeviceSteps& d : devices_) ops += d.ops.size();
    // Memory that is reserved and not used is never touched, so it costs nothing.
    account_.idle_causes.reserve(3 * ops);

    // A few chunks at a time: their results fit into caches and are stored before the next chunks
    // are swept.
    std::vector<IdleCauses::Places> places(std::min<std::size_t>(thread_count(), chunks_.size()),
                                           idle_causes_.places());
    std::vector<ChunkAccount> batch(std::min(std::size_t{2} * thread_count(), chunks_.size()));
    for (std::size_t first = 0; first < chunks_.size(); first += batch.size()) {
      batch.resize(std::min(batch.size(), chunks_.size() - first));
      in_parallel(batch.size(), [&](std::size_t i, std::size_t worker) {
        go_through(chunks_[first + i], places[worker], batch[i]);
      });
      put(batch, first);
    }
    for (std::size_t d = 0, idle = 0; d < devices_.size(); ++d) {
      charge_waits(account_.devices[d].idle);
      take_back_rare_uploads(d, idle);
      idle += account_.devices[d].idle.size();
    }
    return std::move(account_);
  }

 private:
  void begin_device(std::size_t device, std::size_t chunk_size) {
    check_time();
    const std::vector<Step>& steps = devices_[device].steps;
    std::vector<Span> spans;
    for (const Step& s : steps) spans.push_back(s.span);
    DeviceAccount& d = account_.devices.emplace_back();
    d.window = united(std::move(spans));
    d.busy_ns = d.window_ns = total(d.window);
    d.step_ns = {steps.size(), causes_.count()};
    with_upload_[device].resize(steps.size());
    if (d.window.empty()) return;
    ChunkedDevice chunked = cut_into_chunks(chunk_size, trace_, crews_, devices_, device,
                                            {d.window.front().start, d.window.back().end});
    chunks_.insert(chunks_.end(), chunked.chunks.begin(), chunked.chunks.end());
    offloaded_[device] = std::move(chunked.offloaded);
  }

  void go_through(const Chunk& chunk, IdleCauses::Places& places, ChunkAccount& out) const {
    ChunkSweep(trace_, causes_, crews_, idle_causes_, devices_[chunk.device],
               account_.devices[chunk.device].window, offloaded_[chunk.device], chunk, places, out)
        .run();
  }

  // Sums are added one after the other. The idle spans, of which there are many, are stored in
  // parallel once their places are known.
  void put(std::vector<ChunkAccount>& batch, std::size_t first_chunk) {
    std::size_t causes_at = account_.idle_causes.size();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const std::size_t device = chunks_[first_chunk + i].device;
      add_sums(batch[i], device);
      batch[i].idle_at = account_.devices[device].idle.grow(batch[i].idle.size());
      batch[i].causes_at = causes_at;
      causes_at += batch[i].idle.size();
    }
    account_.idle_causes.resize(causes_at);
    in_parallel(batch.size(), [&](std::size_t i, std::size_t) {
      const ChunkAccount& c = batch[i];
      account_.devices[chunks_[first_chunk + i].device].idle.put(c.idle_at, c.idle);
      std::transform(c.idle.begin(), c.idle.end(),
                     account_.idle_causes.begin() + static_cast<std::ptrdiff_t>(c.causes_at),
                     [](const Idle& piece) { return piece.cause; });
    });
  }

  void add_sums(const ChunkAccount& c, std::size_t device) {
    DeviceAccount& d = account_.devices[device];
    for (std::size_t k = 0; k < c.step_ns.size(); ++k)
      d.step_ns.add(c.first_step + k / causes_.count(), k % causes_.count(), c.step_ns[k]);
    for (const std::size_t step : c.with_upload)
      if (step < with_upload_[device].size()) with_upload_[device][step] = true;
    d.busy_ns -= c.idle_ns;
    d.longest_idle_ns = std::max(d.longest_idle_ns, c.longest_idle_ns);
  }

  // Without a wait the host would have been ahead by as much as the wait took, and no more. So up
  // to that amount of the time for which the host then keeps the GPU waiting is blamed on the wait.
  void charge_waits(IdleList& idle) const {
    Row wait = no_row;
    Ns left = 0;  // time of the waits that is still to be charged
    for (std::size_t i = 0; i < idle.size(); ++i) {
      Idle& piece = idle[i];
      if (piece.cause == IdleCause::sync) {
        if (piece.call != wait) left += waited_ns(trace_, piece.call, piece.previous);
        wait = piece.call;
        left = std::max<Ns>(0, left - piece.span.length());
      } else if (would_be_ahead(piece) && piece.span.length() <= left &&
                 same_process(piece.thread, trace_.calls.thread[wait])) {
        piece.drained = true;
        piece.call = wait;
        left -= piece.span.length();
      }
    }
  }

  static bool would_be_ahead(const Idle& piece) {
    return piece.cause == IdleCause::launch || piece.cause == IdleCause::launch_latency ||
           piece.cause == IdleCause::input;
  }

  bool same_process(std::uint16_t a, std::uint16_t b) const {
    return trace_.threads[a].process == trace_.threads[b].process;
  }

  // An upload after a pause proves little where only a few steps have such a pause: the host was
  // probably doing something else.
  void take_back_rare_uploads(std::size_t device, std::size_t first_idle) {
    const std::vector<bool>& with_upload = with_upload_[device];
    const auto count =
        static_cast<std::size_t>(std::count(with_upload.begin(), with_upload.end(), true));
    if (count == 0 || 2 * count >= with_upload.size()) return;
    DeviceAccount& d = account_.devices[device];
    SpanCursor cursor(devices_[device].steps);
    for (std::size_t k = 0; k < d.idle.size(); ++k) {
      Idle& idle = d.idle[k];
      if (!idle.by_upload) continue;
      idle.cause = account_.idle_causes[first_idle + k] = IdleCause::unknown;
      idle.inferred = idle.by_upload = false;
      cursor.each(idle.span, [&](std::size_t step, Span part) {
        d.step_ns.add(step, causes_.of(IdleCause::input), -part.length());
        d.step_ns.add(step, causes_.of(IdleCause::unknown), part.length());
      });
    }
  }

  const Trace& trace_;
  const Causes causes_;
  const Crews crews_;
  const IdleCauses idle_causes_;
  const std::vector<DeviceSteps>& devices_;
  std::vector<Chunk> chunks_;                   // ordered by device
  std::vector<OffloadedSizes> offloaded_;       // by device
  std::vector<std::vector<bool>> with_upload_;  // by device and step, as in ChunkAccount
  Account account_;
};

}  // namespace

std::vector<Ns> time_by_cause(std::vector<BusySpan> work, Span within, std::size_t causes) {
  std::sort(work.begin(), work.end(),
            [](const BusySpan& a, const BusySpan& b) { return a.span.start < b.span.start; });
  std::vector<Ns> ns(causes);
  const auto claim = [&](Span s, std::size_t cause) {
    if (cause != Sweep::idle) ns[cause] += s.length();
  };
  Sweep sweep(within.start);
  for (const BusySpan& w : work)
    sweep.begin({std::clamp(w.span.start, within.start, within.end),
                 std::clamp(w.span.end, within.start, within.end)},
                w.cause, claim);
  sweep.advance(within.end, claim);
  return ns;
}

Ns Account::total_ns(const std::string& cause) const {
  const auto it = std::find(causes.begin(), causes.end(), cause);
  return total_ns(static_cast<std::size_t>(it - causes.begin()));
}

Ns Account::total_ns(const Cause& cause) const {
  const auto it = std::find(kinds.begin(), kinds.end(), cause);
  return total_ns(static_cast<std::size_t>(it - kinds.begin()));
}

Ns Account::total_ns(std::size_t cause) const {
  Ns sum = 0;
  for (const DeviceAccount& d : devices) sum += d.step_ns.total_ns(cause);
  return sum;
}

Ns Account::total_ns() const {
  Ns sum = 0;
  for (const DeviceAccount& d : devices) sum += d.window_ns;
  return sum;
}

Account make_account(const Trace& trace, const Classes& classes, const NameClasses& names,
                     const std::vector<DeviceSteps>& devices, const std::vector<Row>& failed,
                     std::size_t chunk_size) {
  return AccountBuilder(trace, classes, names, devices, failed).build(chunk_size);
}

}  // namespace gh
