local echo, history = ARGV[1], KEYS[1]
local most, keep, age, longest = tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local front = elements(history, 0, 0)
-- The first element says whose list it is.
if not front or front[1] and not time_of(front[1], longest) then return {echo, 'foreign'} end
local time = attempt('TIME')
local now = time[1] * 1000000 + time[2]
local oldest = now - age
local fresh = {}
for index = 6, #ARGV, 2 do
    local at = math.max(now - ARGV[index], 0)
    if at >= oldest then fresh[#fresh + 1] = string.format('%.0f ', at) .. ARGV[index + 1] end
end
if #fresh == 0 then return {echo, 'added'} end
needs(history, 2, 'LTRIM')
needs(history, 1, 'PEXPIRE')
-- The first write: it is the one that a full server refuses.
local length = attempt('RPUSH', history, unpack(fresh))
local gone = math.max(length - most, 0)
-- One that was told late may stay behind one that is to be kept.
while gone < length do
    local at = time_of(redis.call('LRANGE', history, gone, gone)[1], longest)
    if not at or at >= oldest then break end
    gone = gone + 1
end
if gone > 0 then redis.call('LTRIM', history, gone, -1) end
redis.call('PEXPIRE', history, keep)
return {echo, 'added'}
