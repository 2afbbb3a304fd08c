local echo, slots, most = ARGV[1], KEYS[1], tonumber(ARGV[2])
local text = recorded(slots, most)
if text == nil then return {echo, 'foreign'} end
local time = attempt('TIME')
-- What is nil at the end of an answer is left out.
return {echo, 'seen', time[1] * 1000000 + time[2], text or nil}
