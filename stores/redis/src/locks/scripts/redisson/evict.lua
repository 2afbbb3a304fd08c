local echo, only, verb, channel, channel_of_readers, evicted = unpack(ARGV, 1, 6)
local left = attempt('PTTL', lock)
if left == -2 then return {echo, 'evicted', {}} end
local mode = mode_of()
local seen = mode and rows(mode, left, 4096)
if not seen then return {echo, 'type'} end
if left == -1 then return {echo, 'endless'} end
if only ~= '' then
    local row
    for _, one in ipairs(seen) do row = one[1] == only and one or row end
    if not row then return {echo, 'evicted', {}} end
    seen = {row}
    if row[3] == 's' then
        leave(only, mode, verb, channel_of_readers)
        redis.pcall('PUBLISH', evicted, lock)
        return {echo, 'evicted', seen}
    end
end
attempt('DEL', lock)
if is_shared(mode) then
    announce(verb, channel_of_readers, '1')
else
    announce_first(verb, channel, KEYS[2])
    announce(verb, channel, '0')
end
redis.pcall('PUBLISH', evicted, lock)
return {echo, 'evicted', seen}
