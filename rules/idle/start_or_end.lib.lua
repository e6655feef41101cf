-- Whether these rows may be no more than the program's start or end (selection:at_start_or_end). If
-- so, "note", for a finding's `at_most`, and a sentence after a space for the end of its message;
-- otherwise nil and "".
return function(_, rows)
  if not rows:at_start_or_end() then return nil, "" end
  return "note", " It hardly recurs, so it may be the program's start or end."
end
