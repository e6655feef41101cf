// Memory over time: the peak and its blocks, what they were for, what is unused, what would fit.
#include "analysis/memory.hpp"

#include <doctest/doctest.h>

#include <map>
#include <random>

#include "analysis/ranks.hpp"
#include "read/nsys.hpp"
#include "support/support.hpp"

using namespace gh;

namespace {

constexpr std::int64_t unsaid = -1;

// Builds a trace of a GPU with blocks of memory and steps.
class MemoryProgram {
 public:
  explicit MemoryProgram(Allocator by = Allocator::framework) {
    trace_.path = "memory";
    trace_.devices.resize(2);
    trace_.processes.resize(2);
    for (int i = 0; i < 2; ++i)
      trace_.threads.push_back({static_cast<std::uint16_t>(i), 100 + i, ""});
    trace_.allocations.by = by;
  }

  // A block handed out, or taken back if `bytes` is negative.
  MemoryProgram& block(Ns at, std::int64_t address, std::int64_t bytes,
                       std::int64_t in_use = unsaid, std::int64_t reserved = unsaid) {
    Allocations& a = trace_.allocations;
    a.start.push_back(at);
    a.address.push_back(address);
    a.bytes.push_back(bytes);
    a.in_use.push_back(in_use);
    a.reserved.push_back(reserved);
    a.pool.push_back(0);
    a.device.push_back(0);
    a.process.push_back(0);
    a.thread.push_back(0);
    a.kind.push_back(MemoryKind::device);
    a.correlation.push_back(0);
    return *this;
  }
  MemoryProgram& kind(MemoryKind kind) {
    trace_.allocations.kind.back() = kind;
    return *this;
  }
  MemoryProgram& in_pool(std::int64_t pool, std::int64_t pool_bytes) {
    trace_.allocations.pool.back() = pool;
    trace_.allocations.reserved.back() = pool_bytes;
    return *this;
  }
  MemoryProgram& by(std::uint16_t device, std::uint16_t process) {
    trace_.allocations.device.back() = device;
    trace_.allocations.process.back() = process;
    return *this;
  }
  MemoryProgram& in_call(std::uint32_t correlation) {
    trace_.allocations.correlation.back() = correlation;
    trace_.allocations.thread.back() = no_index;
    return *this;
  }
  MemoryProgram& call(Ns start, std::uint16_t thread, std::uint32_t correlation) {
    trace_.calls.start.push_back(start);
    trace_.calls.end.push_back(start + 1);
    trace_.calls.name.push_back(trace_.names.intern("cudaMalloc"));
    trace_.calls.thread.push_back(thread);
    trace_.calls.correlation.push_back(correlation);
    return *this;
  }
  // A kernel that a call launches.
  MemoryProgram& kernel(Ns start, Ns end, std::uint32_t correlation) {
    Ops& o = trace_.ops;
    if (trace_.streams.empty()) trace_.streams.push_back({});
    o.start.push_back(start);
    o.end.push_back(end);
    o.correlation.push_back(correlation);
    for (auto* column : {&o.stream, &o.name, &o.blocks}) column->push_back(0);
    o.bytes.push_back(0);
    o.threads.push_back(32);
    o.kind.push_back(OpKind::kernel);
    o.copy.push_back(CopyKind::none);
    o.source.push_back(MemoryKind::unknown);
    o.target.push_back(MemoryKind::unknown);
    o.cause.push_back(MigrationCause::none);
    o.in_graph.push_back(0);
    return *this;
  }
  MemoryProgram& gpu_bytes(std::int64_t bytes) {
    trace_.devices[0].memory_bytes = bytes;
    return *this;
  }

