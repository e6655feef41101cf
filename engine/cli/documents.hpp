// Makes a document of each report, for commands that show one after the other.
#pragma once
#include <string>
#include <vector>

#include "advise.hpp"
#include "base/deadline.hpp"
#include "base/profile.hpp"
#include "base/text.hpp"
#include "cli/progress.hpp"
#include "cli/settings.hpp"
#include "read/job_files.hpp"

namespace gh {

template <class Document>
struct Documents {
  std::vector<Document> made;
  std::vector<std::string> errors;  ///< why others are missing
};

/// `make(analysis, replay)` of each job. The ranks of a job make one report.
template <class Document, class Make>
Documents<Document> documents_of(const std::vector<std::string>& reports, const Settings& settings,
                                 const ReportOptions& options, Make make) {
  Documents<Document> documents;
  Request request = settings.request(options);
  const std::vector<std::vector<std::string>> jobs = find_jobs(reports);
  const MeasuredSteps measured(options, reports);
  Progress progress(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    request.files = jobs[i];
    request.measured_step_ns = measured.of(jobs[i]);
    progress.say("reading " + printable(jobs[i].front()), i);
    try {
      const TimeLimit limit;
      const Analysis analysis = analyse(request);
      const Replay replay = timed("replay", [&] { return Replay(analysis); });
      documents.made.push_back(make(analysis, replay));
    } catch (const Error& e) {
      documents.errors.push_back(e.what());  // the other reports can still be shown
    }
  }
  return documents;
}

}  // namespace gh
