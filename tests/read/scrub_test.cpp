// What `gh-advise scrub` keeps of a report: its advice, and nothing that identifies its owner.
#include "support/program.hpp"

using namespace support;
namespace fs = std::filesystem;

namespace {

void check_none(const std::string& bytes, const std::vector<std::string>& secrets) {
  for (const std::string& secret : secrets) CHECK_MESSAGE(bytes.find(secret) == bytes.npos, secret);
}

// Values that are in every place where Nsight Systems reports have been seen to contain such
// values, and in a few more.
const std::vector<std::string> planted{
    "tok-8fa3c51e77", "gpu-node-17.cluster.example", "gpu-node-17",      "mmuster",
    "/home/mmuster",  "/gpfs/projects/apollo",       "sk_live_4242abcd", "run the secret plan",
    "mallory",        "s3://bucket-of-ours/data",    "pw=hunter2hunter2"};
constexpr const char* planted_text = R"(
  INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:ENVIRONMENT_VARIABLE', 'API_TOKEN="tok-8fa3c51e77"'), ('PROCESS_0:ENVIRONMENT_VARIABLE', 'HOSTNAME="gpu-node-17.cluster.example"'),
    ('PROCESS_0:ENVIRONMENT_VARIABLE', 'USER="mmuster"'), ('PROCESS_0:ENVIRONMENT_VARIABLE', 'PWD="/gpfs/projects/apollo"'), ('PROCESS_0:ENVIRONMENT_VARIABLE', 'HOME="/home/mmuster"'),
    ('PROCESS_0:ENVIRONMENT_VARIABLE', 'CUDA_VISIBLE_DEVICES="0"'), ('PROCESS_0:ARGUMENT_0', '--key=sk_live_4242abcd'), ('PROCESS_0:ARGUMENT_1', 's3://bucket-of-ours/data'), ('PROCESS_0:USER_NAME', 'mmuster');
  INSERT INTO TARGET_INFO_SYSTEM_ENV SELECT globalVid, 'mmuster@gpu-node-17', 'Hostname', 990, 'gpu-node-17' FROM TARGET_INFO_SYSTEM_ENV LIMIT 1;
  INSERT INTO TARGET_INFO_SYSTEM_ENV SELECT globalVid, devStateName, 'EnvVars', 999, 'DB_URL=pw=hunter2hunter2' FROM TARGET_INFO_SYSTEM_ENV LIMIT 1;
  INSERT INTO StringIds(id, value) VALUES (900001, CAST('PATH=/home/mallory/bin' || x'00' || 'API_TOKEN=tok-8fa3c51e77' || x'00' AS BLOB)), (900002, 'run the secret plan'), (900003, '/tmp/mmuster.log'),
    (900004, 'loop of mmuster on gpu-node-17: tok-8fa3c51e77'), (900005, '/home/mallory/lib/libmine.so'), (900006, '[/gpfs/projects/apollo/train.py:12] sk_live_4242abcd');
  INSERT INTO ProcessStreams SELECT globalPid, 900003, 900002 FROM PROCESSES;
  INSERT INTO ANALYSIS_FILE(id, filename, contentId, globalPid) SELECT 77, '/home/mallory/stdout.log', 900002, globalPid FROM PROCESSES;
  UPDATE PROCESSES SET name = name || ' --key=sk_live_4242abcd';
  UPDATE ThreadNames SET nameId = 900004 WHERE rowid = 2;
  INSERT INTO OSRT_CALLCHAINS(id, stackDepth, module, symbol, unresolved) VALUES (900001, 0, 900005, 900006, 0);
  INSERT INTO DIAGNOSTIC_EVENT SELECT timestamp, timestampType, source, severity, 'opened /home/mallory/x.so', globalPid FROM DIAGNOSTIC_EVENT LIMIT 1;
  UPDATE TARGET_INFO_CUDA_STREAM SET priority = 'tok-8fa3c51e77' WHERE rowid = 3;
  CREATE TABLE NOTES_OF_MALLORY (text TEXT); INSERT INTO NOTES_OF_MALLORY VALUES ('tok-8fa3c51e77');
  CREATE TABLE gone (text TEXT); INSERT INTO gone VALUES ('sk_live_4242abcd tok-8fa3c51e77'); DROP TABLE gone)";

}  // namespace