  Trace trace() const {
    Trace sealed = trace_;
    sealed.seal();
    return sealed;
  }
  // Steps that begin at these moments; the last ends at the last.
  Analysis analysed(const std::vector<Ns>& steps) const {
    DeviceSteps device;
    for (std::size_t s = 0; s + 1 < steps.size(); ++s)
      device.steps.push_back({{steps[s], steps[s + 1]}, static_cast<std::int64_t>(s), steps[s]});
    for (Row op = 0; op < trace_.ops.size(); ++op) device.ops.push_back(op);
    return Analysis(trace(), std::vector<DeviceSteps>{device}, Classes(), {});
  }
  MemoryTimeline timeline(const std::vector<Ns>& steps, std::size_t points = 400) const {
    const std::optional<MemoryTimeline> memory = memory_timeline(analysed(steps), 0, points);
    REQUIRE(memory);
    return *memory;
  }

 private:
  Trace trace_;
};

std::int64_t sum_of_blocks(const MemoryTimeline& memory) {
  std::int64_t sum = 0;
  for (const LiveBlock& b : memory.blocks) sum += b.bytes;
  return sum;
}

// The class of the only block, allocated and freed at such times in steps that begin at 100, 200
// and 300 and end at 400.
struct BlockLife {
  Ns allocated, freed;  // freed: 0 if never
  MemoryPhase allocated_in, freed_in;
  Ns peak;  // when another block, of this phase, is on top
  MemoryPhase at_peak;
};
MemoryClass class_of_life(const BlockLife& life) {
  MemoryProgram program;
  program.block(life.allocated, 1, 10);
  if (life.freed != 0) program.block(life.freed, 1, -10);
  program.block(life.peak, 2, 1000).block(life.peak + 1, 2, -1000);
  const MemoryTimeline memory = program.timeline({100, 200, 300, 400});
  REQUIRE(memory.blocks.size() == 2);
  const bool first = memory.blocks[0].bytes == 10;
  const BlockPhases mine{life.allocated_in, life.freed_in}, other{life.at_peak, life.at_peak};
  const MemoryClasses classes =
      classify(memory, first ? std::vector{mine, other} : std::vector{other, mine});
  return classes.of_block[first ? 0 : 1];
}

}  // namespace

TEST_CASE("memory: the peak, and the blocks then in use") {
  MemoryProgram program;
  program
      .block(10, 0xA, 100, 1100, 5000)  // 1000 had been there before
      .block(110, 0xB, 50, 1150, 5000)
      .block(120, 0xC, 300, 1450, 6000)
      .block(130, 0xB, -50, 1400, 6000)
      .block(140, 0xD, 20, 1420, 6000)
      .block(150, 0xC, -300, 1120, 6000);
  const MemoryTimeline memory = program.timeline({100, 200});
  CHECK(memory.allocator == Allocator::framework);
  CHECK(memory.window == Span{100, 200});
  CHECK(memory.peak.at == 120);
  CHECK(memory.peak.live_bytes == 1450);
  CHECK(memory.peak.reserved_bytes == 6000);
  CHECK(memory.unused_bytes() == 4550);
  CHECK(memory.before_bytes == 1000);
  CHECK(memory.missed_bytes == 0);
  REQUIRE(memory.blocks.size() == 3);
  CHECK(memory.blocks[0].allocated_at == 10);
  CHECK(memory.blocks[0].freed_at == open_end);
  CHECK(memory.blocks[0].freed_by == no_index);
  CHECK(memory.blocks[1].bytes == 50);
  CHECK(memory.blocks[1].allocated_by == 0);
  CHECK(memory.blocks[1].freed_at == 130);
  CHECK(memory.blocks[1].freed_by == 0);
  CHECK(memory.blocks[2].freed_at == 150);
  CHECK(memory.kinds == std::vector{std::pair{MemoryKind::device, std::int64_t{450}}});
}

