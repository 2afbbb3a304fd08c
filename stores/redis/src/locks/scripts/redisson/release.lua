local owner, mine, verb, channel, channel_of_readers = unpack(ARGV, 1, 5)
local mode = attempt('PTTL', lock) ~= -2 and mode_of()
if not mode then return {owner, 'not-held'} end
if sole(mine) then
    attempt('DEL', lock)
    if is_shared(mode) then return {owner, 'released', announce(verb, channel_of_readers, '1')} end
    announce_first(verb, channel, KEYS[2])
    return {owner, 'released', announce(verb, channel, '0')}
end
if attempt('HEXISTS', lock, mine) == 0 then return {owner, 'not-held'} end
local held = lasts(mine, 1) > 0
local heard = leave(mine, mode, verb, channel_of_readers)
return held and {owner, 'released', heard} or {owner, 'not-held'}
