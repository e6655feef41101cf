// Timelines as the page's script draws them: the JSON that a page carries (page.js).
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/json.hpp"
#include "base/unit_words.hpp"
#include "report/timeline.hpp"

namespace gh {

/// Collects the timelines of one page. Names that occur in several are written once.
class TimelineData {
 public:
  /// Names are cut to `most_text` characters; `unit` is what a step is called.
  explicit TimelineData(std::size_t most_text, UnitWords unit = {})
      : most_text_(most_text), unit_(std::move(unit)) {}

  /// Adds what ran around evidence; `label` says what it is to people. Returns the number by which
  /// a figure of the page asks for it.
  std::size_t add(const View& view, const std::string& label);

  /// Adds the whole window with the evidence of the first `findings` above it, which have a place
  /// on the page to lead to.
  std::size_t add(const Overview& overview, const Report& report, std::size_t findings);

  std::string json() const;

 private:
  std::size_t push(Json view);
  Json piece(const Piece& piece, Ns origin);
  std::int64_t name(const std::string& text);

  std::size_t most_text_, name_bytes_ = 0;
  UnitWords unit_;
  std::unordered_map<std::string, std::int64_t> name_ids_;
  Json names_ = Json::array(), views_ = Json::array();
};

}  // namespace gh
