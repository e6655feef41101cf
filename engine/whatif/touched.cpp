#include "whatif/touched.hpp"

#include <algorithm>

namespace gh {
namespace {

bool is_of_calls(const Change& c) {
  return c.kind == Change::Kind::unblock || c.kind == Change::Kind::drop;
}

// Operations take less time themselves, or none.
bool is_of_operations(const Change& c) { return !is_of_calls(c) && c.kind != Change::Kind::graph; }

// The launches of operations are removed too.
bool is_of_launches(const Change& c) {
  return c.kind == Change::Kind::remove || c.kind == Change::Kind::fuse ||
         c.kind == Change::Kind::graph;
}

// Only an uncertain part of the fix: the best guess changes nothing.
bool changes_nothing(const Change& c) { return c.kind == Change::Kind::scale && c.factor.by == 1; }

}  // namespace

void Touched::add(const Changes& changes) {
  for (const Change& c : changes) {
    if (changes_nothing(c)) continue;
    for (const Row row : c.rows) {
      if (is_of_calls(c)) {
        calls_[row] = true;
        continue;
      }
      if (is_of_operations(c)) ops_[row] = true;
      if (const Row call = trace_.ops.call[row]; is_of_launches(c) && call != no_row)
        calls_[call] = true;
    }
    for (const HostSpan& h : c.host) host_[h.thread].push_back(h.span);
  }
  for (auto& [thread, spans] : host_) spans = united(std::move(spans));
}

bool Touched::any_of(const Changes& changes) const {
  return std::any_of(changes.begin(), changes.end(), [&](const Change& c) {
    return !changes_nothing(c) &&
           (std::any_of(c.rows.begin(), c.rows.end(), [&](Row row) { return has_row(c, row); }) ||
            std::any_of(c.host.begin(), c.host.end(),
                        [&](const HostSpan& h) { return has_host(h); }));
  });
}

Changes Touched::rest_of(const Changes& changes) const {
  Changes rest;
  for (const Change& c : changes) {
    Change left;
    left.kind = c.kind;
    left.gap_ns = c.gap_ns;
    left.factor = c.factor;
    for (std::size_t i = 0; i < c.rows.size(); ++i) {
      if (has_row(c, c.rows[i])) continue;
      left.rows.push_back(c.rows[i]);
      if (!c.cut_ns.empty()) left.cut_ns.push_back(c.cut_ns[i]);
    }
    left.host = rest_of_host(c.host);
    if (!left.rows.empty() || !left.host.empty()) rest.push_back(std::move(left));
  }
  return rest;
}

bool Touched::has_row(const Change& c, Row row) const {
  if (is_of_calls(c)) return calls_[row];
  if (is_of_operations(c) && ops_[row]) return true;
  const Row call = trace_.ops.call[row];
  return is_of_launches(c) && call != no_row && calls_[call];
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
    for (const Span left : difference(united(std::move(all)), host_of(thread)))
      rest.push_back({thread, left, false});
  return rest;
}

Spans Touched::host_of(std::uint16_t thread) const {
  Spans all;
  for (const auto& [added, spans] : host_)
    if (added == thread || added == no_index || thread == no_index)
      all.insert(all.end(), spans.begin(), spans.end());
  return united(std::move(all));
}

}  // namespace gh
