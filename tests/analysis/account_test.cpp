// The account: every nanosecond of every step has exactly one cause, and the right one.
#include <algorithm>
#include <random>
#include <string>

#include "analysis/analysis.hpp"
#include "base/parallel.hpp"
#include "support/traces.hpp"

using namespace gh;
using namespace support;

namespace {

Ns us(double n) { return static_cast<Ns>(n * 1000); }

// The time of one cause in microseconds.
double of(const Analysis& a, const std::string& cause) {
  return static_cast<double>(a.account.total_ns(cause)) / 1000;
}

// The time of all causes with a prefix: "compute.", "idle.".
double sum(const Analysis& a, const std::string& prefix) {
  double n = 0;
  for (const std::string& c : a.account.causes)
    if (c.starts_with(prefix)) n += of(a, c);
  return n;
}

void check_adds_up(const Analysis& a) {
  REQUIRE(a.account.devices.size() == a.devices.size());
  Ns all = 0, steps = 0;
  for (std::size_t d = 0; d < a.devices.size(); ++d) {
    const DeviceAccount& account = a.account.devices[d];
    REQUIRE(account.step_ns.size() == a.devices[d].steps.size());
    for (std::size_t k = 0; k < account.step_ns.size(); ++k) {
      REQUIRE(account.step_ns.causes() == a.account.causes.size());
      Ns step = 0;
      bool negative = false;
      for (std::size_t c = 0; c < account.step_ns.causes(); ++c) {
        const Ns ns = account.step_ns.of(k, c);
        step += ns;
        negative = negative || ns < 0;
      }
      CHECK(step == a.devices[d].steps[k].span.length());
      CHECK_FALSE(negative);
      steps += step;
    }
    // Idle spans are in order and disjoint, and are the part of the window that is not busy.
    std::vector<Span> idle;
    bool in_order = true;
    for (const Idle& i : account.idle) {
      in_order = in_order && i.span.start < i.span.end &&
                 (idle.empty() || idle.back().end <= i.span.start);
      idle.push_back(i.span);
    }
    CHECK(in_order);
    const Spans pauses = united(idle);
    CHECK(pauses == intersection(pauses, account.window));
    CHECK(account.busy_ns + total(pauses) == total(account.window));
    Ns longest = 0;
    for (const Span s : pauses) longest = std::max(longest, s.length());
    CHECK(account.longest_idle_ns == longest);
    // While the device is busy, no cause is idle.
    Ns busy = 0;
    for (std::size_t c = 0; c < account.step_ns.causes(); ++c)
      if (!a.account.causes[c].starts_with("idle.")) busy += account.step_ns.total_ns(c);
    CHECK(busy == account.busy_ns);
  }
  for (const std::string& cause : a.account.causes) all += a.account.total_ns(cause);
  CHECK(all == a.account.total_ns());
  CHECK(steps == a.total_ns());
}

void check_same(const Account& a, const Account& b) {
  CHECK(a.idle_causes == b.idle_causes);
  REQUIRE(a.devices.size() == b.devices.size());
  for (std::size_t d = 0; d < a.devices.size(); ++d) {
    const DeviceAccount &x = a.devices[d], &y = b.devices[d];
    CHECK(x.window == y.window);
    CHECK(x.busy_ns == y.busy_ns);
    CHECK(x.longest_idle_ns == y.longest_idle_ns);
    const bool same_steps = x.step_ns == y.step_ns,
               same_idle = x.idle.size() == y.idle.size() &&
                           std::equal(x.idle.begin(), x.idle.end(), y.idle.begin());
    CHECK(same_steps);
    CHECK(same_idle);
  }
}

// Work on two streams of one device, launched by two threads, with everything unusual: operations
// that overlap or take no time, nested calls, page faults, missing launches. Steps leave gaps.
Trace random_trace(unsigned seed, int operations) {
  std::mt19937 random(seed);
  const auto upto = [&](int n) { return static_cast<Ns>(random() % static_cast<unsigned>(n)); };
  Trace t;
  t.devices = {{}};
  t.processes = {{}};
  t.threads = {{}, {}};
  t.streams = {{}, {.device = 0, .process = 0, .id = 7}};
  const NameId kernel = t.names.intern("gemm"), launch = t.names.intern("cudaLaunchKernel"),
               sync = t.names.intern("cudaDeviceSynchronize"),
               malloc = t.names.intern("cudaMalloc");
  Ns host = 0, gpu = 0;
  for (int i = 1; i <= operations; ++i) {
    const auto call = [&](Ns start, Ns end, NameId name, std::uint32_t correlation) {
      t.calls.start.push_back(start);
      t.calls.end.push_back(end);
      t.calls.name.push_back(name);
      t.calls.correlation.push_back(correlation);
      t.calls.thread.push_back(upto(8) == 0);
    };
    host += upto(3000) + (upto(50) == 0 ? upto(3'000'000) : 0);
    call(host, host + 500 + upto(500), launch, static_cast<std::uint32_t>(i));
    if (upto(4) == 0) call(host + 10, host + 100 + upto(1000), launch, 0);
    host += 1000;
    if (upto(10) == 0) {
      host = std::max(host, gpu);
      call(host - upto(900), host + upto(2000), upto(3) == 0 ? malloc : sync, 0);
    }
    const Ns start = upto(20) == 0 ? gpu : std::max(host, gpu - upto(800)),
             end = start + (upto(10) == 0 ? 0 : upto(4000));
    gpu = std::max(gpu, end);
    const bool copy = upto(6) == 0;
    t.ops.start.push_back(start);
    t.ops.end.push_back(end);
    t.ops.bytes.push_back(copy ? 2 << 20 : 0);
    t.ops.stream.push_back(upto(3) == 0);
    t.ops.name.push_back(copy ? 0 : kernel);
    t.ops.correlation.push_back(upto(15) == 0 ? 0 : static_cast<std::uint32_t>(i));
    t.ops.blocks.push_back(1);
    t.ops.threads.push_back(1);
    t.ops.kind.push_back(copy ? OpKind::copy : OpKind::kernel);
    t.ops.copy.push_back(!copy ? CopyKind::none : upto(4) == 0 ? CopyKind::d2h : CopyKind::h2d);
    t.ops.source.push_back(MemoryKind::pinned);
    t.ops.target.push_back(MemoryKind::device);
    t.ops.cause.push_back(MigrationCause::none);
    t.ops.address.push_back(0);
    t.ops.in_graph.push_back(upto(30) == 0);
    if (upto(25) == 0) {
      t.gpu_faults.start.push_back(gpu + upto(2000));
      t.gpu_faults.end.push_back(t.gpu_faults.start.back() + upto(9000));
      t.gpu_faults.address.push_back(0);
      t.gpu_faults.count.push_back(1);
      t.gpu_faults.device.push_back(0);
    }
  }
  t.seal();
  return t;
}

std::vector<Step> random_steps(unsigned seed, Ns until) {
  std::mt19937 random(seed);
  std::vector<Step> steps;
  for (Ns at = 20'000; at < until;) {
    const Ns end = at + 1 + static_cast<Ns>(random() % 200'000);
    steps.push_back({{at, end}, static_cast<std::int64_t>(steps.size()), at});
    at = end + (random() % 3 == 0 ? static_cast<Ns>(random() % 30'000) : 0);
  }
  return steps;
}

// Two kernels with a pause from 100 us to 10 ms between them. The second is launched at the end of
// the pause. No steps.
// The first piece of idle time after the first operation.
const Idle& first_pause(const Analysis& a) {
  const IdleList& idle = a.account.devices[0].idle;
  return *std::find_if(idle.begin(), idle.end(),
                       [](const Idle& i) { return i.previous != no_row; });
}

// The window begins with the first launch, 20 us before the first operation: `lead_us` of idle
// time.
constexpr double lead_us = 20, lead_launch_us = 5;
Analysis pause(const std::string& more, const std::string& launched = "{ 9980, 9985 }") {
  return analysed(
      "return { ops = { { 0, 100, kernel = 'gemm', launched = { -20, -15 } }, { 10000, 10100, "
      "kernel = 'gemm', launched = " +
      launched + " } }, " + more + " }");
}

// Six steps of 10 ms with a pause of 6 ms before the first launch and an optimizer at the end.
const std::string batch =
    "{ 6010, 6050, copy = 'h2d', bytes = 65536, launched = { 6000, 6005 } }, { 6050, 9900, kernel "
    "= 'gemm', launched = { 6010, 6015 } }";
Analysis steps(const std::string& more, const std::string& ops = batch,
               const std::string& last = "multi_tensor_apply_kernel<FusedAdam>") {
  return analysed("return { repeats = { times = 6, every = 10000 }, ops = { " + ops +
                  ", { 9990, 9995, kernel = '" + last + "', launched = { 7010, 7015 } } }, " +
                  more + " }");
}

}  // namespace

TEST_CASE("account: causes add up to every step of every recording, to the nanosecond") {
  for (const auto& path : support::few_with_sanitizers(support::recordings())) {
    CAPTURE(path.string());
    check_adds_up(Analysis(read_nsys(path), Classes(), {}));
  }
}

TEST_CASE("account: it does not depend on how a device's time is cut") {
  const auto check = [](const Trace& trace, const Classes& classes, const NameClasses& names,
                        const std::vector<DeviceSteps>& devices,
                        std::initializer_list<std::size_t> sizes) {
    const Account whole = make_account(trace, classes, names, devices, {}, trace.ops.size() + 1);
    for (const unsigned threads : {1u, 3u})
      for (const std::size_t size : sizes) {
        CAPTURE(size);
        use_threads(threads);
        check_same(make_account(trace, classes, names, devices, {}, size), whole);
        use_threads(0);
      }
  };
  for (const char* name : {"um", "ddp", "starved", "offload", "compile-graphs"}) {
    CAPTURE(name);
    const Analysis a(
        read_nsys(std::filesystem::path(GH_FIXTURES) / (std::string(name) + ".sqlite")), Classes(),
        {});
    check(a.trace, a.classes, a.names, a.devices, {50, 1000});
    // Artificial steps that begin in the middle of operations and pauses.
    std::vector<DeviceSteps> devices = a.devices;
    for (DeviceSteps& d : devices) {
      const Ns start = a.trace.ops.start[d.ops.front()],
               length = a.trace.ops.end[d.ops.back()] - start;
      d.steps.clear();
      for (int i = 3; i < 40; ++i)
        d.steps.push_back({{start + length * i / 40,
                            start + length * (i + 1) / 40 - (i % 5 == 0 ? length / 100 : 0)},
                           i,
                           start + length * i / 40});
    }
    check(a.trace, a.classes, a.names, devices, {50, 1000});
  }
  for (unsigned seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    const Trace trace = random_trace(seed, 2000);
    const Classes classes;
    DeviceSteps device;
    for (Row op = 0; op < trace.ops.size(); ++op) device.ops.push_back(op);
    device.steps = random_steps(seed, trace.capture_end - 100'000);
    check(trace, classes, NameClasses(trace, classes), {device}, {1, 7, 100});
  }
}

TEST_CASE("account: it does not depend on the number of threads") {
  const Trace trace =
      random_trace(1, 300'000);  // enough for every thread to get some of everything
  const Classes classes;
  const NameClasses names(trace, classes);
  const auto account = [&](unsigned threads) {
    use_threads(threads);
    const auto devices = find_steps(trace, classes, names, program_of(trace, classes, names), {});
    Account a = make_account(trace, classes, names, devices);
    use_threads(0);
    return a;
  };
  const Account alone = account(1);
  CHECK(alone.idle_causes.size() > 100'000);
  check_same(account(2), alone);
  check_same(account(5), alone);
}

TEST_CASE("account: causes add up within a selection of steps") {
  Selection s;
  s.range = "*forward*";
  for (const char* name : {"starved", "um"}) {
    Trace trace = read_nsys(std::filesystem::path(GH_FIXTURES) / (std::string(name) + ".sqlite"));
    Selection by_steps;
    by_steps.steps = std::pair<std::int64_t, std::int64_t>{0, 1000};
    check_adds_up(Analysis(std::move(trace), Classes(), by_steps));
  }
  Analysis a(
      trace_from_text(
          R"(return { repeats = { times = 3, every = 1000 }, ranges = { { 100, 400, "forward" } }, ops = { { 120, 300, kernel = "a" }, { 350, 500, kernel = "b" } } })"),
      Classes(), s);
  check_adds_up(a);
  CHECK(a.step_count() == 3);
}

TEST_CASE("account: the causes of steps, in whatever order they come up") {
  StepCauses a(3, 4), b(3, 4);
  a.add(0, 2, 5);
  a.add(1, 0, 7);  // a second cause, once a step has been filled
  a.add(0, 0, 1);
  a.add(1, 2, -2);
  b.add(1, 2, -2);
  b.add(1, 0, 7);
  b.add(0, 0, 1);
  CHECK_FALSE(a == b);
  b.add(0, 2, 5);
  CHECK(a == b);
  CHECK(a.of(0, 0) == 1);
  CHECK(a.of(0, 2) == 5);
  CHECK(a.of(1, 2) == -2);
  CHECK(a.of(2, 2) == 0);
  CHECK(a.of(0, 3) == 0);
  CHECK(a.total_ns(0) == 8);
  CHECK(a.total_ns(2) == 3);
  CHECK(a.total_ns(4) == 0);
  CHECK(a.size() == 3);
}

TEST_CASE("account: an empty report has no causes") {
  const Analysis a = analysed("return {}");
  CHECK(a.account.devices.empty());
  CHECK(a.total_ns() == 0);
  CHECK(a.account.total_ns("no such cause") == 0);
}

TEST_CASE(
    "account: where several are active, a stall precedes compute, compute precedes collectives, "
    "copies and "
    "idle") {
  // One window of 610 us, from the first launch on: everything starts at once and ends one after
  // the other.
  const Analysis a = analysed(R"(return {
    ops = { { 0, 500, copy = "h2d", bytes = 1e6, stream = 9 }, { 0, 400, kernel = "ncclDevKernel_AllReduce_Sum_f32_RING_LL", stream = 8 }, { 0, 300, kernel = "nvjet_tst_gemm" }, { 590, 600, kernel = "nvjet_tst_gemm", launched = { 570, 580 } } },
    gpu_faults = { { 50, 150 } } })");
  check_adds_up(a);
  CHECK(of(a, "um_stall") == doctest::Approx(100));
  CHECK(sum(a, "compute.") == doctest::Approx(210));
  CHECK(of(a, "communication_exposed") == doctest::Approx(100));
  CHECK(of(a, "copy_exposed") == doctest::Approx(100));
  CHECK(sum(a, "idle.") == doctest::Approx(100));  // 10 of them before the first operation
  CHECK(a.account.devices[0].busy_ns == us(510));
}

TEST_CASE("account: a copy by unified memory is a stall, a copy within the device is compute") {
  const Analysis a = analysed(
      R"(return { ops = { { 0, 100, kernel = "a" }, { 20, 60, copy = "um_h2d", bytes = 65536, cause = "fault", address = 4096 },
    { 100, 150, copy = "d2d", bytes = 4096 }, { 150, 180, set = true }, { 180, 200, graph = true }, { 150, 190, copy = "um_h2d", bytes = 65536, cause = "prefetch", address = 8192 } } })");
  check_adds_up(a);
  CHECK(of(a, "copy_exposed") == 0);  // a prefetch keeps no kernel waiting
  CHECK(of(a, "um_stall") == doctest::Approx(40));
  CHECK(of(a, "compute.device_copy") == doctest::Approx(80));
  CHECK(of(a, "compute.graph") == doctest::Approx(20));
}

TEST_CASE("account: an idle GPU waits for input while a loader's range is open") {
  const Analysis a = pause("ranges = { { 50, 9000, 'load batch' } }");
  check_adds_up(a);
  CHECK(of(a, "idle.input") == doctest::Approx(8900));
  CHECK_FALSE(first_pause(a).inferred);
  CHECK(first_pause(a).cause == IdleCause::input);
  // A range of another thread says nothing about the one that launches.
  CHECK(of(pause("ranges = { { 50, 9000, 'load batch', thread = 'prefetch' } }"), "idle.input") ==
        0);
}

TEST_CASE(
    "account: an idle GPU waits for input before the first copy to the device, even if no range "
    "says so") {
  for (const char* more :
       {"ranges = { { 0, 9000, 'step {n}' } }",
        "ranges = { { 0, 9000, 'step {n}' } }, os_calls = { { 1000, 1010, 'read' } }"}) {
    const Analysis a = steps(more);
    check_adds_up(a);
    CHECK(of(a, "idle.input") > 5 * 5500);
    bool inferred = true;
    for (const Idle& i : a.account.devices[0].idle)
      inferred = inferred && (i.cause != IdleCause::input || i.inferred);
    CHECK(inferred);
  }
  const std::string kernel_only = "{ 6010, 9900, kernel = 'gemm', launched = { 6000, 6005 } }";
  // Without an upload, the host must have read or waited.
  CHECK(of(steps("ranges = { { 0, 9000, 'step {n}' } }", kernel_only), "idle.input") == 0);
  CHECK(of(steps("ranges = { { 0, 9000, 'step {n}' } }", kernel_only), "idle.unknown") > 5 * 5500);
  CHECK(of(steps("ranges = { { 0, 9000, 'step {n}' } }, os_calls = { { 500, 5800, "
                 "'pthread_cond_timedwait' } }",
                 kernel_only),
           "idle.input") > 5 * 5500);
  CHECK(of(steps("ranges = { { 0, 9000, 'step {n}' } }, os_calls = { { 500, 5800, "
                 "'pthread_cond_timedwait', thread = 'other' } }",
                 kernel_only),
           "idle.input") == 0);
  // Without a loss or an optimizer, nothing is trained, and a pause before an upload is a request
  // or the next token.
  CHECK(of(steps("ranges = { { 0, 9000, 'step {n}' } }", batch, "sampling_kernel"), "idle.input") ==
        0);
  // If ranges of the launching thread mark the loader in most steps, nothing else counts as input.
  CHECK(of(steps("ranges = { { 0, 9000, 'step {n}' }, { 10, 20, 'data loader', thread = "
                 "'prefetcher' } }"),
           "idle.input") > 5 * 5500);
  CHECK(of(steps("ranges = { { 0, 9000, 'step {n}' }, { 10, 20, 'data loader' } }"),
           "idle.input") == doctest::Approx(5 * 10));
}

TEST_CASE("account: a pause within a step is not input") {
  const Analysis a = steps(
      "ranges = { { 0, 9950, 'step {n}' } }, os_calls = { { 4000, 4100, 'read' } }",
      "{ 20, 2510, kernel = 'gemm', launched = { 5, 10 } }, { 2510, 2900, kernel = 'gemm', "
      "launched = { 2500, 2505 } }, { 7010, 9990, kernel = 'gemm', launched = { 7000, 7005 } }");
  check_adds_up(a);
  CHECK(of(a, "idle.input") == 0);
  CHECK(of(a, "idle.unknown") > 5 * 3500);
}

TEST_CASE("account: the pause of a thread that takes over within a step is not input") {
  // The backward pass: autograd's thread waits until the main thread has called it.
  const Analysis a = steps(
      "ranges = { { 0, 9950, 'step {n}' } }, os_calls = { { 3000, 6900, 'pthread_cond_wait', "
      "thread = 'autograd' } }",
      "{ 20, 2510, kernel = 'gemm', launched = { 5, 10 } }, { 2510, 2900, kernel = 'gemm', "
      "launched = { 2500, 2505 } }, { 7010, 9990, kernel = 'gemm', "
      "launched = { 7000, 7005 }, thread = 'autograd' }");
  check_adds_up(a);
  CHECK(of(a, "idle.input") == 0);
  CHECK(of(a, "idle.unknown") > 5 * 3500);
}

TEST_CASE("account: a pause that began while the GPU still worked is input too") {
  // The host finished the step at 7.5 ms, 2.4 ms before the GPU went idle.
  const Analysis a = steps("ranges = { { 0, 7500, 'step {n}' } }");
  check_adds_up(a);
  CHECK(of(a, "idle.input") > 5 * 5500);
}

TEST_CASE("account: a pause before downloaded data is uploaded again is not input") {
  const std::string ranges = "ranges = { { 0, 9990, 'step {n}' } }";
  const auto ops = [](const char* down, const char* up) {
    return std::string("{ 6010, 6050, copy = 'h2d', bytes = ") + up +
           ", launched = { 6000, 6005 } }, { 6050, 9800, kernel = 'gemm', launched = { 6010, "
           "6015 } }, { 9800, 9850, copy = 'd2h', bytes = " +
           down +
           ", launched = { 6020, 6025 } }, { 9850, 9900, kernel = 'gemm', launched = { 6030, "
           "6035 } }";
  };
  CHECK(of(steps(ranges, ops("8388608", "8388608")), "idle.input") == 0);
  CHECK(of(steps(ranges, ops("8388608", "4096")), "idle.input") > 5 * 5500);
  // A loss of four bytes that is copied to the host, and a counter of four bytes that is copied to
  // the device, are not offloading.
  CHECK(of(steps(ranges, ops("4096", "4096")), "idle.input") > 5 * 5500);
}

TEST_CASE("account: a pause in which the host wrote more than it read is not input") {
  const std::string ranges = "ranges = { { 0, 9000, 'step {n}' } }, os_calls = { ";
  const Analysis a =
      steps(ranges + "{ 1000, 1100, 'write' }, { 1200, 1300, 'fsync' }, { 1400, 1500, 'read' } }");
  check_adds_up(a);
  CHECK(of(a, "idle.input") == 0);
  CHECK(of(a, "idle.unknown") > 5 * 5500);
  CHECK(of(steps(ranges +
                 "{ 1000, 1100, 'write' }, { 1200, 1300, 'read' }, { 1400, 1500, 'read' } }"),
           "idle.input") > 5 * 5500);
}

TEST_CASE("account: an idle GPU waits for a host that synchronizes") {
  for (const char* call :
       {"cudaStreamSynchronize", "cudaDeviceSynchronize", "cuCtxSynchronize", "cudaMemcpy"}) {
    CAPTURE(call);
    const Analysis a = pause("calls = { { 50, 9000, '" + std::string(call) + "' } }");
    check_adds_up(a);
    // The wait, and the usual time to prepare a launch; anything the host does then is its own
    // work.
    CHECK(of(a, "idle.sync") == doctest::Approx(8910));
    CHECK(of(a, "idle.unknown") == doctest::Approx(970));
  }
  // A wait that ended before the GPU went idle, by more than the clocks may differ, cost nothing.
  CHECK(of(pause("calls = { { 50, 70, 'cudaStreamSynchronize' } }"), "idle.sync") == 0);
  CHECK(of(pause("calls = { { 50, 90, 'cudaStreamSynchronize' } }"), "idle.sync") > 0);
}

TEST_CASE("account: an idle GPU waits for launches that come too slowly") {
  // Back to back: a launch every 0.5 ms.
  std::string calls;
  for (int t = 500; t < 9900; t += 500)
    calls += "{ " + std::to_string(t) + ", " + std::to_string(t + 10) + ", 'cudaLaunchKernel' },";
  const Analysis a = pause("calls = { " + calls + " }");
  check_adds_up(a);
  CHECK(of(a, "idle.launch") + of(a, "idle.launch_latency") == doctest::Approx(9900 + lead_us));
}

TEST_CASE("account: an idle GPU waits for an operation that is on its way") {
  const Analysis a = pause("calls = {}", "{ 80, 200 }");
  check_adds_up(a);
  CHECK(of(a, "idle.launch") == doctest::Approx(100 + lead_launch_us));
  CHECK(of(a, "idle.launch_latency") == doctest::Approx(9800 + lead_us - lead_launch_us));
}

TEST_CASE("account: a wait is charged for its length and no more") {
  // Waits of 20 us, after each of which the host does something else for half a millisecond.
  std::string calls;
  for (int t = 500; t < 9900; t += 500)
    calls += "{ " + std::to_string(t) + ", " + std::to_string(t + 20) + ", 'cudaMemcpy' },";
  const Analysis a = pause("calls = { " + calls + " }");
  check_adds_up(a);
  CHECK(of(a, "idle.sync") > 0);
  CHECK(of(a, "idle.sync") <= 19 * 40);
  // A wait that begins and ends while the GPU is idle waits for nothing.
  const Analysis idle =
      pause("calls = { { 1000, 1010, 'cudaGetDevice' }, { 2000, 2500, 'cudaStreamSynchronize' } }");
  check_adds_up(idle);
  CHECK(of(idle, "idle.sync") == 0);
}

TEST_CASE("account: launching after a wait is charged to the wait, up to the wait's length") {
  // A wait of 100 us, then a launch every 50 us until the operation starts.
  std::string calls = "{ 50, 150, 'cudaStreamSynchronize' }, ";
  for (int t = 200; t < 9900; t += 50)
    calls += "{ " + std::to_string(t) + ", " + std::to_string(t + 10) + ", 'cudaLaunchKernel' },";
  const Analysis a = pause("calls = { " + calls + " }");
  Ns drained = 0;
  for (const Idle& i : a.account.devices[0].idle)
    if (i.drained) {
      drained += i.span.length();
      REQUIRE(i.call != no_row);
      CHECK(a.trace.names[a.trace.calls.name[i.call]] == "cudaStreamSynchronize");
    }
  CHECK(drained > 0);
  CHECK(drained <= us(100));
}

TEST_CASE("account: an idle GPU waits while a kernel's code is loaded at its first launch") {
  const auto launched_as = [](const std::string& second) {
    return analysed(
        "return { ops = { { 0, 100, kernel = 'gemm', launched = { -20, -15 } }, { 3060, 3100, "
        "kernel = '" +
        second + "', launched = { 50, 3050 } } } }");
  };
  const Analysis first = launched_as("softmax");
  check_adds_up(first);
  CHECK(of(first, "idle.loading") == doctest::Approx(2950));
  CHECK(of(first, "idle.launch_latency") == doctest::Approx(10 + lead_us - lead_launch_us));
  // A kernel that was launched before is already loaded.
  CHECK(of(launched_as("gemm"), "idle.loading") == 0);
}

TEST_CASE("account: an idle GPU waits during calls that fail") {
  const Analysis a = pause("calls = { { 200, 9000, 'cudaLaunchKernel', result = 222 } }");
  check_adds_up(a);
  CHECK(of(a, "idle.failed") == doctest::Approx(8800));
  // An answer is not a failure.
  CHECK(of(pause("calls = { { 200, 9000, 'cudaEventQuery', result = 600 } }"), "idle.failed") == 0);
}

TEST_CASE("account: an idle GPU waits while memory is allocated or freed") {
  const Analysis a = pause("calls = { { 50, 5000, 'cudaMalloc' }, { 5000, 9975, 'cudaFree' } }");
  check_adds_up(a);
  CHECK(of(a, "idle.allocation") == doctest::Approx(9875));
  // Stream-ordered allocation is judged by its duration, not by its name.
  CHECK(of(pause("calls = { { 200, 5000, 'cudaMallocAsync' } }"), "idle.allocation") ==
        doctest::Approx(4800));
}

TEST_CASE("account: an idle GPU waits while code is compiled or loaded") {
  const Analysis a = pause("calls = { { 50, 9975, 'cuLibraryLoadData' } }");
  check_adds_up(a);
  CHECK(of(a, "idle.loading") == doctest::Approx(9875));
  // Host work that ends with loading a module built that module.
  const Analysis made = pause("calls = { { 9000, 9975, 'cuModuleLoadData' } }");
  check_adds_up(made);
  CHECK(of(made, "idle.compilation") == doctest::Approx(8900));
  CHECK(of(made, "idle.loading") == doctest::Approx(975));
  CHECK(of(pause("calls = { { 200, 9975, 'nvrtcCompileProgram' } }"), "idle.compilation") ==
        doctest::Approx(9775));
}

TEST_CASE("account: a library that is loaded again for the same kernel was made by the host") {
  // Six times 10 ms: each time a library is loaded before the second of two launches.
  const Analysis made = analysed(
      "return { repeats = { times = 6, every = 10000 }, ranges = { { 0, 9900, 'step {n}' } }, ops "
      "= { { 1020, 1100, kernel = 'attention', launched = { 1000, 1005 } }, { 1120, 1200, kernel "
      "= 'gemm', launched = { 1010, 1015 } }, { 8020, 8100, kernel = 'attention', launched = { "
      "8000, 8005 } }, { 8100, 9990, kernel = 'gemm', launched = { 8010, 8015 } } }, calls = { { "
      "7900, 7990, 'cuLibraryLoadData' } } }");
  check_adds_up(made);
  CHECK(of(made, "idle.compilation") == doctest::Approx(5 * 6700));  // the first is start-up
  CHECK(of(made, "idle.unknown") < 6 * 1100);
  // What is shipped is loaded once for each kernel.
  const Analysis shipped = pause("calls = { { 9000, 9975, 'cuLibraryLoadData' } }");
  CHECK(of(shipped, "idle.compilation") == 0);
  CHECK(of(shipped, "idle.loading") == doctest::Approx(975));
}

TEST_CASE("account: a pause that comes without loading too is not for making a library") {
  std::string ops, calls;
  for (int i = 0; i < 8; ++i) {
    const int at = i * 10000;
    ops += "{ " + std::to_string(at + 20) + ", " + std::to_string(at + 100) +
           ", kernel = 'attention', launched = { " + std::to_string(at) + ", " +
           std::to_string(at + 5) + " } },";
    if (i % 2 == 1)
      calls += "{ " + std::to_string(at - 100) + ", " + std::to_string(at - 10) +
               ", 'cuLibraryLoadData' },";
  }
  const Analysis a = analysed("return { ops = { " + ops + " }, calls = { " + calls + " } }");
  check_adds_up(a);
  CHECK(of(a, "idle.compilation") == 0);
  CHECK(of(a, "idle.loading") > 4 * 80);
}

TEST_CASE("account: an idle GPU waits while a range of a compiler is open") {
  const std::string range = "ranges = { { 1000, 9000, 'XlaCompile:#module=jit_f#'";
  const Analysis a = pause(range + " } }");
  check_adds_up(a);
  CHECK(of(a, "idle.compilation") == doctest::Approx(8000));
  CHECK(of(a, "idle.unknown") > 1000);
  // While the thread waits, others compile for it.
  const Analysis pool = pause(
      "ranges = { { -30, -25, 'XlaCompile:#module=jit_f#' }, { 1000, 9000, "
      "'XlaCompileBackend:#module=g#', thread = 'pool' } }");
  CHECK(of(pool, "idle.compilation") == doctest::Approx(8000));
  // A thread that never compiles waits for something else.
  CHECK(of(pause(range + ", thread = 'pool' } }"), "idle.compilation") == 0);
  // Running what was compiled is not compiling.
  CHECK(of(pause("ranges = { { 1000, 9000, 'XlaModule:#hlo_module=jit_f#' } }"),
           "idle.compilation") == 0);
}

TEST_CASE("account: an idle GPU with work enqueued waits for a dependency") {
  const Analysis a = pause("calls = {}", "{ 10, 15 }");  // launched long before
  check_adds_up(a);
  CHECK(of(a, "idle.dependency") == doctest::Approx(9900));
}

TEST_CASE("account: idle time without evidence has an unknown cause") {
  const Analysis a = pause("calls = {}");
  check_adds_up(a);
  CHECK(of(a, "idle.unknown") == doctest::Approx(9880));
  CHECK(of(a, "idle.launch") + of(a, "idle.launch_latency") == doctest::Approx(20 + lead_us));
  const Analysis unlaunched = pause("calls = {}", "false");  // unknown who launched it
  check_adds_up(unlaunched);
  CHECK(of(unlaunched, "idle.unknown") == doctest::Approx(9900));
}

TEST_CASE("account: one pause can have several causes") {
  const Analysis a = pause(
      "calls = { { 1000, 3000, 'cudaMalloc' }, { 4000, 6000, 'cudaMemcpy' } }, ranges "
      "= { { 8000, 9000, 'load batch' } }");
  check_adds_up(a);
  CHECK(of(a, "idle.allocation") == doctest::Approx(2000));
  CHECK(of(a, "idle.input") == doctest::Approx(1000));
  CHECK(of(a, "idle.sync") == doctest::Approx(2010));  // the wait, and the usual pause after it
  CHECK(sum(a, "idle.") == doctest::Approx(9900 + lead_us));
}

TEST_CASE("account: a call inside another belongs to the outer one") {
  const Analysis a =
      pause("calls = { { 50, 9000, 'cudaMalloc' }, { 100, 8000, 'cuModuleLoadData' } }");
  check_adds_up(a);
  CHECK(of(a, "idle.compilation") == 0);
  CHECK(of(a, "idle.allocation") == doctest::Approx(8900));
}

TEST_CASE("account: a thread that hands over to another does not pause meanwhile") {
  // Backward launches from its own thread, a kernel every 0.4 ms, while the main thread waits to
  // launch the optimizer.
  std::string ops = "{ 0, 100, kernel = 'gemm', launched = { -20, -15 } },";
  for (int t = 500; t < 9900; t += 500)
    ops += "{ " + std::to_string(t) + ", " + std::to_string(t + 10) +
           ", kernel = 'gemm', thread = 'backward' },";
  const Analysis a = analysed("return { ops = { " + ops +
                              " { 10000, 10100, kernel = 'gemm', launched = { 9980, 9985 } } } }");
  check_adds_up(a);
  CHECK(of(a, "idle.unknown") == 0);
  CHECK(of(a, "idle.input") == 0);
  // All in one pause of the GPU: launches of the other thread (for example for another device)
  // interrupt the main thread's pause.
  std::string calls;
  for (int t = 500; t < 9900; t += 500)
    calls += "{ " + std::to_string(t) + ", " + std::to_string(t + 10) +
             ", 'cudaLaunchKernel', thread = 'backward' },";
  const Analysis other = pause("calls = { " + calls + " }");
  CHECK(of(other, "idle.unknown") == 0);
  CHECK(of(other, "idle.launch") + of(other, "idle.launch_latency") ==
        doctest::Approx(9900 + lead_us));
}

// Six steps in which the main thread loads for 8 ms and then computes for 1.9 ms, with `more`
// operations by other threads.
Analysis loading_beside(const std::string& more) {
  return analysed(
      "return { repeats = { times = 6, every = 10000 }, ranges = { { 0, 9900, 'step {n}' },"
      " { 10, 8000, 'dataloader' } }, ops = { { 8100, 9950, kernel = 'gemm', launched = { 8010, "
      "8020 } }," +
      more + " } }");
}

TEST_CASE("account: idle time belongs to the thread whose work the GPU lacks") {
  const double alone = of(loading_beside(""), "idle.input");
  CHECK(alone > 6 * 7900 * 0.8);
  // Occasional work of another thread on a separate stream ends no pause.
  std::string beats;
  for (int t = 500; t < 8000; t += 1000)
    beats += "{ " + std::to_string(t) + ", " + std::to_string(t + 1) +
             ", kernel = 'beat', stream = 9, thread = 'monitor' },";
  const Analysis monitored = loading_beside(beats);
  check_adds_up(monitored);
  CHECK(of(monitored, "idle.input") == doctest::Approx(alone).epsilon(0.01));
  for (const Idle& i : monitored.account.devices[0].idle)
    if (i.cause == IdleCause::input) CHECK(monitored.trace.threads[i.thread].name == "main");
  // Nor does a batch that a thread uploads ahead of time, on any stream.
  for (const char* stream : {"7", "9"}) {
    CAPTURE(stream);
    const Analysis fetched = loading_beside(
        std::string("{ 3000, 3100, copy = 'h2d', bytes = 1e6, thread = 'fetcher', stream = ") +
        stream + " }");
    check_adds_up(fetched);
    CHECK(of(fetched, "idle.input") == doctest::Approx(alone - 500).epsilon(0.02));
  }
}

TEST_CASE(
    "account: idle time before an operation that the main thread's work waits for belongs to its "
    "launcher") {
  // The kernel had been launched before the batch that it waits for arrived.
  const Analysis a = analysed(
      "return { ops = { { 0, 100, kernel = 'gemm', launched = { -20, -15 } }, { 5000, 6000, copy = "
      "'h2d', bytes = 1e6, stream = 9, thread = 'fetcher', launched = { 4980, 4990 } }, { 6010, "
      "7000, kernel = 'gemm', launched = { 110, 120 } } } }");
  for (const Idle& i : a.account.devices[0].idle)
    if (i.span.length() > us(1000)) CHECK(a.trace.threads[i.thread].name == "fetcher");
}

TEST_CASE("account: another thread's work counts if it fills the pauses") {
  // The main thread launches nothing for 9.9 ms; the other keeps the GPU busy for most of it.
  std::string ops = "{ 0, 5000, kernel = 'gemm', launched = { -20, -15 } },";
  for (int t = 5300; t < 14900; t += 500)
    ops += "{ " + std::to_string(t) + ", " + std::to_string(t + 300) +
           ", kernel = 'other', stream = 9, thread = 'second' },";
  const Analysis a =
      analysed("return { ops = { " + ops +
               " { 15000, 20000, kernel = 'gemm', launched = { 14980, 14985 } } } }");
  check_adds_up(a);
  std::size_t second = 0, all = 0;
  for (const Idle& i : a.account.devices[0].idle) {
    if (i.previous == no_row) continue;  // before the first operation
    ++all;
    second += a.trace.threads[i.thread].name == "second";
  }
  CHECK(second + 1 >= all);
}

TEST_CASE("account: the GPU waits while the host touches pages in GPU memory") {
  const std::string trace =
      "return { ops = { { 0, 1000, kernel = 'gemm', launched = { -20, -15 } }, { 4040, 4050, copy "
      "= "
      "'um_d2h', bytes = 65536 }, { 4140, 4150, copy = 'um_d2h', bytes = 65536 }, { 5000, 6000, "
      "kernel = 'gemm', launched = { 4980, 4990 } } }";
  // From the first fault on, and from page to page; what the host does before and after is its own
  // work.
  const Analysis a = analysed(trace + ", cpu_faults = { { 4010 }, { 4110 } } }");
  check_adds_up(a);
  CHECK(of(a, "idle.faults") == doctest::Approx(30 + 90));
  CHECK(of(a, "um_stall") == doctest::Approx(20));
  // Pages also move for other reasons.
  CHECK(of(analysed(trace + " }"), "idle.faults") == 0);
}

TEST_CASE("account: idle time names the operations around it and the thread") {
  const Analysis a = pause("calls = {}");
  for (const Idle& i : a.account.devices[0].idle) {
    REQUIRE(i.next != no_row);
    if (a.trace.ops.start[i.next] == 0) {  // from the first launch on
      CHECK(i.previous == no_row);
      continue;
    }
    REQUIRE(i.previous != no_row);
    CHECK(a.trace.ops.start[i.previous] == 0);
    CHECK(a.trace.ops.start[i.next] == us(10000));
    CHECK(a.trace.threads[i.thread].name == "main");
  }
}

TEST_CASE("account: recordings of known problems show the intended cause") {
  const auto share = [](const char* name, const char* cause) {
    const Analysis a(
        read_nsys(std::filesystem::path(GH_FIXTURES) / (std::string(name) + ".sqlite")), Classes(),
        {});
    return static_cast<double>(a.account.total_ns(cause)) / static_cast<double>(a.total_ns());
  };
  CHECK(share("starved", "idle.input") > 0.65);
  CHECK(share("good", "idle.input") < 0.02);
  CHECK(share("um", "um_stall") > 0.7);
  CHECK(share("offload", "copy_exposed") > 0.7);
  CHECK(share("fp32", "compute.gemm_cuda_core") > 0.6);
  CHECK(share("compile-graphs", "compute.graph") > 0.5);
}