TEST_CASE("scrub: nothing planted in a report is left, and its advice stays") {
  const TempDir dir;
  fs::copy_file(GH_FIXTURES "/starved.sqlite", dir / "report.sqlite");
  run_sql(dir / "report.sqlite", planted_text);
  const std::string before = read_file(dir / "report.sqlite");
  for (const std::string& secret : planted) CHECK_MESSAGE(contains(before, secret), secret);
  const Ran ran = advise("scrub report.sqlite -o shared.sqlite", {"", dir / ""});
  CHECK(ran.status == 0);
  CHECK(ran.err == "");
  check_none(ran.out, planted);
  CHECK(contains(ran.out, "environment variables      9 removed"));
  CHECK(contains(ran.out, "left out                   NOTES_OF_[removed]"));
  CHECK(contains(ran.out, "none is left"));
  check_none(read_file(dir / "shared.sqlite"), planted);
  check_none(read_file(dir / "shared.sqlite"), {"mmuster@", "apollo", "mallory", "hunter2"});
  CHECK(read_file(dir / "report.sqlite") == before);
  CHECK(advice_on(dir / "shared.sqlite") == advice_on(GH_FIXTURES "/starved.sqlite"));
  // Scrubbing again changes nothing.
  CHECK(advise("scrub shared.sqlite -o again.sqlite", {"", dir / ""}).status == 0);
  CHECK(read_file(dir / "again.sqlite") == read_file(dir / "shared.sqlite"));
}

TEST_CASE("scrub: the advice on recorded reports and traces stays" * slow_with_sanitizers) {
  const TempDir dir;
  for (const char* name :
       {"ddp.sqlite", "gpumetrics.sqlite", "eager-autogradnvtx.sqlite", "um-umtouch-lora.sqlite",
        "compile-graphs.sqlite", "good.pt.trace.json", "ddp.rank0.pt.trace.json"}) {
    INFO(name);
    const Ran ran = advise("scrub " + std::string(name) + " -o " + quoted(dir / name));
    CHECK_MESSAGE(ran.status == 0, ran.err);
    CHECK(advice_on(dir / name) == advice_on(fs::path(GH_FIXTURES) / name));
  }
}

