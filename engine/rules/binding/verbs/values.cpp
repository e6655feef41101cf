// Fields of rows, summed up: number, sum, median, largest, groups.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/tables/groups.hpp"
#include "rules/binding/largest.hpp"
#include "rules/binding/verbs.hpp"

namespace gh::binding {
namespace {

// Each takes a few hundred bytes: grouping millions of rows by a time would fill the memory.
constexpr std::size_t most_groups = 200'000;

using Group = Groups<std::string>::Sum;

// The rows of a selection by the value of a field.
class GroupsByField {
 public:
  GroupsByField(lua_State* lua, const Context& c, const Rows& s, Field field)
      : lua_(lua), c_(c), s_(s), field_(field) {}

  Group& of(Row r) {
    const TextKey key = text_key(c_, s_, r, field_);
    if (key != no_text) return *of_text(key);
    return *(spec_of(field_).number ? of_number(r) : named(""));
  }
  std::vector<Group*> longest_first() const { return by_name_.longest_first(); }

 private:
  Group* of_text(TextKey key) {
    if (key >= by_text_.size()) by_text_.resize(key + std::size_t{1});
    if (!by_text_[key]) by_text_[key] = named(key_text(c_, s_.kind, field_, key));
    return by_text_[key];
  }
  Group* of_number(Row r) {
    const double number = number_field(c_, s_, r, field_).value_or(0);
    if (last_.second && last_.first == number) return last_.second;
    Group*& group = by_number_[number];
    if (!group) group = named(fmt::format("{:.0f}", number));
    last_ = {number, group};
    return group;
  }
  // Different keys may have the same name.
  Group* named(const std::string& name) {
    if (by_name_.size() == most_groups && !by_name_.contains(name))
      lua_give_up(lua_, fmt::format("there are more than {} groups by '{}'", most_groups,
                                    spec_of(field_).name));
    return &by_name_.of(name);
  }

  lua_State* lua_;
  const Context& c_;
  const Rows& s_;
  Field field_;
  Groups<std::string> by_name_;
  std::map<double, Group*> by_number_;
  std::vector<Group*> by_text_;                 // by text_key
  std::pair<double, Group*> last_{0, nullptr};  // rows with the same number are usually adjacent
};

// Pushes a row as a table of its fields.
void push_row(lua_State* lua, const Context& c, const Rows& s, Row r) {
  lua_newtable(lua);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto field = static_cast<Field>(i);
    if (const auto number = number_field(c, s, r, field)) {
      set_number(lua, fields[i].name, *number);
      continue;
    }
    const std::string text = key_text(c, s.kind, field, text_key(c, s, r, field));
    if (!text.empty()) set_text(lua, fields[i].name, text);
  }
}

int count(lua_State* lua, const Context&, const Rows& asked) {
  lua_pushinteger(lua, static_cast<lua_Integer>(asked.rows.size()));
  return 1;
}

int sum(lua_State* lua, const Context& c, const Rows& asked) {
  const Field field = checked_field(lua, 2);
  double sum = 0;
  asked.rows.each([&](Row r) {
    const std::optional<double> value = number_field(c, asked, r, field);
    if (!value) throw Error(fmt::format("'{}' cannot be summed here", spec_of(field).name));
    sum += *value;
  });
  push_number(lua, sum);
  return 1;
}

int median(lua_State* lua, const Context& c, const Rows& asked) {
  const Field field = checked_field(lua, 2);
  if (asked.rows.empty()) {
    lua_pushnil(lua);
    return 1;
  }
  std::vector<Ns> values;
  values.reserve(asked.rows.size());
  asked.rows.each([&](Row r) {
    values.push_back(static_cast<Ns>(number_field(c, asked, r, field).value_or(0)));
  });
  push_number(lua, static_cast<double>(gh::median(std::move(values))));
  return 1;
}

int group(lua_State* lua, const Context& c, const Rows& asked) {
  const Field field = checked_field(lua, 2);
  const std::size_t most = optional_count(lua, 3, 20, 1000);
  GroupsByField groups(lua, c, asked, field);
  asked.rows.each([&](Row r) { groups.of(r).each.add(span_of(c, asked, r).length()); });
  std::vector<Group*> order = groups.longest_first();
  const bool only_one = order.size() == 1;
  order.resize(std::min(order.size(), most));
  if (!only_one) {
    for (Group* g : order) g->rows.reserve(static_cast<std::size_t>(g->each.count));
    asked.rows.each([&](Row r) {
      Group& g = groups.of(r);
      if (g.rows.capacity() > 0) g.rows.push_back(r);  // not for groups that were cut off
    });
  }
  NewList list(lua);
  for (Group* g : order) {
    lua_newtable(lua);
    set_text(lua, "key", g->key);
    set_number(lua, "count", static_cast<double>(g->each.count));
    set_number(lua, "sum_ns", static_cast<double>(g->each.total_ns));
    set_rows(lua, "rows",
             {asked.kind, only_one ? asked.rows : RowSet(std::move(g->rows)), asked.chains});
    list.append();
  }
  return 1;
}

int top(lua_State* lua, const Context& c, const Rows& asked) {
  const std::size_t most = checked_count(lua, 2, 1000);
  const Field field = lua_isnoneornil(lua, 3) ? Field::duration_ns : checked_field(lua, 3);
  NewList list(lua);
  for (const Row r : largest(c, asked, most, field)) {
    push_row(lua, c, asked, r);
    set_rows(lua, "rows", {asked.kind, RowSet({r}), asked.chains});
    list.append();
  }
  return 1;
}

constexpr Verb values_table[] = {
    {"selection:count", verb<count>},
    {"selection:sum", verb<sum, Cost{.rows = 4}>},
    {"selection:median", verb<median, Cost{.rows = 1}>},
    {"selection:group", verb<group, Cost{.rows = 1}>},
    {"selection:top", verb<top, Cost{.rows = 1}>},
};

}  // namespace

const Verbs values_verbs = values_table;

}  // namespace gh::binding
