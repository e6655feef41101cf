// The columns of a table of layers, the same in text and on the page.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/quantities.hpp"
#include "report/tables.hpp"

namespace gh {
namespace {

// The further the devices are apart, the higher it sorts.
LayerColumn::Cell spread_over_devices(const TableRow& r, double devices, double steps) {
  if (devices < 2 || r.sum.by_device.size() < 2) return {};
  const auto [least, most] = std::minmax_element(r.sum.by_device.begin(), r.sum.by_device.end());
  const auto of_step = [&](Ns ns) { return duration(static_cast<double>(ns) * devices / steps); };
  return {fmt::format("{} to {}", of_step(*least), of_step(*most)),
          static_cast<double>(*most - *least)};
}

}  // namespace

std::vector<LayerColumn> layer_columns(const TablesReport& layers,
                                       const std::vector<std::size_t>& rows) {
  using Cell = LayerColumn::Cell;
  const double steps = layers.steps_or_one();
  const auto devices = static_cast<double>(std::max<std::size_t>(layers.devices.size(), 1)),
             memories = static_cast<double>(std::max<std::size_t>(layers.memory.size(), 1));
  const auto time = [steps](double ns) { return ns > 0 ? Cell{duration(ns / steps), ns} : Cell{}; };
  const auto time_of = [time](auto part) {
    return [time, part](const TableRow& r) { return time(static_cast<double>(part(r))); };
  };
  const auto share = [](const std::optional<double>& of) {
    return of.value_or(0) > 0 ? Cell{percent(*of), *of} : Cell{};
  };
  const auto bytes = [](double sum, double count) {
    return sum > 0 ? Cell{bytes_text(sum / count), sum} : Cell{};
  };
  std::vector<LayerColumn> columns{
      {"TIME", "Time", 8, 0, time_of([](const TableRow& r) { return r.total_ns(); })},
      {"SHARE", "Share", 5, 1, [=](const TableRow& r) { return share(r.total_fraction); }},
      {"EACH", nullptr, 8, 5,
       [=](const TableRow& r) {
         const auto count = static_cast<double>(r.members.size());
         return count > 1 ? time(static_cast<double>(r.total_ns()) / count) : Cell{};
       }},
      {"FORWARD", "Forward", 8, 2, time_of([](const TableRow& r) { return r.forward_ns; })},
      {"BACKWARD", "Backward", 8, 2, time_of([](const TableRow& r) { return r.backward_ns; })},
      {"IDLE", "Idle", 8, 4, time_of([](const TableRow& r) { return r.sum.idle_ns; })},
      {nullptr, "GPU work", 8, 0, time_of([](const TableRow& r) { return r.device_ns; })},
      {nullptr, "Host time", 8, 0, time_of([](const TableRow& r) { return r.host_ns; })},
      {"OF PATH", "Of the path", 7, 6, [=](const TableRow& r) { return share(r.path_fraction); }},
      {"LAUNCHES", "Launches", 8, 7,
       [=](const TableRow& r) {
         const auto launches = static_cast<double>(r.sum.launches);
         return launches > 0 ? Cell{fmt::format("{:.0f}", launches / steps), launches} : Cell{};
       }},
      {"FLOP", "FLOP", 7, 8,
       [=](const TableRow& r) {
         const double flops = r.sum.flops;
         return flops > 0 ? Cell{(r.sum.more_flops() ? ">" : "") + flops_text(flops / steps), flops}
                          : Cell{};
       }},
      {"BYTES", "Bytes", 8, 10,
       [=](const TableRow& r) { return r.sum.tells_size() ? bytes(r.sum.bytes, steps) : Cell{}; }},
      {"ATTAINED", "Attained", 8, 5,
       [](const TableRow& r) {
         return r.sum.tells_size() ? Cell{percent(r.sum.attained()), r.sum.attained()} : Cell{};
       }},
      {"AT PEAK", "Memory at the peak", 8, 9,
       [=](const TableRow& r) { return bytes(static_cast<double>(r.peak_bytes), memories); }},
      {"BY RANK", "By device", 20, 9,
       [=](const TableRow& r) { return spread_over_devices(r, devices, steps); }},
      {"BOUND BY", "Bound by", 14, 3,
       [](const TableRow& r) {
         return Cell{r.bound_by, std::nullopt};
       },
       false},
  };
  std::erase_if(columns, [&](const LayerColumn& c) {
    return std::all_of(rows.begin(), rows.end(),
                       [&](std::size_t i) { return c.cell(layers.rows()[i]).text.empty(); });
  });
  return columns;
}

std::string left_out_text(std::size_t rows) {
  return fmt::format("{} smaller one{} left out", rows, rows == 1 ? "" : "s");
}

}  // namespace gh