TEST_CASE("memory: only the analysed steps count") {
  MemoryProgram program;
  program.block(10, 1, 900, 900, 900)
      .block(20, 1, -900, 0, 900)
      .block(50, 2, 7, 7, 900)
      .block(150, 3, 5, 12, 900)
      .block(160, 3, -5, 7, 900)
      .block(500, 4, 800, 807, 900);
  MemoryTimeline memory = program.timeline({100, 200});
  CHECK(memory.peak.at == 150);
  CHECK(memory.peak.live_bytes == 12);
  CHECK(memory.most_unused.at == 100);
  CHECK(memory.most_unused.unused_bytes() == 893);
  // What was in use when the steps began counts.
  memory = program.timeline({15, 200});
  CHECK(memory.peak.at == 15);
  CHECK(memory.peak.live_bytes == 900);
  REQUIRE(memory.blocks.size() == 1);
  CHECK(memory.blocks[0].freed_at == 20);
  // No event is within the steps.
  memory = program.timeline({200, 300});
  CHECK(memory.peak.at == 200);
  CHECK(memory.peak.live_bytes == 7);
  memory = program.timeline({1, 5});
  CHECK(memory.peak.live_bytes == 0);
  CHECK(memory.peak.reserved_bytes < 0);
  CHECK_FALSE(memory.unused_bytes());
}

TEST_CASE("memory: the host allocates for the next steps while the GPU does the last") {
  MemoryProgram program;
  program.block(110, 1, 10, 10).block(130, 1, -10, 0).block(150, 2, 99, 99).block(160, 2, -99, 0);
  program.call(100, 0, 1).kernel(101, 105, 1).call(120, 0, 2).kernel(122, 200, 2);
  program.call(150, 0, 3).kernel(190, 250, 3);  // of the next step
  const MemoryTimeline memory = program.timeline({100, 200});
  CHECK(memory.window == Span{100, 121});
  CHECK(memory.steps_end == 200);
  CHECK(memory.peak.at == 110);
  CHECK(memory.peak.live_bytes == 10);
  // Freed by the host before the GPU is done: so not kept.
  using P = MemoryPhase;
  CHECK(classify(memory, {{P::forward, P::other}})[MemoryClass::output] == 10);
}

TEST_CASE("memory: without the allocator's sums, it is the blocks that count") {
  MemoryProgram program;
  program.block(110, 1, 100).block(120, 9, -30).block(130, 2, 20).block(140, 1, -100);
  const MemoryTimeline memory = program.timeline({100, 200});
  CHECK(memory.peak.at == 110);
  CHECK(memory.peak.live_bytes == 130);  // 9 had been there
  CHECK(memory.before_bytes == 30);
  CHECK(sum_of_blocks(memory) == 100);
  CHECK_FALSE(memory.unused_bytes());  // nothing says what is reserved
}

TEST_CASE("memory: what happens at the same moment") {
  SUBCASE("an address that is taken back and handed out again") {
    MemoryProgram program;
    program.block(110, 1, 100).block(120, 1, 60).block(120, 1, -100).block(130, 1, -60);
    const MemoryTimeline memory = program.timeline({100, 200});
    CHECK(memory.peak.live_bytes == 100);
    CHECK(memory.blocks.at(0).freed_at == 120);
    CHECK(memory.before_bytes == 0);
    CHECK(memory.curve.back().live_bytes == 0);
  }
  SUBCASE("an address that is handed out and taken back") {
    MemoryProgram program;
    program.block(110, 1, 10).block(120, 2, -500).block(120, 2, 500).block(130, 3, 1);
    const MemoryTimeline memory = program.timeline({100, 200});
    CHECK(memory.peak.live_bytes == 11);
    CHECK(memory.before_bytes == 0);
  }
  SUBCASE("the allocator's sums of one moment are in no order") {
    MemoryProgram program;
    program.block(10, 5, 10, 110)
        .block(110, 2, 30, 140)  // the first: 110 -> 140 -> 160
        .block(110, 1, 20, 160)
        .block(120, 5, -10, 150);
    const MemoryTimeline memory = program.timeline({100, 200});
    CHECK(memory.peak.live_bytes == 160);
    CHECK(memory.before_bytes == 100);
    CHECK(memory.missed_bytes == 0);
  }
  SUBCASE("the recording begins with such a moment") {
    MemoryProgram program;
    program.block(110, 2, 30, 130).block(110, 1, 20, 150).block(120, 5, -10, 140);
    const MemoryTimeline memory = program.timeline({100, 200});
    CHECK(memory.peak.live_bytes == 150);
    CHECK(memory.before_bytes == 100);
    CHECK(memory.curve.front().live_bytes == 100);
  }
}

