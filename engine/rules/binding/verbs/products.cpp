// The matrix products that operations compute, and the shapes of operators, if ranges contain those
// of their operands.
#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "analysis/flops.hpp"
#include "analysis/tables/groups.hpp"
#include "rules/binding/verbs.hpp"

namespace gh::binding {
namespace {

constexpr std::size_t most_products = 1000;
constexpr std::string_view sizes_title = ", sizes = [";  // in the names of ranges with shapes
constexpr std::size_t most_shaped = 1000;                // operators of different shapes

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
// Operations by the range with their product, and the size of their elements.
using ProductOps = Groups<std::pair<NameId, int>>;

int element_bytes(KernelClass c) {
  if (c == KernelClass::gemm_half) return 2;
  if (c == KernelClass::gemm_fp8 || c == KernelClass::gemm_int8) return 1;
  return 4;
}

ProductOps by_product(const Context& c, const Rows& asked, const Products& products) {
  const Trace& t = c.trace();
  const std::vector<Row> ops = asked.rows.list(), ranges = ranges_of_products(t, ops, products);
  ProductOps groups;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ranges[i] == no_row) continue;
    ProductOps::Sum& sum =
        groups.of({t.ranges.name[ranges[i]], element_bytes(c.analysis.class_of(ops[i]))});
    sum.each.add(t.span_of(ops[i]).length());
    sum.rows.push_back(ops[i]);
  }
  return groups;
}

void push_product(lua_State* lua, const Product& product, ProductOps::Sum& ops) {
  double odd = 0;
  const int element_bytes = ops.key.second;
  const std::optional<bool> aligned = is_aligned(product, element_bytes, &odd);
  lua_newtable(lua);
  set_number(lua, "m", product.m);
  set_number(lua, "n", product.n);
  set_number(lua, "k", product.k);
  set_number(lua, "element_bytes", element_bytes);
  set_number(lua, "count", static_cast<double>(ops.rows.size()));
  set_number(lua, "sum_ns", static_cast<double>(ops.each.total_ns));
  if (aligned) set_flag(lua, "aligned", *aligned);
  if (aligned == false) set_number(lua, "odd", odd);
  set_rows(lua, "rows", {Kind::ops, RowSet(std::move(ops.rows))});
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
  Groups<NameId> sums;
  asked.rows.each(
      [&](Row r) { sums.of(t.ranges.name[r]).each.add(span_of(c, asked, r).length()); });
  NewList list(lua);
  std::size_t listed = 0;
  for (const auto* sum :
       sums.longest_first([&](NameId id) { return std::string_view(t.names[id]); })) {
    const std::string& name = t.names[sum->key];
    if (name.find(sizes_title) == std::string::npos || listed++ == most_shaped) continue;
    charge(lua, name.size());
    lua_newtable(lua);
    set_text(lua, "name", name.substr(0, name.find(sizes_title)));
    set_number(lua, "count", static_cast<double>(sum->each.count));
    set_number(lua, "sum_ns", static_cast<double>(sum->each.total_ns));
    push_shapes(lua, shapes_of_range(name));
    lua_setfield(lua, -2, "sizes");
    list.append();
  }
  return 1;
}

int products(lua_State* lua, const Context& c, const Rows& asked) {
  if (asked.kind != Kind::ops) throw Error("'products' needs a selection of operations");
  const Trace& t = c.trace();
  const Products products = products_of_ranges(t);
  const ProductOps groups = products.empty() ? ProductOps() : by_product(c, asked, products);
  auto order = groups.longest_first(
      [&](const auto& key) { return std::pair(std::string_view(t.names[key.first]), key.second); });
  order.resize(std::min(order.size(), most_products));
  NewList list(lua);
  for (ProductOps::Sum* ops : order) {
    push_product(lua, products.at(ops->key.first), *ops);
    list.append();
  }
  return 1;
}

}  // namespace gh::binding