TEST_CASE("scrub: nothing that people put into a PyTorch trace is left, plain or compressed") {
  const TempDir dir;
  std::string trace = read_file(GH_FIXTURES "/graphs.pt.trace.json");
  const std::string events = "\"traceEvents\": [";
  REQUIRE(contains(trace, events));
  trace.insert(
      trace.find(events),
      R"("metadata": {"env": {"HF_TOKEN": "hf_abcdefgh12345", "USER": "mmuster", "HOSTNAME": "gpu-node-17"}, "system": {"uname": {"node": "gpu-node-17"}}, "argv": ["train.py", "--key=sk_live_4242abcd"]}, "with_stack": 0, )");
  trace.insert(trace.find(events) + events.size(), R"(
  {"ph": "X", "cat": "user_annotation", "name": "\/home\/mmuster\/train.py:12 hf_abcdefgh12345 \u0068f_abcdefgh12345 on gpu-node-17", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": {"path": "C:\\Users\\mmuster\\x.py", "key": "sk_live_4242abcd"}},
  {"ph": "M", "name": "process_name", "pid": 1, "ts": 1, "args": {"name": "/home/mallory/bin/python"}},)");
  const std::vector<std::string> secrets{"hf_abcdefgh",      "mmuster", "gpu-node-17",
                                         "sk_live_4242abcd", "mallory", "metadata",
                                         "/tmp/tmp"};
  write_file(dir / "trace.json", trace);
  const Ran plain = advise("scrub trace.json -o shared.json", {"", dir / ""});
  CHECK_MESSAGE(plain.status == 0, plain.err);
  const std::string shared = read_file(dir / "shared.json");
  check_none(shared, secrets);
  check_none(plain.out, {"hf_abcdefgh", "mmuster", "gpu-node-17"});
  CHECK(nlohmann::json::accept(shared));
  CHECK(contains(shared, "~/train.py:12"));
  CHECK(contains(shared, "\"with_stack\": 0"));
  const Ran packed = advise("scrub trace.json -o shared.json.gz", {"", dir / ""});
  CHECK_MESSAGE(packed.status == 0, packed.err);
  CHECK(shell("gzip -dc shared.json.gz", {"", dir / ""}).out == shared);
  CHECK(advise("scrub shared.json.gz -o again.json", {"", dir / ""}).status == 0);
  CHECK(read_file(dir / "again.json") == shared);
}

TEST_CASE("scrub: a secret that is left over is an error, and no file is written") {
  const TempDir dir;
  fs::copy_file(GH_FIXTURES "/compile-graphs.sqlite", dir / "report.sqlite");
  // Bytes between two columns: they are not text, so nothing replaces them.
  run_sql(dir / "report.sqlite",
          "INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:ENVIRONMENT_VARIABLE', "
          "'SECRET=\"(\"id\" INTEGER\"')");
  const Ran ran = advise("scrub report.sqlite -o shared.sqlite", {"", dir / ""});
  CHECK(ran.status == 2);
  CHECK(ran.out == "");
  CHECK_MESSAGE(contains(ran.err,
                         "some private data (the value of SECRET) would remain in the "
                         "definition of a table, so nothing was written"),
                ran.err);
  CHECK_FALSE(fs::exists(dir / "shared.sqlite"));
}

TEST_CASE(
    "scrub: values that are words of the format are not secrets, and names are removed in any case "
    "and inside words") {
  const TempDir dir;
  fs::copy_file(GH_FIXTURES "/starved.sqlite", dir / "report.sqlite");
  run_sql(
      dir / "report.sqlite",
      R"(INSERT INTO META_DATA_CAPTURE SELECT 'PROCESS_0:ENVIRONMENT_VARIABLE', column1 FROM (VALUES ('A="timestamp"'), ('B="StringIds"'), ('C="globalTid"'), ('D="demangledName"'),
    ('SLURM_JOB_USER="mmuster"'), ('SLURM_JOB_NODELIST="gpu[08-10,12],login7"'), ('API_KEY="k3yz"'), ('DB="postgres://app:hunter22@db-1.internal:5432/x"'), ('TOKENIZERS_PARALLELISM="false"'));
    UPDATE StringIds SET value = 'x_MMuster_y at gpu09_eth0, Login7.local: k3yz hunter22 db-1.internal' WHERE id = (SELECT nameId FROM ThreadNames LIMIT 1);
    INSERT INTO PROCESSES SELECT globalPid + 9 * 16777216, pid + 9, 'of_another' FROM PROCESSES LIMIT 1)");
  const Ran ran = advise("scrub report.sqlite -o shared.sqlite", {"", dir / ""});
  CHECK_MESSAGE(ran.status == 0, ran.err);
  check_none(read_file(dir / "shared.sqlite"),
             {"MMuster", "gpu09", "ogin7", "k3yz", "hunter22", "db-1.internal", "of_another"});
}

TEST_CASE("scrub: a trace's events contain no secrets either, and keys and categories stay") {
  const TempDir dir;
  std::string trace = read_file(GH_FIXTURES "/good.pt.trace.json");
  const std::string events = "\"traceEvents\": [";
  REQUIRE(contains(trace, events));
  trace.insert(
      trace.find(events),
      R"("environment": {"A": "correlation", "B": "user_annotation", "C": "cuda_runtime"}, )");
  trace.insert(trace.find(events) + events.size(), R"(
  {"ph": "M", "name": "about", "pid": 1, "tid": 1, "ts": 1234567890123456.789, "args": {"hostname": "Node-Of-Us", "env": {"TOKEN": "s3cr3t-word", "L": ["x"]}, "cmdline": "train --key sk_live_4242abcd", "after": 1}},
  {"ph": "M", "name": "process_name", "pid": 77, "ts": 1, "args": {"name": "python3 --token=abcd"}},
  {"ph": "M", "name": "process_labels", "pid": 77, "ts": 1, "args": {"labels": "box-of-mine"}},
  {"ph": "M", "name": "note", "pid": 77, "ts": 1, "args": {"text": "node-of-us and box-of-mine_1 and s3cr3t-word"}},)");
  write_file(dir / "trace.json", trace);
  const Ran ran = advise("scrub trace.json -o shared.json", {"", dir / ""});
  CHECK_MESSAGE(ran.status == 0, ran.err);
  const std::string shared = read_file(dir / "shared.json");
  CHECK(nlohmann::json::accept(shared));
  check_none(shared, {"ode-", "s3cr3t", "sk_live", "--token", "box-of", "\"uuid\""});
  CHECK(contains(shared, R"("ts": 1234567890123456.789, "args": {}})"));
  for (const char* word : {"\"correlation\"", "\"user_annotation\"", "\"cuda_runtime\""})
    CHECK(contains(shared, word));
}

