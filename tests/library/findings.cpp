// Prints what slows a recorded run down: findings REPORT
#include <gh-advise/advise.hpp>

#include <cstdio>

int main(int argc, char** argv) try {
  if (argc != 2) throw gh::Error("usage: findings REPORT");
  const gh::Analysis analysis(gh::read_report(argv[1]), gh::Classes(), gh::Selection());
  const gh::Facts facts(analysis);
  const gh::Report report = gh::evaluate(gh::own_rules(), analysis, facts, {});
  std::printf("step: %s\n", gh::shown(facts.value("step.median_ns"), gh::Unit::ns).c_str());
  for (const gh::Finding& f : report.findings)
    std::printf("%s %s: %s a step\n", gh::name_of(f.severity), f.rule.c_str(),
                gh::duration(f.recoverable_ns).c_str());
} catch (const gh::Error& e) {
  std::fprintf(stderr, "findings: %s\n", e.what());
  return 2;
}