TEST_CASE("memory: steps, and what is left of each") {
  MemoryProgram program;
  program.block(10, 1, 100, 100);
  for (int s = 0; s < 3; ++s) {
    const Ns at = 100 + 100 * s;
    const std::int64_t left = 100 + 7 * s;
    program.block(at + 10, 50, 1000, left + 1000)
        .block(at + 20, 100 + s, 7, left + 1007)
        .block(at + 30, 50, -1000, left + 7);
  }
  const MemoryTimeline memory = program.timeline({100, 200, 300, 400});
  REQUIRE(memory.steps.size() == 3);
  CHECK(memory.steps[0].begin_bytes == 100);
  CHECK(memory.steps[1].begin_bytes == 107);
  CHECK(memory.steps[2].begin_bytes == 114);
  CHECK(memory.steps[0].peak_bytes == 1107);
  CHECK(memory.steps[2].peak_bytes == 1121);
  CHECK(memory.peak.at == 320);
  CHECK(growth_per_step(memory) == 7);
  CHECK_FALSE(growth_per_step(program.timeline({100, 200, 300})));  // two do not show it
  program.block(290, 1, -100, 14);
  CHECK_FALSE(growth_per_step(program.timeline({100, 200, 300, 400})));
}

TEST_CASE("memory: of CUDA's blocks") {
  SUBCASE("pools reserve more than is in use, blocks outside of them do not") {
    MemoryProgram program(Allocator::cuda);
    program.block(10, 1, 1000)
        .block(110, 2, 64, unsaid)
        .in_pool(77, 256)
        .block(120, 3, 64)
        .in_pool(77, 256)
        .block(130, 2, -64)
        .in_pool(77, 256)
        .block(140, 3, -64)
        .in_pool(77, 32);
    const MemoryTimeline memory = program.timeline({100, 200});
    CHECK(memory.peak.at == 120);
    CHECK(memory.peak.live_bytes == 1128);
    CHECK(memory.peak.reserved_bytes == 1256);
    CHECK(memory.unused_bytes() == 128);
    CHECK(memory.most_unused.at == 110);
    CHECK(memory.most_unused.unused_bytes() == 192);
    CHECK(memory.curve.back().reserved_bytes == 1032);
  }
  SUBCASE("without pools, nothing says what is unused") {
    MemoryProgram program(Allocator::cuda);
    program.block(110, 1, 1000);
    const MemoryTimeline memory = program.timeline({100, 200});
    CHECK(memory.peak.reserved_bytes == 1000);
    CHECK_FALSE(memory.unused_bytes());
  }
  SUBCASE("what an unseen pool block leaves") {
    MemoryProgram program(Allocator::cuda);
    program.block(110, 2, -64).in_pool(77, 256);
    const MemoryTimeline memory = program.timeline({100, 200});
    CHECK(memory.peak.live_bytes == 64);
    CHECK(memory.peak.reserved_bytes == 64);  // the pool has not been heard of
    CHECK(memory.curve.back().reserved_bytes == 256);
  }
  SUBCASE("pinned memory is the host's") {
    MemoryProgram program(Allocator::cuda);
    program.block(110, 1, 1000).block(120, 2, 5000).kind(MemoryKind::pinned);
    program.block(130, 3, 10).kind(MemoryKind::managed);
    const MemoryTimeline memory = program.timeline({100, 200});
    CHECK(memory.peak.at == 130);
    CHECK(memory.peak.live_bytes == 1010);
    CHECK(memory.missed_bytes == 0);
    CHECK(memory.blocks.size() == 3);
    REQUIRE(memory.kinds.size() == 3);
    CHECK(memory.kinds.front() == std::pair{MemoryKind::pinned, std::int64_t{5000}});
    const MemoryClasses classes = classify(memory, {});
    CHECK(classes.of_block.size() == 3);
    CHECK(classes[MemoryClass::unknown] == 1010);
  }
  SUBCASE("of what is older than the recording, the calls tell the order") {
    MemoryProgram program(Allocator::cuda);
    for (std::uint32_t i = 0; i < 5; ++i)
      program.block(0, 1, 100).in_call(2 * i + 1).block(0, 1, -100).in_call(2 * i + 2);
    program.block(0, 1, 40).in_call(20).block(0, 2, -3).in_call(19).block(0, 2, 3).in_call(18);
    program.call(110, 1, 21).block(110, 3, 1).in_call(21).by(0, 1);
    const MemoryTimeline memory = program.timeline({100, 200});
    CHECK(memory.peak.live_bytes == 41);
    CHECK(memory.before_bytes == 0);
    REQUIRE(memory.blocks.size() == 2);
    CHECK(memory.blocks[0].allocated_at == 0);
    CHECK(memory.blocks[0].allocated_by == no_index);
    CHECK(memory.blocks[1].allocated_by == 1);  // the thread of the call
  }
}

