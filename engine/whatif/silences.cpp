// Waits by elimination, as Chow et al. find causes in traces (The Mystery Machine, OSDI 2014): each
// hypothesis about what ends a silence predicts when it ends, and repetitions refute it.
//
// A silence from b to e is own work of its usual length (e = b + L), or it waited for X, which
// ended at x: e = x + d if x > b, and b + own otherwise. X is the n-th operation of a name on a
// stream or the n-th call of a name by another thread, of this repetition or one of its neighbors;
// what had been launched last, when the silence began, on a stream, a device or by a process; or
// the last operation of a device, a process or the job in a repetition.
//
// With hundreds of events in a step some X fits any plain work by chance. So both hypotheses learn
// L, d and own on one half of the repetitions and are judged by how far off their ends are on the
// other half, and the other way around. For errors as Laplace distributed them, O and W on average
// over m repetitions, m ln(O / W) is the evidence that it waited; by chance it exceeds v for one
// candidate in e^v, so that N candidates that no repetition refutes need
// ln(N / accepted_by_chance). Where X and the silence's
// begin do not vary apart by more than d does, O is no larger than W, and there is no verdict. The
// error of the clocks counts to W. What slows all that a thread does looks like a cause, too, so L
// may as well grow with the thread's short pauses. One repetition in eight may contradict: a row
// may be lost, a wait may have timed out.
#include "whatif/silences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analysis/launch_times.hpp"
#include "base/deadline.hpp"
#include "base/spans.hpp"
#include "whatif/graph.hpp"

namespace gh {
namespace {

constexpr double accepted_by_chance = 0.03;
// Two for each half.
constexpr std::size_t least_ends = 4;
// What may contradict: one in this many.
constexpr std::size_t one_exception_in = 8;
// The longest silences, and of events those that end last before a silence does.
constexpr Ns least_of_repetition = 500;  // shorter ones change no forecast
constexpr std::size_t most_silences = 128, most_events = 128, most_streams = 16;
// How many repetitions before this one X may be, as in a queue of two; or after it, where threads
// are cut into repetitions at different places.
constexpr int most_before = 2, most_after = 1;
// Where the candidates are looked for: those that never end within the silence there are none.
constexpr std::size_t looked_at = 2;
// Ends that differ by less than this factor do not tell a cause from what it causes.
constexpr double alike = 1.5;
// A thread wakes up with an error of at most this, and what it does after that varies by a fourth:
// in recordings of 258 programs 288 of 292 waits do. NumPy that ends when the GPU happens to end,
// 364 us.
constexpr double wakes_ns = 100'000;
// Of a time on one clock.
constexpr double least_error_ns = 1'000;
constexpr Ns no_time = std::numeric_limits<Ns>::min();
constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

std::uint64_t key_of(std::uint64_t kind, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  std::uint64_t h = 1;
  for (const std::uint64_t x : {kind, a, b, c}) {
    h = (h + x) * 0x9E3779B97F4A7C15;
    h ^= h >> 29;
  }
  return h;
}

// Rows of the same kind and place in the repetition, one of each repetition at most.
class Recurring {
 public:
  struct Event {
    Row row = no_row;
    std::uint16_t repetition = 0;
    std::uint32_t next = none;  // in a later repetition
    std::uint32_t of = 0;       // its class
    Ns start = 0, end = 0;
    Ns silent_since = no_time;  // calls: end of the thread's call before
  };
  void add(std::uint64_t key, Event e) {
    Kind& kind = kinds_[key];
    if (kind.repetition != e.repetition) kind = {e.repetition, 0, std::move(kind.classes)};
    if (kind.count == kind.classes.size()) {
      kind.classes.push_back(static_cast<std::uint32_t>(first_.size()));
      first_.push_back(none);
      last_.push_back(none);
    }
    e.of = kind.classes[kind.count++];
    const auto at = static_cast<std::uint32_t>(events.size());
    (first_[e.of] == none ? first_[e.of] : events[last_[e.of]].next) = at;
    last_[e.of] = at;
    events.push_back(e);
  }
  std::size_t classes() const { return first_.size(); }
  template <class Take>
  void each_of(std::uint32_t of, Take take) const {
    for (std::uint32_t e = first_[of]; e != none; e = events[e].next) take(events[e]);
  }

