#include "analysis/cause.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace gh {
namespace {

constexpr std::string_view of_kernels = "compute.", of_idle = "idle.";

struct Named {
  std::string_view name;
  Cause::Of of;
  const char* label;
  Limit limit;
};

// The causes that are neither classes of kernels nor idle time.
constexpr std::array<Named, 5> other_causes{{
    {"um_stall", Cause::Of::um_stall, "unified-memory stall", Limit::unified_memory},
    {"compute.graph", Cause::Of::graph, "compute: CUDA graphs as a whole", Limit::graphs},
    {"compute.device_copy", Cause::Of::device_copy, "compute: copies within the device",
     Limit::memory},
    {"communication_exposed", Cause::Of::communication, "exposed communication", Limit::network},
    {"copy_exposed", Cause::Of::copy, "exposed copy", Limit::link},
}};

template <class Wanted>
const Named* other_with(Wanted Named::*member, const Wanted& wanted) {
  const auto it = std::find_if(other_causes.begin(), other_causes.end(),
                               [&](const Named& n) { return n.*member == wanted; });
  return it == other_causes.end() ? nullptr : &*it;
}
const Named* other_named(std::string_view name) { return other_with(&Named::name, name); }

// "" for those whose name says it.
std::string_view label_of(IdleCause c) {
  switch (c) {
    case IdleCause::failed: return "failed calls";
    case IdleCause::faults: return "host page faults";
    case IdleCause::loading: return "loading code";
    default: return "";
  }
}

Limit limit_of(IdleCause c) {
  switch (c) {
    case IdleCause::launch:
    case IdleCause::launch_latency: return Limit::launching;
    case IdleCause::dependency: return Limit::other_work;
    case IdleCause::faults: return Limit::unified_memory;
    default: return Limit::host;
  }
}

std::string words_of(std::string_view name) {
  std::string words(name);
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

}  // namespace

Cause::Cause(std::string_view name) {
  if (const Named* other = other_named(name)) {
    of = other->of;
  } else if (name.starts_with(of_kernels)) {
    name.remove_prefix(of_kernels.size());
    of = Of::kernels;
    kernels = kernel_class_named(name);
    products = is_product(name);
  } else if (name.starts_with(of_idle)) {
    name.remove_prefix(of_idle.size());
    for (std::size_t c = 0; c < idle_causes; ++c)
      if (name == name_of(static_cast<IdleCause>(c))) *this = static_cast<IdleCause>(c);
  }
}

std::string cause_name(Cause::Of kind) {
  const Named* other = other_with(&Named::of, kind);
  if (!other) throw std::logic_error("kernels and idle time have causes of their own");
  return std::string(other->name);
}
std::string cause_name(IdleCause c) { return std::string(of_idle) + name_of(c); }
std::string cause_name(std::string_view kernel_class) {
  return std::string(of_kernels).append(kernel_class);
}

Limit limit_of(const Cause& cause) {
  if (cause.of == Cause::Of::kernels) return traits_of(cause.kernels).limit;
  if (cause.of == Cause::Of::idle) return limit_of(cause.idle);
  const Named* other = other_with(&Named::of, cause.of);
  return other ? other->limit : Limit::host;
}

std::string cause_label(std::string_view name) {
  if (const Named* other = other_named(name)) return other->label;
  const std::size_t dot = name.find('.');
  if (dot == name.npos) return words_of(name);
  const Cause cause(name);
  const std::string_view known = cause.of == Cause::Of::kernels ? traits_of(cause.kernels).label
                                 : cause.is_idle()              ? label_of(cause.idle)
                                                                : "";
  return words_of(name.substr(0, dot)) + ": " +
         (known.empty() ? words_of(name.substr(dot + 1)) : std::string(known));
}

}  // namespace gh
