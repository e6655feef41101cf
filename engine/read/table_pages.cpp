#include "read/table_pages.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "base/text.hpp"

namespace gh {
namespace {

constexpr std::size_t file_header_bytes = 100, leaf_header_bytes = 8, interior_header_bytes = 12;
constexpr unsigned char interior_table = 5, leaf_table = 13;
// Padding after the last page: parsing may read a nine-byte number before it knows where it ends.
constexpr std::size_t margin = 32;
constexpr int deepest = 20;  // SQLite's own limit
constexpr std::size_t pages_held_bytes = 256 << 10;

void expect(bool condition) {
  if (!condition) throw UnexpectedPage();
}

// A variable-length integer of one to nine bytes, with seven bits in each but the ninth. Returns
// what follows it.
inline const unsigned char* number(const unsigned char* p, std::uint64_t& value) {
  if (*p < 0x80) {
    value = *p;
    return p + 1;
  }
  value = 0;
  for (int i = 0; i < 8; ++i) {
    value = value << 7 | (*p & 0x7Fu);
    if (*p++ < 0x80) return p;
  }
  value = value << 8 | *p;
  return p + 1;
}

// The size of a value of a serial type.
inline std::uint64_t bytes_of(std::uint64_t type) {
  static constexpr std::array<std::uint8_t, 10> fixed{0, 1, 2, 3, 4, 6, 8, 8, 0, 0};
  if (type < fixed.size()) return fixed[type];
  expect(type >= 12);  // the others are reserved
  return (type - 12) / 2;
}

// May read up to seven bytes beyond the end.
std::uint64_t hash(std::span<const unsigned char> bytes) {
  std::uint64_t h = 0;
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    const std::size_t beyond = 8 - std::min<std::size_t>(8, bytes.size() - i);
    h = (h ^ big64(bytes.data() + i) >> 8 * beyond) * 0x9E3779B97F4A7C15;
  }
  return h >> 32;
}

}  // namespace

PageFile::PageFile(const std::filesystem::path& path)
    : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  std::array<unsigned char, file_header_bytes> head{};
  std::error_code ec;
  const std::uintmax_t size = std::filesystem::file_size(path, ec);
  bool good = file_ >= 0 && !ec &&
              pread(file_, head.data(), head.size(), 0) == static_cast<ssize_t>(head.size());
  if (good) {
    page_bytes_ = big16(head.data() + 16) == 1 ? 65536 : big16(head.data() + 16);
    usable_bytes_ = page_bytes_ - std::min<std::size_t>(head[20], page_bytes_);
    pages_ = page_bytes_ ? size / page_bytes_ : 0;
    good = std::has_single_bit(page_bytes_) && page_bytes_ >= 512 && usable_bytes_ >= 480 &&
           pages_ < (std::uint64_t{1} << 32) && big32(head.data() + 56) == 1;  // UTF-8
  }
  if (good) return;
  if (file_ >= 0) ::close(file_);
  throw UnexpectedPage();
}

PageFile::~PageFile() { ::close(file_); }

void PageFile::read(std::uint32_t first, std::size_t count, unsigned char* to) const {
  expect(first >= 1 && first + count - 1 <= pages_);
  const std::size_t bytes = count * page_bytes_;
  for (std::size_t got = 0; got < bytes;) {
    const ssize_t n = pread(file_, to + got, bytes - got,
                            static_cast<off_t>(std::uint64_t{first - 1} * page_bytes_ + got));
    expect(n > 0);
    got += static_cast<std::size_t>(n);
  }
}

std::vector<std::uint32_t> PageFile::leaves(std::uint32_t root) const {
  std::vector<bool> seen(pages_ + 1);
  std::vector<std::uint32_t> out;
  add_leaves(root, 0, seen, out);
  return out;
}

