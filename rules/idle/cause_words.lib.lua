-- What keeps the GPU waiting where idle time has this cause, in the words of a message: "while the
-- host launches".
local words = {
  input = "while the host fetches its next input",
  sync = "while the host waits for the GPU, or has just waited",
  launch = "while the host launches",
  launch_latency = "between a launch and the start of what it launched",
  allocation = "while the host allocates or frees memory",
  compilation = "while the host compiles",
  loading = "while the host loads code",
  faults = "while the host touches pages of unified memory that are on the GPU",
  failed = "in calls that fail",
  dependency = "although the next operation had been launched: another stream, device or process \z
    kept it waiting",
  unknown = "while the host does something else",
}

return function(_, cause) return words[cause] end