  std::vector<Event> events;

 private:
  struct Kind {
    std::uint16_t repetition = no_index;
    std::uint32_t count = 0;
    std::vector<std::uint32_t> classes;  // by how-many-eth in the repetition
  };
  std::unordered_map<std::uint64_t, Kind> kinds_;
  std::vector<std::uint32_t> first_, last_;
};

// What a silence may have waited for.
struct Candidate {
  enum Of : std::uint8_t { operation, launched_last, last_of_repetition, call } of = operation;
  int before = 0;  // how many repetitions
  std::uint32_t at = 0;
  auto operator<=>(const Candidate&) const = default;
};

struct Cause {
  Row row = no_row;
  Ns end = no_time;
};

// How well a candidate and own work tell when a silence ends.
struct Fit {
  double wait_error = 0, own_error = 0;
  double evidence = 0, against = 0;  // that it waited, and that it did not
  Ns after = 0, own = 0;
  bool in_both_halves = false;
};

class Elimination {
 public:
  Elimination(const Trace& t, const KnownOfSilences& known) : t_(t), known_(known) {
    for (const std::vector<Ns>& begins : known.begins)
      if (!begins.empty()) repetitions_ = begins.size() - 1;
    if (repetitions_ < least_repetitions_of_silence) return;
    for (const std::vector<Ns>& begins : known.begins)
      if (!begins.empty())
        window_ = {std::min(window_.start, begins.front()), std::max(window_.end, begins.back())};
    const std::vector<Call> calls = outermost_calls();
    name_threads(calls);
    add_calls(calls);
    add_ops();
  }

  std::vector<Silence> judged() {
    if (calls_.events.empty()) return {};
    std::vector<Silence> found = longest();
    sort_ends(found);
    for (Silence& s : found) {
      check_time();
      judge(s);
    }
    return found;
  }

 private:
  std::uint16_t repetition_of(std::uint16_t process, Ns time) const {
    const std::vector<Ns>& begins = known_.begins[process];
    const auto next = std::upper_bound(begins.begin(), begins.end(), time);
    return next == begins.begin() || next == begins.end()
               ? no_index
               : static_cast<std::uint16_t>(next - begins.begin() - 1);
  }
  struct Call {
    Row row;
    std::uint16_t repetition;
  };

  // Those that are not nested in another one.
  std::vector<Call> outermost_calls() const {
    std::vector<Call> calls;
    std::vector<Ns> until(t_.threads.size(), no_time);
    const auto first =
        std::lower_bound(t_.calls.start.begin(), t_.calls.start.end(), window_.start);
    for (auto c = static_cast<Row>(first - t_.calls.start.begin());
         c < t_.calls.size() && t_.calls.start[c] < window_.end; ++c) {
      Ns& end = until[t_.calls.thread[c]];
      if (t_.calls.end[c] <= end) continue;
      const std::uint16_t repetition =
          repetition_of(t_.threads[t_.calls.thread[c]].process, t_.calls.start[c]);
      if (repetition == no_index) continue;
      end = t_.calls.end[c];
      calls.push_back({c, repetition});
    }
    return calls;
  }