void PageFile::add_leaves(std::uint32_t page, int depth, std::vector<bool>& seen,
                          std::vector<std::uint32_t>& out) const {
  expect(page >= 1 && page <= pages_ && depth < deepest && !seen[page]);
  seen[page] = true;
  std::vector<unsigned char> bytes(page_bytes_);
  read(page, 1, bytes.data());
  const unsigned char* header = bytes.data() + (page == 1 ? file_header_bytes : 0);
  if (header[0] == leaf_table) {
    out.push_back(page);
    return;
  }
  expect(header[0] == interior_table);
  const std::size_t cells = big16(header + 3),
                    begin = static_cast<std::size_t>(header - bytes.data()) + interior_header_bytes;
  expect(begin + 2 * cells <= usable_bytes_);
  std::vector<std::uint32_t> below;
  for (std::size_t i = 0; i < cells; ++i) {
    const std::size_t at = big16(bytes.data() + begin + 2 * i);
    expect(at >= begin + 2 * cells && at + 5 <= usable_bytes_);
    below.push_back(big32(bytes.data() + at));
  }
  below.push_back(big32(header + 8));
  // All pages on a level are of the same kind, so checking the first for a leaf avoids reading the
  // others.
  const std::uint32_t first = below.front();
  expect(first >= 1 && first <= pages_);
  read(first, 1, bytes.data());
  if (bytes[first == 1 ? file_header_bytes : 0] != leaf_table) {
    for (const std::uint32_t p : below) add_leaves(p, depth + 1, seen, out);
    return;
  }
  for (const std::uint32_t p : below) {
    expect(p >= 1 && p <= pages_ && !seen[p]);
    seen[p] = true;
    out.push_back(p);  // PageRows checks that it is a leaf
  }
}

void PageFile::count_overflow(std::size_t bytes) const {
  expect((overflow_bytes_ += bytes) <= 2 * pages_ * page_bytes_);
}

std::optional<TableLayout> layout_of(const Database& db, std::string_view table) {
  TableLayout layout;
  Query master(db, "SELECT rootpage, sql FROM sqlite_master WHERE type = 'table' AND name = ?1");
  master.bind(1, table);
  if (!master.step() || !master.is_integer(0) || !master.is_text(1)) return std::nullopt;
  if (master.integer(0) < 1 || master.integer(0) > 0xFFFFFFFF) return std::nullopt;
  layout.root = static_cast<std::uint32_t>(master.integer(0));
  const std::string sql = in_lower_case(master.text(1));
  if (sql.find(" desc") != sql.npos) {
    return std::nullopt;  // INTEGER PRIMARY KEY DESC is not a row id
  }
  Query info(db, "PRAGMA table_xinfo(" + quoted_name(table) + ")");
  enum { cid, name, type, not_null, default_value, primary_key, hidden };
  int keys = 0;
  while (info.step()) {
    if (info.integer(hidden) != 0) return std::nullopt;
    const std::string declared = in_lower_case(info.text(type));
    const auto holds = [&](const char* part) { return declared.find(part) != declared.npos; };
    const bool is_key = info.integer(primary_key) > 0;
    keys += is_key;
    layout.columns.push_back({std::string(info.text(name)), is_key && declared == "integer",
                              !info.is_null(default_value),
                              !holds("int") && (holds("real") || holds("floa") || holds("doub"))});
  }
  if (keys > 1) {
    for (TableLayout::Column& c : layout.columns) c.is_row_id = false;
  }
  return layout;
}

PageRows::PageRows(const PageFile& file, const TableLayout& layout,
                   std::span<const std::uint32_t> leaves, const std::vector<int>& wanted)
    : file_(file),
      layout_(layout),
      wanted_(wanted),
      leaves_(leaves),
      pages_(
          std::max<std::size_t>(1, std::min(leaves.size(), pages_held_bytes / file.page_bytes())) *
              file.page_bytes() +
          margin) {
  for (const int w : wanted) {
    columns_ = std::max(columns_, static_cast<std::size_t>(w + 1));
    expect(w < 0 || !layout.columns[static_cast<std::size_t>(w)].is_real);
  }
  stored_.resize(columns_);
  for (Shape& shape : shapes_) shape.values.resize(wanted.size());
  if (!leaves.empty()) begin_page();
}

// Starts with the page at page_. Reads consecutive pages of the file together.
void PageRows::begin_page() {
  const std::size_t bytes = file_.page_bytes();
  if (page_ >= first_ + held_) {
    first_ = page_;
    held_ = 0;
    for (const std::size_t most =
             std::min((pages_.size() - margin) / bytes, leaves_.size() - page_);
         held_ < most;) {
      std::size_t n = 1;
      while (held_ + n < most && leaves_[first_ + held_ + n] == leaves_[first_ + held_] + n) {
        ++n;
      }
      file_.read(leaves_[first_ + held_], n, pages_.data() + held_ * bytes);
      held_ += n;
    }
  }
  const std::size_t header = leaves_[page_] == 1 ? file_header_bytes : 0;
  const unsigned char* page = pages_.data() + (page_ - first_) * bytes;
  expect(page[header] == leaf_table);
  cell_ = 0;
  cells_ = big16(page + header + 3);
  expect(header + leaf_header_bytes + 2 * cells_ <= file_.usable_bytes());
}

