#include "analysis/flops.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <vector>

#include "base/schema_table.hpp"

namespace gh {
namespace {

using Shape = std::vector<double>;

// Parses "..., sizes = [[8, 2], [2, 4], []], ...", or the list after another title, into lists of
// numbers. Only tensors count; anything else in between is skipped.
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

// 2 m n k for [.., m, k] times [.., k, n], with as many leading dimensions as the first has.
std::optional<double> product(const std::vector<Shape>& shapes, std::size_t first,
                              std::size_t rank) {
  if (shapes.size() < first + 2 || shapes[first].size() != rank || shapes[first + 1].size() != rank)
    return std::nullopt;
  double flops = 2 * shapes[first + 1].back();
  for (const double n : shapes[first]) flops *= n;
  return flops;
}

// An operator that computes (schemas/operators.toml).
struct Operator {
  enum class Kind : std::uint8_t {
    product,
    attention,
    attention_backward,
    convolution,
    convolution_backward,
    input_gradient,
    weight_gradient,
    untold_convolution
  } kind;
  // Of a product: the first factor's position among the operands, and how many dimensions it has.
  std::size_t first = 0, rank = 0;

  bool is_convolution() const { return kind >= Kind::convolution; }
};

class Operators {
 public:
  Operators() {
    using Kind = Operator::Kind;
    using Node = toml::node_view<const toml::node>;
    const toml::table schema = schema_table("schemas/operators.toml");
    prefix_ = schema["namespace"].value_or(std::string());
    for (const auto& [name, entry] : *schema["product"].as_table()) {
      const Node of(entry);
      known_[std::string(name.str())] = {Kind::product, of["first"].value_or(std::size_t{0}),
                                         of["rank"].value_or(std::size_t{0})};
    }
    for (const auto& [key, kind] : {std::pair("forward", Kind::convolution),
                                    std::pair("backward", Kind::convolution_backward),
                                    std::pair("input_gradient", Kind::input_gradient),
                                    std::pair("weight_gradient", Kind::weight_gradient),
                                    std::pair("untold", Kind::untold_convolution)})
      for (const std::string& name : strings(schema["convolution"][key])) known_[name] = {kind};
    attention_ = Patterns(strings(schema["attention"]["any"]));
    attention_backward_ = Patterns(strings(schema["attention"]["backward"]));
  }

  // Of a range: "aten::mm, sizes = ...". Nothing where it is no such operator.
  std::optional<Operator> of(std::string_view range) const {
    if (!range.starts_with(prefix_)) return std::nullopt;
    const std::string_view name = range.substr(prefix_.size(), range.find(',') - prefix_.size());
    if (const auto it = known_.find(name); it != known_.end()) return it->second;
    if (!attention_.match(name)) return std::nullopt;
    return Operator{attention_backward_.match(name) ? Operator::Kind::attention_backward
                                                    : Operator::Kind::attention};
  }

