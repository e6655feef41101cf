// Compares sets of rows, in either representation, with sorted lists.
#include "trace/row_set.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <random>

namespace {

using gh::Row;
using gh::RowBits;
using gh::RowSet;

std::vector<Row> visited(const RowSet& rows) {
  std::vector<Row> list;
  rows.each([&](Row r) { list.push_back(r); });
  return list;
}

// Rows below `count`, about one in `sparseness`.
std::vector<Row> some(std::mt19937& random, Row count, unsigned sparseness) {
  std::vector<Row> rows;
  for (Row r = 0; r < count; ++r)
    if (random() % sparseness == 0) rows.push_back(r);
  return rows;
}

}  // namespace

TEST_CASE("row sets: large and small sets behave the same") {
  std::mt19937 random(7);
  for (const unsigned of_one : {1u, 2u, 30u, 70u, 500u})
    for (const unsigned of_other : {1u, 3u, 40u, 900u}) {
      CAPTURE(of_one);
      CAPTURE(of_other);
      const std::vector<Row> a = some(random, 5000, of_one), b = some(random, 3000, of_other);
      const RowSet one(a), other(b);
      CHECK(visited(one) == a);
      CHECK(one.list() == a);
      CHECK(one.size() == a.size());
      std::vector<Row> expected;
      std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(expected));
      CHECK(visited(one.plus(other)) == expected);
      CHECK(visited(other.plus(one)) == expected);
      expected.clear();
      std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(expected));
      CHECK(visited(one.minus(other)) == expected);
      CHECK(one.minus(other).size() == expected.size());
      expected.clear();
      std::copy_if(a.begin(), a.end(), std::back_inserter(expected),
                   [](Row r) { return r % 3 == 1; });
      CHECK(visited(one.where([](Row r) { return r % 3 == 1; })) == expected);
      const RowBits bits(one, 4000);  // some of which are beyond it
      for (Row r = 0; r < 4000; ++r)
        REQUIRE(bits.holds(r) == std::binary_search(a.begin(), a.end(), r));
    }
}

TEST_CASE("row sets: all rows, no rows, and rows added in any order work as sets") {
  CHECK(RowSet().empty());
  CHECK(RowSet::all(0).empty());
  for (const std::size_t count : {1u, 63u, 64u, 65u, 1000u}) {
    CHECK(RowSet::all(count).size() == count);
    CHECK(visited(RowSet::all(count)).back() == count - 1);
    CHECK(RowSet::all(count).minus(RowSet::all(count)).empty());
    CHECK(RowSet::all(count).where([](Row) { return false; }).empty());
  }
  RowBits bits(200);
  for (const Row r : {150u, 3u, 64u, 3u}) bits.add(r);
  CHECK(visited(std::move(bits).set()) == std::vector<Row>{3, 64, 150});
}

TEST_CASE("row sets: large sets take a bit per row, small ones four bytes per row") {
  CHECK(RowSet::all(1'000'000).bytes() == 125'000);
  CHECK(RowSet::all(1'000'000).where([](Row r) { return r % 1000 == 0; }).bytes() == 4000);
}