  // A thread that lives for a repetition goes by its first call and by how many came before it.
  void name_threads(const std::vector<Call>& calls) {
    role_.assign(t_.threads.size(), 0);
    born_.assign(t_.threads.size(), no_row);
    usual_before_.assign(t_.threads.size(), 0);
    struct Life {
      std::uint16_t first = no_index, last = 0;
      Row call = no_row;
    };
    std::vector<Life> lives(t_.threads.size());
    for (const auto& [c, repetition] : calls) {
      const std::uint16_t thread = t_.calls.thread[c];
      Life& life = lives[thread];
      life.last = repetition;
      if (life.call == no_row) life = {repetition, repetition, c};
      if (repetition == life.first) usual_before_[thread] = t_.calls.name[c];
    }
    std::vector<std::uint16_t> born;
    actor_.resize(lives.size());
    for (std::uint16_t thread = 0; thread < lives.size(); ++thread) {
      actor_[thread] = key_of(1, thread, 0, 0);
      if (lives[thread].call != no_row && lives[thread].last - lives[thread].first <= 1)
        born.push_back(thread);
    }
    std::sort(born.begin(), born.end(),
              [&](std::uint16_t x, std::uint16_t y) { return lives[x].call < lives[y].call; });
    std::unordered_map<std::uint64_t, std::pair<std::uint16_t, std::uint32_t>> count;
    for (const std::uint16_t thread : born) {
      const Row c = lives[thread].call;
      const std::uint64_t role = key_of(2, t_.threads[thread].process, t_.calls.name[c], 0);
      auto& [repetition, before] = count[role];
      if (repetition != lives[thread].first) before = 0;
      repetition = lives[thread].first;
      actor_[thread] = key_of(role, before++, 0, 0);
      role_[thread] = role;
      born_[thread] = c;
    }
  }

  // By the name of the thread's call before and their own; what comes before the first is taken to
  // be what ends a repetition.
  void add_calls(const std::vector<Call>& calls) {
    std::vector<Row> last(t_.threads.size(), no_row);
    hangs_.resize(t_.threads.size());
    pauses_.resize(t_.threads.size());
    calls_.events.reserve(calls.size());
    for (const auto& [c, repetition] : calls) {
      const std::uint16_t thread = t_.calls.thread[c];
      const Row before = std::exchange(last[thread], c);
      const Span in{t_.calls.start[c], t_.calls.end[c]};
      if (in.length() >= least_silence_ns) hangs_[thread].push_back(in);
      const bool is_born = c == born_[thread];
      // Since when a thread that is born worked is unknown: since the repetition began at most.
      const Ns since = is_born            ? known_.begins[t_.threads[thread].process][repetition]
                       : before == no_row ? no_time
                                          : std::min(t_.calls.end[before], in.start);
      calls_.add(key_of(actor_[thread],
                        is_born            ? none
                        : before == no_row ? usual_before_[thread]
                                           : t_.calls.name[before],
                        t_.calls.name[c], 0),
                 {c, repetition, none, 0, in.start, in.end, since});
      if (before == no_row || in.start - since >= least_silence_ns) continue;
      std::vector<Ns>& pauses = pauses_[thread];
      pauses.resize(repetitions_);
      pauses[repetition] += in.start - since;
    }
    for (const std::vector<Ns>& pauses : pauses_) usual_pauses_.push_back(median(pauses));
  }

  // How long the thread's short pauses took in a repetition, relative to the others: a machine or a
  // lock slows all that a thread does.
  double pace(const Silence::At& at) const {
    const std::uint16_t thread = t_.calls.thread[at.call];
    const std::vector<Ns>& pauses = pauses_[thread];
    if (pauses.empty() || pauses[at.repetition] <= 0 || usual_pauses_[thread] <= 0) return 1;
    return static_cast<double>(pauses[at.repetition]) / static_cast<double>(usual_pauses_[thread]);
  }

