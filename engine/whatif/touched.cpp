#include "whatif/touched.hpp"

#include <algorithm>

namespace gh {
namespace {

// Only an uncertain part of the fix: the best guess changes nothing.
bool changes_nothing(const Change& c) {
  const auto* scale = std::get_if<change::Scale>(&c);
  return scale && scale->factor.by == 1;
}

}  // namespace

void Touched::add(const Changes& changes) {
  for (const Change& c : changes) {
    if (changes_nothing(c)) continue;
    for (const Row op : ops_of(c)) {
      if (traits_of(c).shortens_operations) ops_[op] = true;
      if (const Row call = trace_.ops.call[op]; traits_of(c).removes_launches && call != no_row)
        calls_[call] = true;
    }
    for (const Row call : calls_of(c)) calls_[call] = true;
    for (const HostSpan& h : host_of(c)) host_[h.thread].push_back(h.span);
  }
  for (auto& [thread, spans] : host_) spans = united(std::move(spans));
}

bool Touched::any_of(const Changes& changes) const {
  const auto any = [](const auto& of, auto holds) {
    return std::any_of(of.begin(), of.end(), holds);
  };
  return any(changes, [&](const Change& c) {
    return !changes_nothing(c) && (any(ops_of(c), [&](Row op) { return has_op(c, op); }) ||
                                   any(calls_of(c), [&](Row call) { return calls_[call]; }) ||
                                   any(host_of(c), [&](const HostSpan& h) { return has_host(h); }));
  });
}

Changes Touched::rest_of(Changes changes) const {
  for (Change& c : changes) {
    keep_rows(
        c, [&](Row op) { return !has_op(c, op); }, [&](Row call) { return !calls_[call]; });
    if (auto* pause = std::get_if<change::Pause>(&c)) pause->host = rest_of_host(pause->host);
  }
  std::erase_if(changes, [](const Change& c) {
    return ops_of(c).empty() && calls_of(c).empty() && host_of(c).empty();
  });
  return changes;
}

bool Touched::has_op(const Change& c, Row op) const {
  if (traits_of(c).shortens_operations && ops_[op]) return true;
  const Row call = trace_.ops.call[op];
  return traits_of(c).removes_launches && call != no_row && calls_[call];
}

bool Touched::has_host(const HostSpan& h) const {
  return std::any_of(host_.begin(), host_.end(), [&](const auto& added) {
    return (added.first == h.thread || added.first == no_index || h.thread == no_index) &&
           overlap(added.second, h.span) > 0;
  });
}

// A span that stands for a whole pause is dropped if any part of it was added.
std::vector<HostSpan> Touched::rest_of_host(const std::vector<HostSpan>& spans) const {
  std::vector<HostSpan> rest;
  std::map<std::uint16_t, Spans> parts;  // by thread
  for (const HostSpan& h : spans) {
    if (!h.whole)
      parts[h.thread].push_back(h.span);
    else if (!has_host(h))
      rest.push_back(h);
  }
  for (auto& [thread, all] : parts)
    for (const Span left : difference(united(std::move(all)), added_to(thread)))
      rest.push_back({thread, left, false});
  return rest;
}

Spans Touched::added_to(std::uint16_t thread) const {
  Spans all;
  for (const auto& [added, spans] : host_)
    if (added == thread || added == no_index || thread == no_index)
      all.insert(all.end(), spans.begin(), spans.end());
  return united(std::move(all));
}

}  // namespace gh