TEST_CASE("memory: addresses repeat in other processes and on other devices") {
  MemoryProgram program(Allocator::cuda);
  program.block(110, 1, 10).block(120, 1, 20).by(0, 1).block(130, 1, 40).by(1, 0);
  program.block(140, 1, -20).by(0, 1).block(150, 1, -40).by(1, 0);
  const MemoryTimeline memory = program.timeline({100, 200});
  CHECK(memory.peak.live_bytes == 30);
  CHECK(memory.curve.back().live_bytes == 10);
  CHECK(memory.blocks.size() == 2);
}

TEST_CASE("memory: reports that contradict themselves") {
  SUBCASE("an address handed out twice") {
    MemoryProgram program;
    program.block(110, 1, 10).block(120, 1, 30).block(130, 1, -30);
    const MemoryTimeline memory = program.timeline({100, 200});
    CHECK(memory.peak.live_bytes == 30);
    CHECK(sum_of_blocks(memory) == 30);
    CHECK(memory.curve.back().live_bytes == 0);
  }
  SUBCASE("the one that was replaced is not known to be freed by anyone") {
    MemoryProgram program;
    program.block(110, 1, 30).block(120, 1, 10);
    const MemoryTimeline memory = program.timeline({100, 200});
    CHECK(memory.peak.at == 110);
    CHECK(memory.blocks.at(0).freed_at == 120);
    CHECK(memory.blocks.at(0).freed_by == no_index);
  }
  SUBCASE("frees are missing: the allocator knows better") {
    MemoryProgram program;
    program.block(110, 1, 10, 10).block(120, 2, 30, 30).block(130, 3, 1, 31);
    const MemoryTimeline memory = program.timeline({100, 200});
    CHECK(memory.peak.live_bytes == 31);
    CHECK(memory.before_bytes == 0);
    CHECK(memory.missed_bytes == 10);
  }
  SUBCASE("a block larger than all that is in use; more in use than reserved") {
    MemoryProgram program;
    program.block(110, 1, 1000, 10, 5);
    const MemoryTimeline memory = program.timeline({100, 200});
    CHECK(memory.peak.live_bytes == 10);
    CHECK(memory.missed_bytes == 990);
    CHECK(memory.unused_bytes() == 0);
  }
  SUBCASE("the largest numbers there are") {
    MemoryProgram program;
    constexpr auto least = std::numeric_limits<std::int64_t>::min(),
                   most = std::numeric_limits<std::int64_t>::max();
    for (int i = 0; i < 40; ++i) program.block(110 + i, i, most, most, most);
    for (int i = 0; i < 40; ++i) program.block(150 + i, 20 + i, least, most, least);
    program.block(190, least, 0);
    const MemoryTimeline memory = program.gpu_bytes(most).timeline({100, 200});
    CHECK(memory.peak.live_bytes > 0);
    const MemoryClasses classes = classify(memory, {});
    CHECK(classes.of_block.size() == memory.blocks.size());
    CHECK_FALSE(room_of(memory, classes));
  }
  SUBCASE("no blocks, or none of this device") {
    CHECK_FALSE(memory_timeline(MemoryProgram().analysed({100, 200}), 0));
    MemoryProgram program;
    program.block(110, 1, 10).by(1, 0).block(110, 1, 0);
    CHECK_FALSE(memory_timeline(program.analysed({100, 200}), 0));
    program.block(110, 1, 10);
    CHECK_FALSE(memory_timeline(program.analysed({}), 0));
  }
}

