local echo, left = ARGV[1], attempt('PTTL', lock)
if left == -2 then return {echo, 'seen', {}} end
local mode = mode_of()
local seen = mode and rows(mode, left, 4096)
if not seen then return {echo, 'type'} end
return {echo, 'seen', seen}