  void add_ops() {
    launched_.resize(t_.streams.size());
    last_of_.resize(sets() * repetitions_);
    std::vector<std::size_t> count(t_.streams.size());
    const auto first = std::lower_bound(t_.ops.start.begin(), t_.ops.start.end(), window_.start);
    for (auto op = static_cast<Row>(first - t_.ops.start.begin());
         op < t_.ops.size() && t_.ops.start[op] < window_.end; ++op) {
      if (is_unified(t_.ops.copy[op])) continue;
      const std::uint32_t stream = t_.ops.stream[op];
      const std::uint16_t process = t_.streams[stream].process;
      if (known_.begins[process].empty()) continue;
      const Ns launched = launched_at(t_, op);
      launched_[stream].emplace_back(launched, op);
      const std::uint16_t repetition = repetition_of(process, launched);
      if (repetition == no_index) continue;
      ++count[stream];
      ops_.add(key_of(stream, t_.ops.name[op], static_cast<std::uint64_t>(t_.ops.copy[op]), 0),
               {op, repetition, none, 0, t_.ops.start[op], t_.ops.end[op]});
      for (const std::uint32_t set :
           {set_of_device(t_.streams[stream].device), set_of_process(process), std::uint32_t{0}}) {
        Cause& last = last_of_[set * repetitions_ + repetition];
        if (t_.ops.end[op] > last.end) last = {op, t_.ops.end[op]};
      }
    }
    for (std::uint32_t s = 0; s < count.size(); ++s)
      if (count[s] >= repetitions_) streams_.push_back(s);
    std::stable_sort(streams_.begin(), streams_.end(),
                     [&](std::uint32_t x, std::uint32_t y) { return count[x] > count[y]; });
    if (streams_.size() > most_streams) streams_.resize(most_streams);
    for (auto& list : launched_) std::sort(list.begin(), list.end());
  }

  // Numbers of sets of streams: the job, devices, processes.
  std::uint32_t set_of_device(std::uint16_t device) const { return 1 + device; }
  std::uint32_t set_of_process(std::uint16_t process) const {
    return 1 + static_cast<std::uint32_t>(t_.devices.size()) + process;
  }
  bool in_set(std::uint32_t stream, std::uint32_t set) const {
    return set == 0 || set == set_of_device(t_.streams[stream].device) ||
           set == set_of_process(t_.streams[stream].process);
  }
  std::uint32_t sets() const {
    return set_of_process(static_cast<std::uint16_t>(t_.processes.size()));
  }

  // Of what ended during silences, in the repetitions where candidates are looked for.
  void sort_ends(const std::vector<Silence>& silences) {
    for (std::size_t i = 0; i < looked_at; ++i) {
      const auto repetition =
          static_cast<std::uint16_t>((2 * i + 1) * repetitions_ / (2 * looked_at));
      looked_[i] = repetition;
      Span silent{std::numeric_limits<Ns>::max(), no_time};
      for (const Silence& s : silences)
        for (const Silence::At& at : s.at)
          if (at.repetition == repetition)
            silent = {std::min(silent.start, at.start), std::max(silent.end, at.end)};
      const auto take = [&](const Recurring& of, Candidate::Of kind) {
        for (std::uint32_t e = 0; e < of.events.size(); ++e) {
          const Recurring::Event& event = of.events[e];
          const int before = repetition - event.repetition;
          if (before <= most_before && -before <= most_after && event.end > silent.start &&
              event.end <= silent.end + clock_skew_ns)
            ended_[i].push_back({event.end, {kind, before, event.of}, event.row});
        }
      };
      take(ops_, Candidate::operation);
      take(calls_, Candidate::call);
      std::sort(ended_[i].begin(), ended_[i].end(),
                [](const Ended& x, const Ended& y) { return x.end < y.end; });
    }
  }

  std::vector<Silence> longest() const {
    std::vector<std::pair<Ns, Silence>> found;
    const Ns least = std::max(static_cast<Ns>(repetitions_) * least_silence_ns,
                              window_.length() / least_of_repetition);
    for (std::uint32_t c = 0; c < calls_.classes(); ++c)
      for (const bool within_call : {false, true}) {
        std::size_t count = 0;
        Ns sum = 0;
        bool known = false;
        const auto each = [&](auto take) {
          calls_.each_of(c, [&](const Recurring::Event& e) {
            if (within_call)
              take(e, Span{e.start, e.end});
            else if (e.silent_since != no_time)
              take(e, Span{e.silent_since, e.start});
          });
        };
        each([&](const Recurring::Event&, Span span) {
          sum += span.length();
          ++count;
        });
        if (sum < least || count < least_repetitions_of_silence || 2 * count < repetitions_)
          continue;
        Silence s;
        each([&](const Recurring::Event& e, Span span) {
          known = known || (within_call && known_.waits(e.row));
          s.at.push_back({e.repetition, e.row, no_row, span.start, span.end, no_time});
        });
        if (known) continue;
        s.thread = t_.calls.thread[s.at.back().call];
        s.within_call = within_call;
        s.mean_ns = sum / static_cast<Ns>(repetitions_);
        found.emplace_back(sum, std::move(s));
      }
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& x, const auto& y) { return x.first > y.first; });
    if (found.size() > most_silences) found.resize(most_silences);
    std::vector<Silence> silences;
    for (auto& [sum, s] : found) silences.push_back(std::move(s));
    return silences;
  }

