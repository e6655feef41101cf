// The matrix products that operations compute, and the shapes of operators, if ranges contain those
// of their operands.
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "analysis/flops.hpp"
#include "rules/binding/verbs.hpp"

namespace gh::binding {
namespace {

constexpr std::size_t most_products = 1000;
constexpr std::size_t most_shaped = 1000;  // operators of different shapes

using Products = std::map<NameId, Product>;  // by name of the range

Products products_of_ranges(const Trace& t) {
  Products found;
  std::vector<bool> seen(t.names.size());
  for (const NameId name : t.ranges.name) {
    if (seen[name]) continue;
    seen[name] = true;
    if (const auto product = product_of_range(t.names[name])) found.emplace(name, *product);
  }
  return found;
}

// The innermost product range or operator in which each operation was launched: its row of
// Trace::ranges, or no_row.
std::vector<Row> ranges_of_products(const Trace& t, const std::vector<Row>& ops,
                                    const Products& products) {
  std::map<std::uint16_t, std::vector<Row>> by_thread;
  for (Row r = 0; r < t.ranges.size(); ++r) {
    if (products.contains(t.ranges.name[r])) by_thread[t.ranges.thread[r]].push_back(r);
  }
  std::vector<Row> found(ops.size(), no_row);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const Row call = t.ops.call[ops[i]];
    if (call == no_row) continue;
    const std::vector<Row>& ranges = by_thread[t.calls.thread[call]];
    const Ns at = t.calls.start[call];
    const auto after = std::upper_bound(ranges.begin(), ranges.end(), at, [&](Ns moment, Row r) {
      return moment < t.ranges.start[r];
    });
    // Products contain no other products: only the last one to begin can still be open.
    if (after != ranges.begin() && t.ranges.end[*(after - 1)] >= at) found[i] = *(after - 1);
  }
  return found;
}

// Operations that compute one product in one precision.
struct ProductOps {
  NameId name;
  int element_bytes;
  Ns ns = 0;
  std::vector<Row> rows;
};

int element_bytes(KernelClass c) {
  if (c == KernelClass::gemm_half) return 2;
  if (c == KernelClass::gemm_fp8 || c == KernelClass::gemm_int8) return 1;
  return 4;
}

// The one with the longest summed time first; the order is total.
std::vector<ProductOps> by_product(const Context& c, const Rows& asked, const Products& products) {
  const Trace& t = c.trace();
  const std::vector<Row> ops = asked.rows.list(), ranges = ranges_of_products(t, ops, products);
  std::map<std::pair<NameId, int>, ProductOps> groups;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ranges[i] == no_row) continue;
    const NameId name = t.ranges.name[ranges[i]];
    const int bytes = element_bytes(c.analysis.class_of(ops[i]));
    const auto [it, added] = groups.try_emplace({name, bytes}, ProductOps{name, bytes, 0, {}});
    it->second.ns += t.span_of(ops[i]).length();
    it->second.rows.push_back(ops[i]);
  }
  std::vector<ProductOps> order;
  for (auto& [key, group] : groups) order.push_back(std::move(group));
  using Key = std::tuple<Ns, const std::string&, int>;
  std::sort(order.begin(), order.end(), [&](const ProductOps& a, const ProductOps& b) {
    return Key(-a.ns, t.names[a.name], a.element_bytes) <
           Key(-b.ns, t.names[b.name], b.element_bytes);
  });
  return order;
}

void push_product(lua_State* lua, const Product& product, ProductOps& ops) {
  double odd = 0;
  const std::optional<bool> aligned = is_aligned(product, ops.element_bytes, &odd);
  lua_newtable(lua);
  set_number(lua, "m", product.m);
  set_number(lua, "n", product.n);
  set_number(lua, "k", product.k);
  set_number(lua, "element_bytes", ops.element_bytes);
  set_number(lua, "count", static_cast<double>(ops.rows.size()));
  set_number(lua, "sum_ns", static_cast<double>(ops.ns));
  if (aligned) set_flag(lua, "aligned", *aligned);
  if (aligned == false) set_number(lua, "odd", odd);
  set_rows(lua, "rows", {Kind::ops, RowSet(std::move(ops.rows))});
}

// Ranges of one name that contains shapes.
struct ShapedRanges {
  NameId name;
  Ns ns = 0;
  std::size_t count = 0;
};

// Those with the longest summed time first; the order is total.
std::vector<ShapedRanges> shaped_ranges(const Context& c, const Rows& asked) {
  const Trace& t = c.trace();
  std::map<NameId, ShapedRanges> by_name;
  asked.rows.each([&](Row r) {
    const NameId name = t.ranges.name[r];
    ShapedRanges& of_name = by_name.try_emplace(name, ShapedRanges{name}).first->second;
    of_name.ns += span_of(c, asked, r).length();
    ++of_name.count;
  });
  std::vector<ShapedRanges> order;
  for (const auto& [name, ranges] : by_name) {
    if (t.names[name].find(", sizes = [") != std::string::npos) order.push_back(ranges);
  }
  std::sort(order.begin(), order.end(), [&](const ShapedRanges& a, const ShapedRanges& b) {
    return std::pair<Ns, const std::string&>(-a.ns, t.names[a.name]) <
           std::pair<Ns, const std::string&>(-b.ns, t.names[b.name]);
  });
  order.resize(std::min(order.size(), most_shaped));
  return order;
}

// Pushes a list of lists of numbers.
void push_shapes(lua_State* lua, const std::vector<std::vector<double>>& shapes) {
  NewList list(lua);
  for (const std::vector<double>& shape : shapes) {
    NewList extents(lua);
    for (const double extent : shape) {
      push_number(lua, extent);
      extents.append();
    }
    list.append();
  }
}

}  // namespace

int shapes(lua_State* lua, const Context& c, const Rows& asked) {
  if (asked.kind != Kind::ranges) throw Error("'shapes' needs a selection of ranges");
  const Trace& t = c.trace();
  NewList list(lua);
  for (const ShapedRanges& of_name : shaped_ranges(c, asked)) {
    const std::string& name = t.names[of_name.name];
    charge(lua, name.size());
    lua_newtable(lua);
    set_text(lua, "name", name.substr(0, name.find(", sizes = [")));
    set_number(lua, "count", static_cast<double>(of_name.count));
    set_number(lua, "sum_ns", static_cast<double>(of_name.ns));
    push_shapes(lua, shapes_of_range(name));
    lua_setfield(lua, -2, "sizes");
    list.append();
  }
  return 1;
}

int products(lua_State* lua, const Context& c, const Rows& asked) {
  if (asked.kind != Kind::ops) throw Error("'products' needs a selection of operations");
  const Products products = products_of_ranges(c.trace());
  std::vector<ProductOps> order;
  if (!products.empty()) order = by_product(c, asked, products);
  order.resize(std::min(order.size(), most_products));
  NewList list(lua);
  for (ProductOps& ops : order) {
    push_product(lua, products.at(ops.name), ops);
    list.append();
  }
  return 1;
}

}  // namespace gh::binding
