// What the page says of a program's layers, and of its memory.
#include <nlohmann/json.hpp>

#include <array>
#include <map>

#include "report/report.hpp"
#include "support/traces.hpp"

using namespace support;

namespace {

// Four steps of eight blocks, forward and then backward, which takes twice as long. In each block
// its attention does all the work; that of the sixth takes three times as long as the others'.
constexpr const char* blocks_program = R"(
  local ops, ranges = {}, { { -50, 9900, 'step {n}' },
                            { -45, 3000, 'forward' }, { 3010, 9800, 'backward' } }
  local function block(i, at, us)
    ranges[#ranges + 1] = { at, at + us + 60, 'blocks.' .. i }
    ranges[#ranges + 1] = { at + 5, at + us + 50, 'blocks.' .. i .. '.attn' }
    ops[#ops + 1] = { at + 20, at + 20 + us, kernel = 'sm90_gemm_bf16',
                      launched = { at + 7, at + 12 } }
  end
  for i = 0, 7 do
    local us = i == 5 and 300 or 100
    block(i, i < 6 and i * 200 or i * 200 + 250, us)
    block(7 - i, 3020 + (i < 3 and i * 300 or i * 300 + 450), 2 * (7 - i == 5 and 300 or 100))
  end
  return { repeats = { times = 4, every = 10000 }, ranges = ranges, ops = ops })";

std::string page_of(const gh::Analysis& a) {
  const gh::Facts facts(a);
  return gh::render_html(a, gh::evaluate({}, a, facts, {}), {});
}

std::string layers_section_of(const std::string& page) {
  const std::size_t from = page.find("<section id=\"layers\"");
  return from == page.npos ? "" : page.substr(from, page.find("</section>", from) - from);
}

// The data of the figure.
gh::Json tree_in(const std::string& section) {
  const std::string open = "data-tree=\"";
  const std::size_t from = section.find(open);
  REQUIRE(from != section.npos);
  std::string text = section.substr(from + open.size(),
                                    section.find('"', from + open.size()) - from - open.size());
  for (const auto& [entity, character] :
       {std::pair("&quot;", "\""), {"&#39;", "'"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&amp;", "&"}})
    for (std::size_t at = 0; (at = text.find(entity, at)) != text.npos; ++at)
      text.replace(at, std::string_view(entity).size(), character);
  return gh::Json::parse(text);
}

// What the table's cells say, row by row.
std::vector<std::vector<std::string>> rows_in(const std::string& section) {
  std::vector<std::vector<std::string>> rows;
  const std::string body =
      section.substr(section.find("<tbody>"), section.find("</tbody>") - section.find("<tbody>"));
  for (std::size_t row = 0; (row = body.find("<tr>", row)) != body.npos; ++row) {
    rows.emplace_back();
    const std::size_t end = body.find("</tr>", row);
    for (std::size_t cell = row; (cell = body.find("<td", cell)) < end; ++cell) {
      std::string text;
      bool in_tag = true;
      for (const char c : body.substr(cell, body.find("</td>", cell) - cell)) {
        if (c == '<') in_tag = true;
        if (!in_tag) text += c;
        if (c == '>') in_tag = false;
      }
      rows.back().push_back(text);
    }
  }
  return rows;
}

// The program of blocks, whose blocks' activations of 1 GiB each are in use from the block's
// forward to its backward. The last one of each step is never freed if `leaks`.
gh::Analysis with_memory(bool leaks) {
  constexpr std::int64_t gib = std::int64_t{1} << 30;
  gh::Trace t = gh::trace_from_text(blocks_program);
  gh::Allocations& a = t.allocations;
  a.by = gh::Allocator::framework;
  const gh::Ns zero = t.ranges.start[0] + 50'000;
  std::int64_t in_use = 0;
  const auto block = [&](gh::Ns at_us, std::int64_t address, std::int64_t bytes) {
    in_use += bytes;
    a.start.push_back(zero + 1'000 * at_us);
    a.address.push_back(address);
    a.bytes.push_back(bytes);
    a.in_use.push_back(in_use);
    a.reserved.push_back(80 * gib);
    a.pool.push_back(0);
    a.device.push_back(0);
    a.process.push_back(0);
    a.thread.push_back(t.ranges.thread[0]);
    a.kind.push_back(gh::MemoryKind::device);
    a.correlation.push_back(0);
  };
  block(-200, 1, 5 * gib);  // parameters
  for (int step = 0; step < 4; ++step) {
    for (int i = 0; i < 8; ++i)
      block(10'000 * step + (i < 6 ? i * 200 : i * 200 + 250) + 8, 1 << 20 | step << 8 | i, gib);
    for (int i = 0; i < 8; ++i)
      if (!leaks || i > 0)
        block(10'000 * step + 3'020 + (i < 3 ? i * 300 : i * 300 + 450) + 10,
              1 << 20 | step << 8 | (7 - i), -gib);
  }
  return analysed(std::move(t));
}

}  // namespace

TEST_CASE("html: equal layers are one row with their spread and the odd one") {
  const std::string layers = layers_section_of(page_of(analysed(blocks_program)));
  REQUIRE(!layers.empty());
  const auto rows = rows_in(layers);
  REQUIRE(rows.size() >= 2);
  CHECK(rows[0][0].starts_with("blocks.* (8)mean "));
  CHECK(contains(rows[0][0], "blocks.5 takes 3.0 times the others&#39;"));
  CHECK(rows[1][0].starts_with("attn"));
  CHECK(contains(rows[1][0], "blocks.5.attn takes 3.0 times the others&#39;"));
  CHECK(contains(layers, "title=\"blocks.*.attn\""));
}

TEST_CASE("html: of a layer forward and backward are told apart, in the figure and in the table") {
  const std::string layers = layers_section_of(page_of(analysed(blocks_program)));
  const gh::Json tree = tree_in(layers);
  const gh::Json &blocks = tree["nodes"][0], &attention = tree["nodes"][1];
  CHECK(blocks[0] == -1);
  CHECK(blocks[1] == "blocks.* (8)");
  CHECK(attention[0] == 0);
  CHECK(attention[1] == "attn");
  for (const gh::Json& node : {blocks, attention}) {
    const auto total = node[2].get<double>(), forward = node[3].get<double>(),
               backward = node[4].get<double>();
    CHECK(forward >= 1'000'000);  // a millisecond of work, and what the GPU waits for it
    CHECK(backward >= 2'000'000);
    CHECK(total == doctest::Approx(forward + backward).epsilon(1e-6));
    CHECK(total <= tree["total"].get<double>() + 1);
  }
  const auto head = [&](const char* title) {
    return contains(layers, std::string(">") + title + "</th>");
  };
  for (const char* title : {"Layer", "Time", "Share", "Forward", "Backward", "Idle", "Launches"}) {
    INFO(title);
    CHECK(head(title));
  }
  // Neither shapes nor memory were recorded.
  CHECK_FALSE(head("FLOP"));
  CHECK_FALSE(head("Memory at the peak"));
  CHECK_FALSE(contains(layers, "Memory over time"));
}

namespace {

// By path: how long the host is in a node of the figure, the GPU's work in it, and what it is.
std::map<std::string, std::array<std::int64_t, 3>> nodes_of(const gh::Json& tree) {
  std::map<std::string, std::array<std::int64_t, 3>> nodes;
  std::vector<std::string> paths;
  for (const gh::Json& node : tree["nodes"]) {
    const auto parent = node[0].get<std::int64_t>();
    const std::string name = node[1].get<std::string>();
    paths.push_back(parent < 0 ? name : paths[static_cast<std::size_t>(parent)] + " > " + name);
    nodes[paths.back()] = {node[9].get<std::int64_t>(), node[10].get<std::int64_t>(),
                           node[11].get<std::int64_t>()};
  }
  return nodes;
}

// In each step forward works for 300 us, backward for 400, and a block within forward for 100.
constexpr const char* phases_program = R"(return { repeats = { times = 4, every = 2000 },
  ranges = { { -50, 1900, 'step {n}' }, { -40, 800, 'forward' }, { 500, 700, 'blocks.0' },
             { 850, 1800, 'backward' } },
  ops = { { 0, 300, kernel = 'sm90_gemm_bf16', launched = { -20, -10 } },
          { 520, 620, kernel = 'sm90_gemm_bf16', launched = { 505, 510 } },
          { 900, 1300, kernel = 'sm90_gemm_bf16', launched = { 860, 870 } } } })";

}  // namespace

TEST_CASE("html: ranges of steps and passes are rows of the tree, with what is in no layer") {
  const std::string layers = layers_section_of(page_of(analysed(phases_program)));
  const auto nodes = nodes_of(tree_in(layers));
  using Node = std::array<std::int64_t, 3>;  // the last: 2 for such a range
  CHECK(nodes.at(" > step #") == Node{1'750'000, 700'000, 2});
  CHECK(nodes.at(" > step # > forward") == Node{640'000, 300'000, 2});
  CHECK(nodes.at(" > step # > backward") == Node{950'000, 400'000, 2});
  CHECK(nodes.at("blocks.0") == Node{200'000, 100'000, 0});
  CHECK(contains(layers, ">forward</span>"));  // also in the table
}

TEST_CASE("html: a program whose only range is that of the step has a tree") {
  const std::string page = page_of(analysed(R"(return { repeats = { times = 4, every = 1000 },
    ranges = { { -50, 900, 'step {n}' } }, ops = { { 0, 400, kernel = 'sm90_gemm_bf16' } } })"));
  CHECK(contains(layers_section_of(page), "step #"));
  CHECK(nodes_of(tree_in(layers_section_of(page))).contains(" > step #"));
}

TEST_CASE("html: Python's functions are rows of the tree, within the ranges around them") {
  gh::Trace t = gh::trace_from_text(phases_program);
  const gh::NameId function = t.names.intern("train.py(40): loss");
  for (gh::Row r = 0; r < t.ranges.size(); ++r)
    if (t.names[t.ranges.name[r]] == "forward") {
      t.frames.start.push_back(t.ranges.start[r] + 1'000);
      t.frames.end.push_back(t.ranges.start[r] + 101'000);
      t.frames.name.push_back(function);
      t.frames.thread.push_back(t.ranges.thread[r]);
    }
  const auto nodes = nodes_of(tree_in(layers_section_of(page_of(analysed(std::move(t))))));
  CHECK(nodes.at(" > step # > forward > train.py(40): loss") ==
        std::array<std::int64_t, 3>{100'000, 300'000, 3});
  CHECK(nodes.at(" > step # > forward")[0] == 640'000);
}

TEST_CASE("html: memory is drawn over time, and by layer and class at its peak") {
  const std::string layers = layers_section_of(page_of(with_memory(false)));
  CHECK(contains(layers, "Memory over time"));
  CHECK(contains(layers, "at most 13 GiB in use"));
  CHECK(contains(layers, "80 GiB reserved then; the GPU has 141 GiB"));
  CHECK(contains(layers, "<path class=live d=\"M"));
  CHECK(contains(layers, "<path class=reserved d=\"M"));
  CHECK(contains(layers, "<line class=end "));  // 80 of 141 GiB are near enough
  CHECK(contains(layers, ">Memory at the peak</th>"));
  const gh::Json tree = tree_in(layers);
  CHECK(tree["memory"] == std::int64_t{13} << 30);
  CHECK(tree["nodes"][0][6] == std::int64_t{8} << 30);
  CHECK(contains(layers, ">activations<"));
  CHECK(contains(layers, ">from before the first step<"));
  CHECK(contains(layers, "67 GiB (84\u00a0%) were not in use"));
  CHECK(contains(layers, "activations and temporaries, takes 8 GiB at the peak"));
  CHECK_FALSE(contains(layers, "is held on to"));
}

TEST_CASE("html: memory that grows from step to step is told") {
  CHECK(contains(layers_section_of(page_of(with_memory(true))), "grows by at least 1 GiB a step"));
}

TEST_CASE("html: names of layers become neither markup nor the end of the figure's data") {
  const std::string layers = layers_section_of(page_of(analysed(R"(
    local ranges, ops = { { -50, 900, 'step {n}' } }, {}
    for i = 0, 2 do
      local at = i * 200
      ranges[#ranges + 1] = { at, at + 180, i .. ' "><script>\'&quot; %' }
      ops[#ops + 1] = { at + 30, at + 150, kernel = 'k', launched = { at + 5, at + 10 } }
    end
    return { repeats = { times = 4, every = 1000 }, ranges = ranges, ops = ops })")));
  REQUIRE(!layers.empty());
  CHECK(!contains(layers, "<script>"));
  CHECK(contains(tree_in(layers)["nodes"].dump(), "<script>"));
}
