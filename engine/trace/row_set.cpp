#include "trace/row_set.hpp"

#include <algorithm>
#include <iterator>

namespace gh {

RowSet::RowSet(std::vector<Row> rows) : list_(std::move(rows)) { pack(); }

RowSet RowSet::all(std::size_t count) {
  RowSet rows;
  rows.words_.assign((count + 63) / 64, ~std::uint64_t{0});
  if (count % 64 != 0) rows.words_.back() = (std::uint64_t{1} << (count % 64)) - 1;
  rows.pack();
  return rows;
}

// Stores the rows as a list or as bits, whichever takes less memory.
void RowSet::pack() {
  constexpr std::size_t rows_a_word = sizeof(std::uint64_t) / sizeof(Row);
  size_ = list_.size();
  for (const std::uint64_t w : words_) size_ += static_cast<std::size_t>(std::popcount(w));
  if (!list_.empty() && size_ > rows_a_word * (list_.back() / 64 + std::size_t{1})) {
    words_.resize(list_.back() / 64 + std::size_t{1});
    for (const Row r : list_) words_[r / 64] |= std::uint64_t{1} << (r % 64);
    std::vector<Row>().swap(list_);
  } else if (!words_.empty() && size_ <= rows_a_word * words_.size()) {
    list_ = list();
    std::vector<std::uint64_t>().swap(words_);
  } else {
    list_.shrink_to_fit();
  }
}

std::vector<Row> RowSet::list() const {
  std::vector<Row> rows;
  rows.reserve(size_);
  each([&](Row r) { rows.push_back(r); });
  return rows;
}

RowSet RowSet::plus(const RowSet& other) const {
  const RowSet& more = words_.size() >= other.words_.size() ? *this : other;
  const RowSet& less = &more == this ? other : *this;
  RowSet both;
  if (more.words_.empty()) {
    std::set_union(list_.begin(), list_.end(), other.list_.begin(), other.list_.end(),
                   std::back_inserter(both.list_));
  } else {
    both.words_ = more.words_;
    if (!less.list_.empty())
      both.words_.resize(std::max(both.words_.size(), less.list_.back() / 64 + std::size_t{1}));
    for (std::size_t w = 0; w < less.words_.size(); ++w) both.words_[w] |= less.words_[w];
    for (const Row r : less.list_) both.words_[r / 64] |= std::uint64_t{1} << (r % 64);
  }
  both.pack();
  return both;
}

RowSet RowSet::minus(const RowSet& other) const {
  RowSet rest;
  if (words_.empty() && other.words_.empty()) {
    std::set_difference(list_.begin(), list_.end(), other.list_.begin(), other.list_.end(),
                        std::back_inserter(rest.list_));
  } else if (words_.empty()) {
    std::copy_if(list_.begin(), list_.end(), std::back_inserter(rest.list_), [&](Row r) {
      return r / 64 >= other.words_.size() || (other.words_[r / 64] >> (r % 64) & 1) == 0;
    });
  } else {
    rest.words_ = words_;
    for (std::size_t w = 0; w < std::min(words_.size(), other.words_.size()); ++w)
      rest.words_[w] &= ~other.words_[w];
    for (const Row r : other.list_)
      if (r / 64 < rest.words_.size()) rest.words_[r / 64] &= ~(std::uint64_t{1} << (r % 64));
  }
  rest.pack();
  return rest;
}

RowBits::RowBits(const RowSet& rows, std::size_t count) : words_(rows.words_) {
  words_.resize((count + 63) / 64);
  for (const Row r : rows.list_)
    if (r < count) add(r);
}

RowSet RowBits::set() && {
  RowSet rows;
  rows.words_ = std::move(words_);
  rows.pack();
  return rows;
}

}  // namespace gh
