#include "gate/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gh {
namespace {

// From so many measurements a side on, a rank test can reach the level of 5 %: of four against
// four, one order in 35 is as extreme.
constexpr std::size_t enough = 4;

// Up to so many values a side, all orders are counted.
constexpr std::size_t most_exact = 20;

// The standard deviation, from the median absolute deviation: one outlier does not widen it.
double spread(const std::vector<double>& v) {
  const double middle = median_of(v);
  std::vector<double> off;
  for (const double x : v) off.push_back(std::abs(x - middle));
  return 1.4826 * median_of(off);
}

// Steps of one capture share the state of its machine, so that they are more alike than captures
// are: their shift also has to stand out by three standard errors of a difference of medians.
bool stands_out(double change, const std::vector<double>& x, const std::vector<double>& y) {
  constexpr double median_error = 1.2533;  // of the error of a mean
  const double error =
      median_error * std::hypot(spread(x) / std::sqrt(static_cast<double>(x.size())),
                                spread(y) / std::sqrt(static_cast<double>(y.size())));
  return std::abs(change) > 3 * error;
}

// ---- Mann-Whitney

struct RankSum {
  double of_x = 0;
  double ties = 0;  // the sum of t^3 - t over groups of t equal values
};

RankSum rank_sum(const std::vector<double>& x, const std::vector<double>& y) {
  std::vector<std::pair<double, bool>> all;  // value, whether of x
  for (const double v : x) all.emplace_back(v, true);
  for (const double v : y) all.emplace_back(v, false);
  std::sort(all.begin(), all.end());
  RankSum sum;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t j = i;
    while (j < all.size() && all[j].first == all[i].first) ++j;
    const double t = static_cast<double>(j - i), rank = static_cast<double>(i + j + 1) / 2;
    sum.ties += t * t * t - t;
    for (; i < j; ++i) sum.of_x += all[i].second ? rank : 0;
  }
  return sum;
}

// The share of all orders of n and m values in which the statistic lies as far from its middle as
// `u` does.
double exact_p(std::size_t n, std::size_t m, double u, double middle) {
  // ways[k][u]: in how many ways k values of x, put among those of y so far, come to the statistic
  // u.
  std::vector<std::vector<double>> ways(n + 1, std::vector<double>(n * m + 1, 0.0));
  ways[0][0] = 1;
  for (std::size_t place = 1; place <= n + m; ++place) {
    for (std::size_t k = std::min(place, n); k >= 1; --k) {
      if (place - k > m) break;  // more of y below than there are
      const std::size_t below = place - k;
      for (std::size_t v = n * m + 1; v-- > below;) ways[k][v] += ways[k - 1][v - below];
    }
  }
  double extreme = 0, total = 0;
  for (std::size_t v = 0; v <= n * m; ++v) {
    total += ways[n][v];
    if (std::abs(static_cast<double>(v) - middle) >= std::abs(u - middle) - 1e-9) {
      extreme += ways[n][v];
    }
  }
  return std::min(1.0, extreme / total);
}

// The normal approximation, corrected for ties and continuity.
double normal_p(double n, double m, double u, double middle, double ties) {
  const double all = n + m, variance = n * m / 12 * (all + 1 - ties / (all * (all - 1)));
  if (variance <= 0) return 1;  // all values are the same
  return std::min(1.0,
                  std::erfc(std::max(0.0, std::abs(u - middle) - 0.5) / std::sqrt(2 * variance)));
}

}  // namespace

double median_of(std::vector<double> v) {
  if (v.empty()) return 0;
  std::sort(v.begin(), v.end());
  const std::size_t n = v.size();
  return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

double mean_of(const std::vector<double>& v) {
  return v.empty() ? 0 : std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}

double mann_whitney_p(const std::vector<double>& x, const std::vector<double>& y) {
  if (x.empty() || y.empty()) return 1;
  const RankSum ranks = rank_sum(x, y);
  const double n = static_cast<double>(x.size()), m = static_cast<double>(y.size());
  const double u = ranks.of_x - n * (n + 1) / 2, middle = n * m / 2;
  if (ranks.ties == 0 && x.size() <= most_exact && y.size() <= most_exact) {
    return exact_p(x.size(), y.size(), u, middle);
  }
  return normal_p(n, m, u, middle, ranks.ties);
}

double relative_change(double change, double reference) {
  if (reference > 0) return change / reference;
  return change == 0 ? 0 : std::copysign(1e9, change);
}

Difference difference_of(const Measurements& before, const Measurements& after,
                         const Yardstick& yardstick, const GateSettings& settings) {
  const bool by_captures = before.captures.size() >= enough && after.captures.size() >= enough;
  const bool by_steps =
      !by_captures && before.steps.size() >= enough && after.steps.size() >= enough;
  const bool of_captures = by_captures || before.steps.empty() || after.steps.empty();
  const std::vector<double>& x = of_captures ? before.captures : before.steps;
  const std::vector<double>& y = of_captures ? after.captures : after.steps;

  Difference d;
  d.before = yardstick.means ? mean_of(x) : median_of(x);
  d.after = yardstick.means ? mean_of(y) : median_of(y);
  const double change = d.after - d.before;
  d.effect = relative_change(change, yardstick.reference.value_or(std::abs(d.before)));
  d.real = std::abs(d.effect) > yardstick.least_effect && change != 0;

  if (by_captures || by_steps) {
    d.p = mann_whitney_p(x, y);
    d.real = d.real && *d.p < settings.alpha;
    d.basis =
        fmt::format("{} {} against {}", x.size(), by_captures ? "captures" : "steps", y.size());
    if (by_steps && d.real && !stands_out(change, x, y)) {
      d.real = false;
      d.basis += ", less than three standard errors";
    }
  } else if (yardstick.exact) {
    d.basis = "counted";
  } else {
    d.real = d.real && std::abs(d.effect) > settings.noise_floor;
    d.basis = fmt::format("{} against {}, too few for a test: more than {} counts", x.size(),
                          y.size(), percent(settings.noise_floor));
  }
  return d;
}

std::string change_text(double effect) {
  return fmt::format("{}{:.{}f} %", effect < 0 ? "-" : "+", std::abs(effect) * 100,
                     std::abs(effect) < 0.0995 ? 1 : 0);
}

std::string basis_text(const Difference& d) {
  return d.p ? fmt::format("{}, p = {:.2g}", d.basis, *d.p) : d.basis;
}

}  // namespace gh
