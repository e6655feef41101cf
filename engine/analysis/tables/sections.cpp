// Ranges and functions of a thread lie within each other, so one Nesting of both tells what is
// around a call. A layer's own range begins anew: what lies in it is in its sections alone.
#include "analysis/tables/sections.hpp"

#include <algorithm>

#include "analysis/structure/structure.hpp"
#include "analysis/tables/labels.hpp"

namespace gh {
namespace {

// Beyond these, sections are not told apart any further.
constexpr std::size_t most_sections = 200'000;
constexpr std::uint32_t most_depth = 48;

// Ranges and functions that touch the window, in order of start.
struct Around {
  std::vector<Ns> start, end;
  std::vector<NameId> name;
  std::vector<std::uint16_t> thread;
  std::vector<LayerId> layer;  // that it is, or outside
  std::vector<std::uint8_t> is_function;
  std::size_t size() const { return start.size(); }
};

Around around_launches(const Analysis& a) {
  const Ranges& ranges = a.trace.ranges;
  const Frames& frames = a.trace.frames;
  const ProgramLayers& layers = a.structure().layers();
  const Span window = a.analysed_window();
  const std::vector<std::uint8_t> analysed = a.analysed_threads();
  Around all;
  const auto add = [&](const auto& events, Row r, LayerId layer, bool is_function) {
    if (events.end[r] <= std::max(events.start[r], window.start) || !analysed[events.thread[r]])
      return;
    all.start.push_back(events.start[r]);
    all.end.push_back(events.end[r]);
    all.name.push_back(events.name[r]);
    all.thread.push_back(events.thread[r]);
    all.layer.push_back(layer);
    all.is_function.push_back(is_function ? 1 : 0);
  };
  const auto begins = [&](const auto& events, Row r) {
    return r < events.size() && events.start[r] < window.end ? events.start[r] : open_end;
  };
  for (Row r = 0, f = 0;;) {
    const Ns range = begins(ranges, r), frame = begins(frames, f);
    if (std::min(range, frame) == open_end) return all;
    if (frame <= range) {  // of what begins at once, a function may hold the other
      add(frames, f, layers.of_frame(f), true);
      ++f;
    } else {
      if (layers.of_range(r) != outside || !layers.tells_operator(ranges.name[r]))
        add(ranges, r, layers.of_range(r), false);
      ++r;
    }
  }
}

std::uint64_t joined_ids(std::uint32_t high, std::uint32_t low) {
  return std::uint64_t{high} << 32 | low;
}

}  // namespace

Sections::Sections(const Analysis& a) {
  struct In {
    LayerId layer = outside;
    SectionId section = no_section;
  };
  const Trace& t = a.trace;
  const ProgramLayers& layers = a.structure().layers();
  const Span window = a.analysed_window();
  const Around all = around_launches(a);
  const Nesting nesting(all, t.threads.size());
  std::vector<std::uint32_t> depth(1);                       // by section
  std::unordered_map<std::string, std::uint32_t> label_ids;  // of ranges and functions
  std::vector<std::uint32_t> label_of_name(2 * t.names.size());
  std::unordered_map<std::uint64_t, SectionId> ids;  // by the section around, and label
  const auto section_in = [&](SectionId around, NameId id, bool is_function) {
    // The numbers of a function are those of its lines.
    const auto name = [&] { return is_function ? t.names[id] : without_numbers(t.names[id]); };
    std::uint32_t& label = label_of_name[2 * id + (is_function ? 1 : 0)];
    if (label == 0)
      label = label_ids
                  .try_emplace((is_function ? "f" : "r") + name(),
                               static_cast<std::uint32_t>(label_ids.size() + 1))
                  .first->second;
    const auto [it, is_new] = ids.try_emplace(joined_ids(around, label), around);
    if (is_new && sections_.size() < most_sections && depth[around] < most_depth) {
      it->second = static_cast<SectionId>(sections_.size());
      sections_.push_back({around, name(), is_function});
      depth.push_back(depth[around] + 1);
    }
    return it->second;
  };

  std::vector<In> in(all.size());  // by row: its layer, and its section there
  for (Row r = 0; r < all.size(); ++r) {
    const Row around = nesting.around(r);
    const In within = around == no_row ? In() : in[around];
    const Ns ns = std::min(all.end[r], window.end) - std::max(all.start[r], window.start);
    if (within.section != no_section) host_ns_[joined_ids(within.layer, within.section)] -= ns;
    if (all.layer[r] != outside) {
      in[r].layer = all.layer[r];
      continue;
    }
    in[r] = {within.layer, section_in(within.section, all.name[r], all.is_function[r] != 0)};
    if (in[r].section != no_section) host_ns_[joined_ids(in[r].layer, in[r].section)] += ns;
  }

  // Backward runs on a thread without any; it is in what the thread that called it is in.
  const std::vector<std::uint16_t>& callers = a.structure().callers();
  OpenInOrder open(nesting, all, t.threads.size());
  of_call_.resize(t.calls.size());
  for (Row call = 0; call < t.calls.size(); ++call) {
    const Row around = open.first_around(t.calls, call, callers, [](Row) { return true; });
    LayerId layer = layers.origin(layers.of_call(call)).layer;
    while (layers[layer].is_found) layer = layers[layer].parent;  // has no range of its own
    if (around != no_row && in[around].layer == layer) of_call_[call] = in[around].section;
  }
}

}  // namespace gh