  // Not for a call of its own, nor for what the call itself launches, nor, when it is born, for
  // what was born beside it: one cause has both.
  bool may_wait_for(Row call, Row other, bool of_call) const {
    if (other == no_row) return true;
    const std::uint16_t thread = t_.calls.thread[call], by = t_.calls.thread[other];
    if (thread == by) return !of_call && other != call;
    return born_[thread] != call || role_[thread] != role_[by];
  }

  std::vector<Candidate> candidates_of(const Silence& s) const {
    std::vector<Candidate> all;
    bool ends_repetition = false;
    for (std::size_t i = 0; i < looked_at; ++i) {
      const auto at = std::find_if(s.at.begin(), s.at.end(), [&](const Silence::At& a) {
        return a.repetition == looked_[i];
      });
      if (at == s.at.end()) continue;
      const std::vector<Ns>& begins = known_.begins[t_.threads[s.thread].process];
      const auto next = std::lower_bound(begins.begin(), begins.end(), at->start);
      ends_repetition =
          ends_repetition || (next != begins.end() && *next <= 2 * at->end - at->start);
      auto it = std::partition_point(ended_[i].begin(), ended_[i].end(), [&](const Ended& e) {
        return e.end <= at->end + clock_skew_ns;
      });
      for (std::size_t taken = 0; taken < most_events && it != ended_[i].begin();) {
        --it;
        if (it->end <= at->start) break;
        // A call that lasts longer than the silence ends none.
        const bool of_call = it->what.of == Candidate::call;
        if (of_call && (s.within_call || it->end > at->end)) continue;
        if (!may_wait_for(at->call, of_call ? it->row : t_.ops.call[it->row], of_call)) continue;
        all.push_back(it->what);
        ++taken;
      }
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    for (const std::uint32_t stream : streams_)
      all.push_back({Candidate::launched_last, 0, stream});
    for (std::uint32_t set = 0; set < sets(); ++set) {
      const auto of = static_cast<std::uint32_t>(t_.streams.size()) + set;
      all.push_back({Candidate::launched_last, 0, of});
      // What had been launched before a repetition ended is close before a silence that ends it.
      for (int before = -most_after; before <= most_before && !ends_repetition; ++before)
        all.push_back({Candidate::last_of_repetition, before, set});
      if (all.size() > 4 * most_events) break;
    }
    return all;
  }

  // The last operation that a stream had been given before a moment.
  Cause launched_last(std::uint32_t stream, Ns before) const {
    const auto& list = launched_[stream];
    const auto after = std::partition_point(list.begin(), list.end(),
                                            [&](const auto& l) { return l.first < before; });
    if (after == list.begin()) return {};
    const Row op = std::prev(after)->second;
    return {op, t_.ops.end[op]};
  }

  // By repetition of the silence: what ended of this candidate.
  void find_causes(const Silence& s, const Candidate& c, std::vector<Cause>& causes) const {
    causes.assign(s.at.size(), {});
    switch (c.of) {
      case Candidate::operation:
      case Candidate::call: {
        std::size_t i = 0;
        const Recurring& of = c.of == Candidate::call ? calls_ : ops_;
        of.each_of(c.at, [&](const Recurring::Event& e) {
          const int of_silence = e.repetition + c.before;
          if (of_silence < 0) return;
          const auto repetition = static_cast<std::size_t>(of_silence);
          while (i < s.at.size() && s.at[i].repetition < repetition) ++i;
          if (i < s.at.size() && s.at[i].repetition == repetition) causes[i] = {e.row, e.end};
        });
        return;
      }
      case Candidate::launched_last:
        for (std::size_t i = 0; i < s.at.size(); ++i) {
          if (c.at < t_.streams.size()) {
            causes[i] = launched_last(c.at, s.at[i].start);
            continue;
          }
          for (const std::uint32_t stream : streams_)
            if (in_set(stream, c.at - static_cast<std::uint32_t>(t_.streams.size())))
              if (const Cause last = launched_last(stream, s.at[i].start); last.end > causes[i].end)
                causes[i] = last;
        }
        return;
      case Candidate::last_of_repetition:
        for (std::size_t i = 0; i < s.at.size(); ++i) {
          const int of = static_cast<int>(s.at[i].repetition) - c.before;
          if (of >= 0 && of < static_cast<int>(repetitions_))
            causes[i] = last_of_[c.at * repetitions_ + static_cast<std::size_t>(of)];
        }
    }
  }

  // Judges each half of the repetitions in which it would have waited by what the other half tells.
  // False if the candidate is refuted by order, or too little is known.
  // Nothing more is asked once its error is larger than `most`.
  bool fit(const Silence& s, const std::vector<Cause>& causes, int before, double clock_error,
           double most, Fit& f) const {
    struct End {
      std::size_t half;
      double pace;
      Ns length, paced;  // since the silence began, and at the thread's usual pace
      Ns after;          // since what it waited for ended
    };
    std::vector<End> waited;
    std::vector<Ns> rested;
    const std::size_t n = s.at.size(), exceptions = n / one_exception_in;
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const Silence::At& at = s.at[i];
      const Ns end = causes[i].end;
      if (static_cast<int>(at.repetition) < before) continue;  // it would lie before all of them
      if (end == no_time || end > at.end + clock_skew_ns)
        ++wrong;
      else if (end > at.start)
        waited.push_back({at.repetition % 2, pace(at), at.end - at.start,
                          std::llround(static_cast<double>(at.end - at.start) / pace(at)),
                          at.end - end});
      else
        rested.push_back(at.end - at.start);
    }
    if (wrong > exceptions || 2 * waited.size() < n || waited.size() < least_ends) return false;
    const auto usual = [&](std::size_t but, Ns End::*of) {
      std::vector<Ns> all;
      for (const End& e : waited)
        if (e.half != but) all.push_back(e.*of);
      return all.size() < 2 ? no_time : median(std::move(all));
    };
    f.after = usual(2, &End::after);
    f.own = median(rested);
    // Where it had nothing to wait for, it does not last nearly as long.
    for (const Ns length : rested)
      wrong += 4 * (length - f.after) > usual(2, &End::length) - f.after;
    if (wrong > exceptions) return false;
    const auto error = [&](std::size_t of_half, Ns End::*of, std::size_t but) {
      std::vector<double> errors;
      for (const std::size_t half : {0, 1}) {
        if (half != of_half && of_half != 2) continue;
        const Ns told = usual(half, of);
        if (told == no_time) return -1.0;
        for (const End& e : waited)
          if (e.half == half)
            errors.push_back(std::abs(static_cast<double>(e.*of - told)) *
                             (of == &End::paced ? e.pace : 1));
      }
      std::sort(errors.begin(), errors.end());
      if (errors.size() > 3) errors.resize(errors.size() - std::min(but, errors.size() - 3));
      return std::accumulate(errors.begin(), errors.end(), 0.0) /
             static_cast<double>(std::max<std::size_t>(errors.size(), 1));
    };
    const auto own_error = [&](std::size_t of_half) {
      return std::min(error(of_half, &End::length, exceptions),
                      error(of_half, &End::paced, exceptions));
    };
    f.wait_error = error(2, &End::after, exceptions) + clock_error;
    if (f.wait_error < clock_error) return false;
    if (f.wait_error > most) return true;
    f.own_error = own_error(2);
    const auto used = static_cast<double>(waited.size() - std::min(exceptions, waited.size() - 3));
    f.evidence = used * std::log(std::max(f.own_error, 1.0) / f.wait_error);
    f.against = used * std::log(f.wait_error / (f.own_error + clock_error));
    f.in_both_halves = true;
    for (const std::size_t half : {0, 1})
      f.in_both_halves =
          f.in_both_halves && error(half, &End::after, exceptions) + clock_error < own_error(half);
    return true;
  }

