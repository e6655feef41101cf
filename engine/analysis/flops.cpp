#include "analysis/flops.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <vector>

namespace gh {
namespace {

using Shape = std::vector<double>;

// "..., sizes = [[8, 2], [2, 4], []], ...", or what follows another title, as lists of numbers;
// tensors only, whatever else stands between them.
std::vector<Shape> shapes_of(std::string_view name, std::string_view title = "sizes = [") {
  std::vector<Shape> shapes;
  const std::size_t at = name.find(title);
  if (at == name.npos) return shapes;
  std::string_view rest = name.substr(at + title.size());
  int depth = 0;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const char c = rest[i];
    if (c == '[') {
      if (++depth == 1) shapes.emplace_back();
    } else if (c == ']') {
      if (--depth < 0) break;
    } else if (c >= '0' && c <= '9' && depth == 1) {
      double number = 0;
      const auto end = std::from_chars(rest.data() + i, rest.data() + rest.size(), number).ptr;
      shapes.back().push_back(number);
      i = static_cast<std::size_t>(end - rest.data()) - 1;
    }
  }
  return shapes;
}

// 2 m n k of [.., m, k] times [.., k, n], with as many leading dimensions as the first has.
std::optional<double> product(const std::vector<Shape>& shapes, std::size_t first,
                              std::size_t rank) {
  if (shapes.size() < first + 2 || shapes[first].size() != rank || shapes[first + 1].size() != rank)
    return std::nullopt;
  double flops = 2 * shapes[first + 1].back();
  for (const double n : shapes[first]) flops *= n;
  return flops;
}

// Where the first factor stands among the operands of an operator, and its rank.
struct Factors {
  std::size_t first, rank;
};
std::optional<Factors> factors_of(std::string_view op) {
  if (op == "mm" || op == "_scaled_mm") return Factors{0, 2};
  if (op == "addmm") return Factors{1, 2};
  if (op == "bmm") return Factors{0, 3};
  if (op == "baddbmm") return Factors{1, 3};
  return std::nullopt;
}

}  // namespace

std::optional<Product> product_of_range(std::string_view name) {
  if (!name.starts_with("aten::")) return std::nullopt;
  const auto factors = factors_of(name.substr(6, name.find(',') - 6));
  if (!factors) return std::nullopt;
  const auto [first, rank] = *factors;
  const std::vector<Shape> sizes = shapes_of(name), strides = shapes_of(name, "strides = [");
  if (sizes.size() < first + 2 || sizes[first].size() != rank || sizes[first + 1].size() != rank)
    return std::nullopt;
  Product p{sizes[first][rank - 2], sizes[first + 1][rank - 1], sizes[first][rank - 1], {}};
  for (std::size_t i = first; i < first + 2; ++i) {
    if (strides.size() <= i || strides[i].size() != rank) return Product{p.m, p.n, p.k, {}};
    const double row = strides[i][rank - 2], column = strides[i][rank - 1];
    if (std::min(row, column) != 1)
      return Product{p.m, p.n, p.k, {}};  // which PyTorch copies first
    p.leading.push_back(std::max(row, column));
    if (rank == 3 && sizes[i][0] > 1) p.leading.push_back(strides[i][0]);
  }
  return p;
}

std::optional<bool> is_aligned(const Product& p, int element_bytes, double* odd) {
  if (std::min({p.m, p.n, p.k}) <= 1) return std::nullopt;
  const auto whole = [&](double extent) { return std::fmod(extent * element_bytes, 16) == 0; };
  std::vector<double> rows = p.leading;
  rows.push_back(p.n);  // of the result
  for (const double extent : rows)
    if (!whole(extent)) {
      if (odd) *odd = extent;
      return false;
    }
  return !p.leading.empty() || (whole(p.m) && whole(p.k)) ? std::optional(true) : std::nullopt;
}

std::optional<double> flops_of_range(std::string_view name) {
  if (!name.starts_with("aten::")) return std::nullopt;
  const std::string_view op = name.substr(6, name.find(',') - 6);
  if (const auto factors = factors_of(op))
    return product(shapes_of(name), factors->first, factors->rank);
  if (op.starts_with("_scaled_dot_product_")) {
    const bool backward = op.ends_with("_backward");
    const std::vector<Shape> shapes = shapes_of(name);
    const std::size_t query = backward ? 1 : 0;  // the gradient comes first
    if (shapes.size() < query + 2 || shapes[query].size() != 4 || shapes[query + 1].size() != 4)
      return std::nullopt;
    double flops = (backward ? 10 : 4) * shapes[query + 1][2];
    for (const double n : shapes[query]) flops *= n;
    return flops;
  }
  return std::nullopt;
}

std::optional<double> product_flops(const Analysis& a) {
  std::map<NameId, std::optional<double>> known;
  std::optional<double> sum;
  const Span window = a.analysed_window();
  const Ranges& ranges = a.trace.ranges;
  for (Row r = 0; r < ranges.size() && ranges.start[r] < window.end; ++r) {
    if (ranges.start[r] < window.start) continue;
    const auto [it, first] = known.try_emplace(ranges.name[r]);
    if (first) it->second = flops_of_range(a.trace.names[ranges.name[r]]);
    if (it->second) sum = sum.value_or(0) + *it->second;
  }
  return sum;
}

std::optional<double> mfu_upper_bound(const Analysis& a) {
  double reached = 0;
  for (std::size_t d = 0; d < a.devices.size(); ++d) {
    const GpuPeaks p = a.classes.peaks(a.trace.devices[a.devices[d].device]);
    if (p.half <= 0) return std::nullopt;
    const std::map<std::string, double> peaks{{"compute.gemm_half", p.half},
                                              {"compute.attention_fused", p.half},
                                              {"compute.gemm_unknown", p.half},
                                              {"compute.graph", p.half},
                                              {"compute.gemm_tf32", p.tf32},
                                              {"compute.gemm_cuda_core", p.fp32},
                                              {"compute.gemv", p.half},
                                              {"compute.gemm_fp8", std::max(p.fp8, p.half)},
                                              {"compute.gemm_int8", std::max(p.fp8, p.half)}};
    for (std::size_t c = 0; c < a.account.causes.size(); ++c)
      if (const auto peak = peaks.find(a.account.causes[c]); peak != peaks.end())
        for (const auto& step : a.account.devices[d].step_ns)
          reached += static_cast<double>(step[c]) * peak->second / p.half;
  }
  return a.total_ns() > 0
             ? std::optional(std::min(1.0, reached / static_cast<double>(a.total_ns())))
             : std::nullopt;
}

}  // namespace gh
