#include "rules/binding/fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.hpp"
#include "rules/binding/host_side.hpp"
#include "rules/binding/stretches.hpp"

namespace gh::binding {
namespace {

template <class Enum>
TextKey key_of(Enum value) {
  return static_cast<TextKey>(value);
}

bool is_kernel(const Context& c, Row op) { return c.trace().ops.kind[op] == OpKind::kernel; }

// --- Texts: a row's key

TextKey name_key(const Context& c, const Rows& s, Row r) {
  if (const NameId* names = names_of(c, s.kind)) return names[r];
  const Row call = s.kind == Kind::idle ? c.idle_of(r).call : no_row;
  return call == no_row ? no_text : c.trace().calls.name[call];
}

TextKey class_key(const Context& c, const Rows& s, Row r) {
  const NameClasses& classes = c.analysis.names;
  if (s.kind == Kind::ops && is_kernel(c, r)) return key_of(classes.kernel[c.trace().ops.name[r]]);
  if (s.kind == Kind::calls) return key_of(classes.call[c.trace().calls.name[r]]);
  return no_text;
}

template <auto column>
TextKey key_of_op(const Context& c, const Rows& s, Row r) {
  return s.kind == Kind::ops ? key_of((c.trace().ops.*column)[r]) : no_text;
}
template <auto column>
TextKey key_of_copy(const Context& c, const Rows& s, Row r) {
  return s.kind == Kind::ops && !is_kernel(c, r) ? key_of((c.trace().ops.*column)[r]) : no_text;
}

TextKey cause_key(const Context& c, const Rows& s, Row r) {
  if (s.kind == Kind::ops) return key_of(c.trace().ops.cause[r]);
  if (s.kind == Kind::idle) return key_of(c.idle_of(r).cause);
  return no_text;
}

TextKey thread_key(const Context& c, const Rows& s, Row r) {
  if (s.kind == Kind::ops) {
    const Row call = c.trace().ops.call[r];
    return call == no_row ? no_text : c.trace().calls.thread[call];
  }
  const std::uint16_t thread = thread_of(c, s, r);
  return thread == no_index ? no_text : thread;
}

HostWork::Doing doing_in(const Context& c, const Rows& s, Row r) {
  if (s.kind != Kind::idle) return {};
  return c.in_steps.host_work().during(c.idle_of(r), c.analysis.devices[slot_of(c, s, r)].process);
}

TextKey doing_key(const Context& c, const Rows& s, Row r) {
  const NameId name = doing_in(c, s, r).name;
  return name == 0 ? no_text : name;
}

TextKey within_key(const Context& c, const Rows& s, Row r) {
  const NameId name = doing_in(c, s, r).within;
  return name == 0 ? no_text : name;
}

TextKey next_key(const Context& c, const Rows& s, Row r) {
  if (s.kind != Kind::idle) return no_text;
  const Row next = c.idle_of(r).next;
  return next == no_row || !is_kernel(c, next) ? no_text : c.trace().ops.name[next];
}

TextKey stretch_key(const Context& c, const Rows& s, Row r) {
  if (s.kind != Kind::idle) return no_text;
  const Stretch stretch = stretch_of(c, r);
  return stretch == Stretch::none ? no_text : key_of(stretch);
}

TextKey collective_key(const Context& c, const Rows& s, Row r) {
  if (s.kind != Kind::ops) return no_text;
  const CollectiveKind kind = c.in_steps.collectives().kind(r);
  return kind == CollectiveKind::none ? no_text : key_of(kind);
}

TextKey group_key(const Context& c, const Rows& s, Row r) {
  const Group* group = s.kind == Kind::ops ? c.trace().group_of(r) : nullptr;
  return group ? group->name : no_text;
}

// --- Texts: the text of a key

std::string name_text(const Context& c, Kind, TextKey key) { return c.trace().names[key]; }

std::string class_text(const Context& c, Kind kind, TextKey key) {
  if (kind == Kind::ops) return c.analysis.classes.kernel_classes()[key];
  return name_of(static_cast<CallClass>(key));
}

std::string cause_text(const Context&, Kind kind, TextKey key) {
  if (kind == Kind::idle) return name_of(static_cast<IdleCause>(key));
  return name_of(static_cast<MigrationCause>(key));
}

std::string thread_text(const Context& c, Kind, TextKey key) {
  return c.trace().thread_label(static_cast<std::uint16_t>(key));
}

template <class Enum>
std::string enum_text(const Context&, Kind, TextKey key) {
  return name_of(static_cast<Enum>(key));
}

// --- Numbers

using Number = std::optional<double>;

template <class Value>
Number number(Value value) {
  return static_cast<double>(value);
}

Number start_ns(const Context& c, const Rows& s, Row r) { return number(span_of(c, s, r).start); }
Number end_ns(const Context& c, const Rows& s, Row r) { return number(span_of(c, s, r).end); }
Number duration_ns(const Context& c, const Rows& s, Row r) {
  return number(span_of(c, s, r).length());
}

Number bytes(const Context& c, const Rows& s, Row r) {
  if (s.kind == Kind::ops) return number(c.trace().ops.bytes[r]);
  if (s.kind == Kind::ranges) return number(c.trace().ranges.bytes[r]);
  return {};
}

template <auto column>
Number of_op(const Context& c, const Rows& s, Row r) {
  return s.kind == Kind::ops ? number((c.trace().ops.*column)[r]) : Number();
}

// Nothing if the report does not give it.
Number blocks_x(const Context& c, const Rows& s, Row r) {
  const std::uint32_t told = s.kind == Kind::ops ? c.trace().ops.blocks_x_of(r) : 0;
  return told > 0 ? number(told) : Number();
}

// Nothing if the report does not give it.
Number registers(const Context& c, const Rows& s, Row r) {
  const bool told = s.kind == Kind::ops && c.trace().ops.registers_of(r) > 0;
  return told ? number(c.trace().ops.registers_of(r)) : Number();
}

Number shared_bytes(const Context& c, const Rows& s, Row r) {
  const bool told = s.kind == Kind::ops && c.trace().ops.registers_of(r) > 0;
  return told ? number(c.trace().ops.shared_bytes_of(r)) : Number();
}

Number stream(const Context& c, const Rows& s, Row r) {
  const Trace& t = c.trace();
  return s.kind == Kind::ops ? number(t.streams[t.ops.stream[r]].id) : Number();
}

Number device(const Context& c, const Rows& s, Row r) {
  const std::size_t slot = slot_of(c, s, r);
  return slot == no_slot ? Number() : number(c.ordinal(slot));
}

Number process(const Context& c, const Rows& s, Row r) {
  const std::uint16_t process = process_of(c, s, r);
  return process == no_index ? Number() : number(c.trace().processes[process].pid);
}

Number fault_count(const Context& c, const Rows& s, Row r) {
  return s.kind == Kind::gpu_faults ? number(c.trace().gpu_faults.count[r]) : Number();
}

Number ranks(const Context& c, const Rows& s, Row r) {
  const Group* group = s.kind == Kind::ops ? c.trace().group_of(r) : nullptr;
  return group ? number(group->ranks) : Number();
}

Number message_bytes(const Context& c, const Rows& s, Row r) {
  if (s.kind != Kind::ops) return {};
  const CollectiveKinds& collectives = c.in_steps.collectives();
  return collectives.kind(r) == CollectiveKind::none ? Number() : number(collectives.bytes(r));
}

Number meeting(const Context& c, const Rows& s, Row r) {
  if (s.kind != Kind::ops || !c.analysis.is_collective(r)) return {};
  const std::vector<Row>& meetings = c.in_steps.meetings();
  return meetings.empty() || meetings[r] == 0 ? Number() : number(meetings[r]);
}

Number op_ns(const Context& c, const Rows& s, Row r) {
  if (s.kind != Kind::chains) return {};
  return number(c.trace().span_of((*s.chains)[r].op).length());
}

Number step_of_row(const Context& c, const Rows& s, Row r) {
  const Step* step = c.step_at(slot_of(c, s, r), span_of(c, s, r).start);
  return step ? number(step->number) : Number();
}

Number step_number(const Context& c, const Rows& s, Row r) {
  return s.kind == Kind::steps ? number(c.step_of(r).number) : Number();
}

}  // namespace

const std::array<FieldSpec, field_count> fields{{
    {"name", name_key, name_text, nullptr},
    {"class", class_key, class_text, nullptr},
    {"kind", key_of_op<&Ops::kind>, enum_text<OpKind>, nullptr},
    {"direction", key_of_op<&Ops::copy>, enum_text<CopyKind>, nullptr},
    {"from", key_of_copy<&Ops::source>, enum_text<MemoryKind>, nullptr},
    {"to", key_of_copy<&Ops::target>, enum_text<MemoryKind>, nullptr},
    {"cause", cause_key, cause_text, nullptr},
    {"thread", thread_key, thread_text, nullptr},
    {"doing", doing_key, name_text, nullptr},
    {"within", within_key, name_text, nullptr},
    {"next", next_key, name_text, nullptr},
    {"stretch", stretch_key, enum_text<Stretch>, nullptr},
    {"collective", collective_key, enum_text<CollectiveKind>, nullptr},
    {"group", group_key, name_text, nullptr},
    {"start_ns", nullptr, nullptr, start_ns},
    {"end_ns", nullptr, nullptr, end_ns},
    {"duration_ns", nullptr, nullptr, duration_ns},
    {"bytes", nullptr, nullptr, bytes},
    {"blocks", nullptr, nullptr, of_op<&Ops::blocks>},
    {"blocks_x", nullptr, nullptr, blocks_x},
    {"threads", nullptr, nullptr, of_op<&Ops::threads>},
    {"registers", nullptr, nullptr, registers},
    {"shared_bytes", nullptr, nullptr, shared_bytes},
    {"stream", nullptr, nullptr, stream},
    {"device", nullptr, nullptr, device},
    {"process", nullptr, nullptr, process},
    {"count", nullptr, nullptr, fault_count},
    {"number", nullptr, nullptr, step_number},
    {"step", nullptr, nullptr, step_of_row},
    {"ranks", nullptr, nullptr, ranks},
    {"message_bytes", nullptr, nullptr, message_bytes},
    {"meeting", nullptr, nullptr, meeting},
    {"op_ns", nullptr, nullptr, op_ns},
}};

Field field_named(const std::string& name) {
  const auto it = std::find_if(fields.begin(), fields.end(),
                               [&](const FieldSpec& f) { return name == f.name; });
  if (it != fields.end()) return static_cast<Field>(it - fields.begin());
  std::vector<std::string> names;
  for (const FieldSpec& f : fields) names.emplace_back(f.name);
  throw Error(fmt::format("there is no field '{}'{}", printable(name), did_you_mean(name, names)));
}

}  // namespace gh::binding
