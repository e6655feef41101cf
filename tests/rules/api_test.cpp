// Everything that a rule can call is documented: for people, editors and luacheck.
#include <lua.hpp>

#include <iterator>
#include <set>
#include <sstream>

#include "report/docs.hpp"
#include "rules/binding.hpp"
#include "rules/binding/fields.hpp"
#include "rules/sandbox.hpp"
#include "support/program.hpp"

using namespace support;

namespace {

std::set<std::string> words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

// Every name that the sandbox knows: "pairs", "string.format".
std::set<std::string> sandbox_names() {
  gh::LuaSandbox sandbox;
  sandbox.load(R"(
    local t = {}
    for k, v in pairs(_G) do
      if type(v) == 'table' and k ~= '_G' then
        for n in pairs(v) do t[#t + 1] = k .. '.' .. n end
      elseif k ~= '_G' then
        t[#t + 1] = k
      end
    end
    return table.concat(t, ' '))",
               "names");
  std::string text;
  sandbox.run([&](lua_State* lua) { text = lua_tostring(lua, 1); });
  return words(text);
}

std::set<std::string> documented_names() {
  std::set<std::string> names;
  for (const gh::ApiEntry& e : gh::api_entries()) names.merge(words(e.name));
  std::erase_if(names, [](const std::string& name) { return contains(name, ":"); });
  return names;
}

}  // namespace

TEST_CASE("rule API: all that a rule can call is documented, and nothing else") {
  CHECK(sandbox_names() == documented_names());
  for (const gh::ApiEntry& e : gh::api_entries())
    CHECK_MESSAGE(std::string(e.doc).size() > 4, e.name);
}

TEST_CASE("rule API: every verb has an entry, and every entry of a verb its function") {
  std::set<std::string> documented;
  for (const gh::ApiEntry& e : gh::api_entries())
    if (contains(e.name, ":")) documented.insert(e.name);
  const std::vector<std::string> verbs = gh::verb_names();
  CHECK(std::set<std::string>(verbs.begin(), verbs.end()) == documented);
}

TEST_CASE("rule API: every change that a rule may name is documented, and no other") {
  std::set<std::string> documented, known;
  for (const gh::ApiEntry& e : gh::api_entries("change")) documented.insert(e.name);
  for (const gh::ChangeVerb& verb : gh::change_verbs()) known.insert(verb.name);
  CHECK(documented == known);
  CHECK(gh::field_docs().size() == gh::binding::field_count);
}

TEST_CASE("rule API: generated files are as the program makes them") {
  // To regenerate: build/release/tests/engine_tests -tc='rule API: generated*' with
  // GH_UPDATE_GOLDEN=1.
  for (const auto& [path, text] :
       {std::pair<std::string, std::string>{GH_SOURCE_DIR "/schemas/gh.lua", gh::editor_stubs()},
        {GH_SOURCE_DIR "/.luacheckrc", gh::luacheck_configuration()}}) {
    if (std::getenv("GH_UPDATE_GOLDEN")) write_file(path, text);
    CHECK_MESSAGE(read_file(path) == text, path, " is stale");
  }
}

TEST_CASE("rule API: luacheck finds nothing in the rules, and finds what the sandbox has not") {
  CHECK(shell("cd '" GH_SOURCE_DIR "' && luacheck --quiet rules").status == 0);
  const TempDir dir;
  write_file(dir / "bad.lua", "return os.time() + string.find('a', 'b')");
  const Ran ran =
      shell("cd '" GH_SOURCE_DIR "' && luacheck --config .luacheckrc " + quoted(dir / "bad.lua"));
  CHECK(ran.status != 0);
  CHECK(contains(ran.out, "os"));
  CHECK(contains(ran.out, "find"));
}
