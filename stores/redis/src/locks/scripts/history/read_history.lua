local echo, history, longest = ARGV[1], KEYS[1], tonumber(ARGV[2])
local found = elements(history, ARGV[3], ARGV[4])
if not found then return {echo, 'foreign'} end
-- What others stored may be of any size.
for _, element in ipairs(found) do
    if not time_of(element, longest) then return {echo, 'foreign'} end
end
local time = attempt('TIME')
return {echo, 'seen', time[1] * 1000000 + time[2], found}
