// The ranges or operators in which operations were launched, and the matrix products that these
// compute, if ranges contain the shapes of operands.
#include <algorithm>
#include <optional>
#include <utility>

#include "analysis/flops.hpp"
#include "analysis/tables/groups.hpp"
#include "rules/binding/verbs.hpp"

namespace gh::binding {
namespace {

constexpr std::size_t most_products = 1000;

// By name of the range; empty if none names a product.
using Products = std::vector<std::optional<Product>>;

Products products_of_ranges(const Trace& t) {
  Products found;
  std::vector<bool> seen(t.names.size());
  for (const NameId name : t.ranges.name) {
    if (seen[name]) continue;
    seen[name] = true;
    const auto product = product_of_range(t.names[name]);
    if (product && found.empty()) found.resize(t.names.size());
    if (product) found[name] = product;
  }
  return found;
}

// Calls take(operation, range) for each of the operations that was launched in a range for which
// is_one(range) holds, with the innermost of these.
template <class IsOne, class Take>
void each_in_range(const Context& c, const Rows& ops, IsOne is_one, Take take) {
  const Trace& t = c.trace();
  const Nesting& ranges = c.analysis.structure().ranges();
  ops.rows.each([&](Row op) {
    const Row range = ranges.first_on_own_thread(t.calls, t.ops.call[op], is_one);
    if (range != no_row) take(op, range);
  });
}

// Operations that compute one product in one precision: by the range's name and the bytes of an
// element.
using ProductOps = Groups<std::pair<NameId, int>>;

int element_bytes(KernelClass c) {
  if (c == KernelClass::gemm_half) return 2;
  if (c == KernelClass::gemm_fp8 || c == KernelClass::gemm_int8) return 1;
  return 4;
}

ProductOps by_product(const Context& c, const Rows& asked, const Products& products) {
  const Trace& t = c.trace();
  ProductOps groups;
  const auto is_product = [&](Row range) { return products[t.ranges.name[range]].has_value(); };
  each_in_range(c, asked, is_product, [&](Row op, Row range) {
    ProductOps::Sum& sum =
        groups.of({t.ranges.name[range], element_bytes(c.analysis.class_of(op))});
    sum.each.add(t.span_of(op).length());
    sum.rows.push_back(op);
  });
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
    push_product(lua, *products[ops->key.first], *ops);
    list.append();
  }
  return 1;
}

// Ranges that last about as long as a step or longer say nothing about what launched an operation.
Groups<NameId> by_operator(const Context& c, const Rows& asked) {
  constexpr double most_of_a_step = 0.8;
  const Trace& t = c.trace();
  const Ns longest =
      static_cast<Ns>(most_of_a_step * static_cast<double>(c.analysis.total_ns()) /
                      static_cast<double>(std::max<std::int64_t>(1, c.analysis.step_count())));
  Groups<NameId> sums;
  const auto is_short = [&](Row r) { return t.ranges.end[r] - t.ranges.start[r] <= longest; };
  each_in_range(c, asked, is_short, [&](Row op, Row range) {
    sums.of(t.ranges.name[range]).each.add(t.span_of(op).length());
  });
  return sums;
}

int operators(lua_State* lua, const Context& c, const Rows& asked) {
  constexpr std::size_t most_operators = 20;
  if (asked.kind != Kind::ops) throw Error("'operators' needs a selection of operations");
  const Trace& t = c.trace();
  const Groups<NameId> sums = by_operator(c, asked);
  auto order = sums.longest_first([&](NameId name) { return std::string_view(t.names[name]); });
  order.resize(std::min(order.size(), most_operators));
  NewList list(lua);
  for (const auto* sum : order) {
    lua_newtable(lua);
    set_text(lua, "name", t.names[sum->key]);
    set_number(lua, "count", static_cast<double>(sum->each.count));
    set_number(lua, "sum_ns", static_cast<double>(sum->each.total_ns));
    list.append();
  }
  return 1;
}

constexpr Verb products_table[] = {
    {"selection:operators", verb<operators, Cost{.rows = 1, .ranges = 4}>},
    {"selection:products", verb<products, Cost{.rows = 1, .ranges = 4}>},
};

}  // namespace

const Verbs products_verbs = products_table;

}  // namespace gh::binding
