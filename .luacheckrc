std = "lua54"
max_line_length = false
files["rules"] = { read_globals = { string = { fields = { "glob", "split", "starts_with", "format", "rep", "sub", "lower", "upper", "len", "byte", "char", "reverse" } } } }
