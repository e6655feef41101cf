-- What the sandbox has, made from schemas/api.toml: luacheck then knows a rule that calls anything else.
std = "none"
max_line_length = false
read_globals = {
  "assert", "error", "getmetatable", "ipairs", "next", "pairs", "pcall", "rawequal", "rawget", "rawlen", "require", "select", "setmetatable", "tonumber", "tostring", "type", "xpcall",
  math = { fields = { "abs", "acos", "asin", "atan", "ceil", "cos", "deg", "exp", "floor", "fmod", "huge", "log", "max", "maxinteger", "min", "mininteger", "modf", "pi", "rad", "sin", "sqrt", "tan", "tointeger", "type", "ult", } },
  string = { fields = { "byte", "char", "format", "glob", "len", "lower", "rep", "reverse", "short", "split", "starts_with", "sub", "upper", } },
  table = { fields = { "concat", "insert", "pack", "remove", "sort", "unpack", } },
}