bool PageRows::step() {
  while (cell_ == cells_) {
    if (++page_ >= leaves_.size()) return false;
    begin_page();
  }
  const unsigned char* page = pages_.data() + (page_ - first_) * file_.page_bytes();
  const std::size_t pointers = (leaves_[page_] == 1 ? file_header_bytes : 0) + leaf_header_bytes;
  const std::size_t at = big16(page + pointers + 2 * cell_++);
  expect(at >= pointers + 2 * cells_ && at + 4 <= file_.usable_bytes());
  decode(page, page + at);
  return true;
}

void PageRows::decode(const unsigned char* page, const unsigned char* cell) {
  const std::size_t usable = file_.usable_bytes();
  std::uint64_t bytes = 0, id = 0, header_bytes = 0;
  row_ = number(number(cell, bytes), id);
  id_ = static_cast<std::int64_t>(id);
  // How much of a row is on its page, by the file format's formulas.
  const std::size_t most = usable - 35, least = (usable - 12) * 32 / 255 - 23;
  std::size_t local = bytes;
  if (bytes > most) {
    expect(bytes <= 0x7FFFFFFF);
    local = least + (bytes - least) % (usable - 4);
    if (local > most) local = least;
  }
  expect(row_ + local + (bytes > most ? 4 : 0) <= page + usable);
  const unsigned char* const next = number(row_, header_bytes);
  expect(header_bytes <= local && next <= row_ + header_bytes);
  const std::span header(row_, header_bytes);
  Shape& shape = shapes_[hash(header) % shapes_.size()];
  if (!std::equal(header.begin(), header.end(), shape.header.begin(), shape.header.end())) {
    read_header(header, shape);
  }
  shape_ = &shape;
  expect(shape.end <= bytes);
  if (shape.end > local) gather_overflow(row_, local, bytes);
}

void PageRows::read_header(std::span<const unsigned char> header, Shape& shape) {
  std::uint64_t type = 0, at = header.size();
  const unsigned char* next = number(header.data(), type);
  const unsigned char* const end = header.data() + header.size();
  shape.header.clear();
  for (std::size_t i = 0; i < columns_; ++i) {
    if (next >= end) {
      expect(!layout_.columns[i].has_default);
      stored_[i].type = null;
      continue;
    }
    next = number(next, type);
    stored_[i] = {type, static_cast<std::size_t>(at)};
    at += bytes_of(type);
    expect(at <= std::numeric_limits<std::uint32_t>::max());  // no row is longer
    if (type == null && layout_.columns[i].is_row_id) stored_[i].type = row_id;
  }
  expect(next <= end);
  shape.header.assign(header.begin(), header.end());
  shape.end = at;
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    if (wanted_[i] >= 0) shape.values[i] = stored_[static_cast<std::size_t>(wanted_[i])];
  }
}

void PageRows::gather_overflow(const unsigned char* local, std::size_t local_bytes,
                               std::size_t bytes) {
  file_.count_overflow(bytes - local_bytes);
  whole_.resize(bytes + margin);
  std::memcpy(whole_.data(), local, local_bytes);
  std::vector<unsigned char> page(file_.page_bytes());
  std::uint32_t next = big32(local + local_bytes);
  for (std::size_t got = local_bytes; got < bytes;) {
    file_.read(next, 1, page.data());
    next = big32(page.data());
    const std::size_t n = std::min(bytes - got, file_.usable_bytes() - 4);
    std::memcpy(whole_.data() + got, page.data() + 4, n);
    got += n;
  }
  row_ = whole_.data();
}

double PageRows::real(int column) const {
  if (type_of(column) != real_number) return static_cast<double>(integer(column));
  const unsigned char* p = row_ + at(column);
  return std::bit_cast<double>(big64(p));
}

std::string_view PageRows::text(int column) const {
  if (!is_text(column)) return {};
  return {reinterpret_cast<const char*>(row_ + at(column)),
          static_cast<std::size_t>(bytes_of(type_of(column)))};
}

}  // namespace gh
