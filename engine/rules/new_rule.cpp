#include "rules/new_rule.hpp"

#include <fmt/format.h>

#include "base/templates.hpp"
#include "base/text.hpp"

namespace gh {

NewRule make_rule(const std::string& category, const std::string& id) {
  if (!is_name(category) || !is_name(id))
    throw Error(fmt::format(
        "'{}': give CATEGORY/ID of lower-case letters, digits and '-', as in comm/tiny-collectives",
        printable(category.empty() ? id : category + "/" + id)));
  return {category, id, filled("new_rule.lua", {{"id", id}, {"category", category}}),
          filled("new_rule.test.lua", {})};
}

}  // namespace gh
