#include "support/script.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <stdexcept>

#include "read/read.hpp"
#include "rules/literal_trace.hpp"
#include "support/support.hpp"

namespace support {

namespace {

constexpr int process = 42;

nlohmann::json event(const char* category, const std::string& name, double start, double end,
                     int thread) {
  return {{"ph", "X"},     {"cat", category}, {"name", name},      {"pid", process},
          {"tid", thread}, {"ts", start},     {"dur", end - start}};
}

}  // namespace

void Script::put(Kind kind, const std::string& name, int sequence, const Body& body) {
  const std::size_t place = opens_.size();
  opens_.push_back({kind, name, sequence, rank_, thread_, now_++, 0});
  body();
  opens_[place].end = now_++;
}

void Script::range(const std::string& name, const Body& body) {
  put(Kind::range, name, none, body);
}

void Script::op(const std::string& name, int sequence, const Body& body) {
  put(Kind::op, name, sequence, body);
}

void Script::backward(const std::string& function, int sequence, const Body& body) {
  put(Kind::op, "autograd::engine::evaluate_function: " + function, none,
      [&] { put(Kind::backward, function, sequence, body); });
}

void Script::frame(const std::string& name, const Body& body) {
  lines_.push_back(name);
  put(Kind::frame, name, none, body);
  lines_.pop_back();
}

void Script::launch(const std::string& kernel, double us, int stream) {
  double& free = free_[{rank_, stream}];
  const double start = std::max(free, now_ + 2);
  launches_.push_back({kernel, thread_, lines_.empty() ? "" : lines_.back(), rank_, stream, now_++,
                       start, start + us});
  free = start + us;
}

void Script::call(const std::string& name, double us) {
  calls_.push_back({name, thread_, rank_, now_, now_ + us});
  now_ += us;
}

void Script::on(const std::string& thread, int rank, const Body& body) {
  const auto [own_thread, own_rank] = std::pair(thread_, rank_);
  thread_ = thread;
  rank_ = rank;
  body();
  thread_ = own_thread;
  rank_ = own_rank;
}

void Script::steps(int count, const Body& body) {
  for (int i = 1; i <= count; ++i) range(fmt::format("step {}", i), body);
}

gh::Trace Script::nsys() const {
  std::string ranges, ops, calls;
  int id = 0;
  for (const Open& o : opens_) {
    if (o.kind == Kind::frame) continue;
    std::string name = o.name;
    if (o.sequence != none) name += fmt::format(", seq = {}", o.sequence);
    if (o.kind != Kind::range) name += fmt::format(", op_id = {}", ++id);
    ranges += fmt::format("{{ {}, {}, [==[{}]==], thread = '{}', rank = {} }},\n", o.start, o.end,
                          name, o.thread, o.rank);
  }
  for (const Launch& l : launches_)
    ops += fmt::format(
        "{{ {}, {}, kernel = [==[{}]==], launched = {{ {}, {} }}, stream = {}, thread = '{}', rank "
        "= {} }},\n",
        l.start, l.end, l.kernel, l.at, l.at + 0.5, l.stream, l.thread, l.rank);
  for (const Call& c : calls_)
    calls += fmt::format("{{ {}, {}, '{}', thread = '{}', rank = {} }},\n", c.start, c.end, c.name,
                         c.thread, c.rank);
  gh::Trace t = gh::trace_from_text("return { ranges = {\n" + ranges + "}, ops = {\n" + ops +
                                    "}, calls = {\n" + calls + "} }");
  // The frame is where the call was made.
  for (gh::Row call = 0; call < t.calls.size(); ++call) {
    const auto launch = std::find_if(launches_.begin(), launches_.end(), [&](const Launch& l) {
      return static_cast<gh::Ns>(l.at * 1000) == t.calls.start[call];
    });
    if (launch == launches_.end() || launch->line.empty()) continue;
    t.frames.start.push_back(t.calls.start[call]);
    t.frames.end.push_back(t.calls.start[call]);
    t.frames.name.push_back(t.names.intern(launch->line));
    t.frames.thread.push_back(t.calls.thread[call]);
  }
  t.seal();
  return t;
}

gh::Trace Script::torch() const {
  std::map<std::string, int> threads;
  const auto id_of = [&](const std::string& thread) {
    return threads.emplace(thread, 100 + static_cast<int>(threads.size())).first->second;
  };
  nlohmann::json events = nlohmann::json::array();
  std::map<int, const Open*> forward;  // by autograd's number
  int arrow = 0;
  const auto arrow_end = [&](const char* phase, const Open& o) {
    events.push_back({{"ph", phase},
                      {"id", arrow},
                      {"pid", process},
                      {"tid", id_of(o.thread)},
                      {"ts", o.start},
                      {"cat", "fwdbwd"},
                      {"name", "fwdbwd"},
                      {"bp", "e"}});
  };
  for (const Open& o : opens_) {
    if (o.rank != 0) throw std::logic_error("a PyTorch trace has one rank");
    const char* category = o.kind == Kind::range   ? "user_annotation"
                           : o.kind == Kind::frame ? "python_function"
                                                   : "cpu_op";
    events.push_back(event(category, o.name, o.start, o.end, id_of(o.thread)));
    if (o.sequence != none)
      events.back()["args"] = {{"Sequence number", o.sequence},
                               {"Fwd thread id", o.kind == Kind::backward ? 1 : 0}};
    if (o.kind == Kind::op && o.sequence != none) forward[o.sequence] = &o;
    if (o.kind != Kind::backward || !forward.contains(o.sequence)) continue;
    ++arrow;
    arrow_end("s", *forward[o.sequence]);
    arrow_end("f", o);
  }
  int correlation = 0;
  for (const Launch& l : launches_) {
    nlohmann::json call =
                       event("cuda_runtime", "cudaLaunchKernel", l.at, l.at + 0.5, id_of(l.thread)),
                   kernel = event("kernel", l.kernel, l.start, l.end, 7);
    call["args"] = {{"correlation", ++correlation}};
    kernel["args"] = {{"correlation", correlation},
                      {"device", 0},
                      {"stream", l.stream},
                      {"grid", {1024, 1, 1}},
                      {"block", {256, 1, 1}}};
    events.push_back(call);
    events.push_back(kernel);
  }
  for (const Call& c : calls_)
    events.push_back(event("cuda_runtime", c.name, c.start, c.end, id_of(c.thread)));
  const nlohmann::json device = {{"id", 0},           {"name", "NVIDIA H200"},
                                 {"numSms", 132},     {"computeMajor", 9},
                                 {"computeMinor", 0}, {"totalGlobalMem", 150109880320}},
                       trace = {{"schemaVersion", 1},
                                {"deviceProperties", nlohmann::json::array({device})},
                                {"traceEvents", events}};
  const TempDir dir;
  return gh::read_report(write_file(dir / "script.pt.trace.json", trace.dump()));
}

}  // namespace support