TEST_CASE(
    "scrub: input that cannot be scrubbed gives a one-line error, and nothing is overwritten") {
  const TempDir dir;
  fs::copy_file(GH_FIXTURES "/good.sqlite", dir / "report.sqlite");
  const std::string whole = read_file(dir / "report.sqlite");
  write_file(dir / "cut.sqlite", whole.substr(0, whole.size() / 2));
  write_file(dir / "text.sqlite", "step,ns\n");
  write_file(dir / "trace.json", "{\"events\": []}");
  const auto error = [&](const std::string& arguments) {
    const Ran ran = advise("scrub " + arguments, {"", dir / ""});
    CHECK(ran.status == 2);
    CHECK(ran.out == "");
    CHECK_MESSAGE(lines_of(ran.err).size() == 1, ran.err);
    return ran.err;
  };
  CHECK(contains(error("report.sqlite -o report.sqlite"), "is the file being read"));
  CHECK(contains(error("report.sqlite -o ./report.sqlite"), "is the file being read"));
  CHECK(contains(error("report.sqlite -o /dev/null"), "is not a file"));
  CHECK(contains(error("report.sqlite -o no/shared.sqlite"), "cannot be written"));
  CHECK(contains(error("missing.sqlite -o shared.sqlite"), "missing.sqlite"));
  CHECK(contains(error("text.sqlite -o shared.sqlite"), "text.sqlite"));
  CHECK(contains(error("trace.json -o shared.json"), "is JSON without traceEvents"));
  write_file(dir / "deep.json", "{\"a\": " + std::string(100'000, '[') + std::string(100'000, ']') +
                                    ", \"traceEvents\": [{}]}");
  CHECK(contains(error("deep.json -o shared.json"), "nests too deeply"));
  CHECK(contains(error("cut.sqlite -o shared.sqlite"), "cut.sqlite"));
  CHECK(contains(error("report.sqlite -o -"), "is not a file; give a file name"));
  CHECK(contains(error("report.sqlite -o shared.sqlite.gz"), "is not compressed; leave out .gz"));
  CHECK(contains(error("report.sqlite"), "--output is required"));
  fs::copy_file(dir / "report.sqlite", dir / "written.sqlite");
  write_file(dir / "written.sqlite-wal", "x");
  CHECK(contains(error("written.sqlite -o shared.sqlite"), "is still being written"));
  CHECK(
      contains(advise("written.sqlite -v", {"COLUMNS=160", dir / ""}).out, "still being written"));
  run_sql(dir / "utf16.sqlite",
          "PRAGMA encoding = 'UTF-16'; CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT)");
  CHECK(contains(error("utf16.sqlite -o shared.sqlite"), "not UTF-8"));
  CHECK(read_file(dir / "report.sqlite") == whole);
  for (const auto& entry : fs::directory_iterator(dir / ""))
    CHECK_MESSAGE(!contains(entry.path().filename().string(), "shared"), entry.path().string());
}

TEST_CASE(
    "scrub: a report that still contains an environment says so, in text and JSON, and a scrubbed "
    "one does not") {
  const TempDir dir;
  fs::copy_file(GH_FIXTURES "/good.sqlite", dir / "report.sqlite");
  run_sql(dir / "report.sqlite",
          "INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:ENVIRONMENT_VARIABLE', 'A=\"1\"'), "
          "('PROCESS_0:ENVIRONMENT_VARIABLE', 'TOKEN=\"tok-8fa3c51e77\"')");
  const How how{"", dir / ""};
  CHECK(contains(advise("report.sqlite", how).out,
                 "The report holds 2 environment variables of the profiled program; before"));
  CHECK(report_of(advise("--format json report.sqlite", how))["report"]["environment_variables"] ==
        2);
  CHECK(advise("scrub report.sqlite -o shared.sqlite", how).status == 0);
  CHECK(!contains(advise("shared.sqlite", how).out, "environment variable"));
  CHECK(report_of(advise("--format json shared.sqlite", how))["report"]["environment_variables"] ==
        0);
}