 private:
  std::string prefix_;
  std::map<std::string, Operator, std::less<>> known_;
  Patterns attention_, attention_backward_;
};

std::optional<Operator> operator_in(std::string_view range) {
  static const Operators known;
  return known.of(range);
}

double elements_of(const Shape& shape) {
  double elements = 1;
  for (const double n : shape) elements *= n;
  return elements;
}

// The quoted items of "concrete = ["", "[3, 3]", "1"]": values of arguments that are not tensors,
// "" for those that are.
std::vector<std::string_view> concrete_of(std::string_view name) {
  std::vector<std::string_view> values;
  constexpr std::string_view title = "concrete = [";
  const std::size_t at = name.find(title);
  if (at == name.npos) return values;
  std::string_view rest = name.substr(at + title.size());
  while (true) {
    const std::size_t open = rest.find('"');
    const std::size_t close = open == rest.npos ? rest.npos : rest.find('"', open + 1);
    if (close == rest.npos) return values;
    values.push_back(rest.substr(open + 1, close - open - 1));
    rest.remove_prefix(close + 1);
  }
}

// "[3, 3]"; a single number applies to all extents.
std::optional<Shape> extents(std::string_view list, std::size_t count) {
  Shape numbers;
  for (std::size_t i = 0; i < list.size();) {
    double number = 0;
    const auto [end, error] = std::from_chars(list.data() + i, list.data() + list.size(), number);
    if (error != std::errc()) {
      ++i;
      continue;
    }
    numbers.push_back(number);
    i = static_cast<std::size_t>(end - list.data());
  }
  if (numbers.size() == 1) numbers.resize(count, numbers[0]);
  return numbers.size() == count ? std::optional(numbers) : std::nullopt;
}

// Number of elements in the result of cudnn_convolution(input, weight, padding, stride, dilation,
// groups); 0 where the values do not show it.
double convolved(const Shape& input, const Shape& weight,
                 const std::vector<std::string_view>& values) {
  constexpr std::size_t first = 2;  // after input and weight
  if (values.size() < first + 3) return 0;
  const std::size_t count = input.size() - 2;
  const auto padding = extents(values[first], count), stride = extents(values[first + 1], count),
             dilation = extents(values[first + 2], count);
  if (!padding || !stride || !dilation) return 0;
  double elements = input[0] * weight[0];
  for (std::size_t i = 0; i < count; ++i) {
    const double covered = (*dilation)[i] * (weight[i + 2] - 1) + 1;
    if ((*stride)[i] <= 0) return 0;
    elements *= std::floor((input[i + 2] + 2 * (*padding)[i] - covered) / (*stride)[i]) + 1;
  }
  return std::max(0.0, elements);
}

}  // namespace

std::optional<Product> product_of_range(std::string_view name) {
  const std::optional<Operator> of = operator_in(name);
  if (!of || of->kind != Operator::Kind::product) return std::nullopt;
  const std::size_t first = of->first, rank = of->rank;
  const std::vector<Shape> sizes = shapes_of(name), strides = shapes_of(name, "strides = [");
  if (sizes.size() < first + 2 || sizes[first].size() != rank || sizes[first + 1].size() != rank)
    return std::nullopt;
  Product p{sizes[first][rank - 2], sizes[first + 1][rank - 1], sizes[first][rank - 1], {}};
  for (std::size_t i = first; i < first + 2; ++i) {
    if (strides.size() <= i || strides[i].size() != rank) return Product{p.m, p.n, p.k, {}};
    const double row = strides[i][rank - 2], column = strides[i][rank - 1];
    if (std::min(row, column) != 1)
      return Product{p.m, p.n, p.k, {}};  // PyTorch copies these first
    p.leading.push_back(std::max(row, column));
    if (rank == 3 && sizes[i][0] > 1) p.leading.push_back(strides[i][0]);
  }
  return p;
}

std::optional<bool> is_aligned(const Product& p, int element_bytes, double* odd) {
  if (std::min({p.m, p.n, p.k}) <= 1) return std::nullopt;
  const auto whole = [&](double extent) { return std::fmod(extent * element_bytes, 16) == 0; };
  std::vector<double> rows = p.leading;
  rows.push_back(p.n);  // rows of the result
  for (const double extent : rows)
    if (!whole(extent)) {
      if (odd) *odd = extent;
      return false;
    }
  return !p.leading.empty() || (whole(p.m) && whole(p.k)) ? std::optional(true) : std::nullopt;
}

std::optional<double> flops_of_range(std::string_view name) {
  const std::optional<Operator> of = operator_in(name);
  if (!of || of->is_convolution()) return std::nullopt;
  const std::vector<Shape> shapes = shapes_of(name);
  if (of->kind == Operator::Kind::product) return product(shapes, of->first, of->rank);
  const bool backward = of->kind == Operator::Kind::attention_backward;
  const std::size_t query = backward ? 1 : 0;  // the gradient comes first
  if (shapes.size() < query + 2 || shapes[query].size() != 4 || shapes[query + 1].size() != 4)
    return std::nullopt;
  double flops = (backward ? 10 : 4) * shapes[query + 1][2];
  for (const double n : shapes[query]) flops *= n;
  return flops;
}

std::optional<double> convolution_flops(std::string_view name, double output_elements) {
  using Kind = Operator::Kind;
  const std::optional<Operator> op = operator_in(name);
  if (!op) return std::nullopt;
  const std::vector<Shape> shapes = shapes_of(name);
  const auto has = [&](std::size_t i) { return shapes.size() > i && shapes[i].size() >= 3; };
  // Each element of the result uses one weight for each channel that goes into it.
  const auto flops = [](double result_elements, const Shape& weight) {
    return weight[0] > 0 ? 2 * result_elements * elements_of(weight) / weight[0] : 0;
  };
  if (op->kind == Kind::input_gradient || op->kind == Kind::weight_gradient) {
    // Both take the result's gradient second and the weights third.
    return has(1) && has(2) ? std::optional(flops(elements_of(shapes[1]), shapes[2]))
                            : std::nullopt;
  }
  if (op->kind == Kind::convolution_backward) {
    const std::vector<std::string_view> values = concrete_of(name);
    constexpr std::size_t transposed = 7, wanted = 10;
    if (!has(0) || !has(2) || (values.size() > transposed && values[transposed] == "True"))
      return std::nullopt;
    // A model's first convolution needs no gradient of its input.
    double products = 2;
    if (values.size() > wanted && values[wanted].starts_with("[False")) products = 1;
    return products * flops(elements_of(shapes[0]), shapes[2]);
  }
  if (op->kind != Kind::convolution || !has(0) || !has(1) || shapes[0].size() != shapes[1].size())
    return std::nullopt;
  if (output_elements <= 0) output_elements = convolved(shapes[0], shapes[1], concrete_of(name));
  return output_elements > 0 ? std::optional(flops(output_elements, shapes[1])) : std::nullopt;
}

RangeFlops::RangeFlops(const Trace& trace) {
  // The backward operator's shapes include the size of the forward result.
  std::map<std::pair<Shape, Shape>, double> results;  // by input and weight
  std::vector<bool> seen(trace.names.size());
  std::vector<NameId> forward;
  for (const NameId id : trace.ranges.name) {
    if (seen[id]) continue;
    seen[id] = true;
    const std::string& name = trace.names[id];
    const std::optional<Operator> op = operator_in(name);
    if (!op) continue;
    if (!op->is_convolution()) {
      if (const auto flops = flops_of_range(name)) known_[id] = flops;
      continue;
    }
    known_[id] = convolution_flops(name);
    if (op->kind == Operator::Kind::convolution && !known_[id]) forward.push_back(id);
    // The first operand is the gradient of the result, or in older versions the input.
    const bool older = op->kind == Operator::Kind::weight_gradient;
    if (op->kind != Operator::Kind::convolution_backward && !older) continue;
    if (const auto shapes = shapes_of(name); shapes.size() >= 3)
      results[{shapes[older ? 0 : 1], shapes[2]}] = elements_of(shapes[older ? 1 : 0]);
  }
  for (const NameId id : forward) {
    const auto shapes = shapes_of(trace.names[id]);
    if (shapes.size() < 2) continue;
    if (const auto result = results.find({shapes[0], shapes[1]}); result != results.end())
      known_[id] = convolution_flops(trace.names[id], result->second);
  }
}

const RangeFlops& Analysis::range_flops() const {
  return range_flops_.get([&] { return std::make_shared<const RangeFlops>(trace); });
}

std::optional<double> RangeFlops::of(NameId range) const {
  const auto it = known_.find(range);
  return it == known_.end() ? std::optional(0.0) : it->second;
}

ProductFlops product_flops(const Analysis& a) {
  const RangeFlops& known = a.range_flops();
  ProductFlops sum;
  const Span window = a.analysed_window();
  const Ranges& ranges = a.trace.ranges;
  for (Row r = 0; r < ranges.size() && ranges.start[r] < window.end; ++r) {
    if (ranges.start[r] < window.start) continue;
    const auto flops = known.of(ranges.name[r]);
    if (!flops)
      ++sum.convolutions_untold;
    else if (*flops > 0)
      sum.flops = sum.flops.value_or(0) + *flops;
  }
  return sum;
}

namespace {

// The peak of what may multiply matrices; 0 for anything else.
double highest_peak(const Cause& cause, const GpuPeaks& p) {
  if (cause.of == Cause::Of::graph || cause == KernelClass::gemv) return p.half;
  if (cause.kernels >= KernelClass::own || !cause.products) return 0;
  switch (traits_of(cause.kernels).precision) {
    case Precision::fp32: return p.fp32;
    case Precision::tf32: return p.tf32;
    case Precision::eight_bits: return std::max(p.fp8, p.half);
    default: return p.half;
  }
}

}  // namespace

std::optional<double> mfu_upper_bound(const Analysis& a) {
  double reached = 0;
  for (std::size_t d = 0; d < a.devices.size(); ++d) {
    const GpuPeaks p = a.classes.peaks(a.trace.devices[a.devices[d].device]);
    if (p.half <= 0) return std::nullopt;
    for (std::size_t c = 0; c < a.account.kinds.size(); ++c)
      if (const double peak = highest_peak(a.account.kinds[c], p); peak > 0)
        reached += static_cast<double>(a.account.devices[d].step_ns.total_ns(c)) * peak / p.half;
  }
  return a.total_ns() > 0
             ? std::optional(std::min(1.0, reached / static_cast<double>(a.total_ns())))
             : std::nullopt;
}

}  // namespace gh