  double clock_error(const Candidate& c) const {
    return c.of == Candidate::call
               ? least_error_ns
               : std::max(least_error_ns, static_cast<double>(known_.clock_error_ns));
  }

  void judge(Silence& s) {
    const std::vector<Candidate> candidates = candidates_of(s);
    std::vector<Cause> causes;
    std::vector<std::pair<Candidate, Fit>> fits;
    double best = std::numeric_limits<double>::max();
    for (const Candidate& c : candidates) {
      find_causes(s, c, causes);
      Fit f;
      if (!fit(s, causes, c.before, clock_error(c), alike * best, f)) continue;
      best = std::min(best, f.wait_error);
      fits.emplace_back(c, f);
    }
    judge_handover(s);
    if (fits.empty()) return;
    // Of what tells the end about as well, the cause and not what it causes.
    const std::pair<Candidate, Fit>*call = nullptr, *chosen = nullptr;
    const auto rank = [](const std::pair<Candidate, Fit>& x) {
      return std::tuple(std::abs(x.first.before), x.second.after, x.first.of, x.first.at);
    };
    const auto choose = [&](auto& so_far, const auto& x) {
      if (x.second.wait_error <= alike * best && (!so_far || rank(x) < rank(*so_far))) so_far = &x;
    };
    for (const auto& x : fits)
      if (x.first.of == Candidate::call) choose(call, x);
    for (const auto& x : fits)
      if (x.first.of != Candidate::call && !(call && are_of_one_thread(s, call->first, x.first)))
        choose(chosen, x);
    // A thread in no call is woken by another one, not by the GPU: by the one that was in a call
    // until the operation was done.
    const bool woken = chosen && call && !s.within_call && waits_for(s, call->first, chosen->first);
    if (!chosen || woken) chosen = call;
    if (!chosen) return;
    const auto& [c, f] = *chosen;
    // A thread that wakes up does not do so at any time.
    const bool wakes = f.wait_error <= wakes_ns + static_cast<double>(f.after) / 4;
    const double needed = std::log(static_cast<double>(fits.size()) / accepted_by_chance);
    // Own work is as good as proved where no candidate comes near.
    if (f.in_both_halves && f.evidence >= needed && f.own_error >= 2 * f.wait_error && wakes &&
        s.mean_ns - f.after >= least_silence_ns)
      s.ends = SilenceEnd::waited;
    else if (wakes && f.against < std::log(1 / accepted_by_chance) && 2 * f.after <= s.mean_ns)
      s.ends = SilenceEnd::may_wait;
    else
      return;
    find_causes(s, c, causes);
    s.by_operation = c.of != Candidate::call;
    s.after_ns = f.after;
    s.own_ns = f.own;
    s.error_ns = std::llround(f.wait_error);
    for (std::size_t i = 0; i < s.at.size(); ++i) {
      s.at[i].cause = causes[i].row;
      s.at[i].cause_end = causes[i].end;
    }
    s.what_for = in_words(c, causes);
  }

