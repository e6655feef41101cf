// The rows of one kind of event that a rule selects, anywhere from three to millions, over and
// over. A large selection stores one bit per row, so that selecting all operations of a long report
// takes a hundredth of the report's size. A small selection is a list.
#pragma once
#include <bit>
#include <cstdint>
#include <vector>

#include "trace/trace.hpp"

namespace gh {

/// A set of rows, visited in order.
class RowSet {
 public:
  RowSet() = default;
  /// In order, each once.
  explicit RowSet(std::vector<Row> rows);
  /// All rows below `count`.
  static RowSet all(std::size_t count);

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// Memory used.
  std::size_t bytes() const {
    return words_.size() * sizeof(std::uint64_t) + list_.size() * sizeof(Row);
  }

  /// Calls take(row) with every row, in order.
  template <class Take>
  void each(Take take) const {
    for (const Row r : list_) take(r);
    for (std::size_t w = 0; w < words_.size(); ++w)
      for (std::uint64_t bits = words_[w]; bits != 0; bits &= bits - 1)
        take(static_cast<Row>(64 * w + static_cast<std::size_t>(std::countr_zero(bits))));
  }

  /// The rows for which passes(row) holds; calls it in order.
  template <class Passes>
  RowSet where(Passes passes) const {
    RowSet kept;
    for (const Row r : list_)
      if (passes(r)) kept.list_.push_back(r);
    kept.words_.resize(words_.size());
    for (std::size_t w = 0; w < words_.size(); ++w)
      kept.words_[w] = passing(words_[w], static_cast<Row>(64 * w), passes);
    kept.pack();
    return kept;
  }

  RowSet plus(const RowSet& other) const;
  RowSet minus(const RowSet& other) const;
  std::vector<Row> list() const;

  friend class RowBits;

 private:
  // Of the rows `first` + b for which bit b is set, those that pass, as bits.
  template <class Passes>
  static std::uint64_t passing(std::uint64_t bits, Row first, Passes& passes) {
    std::uint64_t out = 0;
    if (bits == ~std::uint64_t{0}) {
      // Usually all bits are set. Then there is no bit to search for, and rows do not wait for each
      // other.
      for (unsigned bit = 0; bit < 64; ++bit)
        out |= std::uint64_t{passes(static_cast<Row>(first + bit))} << bit;
      return out;
    }
    for (; bits != 0; bits &= bits - 1) {
      const int bit = std::countr_zero(bits);
      out |= std::uint64_t{passes(static_cast<Row>(first + static_cast<Row>(bit)))} << bit;
    }
    return out;
  }
  void pack();

  std::size_t size_ = 0;
  std::vector<Row> list_;             // one of the two is empty
  std::vector<std::uint64_t> words_;  // bit b of word w: row 64 w + b
};

/// A set of rows that can be filled in any order and queried one by one.
class RowBits {
 public:
  /// Starts empty, for rows below `count`.
  explicit RowBits(std::size_t count) : words_((count + 63) / 64) {}
  /// Starts with `rows`, all of them below `count`.
  RowBits(const RowSet& rows, std::size_t count);
  void add(Row r) { words_[r / 64] |= std::uint64_t{1} << (r % 64); }
  bool holds(Row r) const { return (words_[r / 64] >> (r % 64) & 1) != 0; }
  RowSet set() &&;

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace gh
