local owner, mine, ttl, letter, label, how = unpack(ARGV, 1, 6)
local writes = how == 'w'
local left = attempt('PTTL', lock)
if left == -2 then
    needs(lock, 1, 'PEXPIRE')
    needs(lock, 2, 'HSET')
    local why_not = unfit(how == 'f')
    if why_not then return {owner, why_not} end
    local fresh, why = grant(how == 'f')
    if not fresh then return {owner, why} end
    local field = mine .. ':' .. letter .. fresh .. ':' .. label
    redis.call('HSET', lock, 'mode', writes and 'write' or 'lock', writes and field .. ':write' or field, 1)
    redis.call('PEXPIRE', lock, ttl)
    return {owner, 'granted', fresh, tonumber(ttl)}
end
local mode = mode_of()
if not mode then return {owner, 'type'} end
if writes ~= is_shared(mode) then return {owner, 'kind'} end
local field = sole(mine)
if field then return {owner, 'granted', number_of(field, mine), left} end
local why_not = unfit(how == 'f')
if why_not then return {owner, why_not} end
-- Of a lock of Redisson's nobody knows what it is used as.
for _, other in ipairs(mode == 'lock' and attempt('HKEYS', lock) or {}) do
    local used = string.match(other, '^:tenure:(%a?)=?%d+:', 37)
    if used and used ~= letter then return {owner, 'kind'} end
end
if mode == 'read' and attempt('HEXISTS', lock, mine) == 1 and lasts(mine, 1) > 0 then return {owner, 'mode'} end
return busy(owner, mode, left)