TEST_CASE("memory: classes follow from when and where blocks were allocated and freed") {
  using P = MemoryPhase;
  using C = MemoryClass;
  const auto forward = P::forward, backward = P::backward, optimizer = P::optimizer,
             other = P::other, unknown = P::unknown;
  // The peak is in the backward of the second step, unless it says otherwise.
  const auto life = [&](Ns allocated, P made, Ns freed, P gone, Ns peak = 250,
                        P top = P::backward) {
    return class_of_life({allocated, freed, made, gone, peak, top});
  };
  SUBCASE("from before the steps until after them, whatever the phase") {
    CHECK(life(50, unknown, 0, unknown) == C::before);
    CHECK(life(50, optimizer, 450, other) == C::before);
  }
  SUBCASE("freed by the first steps, so no parameter") {
    CHECK(life(50, backward, 255, other) == C::gradient);
    CHECK(life(50, unknown, 255, other) == C::unknown);
  }
  SUBCASE("activations, and what else forward makes") {
    CHECK(life(210, forward, 260, backward) == C::activation);
    CHECK(life(210, forward, 270, other) == C::output);
    CHECK(life(210, forward, 310, forward) == C::output);
    CHECK(life(210, forward, 310, backward) == C::output);  // another step's backward
    CHECK(life(210, forward, 260, forward) == C::output);   // a later micro-batch's forward
    CHECK(life(210, forward, 260, forward, 250, forward) == C::temporary);
  }
  SUBCASE("gradients, and what else backward makes") {
    CHECK(life(240, backward, 270, optimizer) == C::gradient);
    CHECK(life(240, backward, 270, other) == C::gradient);
    CHECK(life(240, backward, 305, other) == C::gradient);
    CHECK(life(240, backward, 360, backward) == C::gradient);  // the next step's
    CHECK(life(240, backward, 260, backward) == C::temporary);
    CHECK(life(240, backward, 260, backward, 250, forward) == C::gradient);  // another micro-batch
    CHECK(life(240, backward, 260, backward, 250, unknown) == C::unknown);
  }
  SUBCASE("the optimizer's") {
    CHECK(life(170, optimizer, 0, unknown) == C::optimizer);
    CHECK(life(170, optimizer, 450, other) == C::optimizer);
    CHECK(life(240, optimizer, 260, optimizer, 250, optimizer) == C::temporary);
    CHECK(life(170, optimizer, 260, forward) == C::other);
  }
  SUBCASE("kept, which needs no phase") {
    CHECK(life(150, forward, 0, unknown) == C::kept);
    CHECK(life(150, unknown, 0, unknown) == C::kept);
    CHECK(life(250, backward, 450, other) == C::kept);
  }
  SUBCASE("in the last step nobody can tell what is kept") {
    CHECK(life(310, forward, 0, unknown, 350) == C::unknown);
    CHECK(life(310, optimizer, 0, unknown, 350) == C::unknown);
    CHECK(life(310, backward, 405, other, 350) == C::gradient);
    CHECK(life(310, forward, 405, backward, 350) == C::output);
  }
  SUBCASE("inputs, and unknown phases") {
    CHECK(life(210, other, 310, other) == C::other);
    CHECK(life(210, other, 260, backward) == C::other);
    CHECK(life(210, unknown, 260, backward) == C::unknown);
    CHECK(life(210, forward, 260, unknown) == C::unknown);
  }
}