  // Whether test(call, operation) holds in most repetitions.
  template <class Test>
  bool mostly(const Silence& s, const Candidate& call, const Candidate& operation,
              Test test) const {
    std::vector<Cause> calls, ops;
    find_causes(s, call, calls);
    find_causes(s, operation, ops);
    std::size_t so = 0, both = 0;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (calls[i].row == no_row || ops[i].row == no_row) continue;
      ++both;
      so += test(calls[i].row, ops[i].row);
    }
    return 2 * so > both;
  }

  // Whether an operation is what the thread of a call did before, and that call did not wait for
  // it: the thread was in no call that may have waited when the operation ended.
  bool are_of_one_thread(const Silence& s, const Candidate& call,
                         const Candidate& operation) const {
    return mostly(s, call, operation, [&](Row c, Row op) {
      const Row launch = t_.ops.call[op];
      const std::uint16_t thread = t_.calls.thread[c];
      return launch != no_row && t_.calls.thread[launch] == thread && launch <= c &&
             !(t_.ops.end[op] <= t_.calls.end[c] && hangs(thread, t_.ops.end[op]));
    });
  }

  // Whether the thread of a call was in it when an operation ended.
  bool waits_for(const Silence& s, const Candidate& call, const Candidate& operation) const {
    return mostly(s, call, operation, [&](Row c, Row op) {
      return t_.calls.start[c] < t_.ops.end[op] &&
             t_.ops.end[op] <= t_.calls.end[c] + clock_skew_ns;
    });
  }

  // Whether a thread is then within a call for long.
  bool hangs(std::uint16_t thread, Ns then) const {
    const std::vector<Span>& in = hangs_[thread];
    const auto at =
        std::partition_point(in.begin(), in.end(), [&](Span span) { return span.end < then; });
    return at != in.end() && at->start <= then;
  }

  // Whether its usual length tells its end far better than the call after which another thread is
  // said to have handed over.
  void judge_handover(Silence& s) const {
    if (s.within_call) return;
    Silence handed = s;
    handed.at.clear();
    std::vector<Cause> causes;
    for (const Silence::At& at : s.at)
      if (const Row call = known_.handed_over(at.call); call != no_row) {
        handed.at.push_back(at);
        causes.push_back({call, t_.calls.end[call]});
      }
    if (Fit f; handed.at.size() >= least_repetitions_of_silence &&
               fit(handed, causes, 0, least_error_ns, std::numeric_limits<double>::max(), f))
      s.is_no_handover = f.against >= std::log(1 / accepted_by_chance);
  }

  std::string in_words(const Candidate& c, const std::vector<Cause>& causes) const {
    Row row = no_row;
    for (const Cause& cause : causes)
      if (cause.row != no_row) row = cause.row;
    if (row == no_row) return "";
    if (c.of == Candidate::call)
      return fmt::format("{} of {}", t_.names[t_.calls.name[row]],
                         t_.thread_label(t_.calls.thread[row]));
    const std::string& kernel = t_.names[t_.ops.name[row]];
    const std::string name = !kernel.empty()                    ? kernel
                             : t_.ops.kind[row] == OpKind::copy ? name_of(t_.ops.copy[row])
                                                                : name_of(t_.ops.kind[row]);
    return c.of == Candidate::operation ? name : "the last of several operations, as " + name;
  }

  struct Ended {
    Ns end = 0;
    Candidate what;
    Row row = no_row;
  };

  const Trace& t_;
  const KnownOfSilences& known_;
  std::size_t repetitions_ = 0;
  std::vector<std::uint64_t> actor_;  // by thread: who it is in any repetition
  // By thread, if it lives for a repetition only: what it does there, and its first call.
  std::vector<std::uint64_t> role_;
  std::vector<Row> born_;
  std::vector<NameId> usual_before_;  // by thread: its call before the first of a repetition
  Span window_{std::numeric_limits<Ns>::max(), no_time};
  Recurring calls_, ops_;
  // By thread: by repetition the sum of its pauses that are no silences, and the median of these.
  std::vector<std::vector<Ns>> pauses_;
  std::vector<Ns> usual_pauses_;
  std::vector<std::vector<Span>> hangs_;                   // by thread: calls as long as a silence
  std::vector<std::vector<std::pair<Ns, Row>>> launched_;  // by stream
  std::vector<std::uint32_t> streams_;                     // those with most operations
  std::vector<Cause> last_of_;                             // by set of streams and repetition
  std::array<std::uint16_t, looked_at> looked_{};
  std::array<std::vector<Ended>, looked_at> ended_;
};

}  // namespace

std::vector<Silence> find_silences(const Trace& trace, const KnownOfSilences& known) {
  return Elimination(trace, known).judged();
}

}  // namespace gh
