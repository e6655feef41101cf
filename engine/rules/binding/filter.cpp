#include "rules/binding/filter.hpp"

#include <algorithm>
#include <memory>

#include "base/glob_steps.hpp"
#include "base/text.hpp"
#include "rules/binding/crossing.hpp"

namespace gh::binding {
namespace {

// For each of `count` numbers, whether the text that it stands for matches.
template <class TextOf>
std::vector<std::uint8_t> matches(const Context& c, const Globs& globs, std::size_t count,
                                  TextOf text_of) {
  std::vector<std::uint8_t> match(count);
  for (std::size_t k = 0; k < count; ++k) match[k] = globs.match(c, text_of(k));
  return match;
}

// Allows only values whose names match; values ruled out before stay ruled out.
template <class Enum, std::size_t count>
void narrow(std::array<bool, count>& allowed, const Context& c, const Globs& globs) {
  for (std::size_t k = 0; k < count; ++k) {
    allowed[k] = allowed[k] && globs.match(c, name_of(static_cast<Enum>(k)));
  }
}

template <std::size_t count>
bool all_of(const std::array<bool, count>& allowed) {
  return std::find(allowed.begin(), allowed.end(), false) == allowed.end();
}

// A test of the small numbers in a column.
template <class Value>
RowTest column_test(const std::vector<Value>& column, std::vector<std::uint8_t> passes) {
  return [&column, passes = std::move(passes)](const Context&, const Rows&, Row r) {
    return passes[static_cast<std::size_t>(column[r])] != 0;
  };
}

const std::vector<std::uint16_t>* threads_of(const Trace& t, Kind kind) {
  switch (kind) {
    case Kind::calls: return &t.calls.thread;
    case Kind::ranges: return &t.ranges.thread;
    case Kind::os_calls: return &t.os_calls.thread;
    default: return nullptr;
  }
}

// Of a kind whose rows have names.
RowsInSteps::Named named(Kind kind) {
  switch (kind) {
    case Kind::calls: return RowsInSteps::Named::calls;
    case Kind::ranges: return RowsInSteps::Named::ranges;
    case Kind::os_calls: return RowsInSteps::Named::os_calls;
    default: return RowsInSteps::Named::ops;
  }
}

}  // namespace

bool Globs::match(const Context& c, std::string_view text) const {
  return std::any_of(list.begin(), list.end(), [&](const std::string& glob) {
    std::size_t steps = 0;
    const bool matches = glob_match(glob, text, steps);
    charge(c.lua, steps / 64);
    return matches;
  });
}

RowTest text_test(Field field, const Globs& globs) {
  static constexpr std::int8_t not_asked = -1;
  auto answers = std::make_shared<std::vector<std::int8_t>>();  // by text_key, no_text first
  return [field, globs, answers](const Context& c, const Rows& s, Row r) {
    const TextKey key = text_key(c, s, r, field);
    const std::size_t at = key == no_text ? 0 : key + std::size_t{1};
    if (at >= answers->size()) answers->resize(at + 1, not_asked);
    std::int8_t& answer = (*answers)[at];
    if (answer == not_asked) answer = globs.match(c, key_text(c, s.kind, field, key));
    return answer == 1;
  };
}

Filter::Filter(const Context& c, Kind kind)
    : kind_(kind),
      kind_of_row_(kind == Kind::ops ? c.trace().ops.kind.data() : nullptr),
      name_of_row_(names_of(c, kind)) {
  op_kinds_.fill(true);
  causes_.fill(true);
}

void Filter::text(const Context& c, Field field, const Globs& globs) {
  if (!quick_text(c, field, globs)) test(text_test(field, globs));
}

// False if there is no fast test of this field for such rows.
bool Filter::quick_text(const Context& c, Field field, const Globs& globs) {
  const Trace& t = c.trace();
  if (field == Field::name && name_of_row_) {
    name_test(c, [&c, globs](NameId name) { return globs.match(c, c.trace().names[name]); });
    return true;
  }
  if (field == Field::name_class && kind_ == Kind::ops) {
    kernel_class(c, globs);
    return true;
  }
  if (field == Field::name_class && kind_ == Kind::calls) {
    call_class(c, globs);
    return true;
  }
  if (field == Field::kind && kind_ == Kind::ops) {
    narrow<OpKind>(op_kinds_, c, globs);
    return true;
  }
  if (field == Field::cause && kind_ == Kind::idle) {
    narrow<IdleCause>(causes_, c, globs);
    any_cause_ = false;
    return true;
  }
  if (field == Field::direction && kind_ == Kind::ops) {
    constexpr auto count = static_cast<std::size_t>(CopyKind::other) + 1;
    const auto name = [](std::size_t k) { return name_of(static_cast<CopyKind>(k)); };
    test(column_test(t.ops.copy, matches(c, globs, count, name)));
    return true;
  }
  if (const auto* threads = threads_of(t, kind_); field == Field::thread && threads) {
    const auto label = [&](std::size_t thread) {
      return t.thread_label(static_cast<std::uint16_t>(thread));
    };
    test(column_test(*threads, matches(c, globs, t.threads.size(), label)));
    return true;
  }
  return false;
}

void Filter::name_test(const Context& c, NameTest passes) {
  if (name_answers_.empty()) name_answers_.assign(c.trace().names.size(), not_asked);
  name_tests_.push_back(std::move(passes));
}

void Filter::kernel_class(const Context& c, const Globs& globs) {
  const std::vector<std::string>& classes = c.analysis.classes.kernel_classes();
  const auto class_name = [&](std::size_t k) { return std::string_view(classes[k]); };
  name_test(c, [&class_of = c.analysis.names.kernel,
                passes = matches(c, globs, classes.size(), class_name)](NameId name) {
    return passes[static_cast<std::size_t>(class_of[name])] != 0;
  });
  if (globs.match(c, "")) return;
  // Only kernels have a class.
  for (std::size_t k = 0; k < op_kinds; ++k) {
    if (static_cast<OpKind>(k) != OpKind::kernel) op_kinds_[k] = false;
  }
}

void Filter::call_class(const Context& c, const Globs& globs) {
  constexpr auto count = static_cast<std::size_t>(CallClass::event) + 1;
  const auto class_name = [](std::size_t k) { return name_of(static_cast<CallClass>(k)); };
  name_test(c, [&class_of = c.analysis.names.call, passes = matches(c, globs, count, class_name)](
                   NameId name) { return passes[static_cast<std::size_t>(class_of[name])] != 0; });
}

bool Filter::ask(NameId name) const {
  const bool passes = std::all_of(name_tests_.begin(), name_tests_.end(),
                                  [name](const NameTest& test) { return test(name); });
  name_answers_[name] = static_cast<Answer>(passes);
  return passes;
}

Rows Filter::of(const Context& c, const Rows& all) const {
  return {all.kind, none_ ? RowSet() : passing(c, all), all.chains};
}

// Each of the fast tests has a separate loop.
RowSet Filter::passing(const Context& c, const Rows& all) const {
  const bool by_name = !name_answers_.empty();
  if (by_name) {
    const std::vector<NameId>& names = c.in_steps.names_of(named(kind_));
    if (names.size() < all.rows.size() &&
        std::none_of(names.begin(), names.end(), [&](NameId n) { return passes_by_name(n); }))
      return {};
  }
  if (!any_cause_) {
    return passing(c, all, [this, causes = c.analysis.account.idle_causes.data()](Row r) {
      return causes_[static_cast<std::size_t>(causes[r])];
    });
  }
  if (!all_of(op_kinds_)) {
    const auto by_kind = [this, allowed = op_kinds_](Row r) {
      return allowed[static_cast<std::size_t>(kind_of_row_[r])];
    };
    if (!by_name) return passing(c, all, by_kind);
    return passing(c, all,
                   [&, this](Row r) { return by_kind(r) && passes_by_name(name_of_row_[r]); });
  }
  if (by_name) {
    return passing(c, all, [this](Row r) { return passes_by_name(name_of_row_[r]); });
  }
  return tests_.empty() ? all.rows : passing(c, all, [](Row) { return true; });
}

template <class Quick>
RowSet Filter::passing(const Context& c, const Rows& all, Quick quick) const {
  if (tests_.empty()) return all.rows.where(quick);
  return all.rows.where([&](Row r) {
    return quick(r) && std::all_of(tests_.begin(), tests_.end(),
                                   [&](const RowTest& passes) { return passes(c, all, r); });
  });
}

}  // namespace gh::binding