TEST_CASE("memory: what frameworks may divide is not told apart by phases") {
  using P = MemoryPhase;
  MemoryProgram program(Allocator::cuda);
  program.block(50, 1, 1)
      .block(110, 2, 2)
      .block(120, 3, 4)
      .block(130, 4, 8)
      .in_pool(77, 64)
      .block(140, 5, 16)
      .block(150, 5, -16)
      .block(160, 4, -8)
      .in_pool(77, 64)
      .block(170, 3, -4);
  const MemoryTimeline memory = program.timeline({100, 200, 300});
  CHECK(memory.peak.at == 140);
  const MemoryClasses classes = classify(memory, {{P::unknown, P::unknown},
                                                  {P::optimizer, P::unknown},
                                                  {P::forward, P::backward},
                                                  {P::forward, P::backward},
                                                  {P::forward, P::forward}});
  using C = MemoryClass;
  CHECK(classes.of_block ==
        std::vector{C::before, C::kept, C::unknown, C::activation, C::temporary});
}

TEST_CASE("memory: the classes add up to the peak") {
  MemoryProgram program;
  program.block(10, 1, 100, 1100, 3000)
      .block(110, 2, 40, 1140, 3000)
      .block(120, 3, 7, 1147, 3000)
      .block(130, 3, -7, 1140, 3000)
      .block(140, 2, -40, 1100, 3000);
  const MemoryTimeline memory = program.gpu_bytes(10'000).timeline({100, 200, 300});
  using P = MemoryPhase;
  const MemoryClasses classes = classify(
      memory, {{P::unknown, P::unknown}, {P::forward, P::backward}, {P::backward, P::backward}});
  CHECK(classes[MemoryClass::before] == 1100);
  CHECK(classes[MemoryClass::activation] == 40);
  CHECK(classes[MemoryClass::temporary] == 7);
  std::int64_t sum = 0;
  for (const std::int64_t bytes : classes.bytes) sum += bytes;
  CHECK(sum == memory.peak.live_bytes);
  CHECK(name_of(MemoryClass::before) == std::string("before"));
  CHECK(name_of(MemoryClass::unknown) == std::string("unknown"));

  const std::optional<MemoryRoom> room = room_of(memory, classes);
  REQUIRE(room);
  CHECK(room->growing_bytes == 47);
  CHECK(room->free_bytes == 7000);
  CHECK(room->most_free_bytes == 10'000 - 1147);
  CHECK(room->growth == doctest::Approx(7000.0 / 47));
  CHECK(room->most_growth == doctest::Approx(8853.0 / 47));
  // Too few phases are as good as unknown ones; and then nothing says what grows.
  const MemoryClasses unknown = classify(memory, {});
  CHECK(unknown[MemoryClass::unknown] == 47);
  CHECK_FALSE(room_of(memory, unknown));
  CHECK_FALSE(room_of(program.gpu_bytes(0).timeline({100, 200, 300}), classes));
  // A full GPU has no room, but not less.
  const auto full = room_of(program.gpu_bytes(500).timeline({100, 200, 300}), classes);
  REQUIRE(full);
  CHECK(full->growth == 0);
  CHECK(full->most_growth == 0);
}

// Compares with a sum over all blocks at every moment.
TEST_CASE("memory: any program") {
  std::mt19937 random(7);
  for (int run = 0; run < 40; ++run) {
    CAPTURE(run);
    MemoryProgram program(run % 2 ? Allocator::cuda : Allocator::framework);
    const bool says = run % 4 == 0;
    std::map<std::int64_t, std::int64_t> live;
    std::map<Ns, std::int64_t> in_use;  // after each moment
    std::int64_t now = 0;
    Ns at = 0;
    for (int i = 0; i < 300; ++i) {
      at += 1 + random() % 3;
      const std::int64_t address = 1 + random() % 20, bytes = 1 + random() % 1000;
      const auto it = live.find(address);
      const std::int64_t change = it == live.end() ? bytes : -it->second;
      now += change;
      if (it == live.end())
        live[address] = bytes;
      else
        live.erase(it);
      program.block(at, address, change, says ? now : unsaid);
      in_use[at] = now;
    }
    const Ns begin = at / 4, end = at * 3 / 4;
    std::int64_t most = std::prev(in_use.upper_bound(begin))->second;
    for (auto it = in_use.upper_bound(begin); it != in_use.end() && it->first <= end; ++it)
      most = std::max(most, it->second);
    for (const std::size_t points : {0, 1, 2, 9, 40, 1000}) {
      const MemoryTimeline memory = program.timeline({begin, (begin + end) / 2, end}, points);
      CHECK(memory.peak.live_bytes == most);
      CHECK(sum_of_blocks(memory) == most);
      CHECK(memory.before_bytes == 0);
      CHECK(memory.steps[0].begin_bytes == std::prev(in_use.upper_bound(begin))->second);
      CHECK(std::max(memory.steps[0].peak_bytes, memory.steps[1].peak_bytes) == most);
      CHECK(memory.curve.size() <= std::max<std::size_t>(2, points));
      std::int64_t highest = 0;
      bool in_order = true, right = true;
      for (std::size_t p = 0; p < memory.curve.size(); ++p) {
        const MemoryPoint& point = memory.curve[p];
        highest = std::max(highest, point.live_bytes);
        in_order = in_order && (p == 0 || memory.curve[p - 1].at < point.at);
        right = right && std::prev(in_use.upper_bound(point.at))->second == point.live_bytes;
      }
      CHECK(highest == most);
      CHECK(in_order);
      CHECK(right);
      CHECK(memory.curve.back().live_bytes == std::prev(in_use.upper_bound(end))->second);
    }
  }
}

TEST_CASE("memory: a program that gives its memory back in every step") {
  const Analysis a(read_nsys(support::fixture("alloc-churn")), Classes(), {});
  const std::optional<MemoryTimeline> memory = memory_timeline(a, 0);
  REQUIRE(memory);
  CHECK(memory->peak.live_bytes == 3'408'200'320);
  CHECK(memory->before_bytes == 0);  // also what is older than the recording was recorded
  CHECK(memory->missed_bytes == 0);
  CHECK_FALSE(growth_per_step(*memory));
  bool same = true, known = true;
  for (const StepMemory& step : memory->steps)
    same = same && step.begin_bytes == memory->steps[0].begin_bytes &&
           step.peak_bytes == memory->peak.live_bytes;
  CHECK(same);
  for (const LiveBlock& b : memory->blocks)
    known = known && (b.allocated_at <= 0 || (b.allocated_by != no_index && b.freed_at < open_end));
  CHECK(known);
  const MemoryClasses classes = classify(*memory, {});
  CHECK(classes[MemoryClass::before] == memory->steps[0].begin_bytes);
}

TEST_CASE("memory: of several ranks") {
  MemoryProgram first(Allocator::cuda), second(Allocator::cuda);
  first.block(0, 1, 100).call(10, 0, 5).block(10, 2, 7).in_call(5);
  second.block(0, 1, 300).call(20, 0, 5).block(20, 2, 9).in_call(5);
  std::vector<Trace> ranks{first.trace(), second.trace()};
  ranks[0].epoch_ns = 1000;
  ranks[1].epoch_ns = 1500;
  const Trace all = join_ranks(std::move(ranks), Classes());
  const Allocations& a = all.allocations;
  REQUIRE(a.size() == 4);
  CHECK(a.by == Allocator::cuda);
  std::map<std::pair<std::uint16_t, std::int64_t>, Row> rows;
  for (Row r = 0; r < a.size(); ++r) rows[{a.device[r], a.address[r]}] = r;
  REQUIRE(rows.size() == 4);  // the second rank's device is another
  const Row old = rows.at({2, 1}), made = rows.at({2, 2});
  CHECK(a.bytes[old] == 300);
  CHECK(a.start[old] <= 0);  // still from before the recording
  CHECK(a.start[made] == 520);
  CHECK(a.process[made] == 2);
  CHECK(a.thread[made] == 2);
  CHECK(a.thread[rows.at({0, 2})] == 0);
}
